"""Every form in which a kernel may come, what is said when it cannot be shown, the cache, and the stored listings."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from labs.kit.gpu import inspect
from labs.kit.gpu.inspect import (
    CompileFailed,
    MissingPackage,
    NotInspectable,
    examples,
    machine_code,
    microscope,
    stored,
    targets,
)
from labs.kit.gpu.inspect.devices import missing, sentence, target
from labs.kit.gpu.inspect.portable import portable, written
from labs.kit.gpu.inspect.request import kernel_names, request
from labs.kit.native.source import Source

SIX = 6
TABLE = np.array([1, 2, 3], np.int32)


def need(language, format):
    if lacking := missing(language, format):
        pytest.skip(sentence(language, format, lacking))


class Stand:
    """Stands for the `cuda` of a notebook: what a kernel sees of numba's module or of the virtual device."""

    threadIdx = blockIdx = shared = None

    @staticmethod
    def jit(function=None, device=False):
        wrap = lambda body: SimpleNamespace(py_func=body)
        return wrap(function) if function else wrap


cuda = Stand()


def scaled(value):
    return value * SIX


jitted = cuda.jit(device=True)(scaled)


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = jitted(x[i]) + TABLE[1] + np.float32(0.5)


def test_a_kernel_takes_along_what_it_uses():
    parts = portable(kernel, "numba")
    assert parts.name == "kernel" and parts.parameters == ("x", "out")
    assert parts.source.splitlines()[0] == "@cuda.jit(device=True)"
    assert "def scaled(value):" in parts.source and "\njitted = scaled" in parts.source
    assert parts.source.index("def scaled") < parts.source.index("def kernel")
    assert "SIX = 6" in parts.header and "from numba import cuda as cuda" in parts.header
    assert any(line.endswith("TABLE = numpy.array([1, 2, 3], dtype='<i4')") for line in parts.header)


def test_a_kernel_of_the_virtual_device_compiles(monkeypatch):
    need("numba", "ptx")
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")  # as a notebook may have it; the child must not
    x = np.zeros(8, np.float32)
    listing = machine_code(kernel, "sm_80", format="ptx", args=(x, x))
    assert listing.widths("global load") == {32: 1} and listing.kernel == "kernel"
    assert {
        listing.source.splitlines()[each.line - 1].strip() for each in listing.find("st.global.f32|st.global.b32")
    } == {"out[i] = jitted(x[i]) + TABLE[1] + np.float32(0.5)"}


def test_closures_and_unknown_values():
    factor, handle = 3, open(os.devnull)

    def times(x):
        x[0] = x[0] * factor

    assert "factor = 3" in portable(times, "numba").header

    def reads(x):
        x[0] = handle

    with handle, pytest.raises(NotInspectable, match="reads uses handle, a TextIOWrapper"):
        portable(reads, "numba")
    namespace = {}
    exec("def nowhere(x):\n    pass", namespace)
    with pytest.raises(NotInspectable, match="source of nowhere cannot be found"):
        portable(namespace["nowhere"], "numba")


def test_text_of_a_python_kernel():
    parts = written(examples.TRITON)
    assert (parts.language, parts.name, parts.parameters[-1]) == ("triton", "triton_product", "BK")
    two = "@cuda.jit\ndef one(x):\n    pass\n\n\n@cuda.jit\ndef two(x):\n    pass"
    assert written(two, "two").name == "two"
    for text, message in (
        (two, "2 kernels in this text"),
        ("@cuda.jit\ndef one(x:", "not Python: line 2"),
    ):
        with pytest.raises(NotInspectable, match=message):
            written(text)


