"""A JupyterLab and the built book for the tests in this folder. (The browser comes from tests/conftest.py.)"""

import contextlib
import fcntl
import functools
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from labs.course.command import main

ROOT = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def started(home, command, folder, **more):
    """Run a JupyterLab until the test is over; gives its address and its token. `home` keeps its log and settings."""
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
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
    ]
    log = open(home / "lab.log", "w")
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        env=environment | more,
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
        yield address, token
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        log.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab over a copy of notebooks/, started as `make lab` starts it. Gives address, token and its folder."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    command = [sys.executable, "-m", "labs", "lab", f"--ServerApp.root_dir={home}"]
    with started(home, command, ROOT) as (address, token):
        yield address, token, home


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """The JupyterLab of an instructor, as book/grading.md has it started: in a course folder, environment activated."""
    home = tmp_path_factory.mktemp("teacher")
    assert main(["nbgrader", str(home / "class"), "00"]) == 0
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    root = ["--allow-root"] if os.geteuid() == 0 else []
    with started(home, ["jupyter", "lab", *root], home / "class", PATH=path) as (address, token):
        yield address, token, home / "class"


@dataclass(frozen=True)
class Site:
    """The built book, served from this machine.

    Attributes
    ----------
    folder : Path
        Where its files are.
    address : str
        Where a browser finds them; ends with "/".
    pages : tuple of str
        Every page that was built, as a path below both.
    """

    folder: Path
    address: str
    pages: tuple[str, ...]

    @property
    def lessons(self):
        """The pages that are lessons."""
        return tuple(page for page in self.pages if page.startswith("lessons/"))


@pytest.fixture(scope="session")
def site():
    """The book, built once a run whatever the number of workers, on a local server."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / "book-tests", "a+") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)
        stamp.seek(0)
        if stamp.read() != run:
            built = subprocess.run([sys.executable, "book/build.py"], cwd=ROOT, capture_output=True, text=True)
            assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]
            stamp.truncate(0)
            stamp.write(run)
    folder = ROOT / "book" / "_build" / "html"
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    # Sphinx copies some files of its theme that look like pages; nothing leads there.
    pages = tuple(page for page in pages if not page.startswith("_static/"))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Site(folder, f"http://127.0.0.1:{server.server_port}/", pages)
    server.shutdown()
    server.server_close()


@pytest.fixture
def reader(browser, site):
    """A page of the browser that notes in `elsewhere` which other hosts were asked, and in `errors` what went wrong."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.elsewhere, page.errors = [], []
    page.on("request", lambda r: r.url.startswith((site.address, "data:", "blob:")) or page.elsewhere.append(r.url))
    page.on("console", lambda m: page.errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("response", lambda r: page.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    yield page
    page.close()
