"""The child process: a request as JSON on standard input, the result as JSON in the file that is named.

A process of its own, because a compiler may crash, must be interruptible, and needs its own environment: numba's
simulator and Triton's interpreter, which a notebook may have switched on, change what these packages are.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path


def main(answer: str) -> None:
    request = json.load(sys.stdin)
    compiler = importlib.import_module(f".{request['language']}", __package__)
    try:
        result = compiler.compile(request)
    except compiler.REFUSALS as error:
        result = {"refused": str(error)}
    Path(answer).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
