"""A numba-cuda kernel to PTX by NVVM, and to SASS through nvJitLink and nvdisasm."""

from __future__ import annotations

from inspect import signature as signature_of

from . import sass
from .module import load


class Refused(Exception):
    """numba's own words about what is wrong with the kernel."""


REFUSALS = (Refused, sass.Refused)


def compile(request: dict) -> dict:
    """PTX or SASS of one kernel of a Python text."""
    from importlib.metadata import version

    from numba import cuda
    from numba.core.errors import NumbaError
    from numba.core.sigutils import normalize_signature

    number = int("".join(filter(str.isdigit, request["arch"])))
    capability = divmod(number, 10)
    _answer_for_the_device(capability)
    with load(request) as module:
        kernel = getattr(module, request["name"])
        types = {name: getattr(cuda.types, name) for name in dir(cuda.types) if not name.startswith("_")}
        signature = request["signature"]
        try:
            arguments, _ = normalize_signature(
                signature if "(" in signature else eval(f"({signature.rstrip(chr(44))},)", types)
            )
            names = list(signature_of(kernel.py_func).parameters)
            if len(arguments) != len(names):
                raise Refused(
                    f"The kernel has {len(names)} parameters ({', '.join(names)}); the signature is {signature!r}."
                )
            ptx, _ = cuda.compile_ptx(kernel.py_func, arguments, cc=capability, lineinfo=True)
        except (NumbaError, TypeError, NameError, SyntaxError) as error:
            raise Refused(_short(str(error))) from None
    symbol = next(line.split()[2].partition("(")[0] for line in ptx.splitlines() if line.startswith(".visible .entry"))
    compiler = f"numba-cuda {version('numba-cuda')} with NVVM"
    if request["format"] == "ptx":
        return {"raw": ptx, "kernel": symbol, "compiler": compiler}
    cubin, assembler = sass.assemble(ptx, request["arch"])
    raw, disassembler = sass.disassemble(cubin)
    return {"raw": raw, "kernel": symbol, "compiler": f"{compiler}, {assembler} and {disassembler}"}


def _answer_for_the_device(capability: tuple[int, int]) -> None:
    """Compile device functions for the wanted GPU: numba asks the present one, and without a GPU that fails."""
    from types import SimpleNamespace

    from numba.cuda import dispatcher

    device = SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: device


def _short(text: str) -> str:
    """numba's message without colours and without the advice that it adds to each."""
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()
