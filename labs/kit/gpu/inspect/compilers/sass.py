"""From PTX to a cubin (nvJitLink) and from a cubin to SASS (nvdisasm)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from . import tools


class Refused(Exception):
    """The assembler's or the disassembler's own words about what is wrong."""


def assemble(ptx: str, arch: str) -> tuple[bytes, str]:
    """A cubin from PTX, without a driver, and the assembler's name with its version."""
    from cuda.bindings import nvjitlink

    data = ptx.encode()
    link = nvjitlink.create(3, [f"-arch={arch}", "-lineinfo", "-O3"])
    try:
        nvjitlink.add_data(link, nvjitlink.InputType.PTX, data, len(data), "kernel.ptx")
        nvjitlink.complete(link)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(link))
        nvjitlink.get_linked_cubin(link, cubin)
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(nvjitlink.get_error_log_size(link))
        nvjitlink.get_error_log(link, log)
        raise Refused(log.decode(errors="replace").strip("\0 \n") or str(error)) from None
    finally:
        nvjitlink.destroy(link)
    major, minor = nvjitlink.version()
    return bytes(cubin), f"nvJitLink {major}.{minor}"


def disassemble(cubin: bytes) -> tuple[str, str]:
    """SASS with the source's lines, and the disassembler's name with its version."""
    program = tools.nvdisasm()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([program, "-c", "-gi", path], capture_output=True, text=True, timeout=60)
    if done.returncode or "/*0000*/" not in done.stdout:
        raise Refused(f"nvdisasm could not read the machine code. It says: {done.stderr.strip() or 'nothing'}")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout
    return done.stdout, f"nvdisasm {version.partition('release ')[2].partition(',')[0]}"
