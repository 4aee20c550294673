"""CUDA C++ to PTX, or to SASS through NVRTC and nvdisasm."""

from __future__ import annotations

import re

from . import nvrtc, sass, tools

REFUSALS = (nvrtc.Refused, sass.Refused)


def compile(request: dict) -> dict:
    """PTX or SASS of one kernel of a CUDA C++ text."""
    name = request["name"]
    source = f'{request["header"]}\n#line 1 "kernel"\n{request["source"]}\n'
    try:
        code, symbol, compiler = nvrtc.translate(
            source, request["arch"], request["format"], name, tools.include_folders(), request["options"]
        )
    except nvrtc.Refused as refusal:
        raise nvrtc.Refused(explain(str(refusal))) from None
    if request["format"] == "ptx":
        return {"raw": code.decode().rstrip("\0"), "kernel": symbol, "compiler": compiler}
    raw, disassembler = sass.disassemble(code)
    return {"raw": raw, "kernel": symbol, "compiler": f"{compiler} and {disassembler}"}


def explain(log: str) -> str:
    """NVRTC's messages with "line 3" where it says "kernel(3)"."""
    log = re.sub(r"^kernel\((\d+)\): ", r"line \1: ", log, flags=re.M)
    if "could not open source file" in log:
        log += (
            "\nA header of the CUDA toolkit was not found: pip install nvidia-cuda-runtime nvidia-cuda-crt brings them."
        )
    return log
