"""CUDA C++ to PTX or a cubin by NVRTC, which needs neither a GPU nor a driver nor nvcc."""

from __future__ import annotations


class Refused(Exception):
    """The compiler's own words about what is wrong with the kernel."""


def translate(source: str, arch: str, format: str, name: str, folders, options) -> tuple[bytes, str, str]:
    """PTX (format "ptx") or a cubin, the kernel's symbol, and the compiler's name with its version."""
    from cuda.bindings import nvrtc

    def check(result):
        status, *values = result
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise Refused(f"NVRTC answers {status.name}.")
        return values[0] if len(values) == 1 else values

    program = check(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel", 0, [], []))
    check(nvrtc.nvrtcAddNameExpression(program, name.encode()))
    asked = f"compute_{arch[3:]}" if format == "ptx" else arch
    flags = [f"-arch={asked}", "-lineinfo", "-std=c++17", *(f"-I{folder}" for folder in folders), *options]
    flags = [flag.encode() for flag in flags]
    status = nvrtc.nvrtcCompileProgram(program, len(flags), flags)[0]
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        check(nvrtc.nvrtcGetProgramLog(program, log))
        raise Refused(log.decode(errors="replace").strip("\0 \n") or f"NVRTC answers {status.name}.")
    size, get = (
        (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        if format == "ptx"
        else (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    )
    code = b" " * check(size(program))
    check(get(program, code))
    symbol = check(nvrtc.nvrtcGetLoweredName(program, name.encode())).decode()
    major, minor = check(nvrtc.nvrtcVersion())
    return code, symbol, f"NVRTC {major}.{minor}"
