"""Every kernel of these tests is CUDA C++ for NVIDIA's own compiler, too. Needs NVRTC, but no GPU."""

import re
import runpy
from pathlib import Path

import pytest

from labs.kit.gpu.cplusplus.on_gpu import explain_nvrtc, include_folders

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed: no NVRTC to compile with")
SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))


class Refused(Exception):
    """What NVRTC said."""


def ptx(text, names=(), architecture="compute_80"):
    """PTX of a text by NVRTC, as CuPy would compile it."""

    def ask(result):
        assert not int(result[0]), result[0]
        return result[1] if len(result) > 1 else None

    def fetch(size, get):
        room = b" " * ask(size(program))
        ask(get(program, room))
        return room.decode(errors="replace").rstrip("\0 \n")

    program = ask(nvrtc.nvrtcCreateProgram(text.encode(), b"cell.cu", 0, [], []))
    for name in names:
        ask(nvrtc.nvrtcAddNameExpression(program, name.encode()))
    options = [f"--gpu-architecture={architecture}", "--std=c++17", *(f"-I{folder}" for folder in include_folders())]
    if int(nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])[0]):
        raise Refused(fetch(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog))
    return fetch(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)


@pytest.fixture(scope="module", autouse=True)
def installed():
    try:
        ptx("__global__ void k() {}")
    except Exception as error:
        pytest.skip(f"NVRTC does not run here (pip install nvidia-cuda-nvrtc): {error}")
    folders = include_folders()
    if not any((Path(folder) / "crt" / "mma.h").exists() for folder in folders):
        pytest.skip(f"CUDA's headers are not all here (pip install nvidia-cuda-crt nvidia-cuda-runtime): {folders}")


@pytest.mark.parametrize("name", SOURCE["SOURCES"])
def test_nvrtc_takes_every_source(name):
    text, kernels = SOURCE["SOURCES"][name]
    code = ptx(text, kernels)
    assert code.count(".entry") == len(kernels)
    assert bool(re.search(r"\bw?mma\.", code)) == ("mma.h" in text)


def test_sources_in_other_tests_are_cuda_too():
    """The texts of the failures and races, as far as CUDA's device side has what they call."""
    from_python = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"', re.S)
    not_on_a_device = ("abort(", "exit(", "sleep(", "write(f", "unistd", "assert.h", "stdio.h", "stdlib.h", "undefined")
    not_cuda = (
        "wmma::fragment<int>",
        "int i = 3\n}",
        "threadIdx.x = 3",
        "oops",
        "half* a",
        "commented",
        "#error",
        "lane; }",
    )
    placeholders = ("BARRIER", "SYNC", "ADD", "big[20000]")
    seen = 0
    for file in sorted(Path(__file__).parent.glob("test_cuda_cpp*.py")):
        if file.name == Path(__file__).name:
            continue
        for match in from_python.finditer(file.read_text()):
            text = match[1] or (match[2] or "").encode().decode("unicode_escape")
            if "__global__ void" not in text or "}" not in text or "{{" in text:
                continue
            if any(word in text for word in (*not_on_a_device, *not_cuda, *placeholders)):
                continue
            try:
                ptx(text)
            except Refused as refused:
                raise AssertionError(f"{file.name}: NVRTC refuses\n{text}\n{refused}") from None
            seen += 1
    assert seen > 25


def test_messages_of_nvrtc_name_the_cells_line():
    text = "__global__ void k(float* a) {\n a[0] = undefined_thing;\n}"
    with pytest.raises(Refused) as caught:
        ptx(text)
    error = explain_nvrtc(str(caught.value), text, "cell")
    assert error.lines == (2,) and 'line 2 of your cell: identifier "undefined_thing" is undefined' in str(error)
    assert "a[0] = undefined_thing;" in str(error)
