"""Start JupyterLab by a command, wait until it answers and runs the first lesson's first cell, then end it.

python3 answering_lab.py make lab

Uses only the standard library, since it runs where nothing else is installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

PATIENCE = 1800  # s; most of it is the download
ADDRESS = re.compile(r"(http://(?:localhost|127\.0\.0\.1):\d+)\S*[?&]token=([0-9a-f]+)")
WELCOME = "notebooks/00_welcome.ipynb"


def main(command):
    """Return 0 when the server that the command starts serves the welcome notebook and starts a kernel."""
    lab = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    timer = threading.Timer(PATIENCE, os.killpg, (lab.pid, signal.SIGKILL))
    timer.start()
    try:
        found = None
        for line in lab.stdout:
            print(line, end="", flush=True)
            if found := ADDRESS.search(line):
                break
        if not found:
            print(f"{' '.join(command)} ended without serving (exit status {lab.wait()}).")
            return 1
        threading.Thread(target=lab.stdout.read, daemon=True).start()  # a full pipe would stop the server
        return look(*found.groups())
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(lab.pid, signal.SIGTERM)


def look(address, token):
    """Ask the server for what a learner's browser asks for first."""

    def ask(path, method="GET", data=None):
        request = urllib.request.Request(f"{address}{path}", method=method, headers={"Authorization": f"token {token}"})
        return urllib.request.urlopen(request, data and json.dumps(data).encode(), timeout=60).read()

    page = ask(f"/lab/tree/{WELCOME}").decode()
    cells = json.loads(ask(f"/api/contents/{WELCOME}"))["content"]["cells"]
    kernel = json.loads(ask("/api/kernels", "POST", {"name": "python3"}))
    for _ in range(120):
        if json.loads(ask(f"/api/kernels/{kernel['id']}"))["execution_state"] != "unknown":
            break
        time.sleep(0.5)
    ok = "jupyter-config-data" in page and len(cells) > 5 and kernel["id"]
    print(f"The server answers: JupyterLab's page, {len(cells)} cells of {WELCOME}, a kernel.")
    return 0 if ok else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