def test_text_of_a_cuda_cell():
    text = (
        "// __global__ void no(int)\n__global__ void __launch_bounds__(256) one(float *x) {}\n__global__ void two() {}"
    )
    assert kernel_names(text) == ["one", "two"]
    cell = SimpleNamespace(source=Source(text, ("two",), "cuda", "cell"))
    wanted = request(cell, target("sm_80"))
    assert (wanted.language, wanted.name, wanted.source) == ("cuda", "two", text)
    assert request(cell.source, target("sm_80"), name="one").name == "one"
    assert request(SimpleNamespace(name="one", source=cell.source), target("sm_80")).name == "one"
    with pytest.raises(NotInspectable, match="say name= one of one, two"):
        request(text, target("sm_80"))
    with pytest.raises(NotInspectable, match="no kernel 'three' in this text; there is one, two"):
        request(text, target("sm_80"), name="three")
    unsolved = Source('#error "not solved yet"', ("one",), "cuda", "cell")
    with pytest.raises(NotInspectable, match="not solved yet"):
        request(unsolved, target("sm_80"))


def test_a_template_is_instantiated_by_its_name():
    need("cuda", "ptx")
    text = "template <int N> __global__ void scale(float *x) { x[threadIdx.x] *= N; }"
    listing = machine_code(text, "sm_80", format="ptx", name="scale<4>")
    assert listing.kernel == "scale<4>" and listing.count("mul.f32|mul.rn.f32") == 1


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, "sm_80"), {}, "machine_code takes a kernel"),
        ((examples.WMMA, "h100"), {}, "'h100' is not a GPU target"),
        ((examples.WMMA, "sm_80"), {"format": "gcn"}, "has sass and ptx, but no 'gcn'"),
        (("int x;", "sm_80"), {}, "There is no kernel in this text"),
        ((kernel, "gfx942"), {}, "numba-cuda compiles for NVIDIA only"),
        ((kernel, "sm_80"), {}, r"needs the types of kernel's parameters \(x, out\)"),
        ((kernel, "sm_80"), {"args": (TABLE,)}, "has 2 parameters; args has 1"),
        ((kernel, "sm_80"), {"args": (TABLE, "x")}, "in args= there is 'x'"),
        ((kernel, "sm_80"), {"args": (), "signature": ""}, "not both"),
        ((kernel, "sm_80"), {"signature": {"x": "f4"}}, "does not say what out is"),
    ],
)
def test_questions_that_do_not_fit(arguments, options, message):
    with pytest.raises(NotInspectable, match=message):
        machine_code(*arguments, **options)


def test_types_from_arguments():
    wanted = request(kernel, target("sm_80"), args=(np.zeros((2, 3), np.uint8), np.zeros((4, 4), np.float32).T))
    assert wanted.signature == "uint8[:, ::1], float32[:, :]"
    triton = request(examples.TRITON, target("sm_80"), args=(*[np.zeros(2, np.float16)] * 3, 5, 32, 48, 64, 64, 2.5))
    assert triton.signature == "*fp16:16, *fp16:16, *fp16:16, i32, i32:16, i32:16, i32:16, i32:16, fp32"


def test_what_the_compiler_refuses_comes_with_the_line():
    need("cuda", "ptx")
    with pytest.raises(CompileFailed) as caught:
        machine_code("\n__global__ void wrong(int *x) {\n  *x = y;\n}", "sm_80", format="ptx")
    text = str(caught.value)
    assert text.startswith("wrong does not compile for sm_80:\nline 2: error:") and "undefined" in text
    assert caught.value._render_traceback_() == [f"CompileFailed: {text}"]


def test_what_numba_refuses():
    need("numba", "ptx")
    with pytest.raises(CompileFailed, match=r"The kernel has 2 parameters \(x, out\)"):
        machine_code(kernel, "sm_80", format="ptx", signature="float32[::1]")
    with pytest.raises(CompileFailed, match="floaty"):
        machine_code(kernel, "sm_80", format="ptx", signature="floaty[::1], float32[::1]")


