"""The %%cuda cell, unsolved answers, compiler messages, and what a text of CUDA C++ declares."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from labs.kit.exercise.answers import is_answer
from labs.kit.gpu.cplusplus import compile_cuda, register, scanning
from labs.kit.gpu.cplusplus.magic import parse_line, run_cell
from labs.kit.native.failures import CompileError, NoCompiler

SOURCE = runpy.run_path(str(Path(__file__).parent / "cuda_cpp_sources.py"))
UNSOLVED = '__global__ void add(const float* a, float* b, int n) {\n  #error "not solved yet"\n}\n'


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # no trace in the tester's own history
    shell = InteractiveShell()
    register(shell)
    yield shell
    shell.history_manager.end_session()


def test_a_cell_binds_each_kernel_that_it_names(notebook):
    notebook.run_cell_magic("cuda", "tiled scale", SOURCE["TILED"])
    scale = notebook.user_ns["scale"]
    c = np.arange(100, dtype="f")
    scale[4, 32](c, 3.0, 100)
    np.testing.assert_array_equal(c, 3 * np.arange(100))
    assert is_answer(scale) and scale.unsolved is False
    assert (scale.source.text, scale.source.symbols, scale.source.language) == (SOURCE["TILED"], ("scale",), "cuda")
    assert repr(notebook.user_ns["tiled"]) == "<CUDA kernel tiled(A, B, C, M, N, K) on the CPU>"


def test_a_template_is_bound_without_its_arguments(notebook):
    notebook.run_cell_magic("cuda", '"rotate<int, 4>"', SOURCE["TEMPLATE"])
    out = np.zeros(4, np.int32)
    notebook.user_ns["rotate"][1, 4](np.arange(4, dtype=np.int32), out, 1)
    assert out.tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("line", ["", "--slow add", "a-b", "--timeout", "--timeout 0 add", '"add'])
def test_a_first_line_that_is_not_understood(notebook, line):
    with pytest.raises(UsageError, match="%%cuda name"):
        notebook.run_cell_magic("cuda", line, SOURCE["ADD"])


def test_options_of_a_cell():
    assert parse_line("--fast --timeout 2.5 a b a") == (("a", "b"), {"checked": False, "timeout": 2.5})
    assert parse_line("--no-races a") == (("a",), {"races": False})


def test_an_unsolved_cell_binds_an_unsolved_answer(notebook):
    notebook.run_cell_magic("cuda", "add", UNSOLVED)
    add = notebook.user_ns["add"]
    assert add.unsolved is True and is_answer(add) and add.source.unsolved
    with pytest.raises(NotImplementedError, match="not solved yet"):
        add[1, 32](np.zeros(3, "f"))


def test_an_exercise_reports_an_unsolved_cell_as_unsolved():
    from labs.kit.exercise import Case, Exercise

    def run(answers, inputs):
        answers[0][1, 32](inputs["x"])

    exercise = Exercise("add", "add", 1, lambda seed: [Case("one", {"x": 1})], run, lambda case, output: None)
    answers = (run_cell("add", UNSOLVED)["add"],)
    wrong = exercise.judge(exercise.cases(1)[0], lambda inputs: exercise.run(answers, inputs))
    assert wrong.hint == "unsolved"


def test_the_compilers_message_names_the_cells_line_and_nothing_of_ours(notebook):
    with pytest.raises(CompileError) as caught:
        run_cell("k", "__global__ void k(float* a) {\n a[0] = undefined_thing;\n}")
    text = str(caught.value)
    assert "line 2 of your cell" in text and "undefined_thing" in text and caught.value.lines == (2,)
    assert not any(word in text for word in ("warning", "emulated", ".h:", "/tmp", "noipa", "code.cpp"))


@pytest.mark.parametrize(
    ("text", "line", "match"),
    [
        ("__global__ void k(half* a) {}", 1, "half"),
        ("__global__ void k(float* a) {\n threadIdx.x = 3; }", 2, "read-only"),
        ("#define T 4\n#include <mma.h>\n__global__ void k(float* a) {\n\n  int i = 3\n}", 6, "expected"),
        ("__global__ void k(int n) {\n wmma::fragment<int> f;\n}", 2, "wmma"),
    ],
)
def test_errors_of_learners(text, line, match):
    with pytest.raises(CompileError, match=match) as caught:
        compile_cuda(text)
    assert line in caught.value.lines or line - 1 in caught.value.lines


def test_macros_of_the_learner_do_not_reach_the_header():
    text = "#define T 16\n#define N 3\n#define mask 1\n#define value 2\n#define lane 7\n#include <mma.h>\n"
    out = np.zeros(1, "f")
    compile_cuda(text + "__global__ void k(float* out) { out[0] = T * N + lane; }")[1, 1](out)
    assert out[0] == 55


def test_too_much_shared_memory_is_refused():
    text = "__global__ void k(float* a) { __shared__ float big[20000]; big[threadIdx.x] = 1; a[0] = big[0]; }"
    with pytest.raises(CompileError, match=r"k\(float\*\) declares 80000 bytes of __shared__ arrays; at most 49152"):
        compile_cuda(text)


def test_names_that_are_not_there():
    with pytest.raises(CompileError, match="no kernel in your cell"):
        compile_cuda("int x;")
    with pytest.raises(CompileError, match=r"no kernel sum in your cell. There is: add"):
        compile_cuda(SOURCE["ADD"], "sum")
    with pytest.raises(CompileError, match=r"rotate is a template: name what to compile, for example 'rotate<16>'"):
        compile_cuda(SOURCE["TEMPLATE"], "rotate")
    with pytest.raises(CompileError, match="rotate is a template"):
        compile_cuda(SOURCE["TEMPLATE"])


def test_lesson_code_has_its_own_name_in_messages():
    with pytest.raises(CompileError, match=r"line 1 of your lesson\.cu"):
        compile_cuda("__global__ void k() { oops; }", label="lesson.cu")
    with pytest.raises(IndexError, match=r"lesson\.cu:1, in k"):
        compile_cuda("__global__ void k(float* a) { a[9] = 1; }", label="lesson.cu")[1, 1](np.zeros(3, "f"))


def test_without_a_compiler_a_cell_says_what_to_install(notebook, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NoCompiler, match=r"no C[+][+] compiler was found.*CUDA C[+][+].*\n.*apt-get install"):
        compile_cuda(SOURCE["ADD"])
    notebook.run_cell_magic("cuda", "add", SOURCE["ADD"])
    assert "apt-get install" in capsys.readouterr().out
    with pytest.raises(NoCompiler, match="apt-get install"):
        notebook.user_ns["add"][1, 32]()
    assert notebook.user_ns["add"].unsolved is False


def test_clang_is_refused_in_words(monkeypatch):

    from labs.kit.gpu.cplusplus import building
    from labs.kit.native.toolchain import Compiler

    monkeypatch.setattr(building, "compiler", lambda: Compiler(Path("/opt/g++"), "Apple clang version 17.0.0"))
    with pytest.raises(NoCompiler, match=r"needs g\+\+ of GCC, and /opt/g\+\+ is Clang"):
        compile_cuda(SOURCE["ADD"])


def test_a_gpu_that_was_asked_for_and_is_not_there(monkeypatch):
    from labs.kit.gpu.cplusplus import on_gpu

    monkeypatch.setattr(on_gpu, "_devices", lambda: 0)
    monkeypatch.setenv("LABS_GPU", "real")
    with pytest.raises(RuntimeError, match="no CUDA device answers"):
        compile_cuda(SOURCE["ADD"])


def test_a_gpu_without_cupy(monkeypatch):
    from labs.kit.gpu.cplusplus import on_gpu

    monkeypatch.setattr(on_gpu, "_devices", lambda: 1)
    monkeypatch.setattr(on_gpu.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("LABS_GPU", "real")
    with pytest.raises(RuntimeError, match="pip install cupy-cuda13x"):
        compile_cuda(SOURCE["ADD"])
    monkeypatch.delenv("LABS_GPU")
    with pytest.warns(UserWarning, match="pip install cupy-cuda13x.*runs on the CPU"):
        assert compile_cuda(SOURCE["ADD"]).where == "cpu"


def test_the_header_and_the_worker_are_free_of_warnings(tmp_path):
    """Every template of the header is used once; g++ has nothing to say with -Wall and -Wextra."""
    from labs.kit.gpu.cplusplus.building import COMMON, FAST, INCLUDE, worker_text
    from labs.kit.native.toolchain import compiler, run_compiler

    own = [flag for flag in (*COMMON, *FAST) if flag not in ("-w", "-nodefaultlibs", "-lgcc")]
    kernels = "".join(
        f"namespace n{i} {{ {text.partition('using namespace nvcuda;')[2]} }}\n"
        for i, (text, _) in enumerate(SOURCE["SOURCES"].values())
        if "nvcuda" in text
    )
    text = f'#include "cuda_on_cpu.h"\n#include <mma.h>\nusing namespace nvcuda;\n{kernels}'
    for name, program, flags in (
        ("cell.cpp", text, ["-Wno-unused-function", "-Wno-unused-parameter", *own]),
        ("worker.cpp", worker_text(), []),
    ):
        (tmp_path / name).write_text(program)
        command = [str(compiler().path), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *flags]
        status, said = run_compiler([*command, f"-I{INCLUDE}", name], tmp_path)
        assert (status, said) == (0, "")


# ---- scanning ------------------------------------------------------------------------------------------------------
def test_kernels_and_parameters_are_found():
    text = """// __global__ void commented(int n) {
    extern "C" __global__ void __launch_bounds__(256) first(const float* __restrict__ x, unsigned long long n,
                                                            float4 *y, uchar3 z, const __nv_bfloat16 *b) { }
    __global__ __launch_bounds__(32) void second() { }
    template <class T, int N> static __global__ void third(T *x, size_t n, bool flag) { }
    __global__ void declared(int n);
    """
    found = scanning.kernels(text)
    assert list(found) == ["first", "second", "third"]
    read = [(p.name, p.pointer, p.constant, p.code, p.size) for p in found["first"].parameters]
    assert read == [
        ("x", True, True, "f", 8),
        ("n", False, False, "Q", 8),
        ("y", True, False, "f", 8),
        ("z", False, False, "B", 0),
        ("b", True, True, "z", 8),
    ]
    assert found["second"].parameters == () and found["third"].template
    assert [(p.name, p.code) for p in found["third"].parameters] == [("x", "X"), ("n", "Q"), ("flag", "?")]


@pytest.mark.parametrize("name", SOURCE["SOURCES"])
def test_the_text_and_the_compiler_agree_about_parameters(name):
    """The GPU path goes by the text, the CPU path by the compiler."""
    from labs.kit.gpu.cplusplus.arguments import described
    from labs.kit.gpu.cplusplus.building import build_library
    from labs.kit.gpu.cplusplus.child import NURSERY

    text, kernels = SOURCE["SOURCES"][name]
    with NURSERY.lock:
        _, signatures, constants = NURSERY.child().load(build_library(text, kernels))
    assert set(constants) == set(scanning.constants(text))
    for kernel in kernels:
        declared = scanning.kernels(text)[kernel.partition("<")[0]].parameters
        for read, true in zip(declared, described(declared, signatures[kernel]), strict=True):
            assert read == true or read.code == "X"


def test_other_declarations_are_found():
    text = """__constant__ float a[3] = {1, 2, 3}; __constant__ unsigned char b; // __constant__ int no;
    extern __shared__ float4 tile[]; __global__ void k() { extern __shared__ __align__(16) char bytes[]; }"""
    assert scanning.constants(text) == {"a": "f", "b": "B"}
    assert scanning.dynamic_shared(text) == ("bytes", "tile")
