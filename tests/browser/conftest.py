"""A JupyterLab for the tests in this folder; it ends with them. (The browser comes from tests/conftest.py.)"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab over a copy of notebooks/, started as `make lab` starts it. Gives its address and its folder."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    port, token = free_port(), "test"
    environment = os.environ | {
        "LABS_STATE": str(home / "state"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "IPYTHONDIR": str(home / "ipython"),
        "OMP_NUM_THREADS": "1",
    }
    arguments = [
        "--no-browser",
        f"--ServerApp.root_dir={home}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
    ]
    log = open(home / "lab.log", "w")
    process = subprocess.Popen(
        [sys.executable, "-m", "labs", "lab", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(400):
            try:
                with urllib.request.urlopen(f"{address}/api/status?token={token}", timeout=2) as answer:
                    json.load(answer)
                break
            except OSError:
                assert process.poll() is None, (home / "lab.log").read_text()
                time.sleep(0.25)
        else:
            pytest.fail("JupyterLab did not start:\n" + (home / "lab.log").read_text()[-3000:])
        yield address, token, home
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        log.close()