def test_the_same_question_is_answered_from_the_cache(monkeypatch, tmp_path):
    need("cuda", "ptx")
    monkeypatch.setenv("LABS_CACHE", str(tmp_path))
    first = machine_code(examples.DIVIDE8, "sm_80", format="ptx")
    monkeypatch.setattr(microscope, "_ask", lambda *_: pytest.fail("asked the compiler twice"))
    assert machine_code(examples.DIVIDE8, "sm_80", format="ptx").text == first.text
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr("labs.kit.gpu.inspect.devices._found", lambda package: False)


def test_without_a_compiler_the_stored_listing_is_shown_and_marked(nothing_installed):
    listing = machine_code(examples.WMMA, "sm_80")
    assert listing.stored and listing.count("HMMA") == 10
    assert listing.origin.startswith("Stored with the course, made by NVRTC 13")
    assert "stored listing" in listing._repr_mimebundle_()["text/html"]


def test_without_a_compiler_another_kernel_gets_one_sentence(nothing_installed):
    changed = examples.WMMA.replace("fill_fragment(c, 0.0f)", "fill_fragment(c, 1.0f)")
    with pytest.raises(MissingPackage) as caught:
        machine_code(changed, "sm_80")
    text = str(caught.value)
    assert "pip install cuda-bindings nvidia-cuda-nvrtc nvidia-cuda-nvdisasm" in text and "your own kernel" in text
    assert "\n" not in text and caught.value.packages[0] == "cuda-bindings"
    assert targets() == {} and not any(inspect.available().values())
    note = inspect.look(changed, "sm_80")
    assert str(note) == text and note._repr_markdown_() == f"> {text}"
    assert inspect.look(examples.WMMA, "sm_80").stored


def test_every_listing_that_is_shipped_can_be_read_without_compilers(nothing_installed):
    used = set()
    for kernel_text, name, format, signature in examples.SHIPPED:
        listing = machine_code(kernel_text, name, format=format, signature=signature)
        assert listing.stored and len(listing.instructions) > 40
        tensor = kernel_text in (examples.WMMA, examples.MFMA) or (kernel_text == examples.TRITON and name != "sm_75")
        assert (listing.counts["tensor"] > 0) == tensor
        used.add(stored.file_name(request(kernel_text, target(name, format), signature)))
    shipped = {path.name for path in stored.SHIPPED.iterdir()}
    assert shipped == used, "no listing of a kernel that has changed is left"
    for path in stored.SHIPPED.iterdir():
        assert set(json.loads(path.read_text())) == {"raw", "kernel", "compiler"}
        assert "/home" not in path.read_text() and "site-packages" not in path.read_text()


def test_stored_listings_say_what_the_compiler_says_here():
    kernel_text, name, format, _ = examples.SHIPPED[5]
    need("cuda", "sass")
    wanted = request(kernel_text, target(name, format))
    kept, made = stored.find(wanted), microscope.compiled(wanted)
    if kept["compiler"] != made["compiler"]:
        pytest.skip(f"the stored listing is of {kept['compiler']}, installed is {made['compiler']}")
    assert microscope.listing(wanted, kept).instructions == microscope.listing(wanted, made).instructions


def test_a_lesson_may_store_its_own(tmp_path, nothing_installed):
    wanted = request("__global__ void own(int *x) { *x = 1; }", target("sm_80"))
    raw = "//--------------------- .text.own ----------\n        /*0000*/      STG.E [R2.64], R0 ;\n"
    path = stored.keep(wanted, {"raw": raw, "kernel": "own", "compiler": "a compiler 1.0"}, tmp_path)
    assert path.name.startswith("own-cuda-sm_80-sass-")
    listing = machine_code("__global__ void own(int *x) { *x = 1; }\n", stored=tmp_path)
    assert listing.stored and listing.widths("global store") == {32: 1}


def test_looking_imports_no_compiler():
    code = (
        "import sys; from labs.kit.gpu.inspect import available, targets; available(); targets();"
        "print([name for name in ('numba', 'triton', 'llvmlite', 'torch', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
