"""A server that has imported what every notebook imports; each request forks a jailed kernel from it.

Importing PyTorch takes a second or more, forking a process that has done so a few hundredths of one. The server must
hold no secret, because a learner's kernel inherits its memory. So it is a program of its own, started with a clean
environment, and it imports the sandbox's copy of the course, never the course itself::

    python -P -m labs_sandbox.warm FILE_DESCRIPTOR
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys

from labs_sandbox import jail

PRELOAD = (
    "numpy", "ipykernel.kernelapp", "ipykernel.ipkernel", "IPython.core.completer", "comm", "matplotlib_inline",
    "greenlet", "torch", "torch.distributed", "labs.kit.exercise", "labs.kit.ranks", "labs.kit.draw",
    "labs_sandbox.remote",
)  # fmt: skip


def preload():
    """Import what can be imported; what fails here fails again, and is told, in the notebook that asks for it."""
    for name in PRELOAD:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.set_num_threads(1)
        torch.ones(2, 2) @ torch.ones(2, 2)  # the first product sets up libraries


def kernel(spec):
    """Become a kernel. Inside the jail, as the learner."""
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=spec["flags"])


def serve(server):
    """Fork one jail a request, for ever."""
    preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()  # so that a child's collector does not touch, and thereby copy, every page
    while True:
        connection, _ = server.accept()
        with contextlib.suppress(OSError, ValueError):
            spec = json.loads(connection.makefile().readline())
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                jail.enter(spec, connection, kernel)
        connection.close()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
