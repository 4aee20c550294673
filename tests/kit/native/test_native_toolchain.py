"""Finding the compiler, building once, and the words for what does not compile."""

import ctypes
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest

from labs.kit.native import CompileError, NoCompiler
from labs.kit.native.diagnostics import explain, fold
from labs.kit.native.toolchain import Compiler, build, build_once, cache_folder, compiler, find_built

TWO = 'extern "C" int two() { return 2; }\n'


@pytest.fixture
def cxx():
    try:
        return compiler()
    except NoCompiler as error:
        pytest.skip(f"no compiler here: {error}")


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def failing(source, **options):
    with pytest.raises(CompileError) as caught:
        build(source, name="failing", **options)
    return caught.value


def test_what_is_built_is_right_and_built_once(own_cache, cxx):
    path = build(TWO, name="two")
    assert ctypes.CDLL(str(path)).two() == 2
    before = path.stat().st_mtime_ns
    assert build(TWO, name="two") == path and path.stat().st_mtime_ns == before
    assert files(own_cache) == [path.name]


def test_a_program_runs(own_cache, cxx):
    path = build("#include <cstdio>\nint main() { puts(LABS); }", name="p", kind="program", flags=('-DLABS="hello"',))
    assert subprocess.run([path], capture_output=True, text=True).stdout == "hello\n"


def test_the_key_holds_source_flags_headers_and_compiler(own_cache, cxx, tmp_path, monkeypatch):
    header = tmp_path / "h" / "value.hpp"
    header.parent.mkdir()
    header.write_text("constexpr int value = 3;")
    text = '#include "value.hpp"\nextern "C" int two() { return value; }'
    first = build(text, name="v", headers=(header.parent,))
    assert ctypes.CDLL(str(first)).two() == 3
    header.write_text("constexpr int value = 4;")
    second = build(text, name="v", headers=(header.parent,))
    assert ctypes.CDLL(str(second)).two() == 4
    third = build(text, name="v", headers=(header.parent,), flags=("-O0",))
    fourth = build(text + " ", name="v", headers=(header.parent,), flags=("-O0",))
    monkeypatch.setattr("labs.kit.native.toolchain.compiler", lambda: Compiler(cxx.path, cxx.version + " patched"))
    fifth = build(text + " ", name="v", headers=(header.parent,), flags=("-O0",))
    assert len({first, second, third, fourth, fifth}) == 5


def test_code_for_this_cpu_is_not_taken_for_another(own_cache, cxx, monkeypatch):
    assert build(TWO, name="n", flags=("-march=native",)) == build(TWO, name="n", flags=("-march=native",))
    monkeypatch.setattr("labs.kit.native.toolchain._cpu", lambda flags: "another")
    build(TWO, name="n", flags=("-march=native",))
    assert len(files(own_cache)) == 2


def test_variables_of_the_environment_change_nothing(own_cache, cxx, monkeypatch):
    path = build(TWO, name="two")
    path.unlink()
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("CPATH", "/nowhere")
    monkeypatch.setenv("CXXFLAGS", "-O0 -nonsense")
    assert build(TWO, name="two") == path
    assert "not declared" in str(failing("int f() { return x; }")) or "undeclared" in str(
        failing("int f() { return x; }")
    )


def _build_two(cache, line):
    os.environ["LABS_CACHE"] = cache
    line.wait()
    return ctypes.CDLL(str(build(TWO, name="race"))).two()


def test_processes_that_build_the_same_at_once_both_get_it(own_cache, cxx):
    context = multiprocessing.get_context("fork")
    line = context.Barrier(2)
    results = context.SimpleQueue()
    work = lambda: results.put(_build_two(str(own_cache), line))
    both = [context.Process(target=work) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [results.get(), results.get()] == [2, 2]
    assert len(files(own_cache)) == 1  # no half-built folder either


def test_what_takes_long_is_built_by_one_process_while_others_wait(own_cache):
    def make(folder, out):
        with open(own_cache / "builds", "a") as log:
            log.write("x")
        time.sleep(0.3)
        out.write_text("done")

    threads = [threading.Thread(target=build_once, args=("thing", make), kwargs={"wait": True}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (own_cache / "builds").read_text() == "x" and (own_cache / "thing").read_text() == "done"


def test_a_folder_that_another_process_has_built_meanwhile_is_taken(own_cache):
    def make(folder, out):
        other = cache_folder() / "thing"
        other.mkdir()
        (other / "file").write_text("theirs")
        out.mkdir()
        (out / "file").write_text("ours")

    assert (build_once("thing", make) / "file").read_text() == "theirs"
    assert files(own_cache) == ["thing"]


def test_a_build_that_fails_leaves_nothing(own_cache, cxx):
    failing("int f( {")
    assert files(own_cache) == []


def test_a_cache_to_read_comes_first(own_cache, cxx, tmp_path, monkeypatch):
    path = build(TWO, name="two")
    monkeypatch.setenv("LABS_CACHE_READ", str(own_cache))
    monkeypatch.setenv("LABS_CACHE", str(tmp_path / "other"))
    assert build(TWO, name="two") == path
    assert find_built("absent") is None
    assert files(tmp_path / "other") == []


def test_the_line_is_that_of_the_text_whatever_stands_around_it(own_cache, cxx):
    error = failing("int f() {\n\n  return x;\n}", before="int before = 1;\n" * 20, after="int after = 2;")
    assert error.lines == (3,)
    assert str(error).startswith("your code does not compile.\nline 3 of your cell: ")
    assert "return x;" in str(error) and "building-" not in str(error)
    assert "building-" in error.log or "code.cpp" in error.log or "cell:3" in error.log


def test_an_error_inside_a_library_is_told_at_the_line_that_led_there(own_cache, cxx):
    head = "#include <algorithm>\n#include <vector>\nstruct A {};\n"
    text = head + "void f(std::vector<A>& v) {\n  std::sort(v.begin(), v.end());\n}"
    error = failing(text)
    assert error.lines[0] == 5
    assert "std::sort(v.begin(), v.end());" in str(error) and "found inside" in str(error)
    assert len(str(error)) < 900 < len(error.log)


def test_a_brace_that_is_missing_is_told_at_the_last_line(own_cache, cxx):
    assert failing("int f() {\n  return 1;\n", after="int g();").lines[0] in (1, 2)


def test_a_function_without_a_body_is_told(own_cache, cxx):
    error = failing("int other(int);\nint main() {\n  return other(1);\n}", kind="program")
    assert "other(int)" in str(error) and "no body" in str(error)


def test_errors_survive_a_pickle(own_cache, cxx):
    error = pickle.loads(pickle.dumps(failing("int f() { return x; }")))
    assert error.lines == (1,) and "error" in error.log


def test_many_errors_are_counted():
    log = "".join(f"cell:{n}:1: error: wrong {n}\n    {n} | text\n      | ^\n" for n in range(1, 7))
    text = str(explain(log, label="cell", source="text\n" * 9))
    assert "line 1 of your cell: wrong 1\n    text" in text and "wrong 4" not in text
    assert text.endswith("... and 3 more errors; the first one often causes the others.")


def test_long_template_arguments_are_folded():
    inner = "std::" + "x" * 80
    assert fold(f"no match for f<{inner}>(int) in vector<int>") == "no match for f<...>(int) in vector<int>"
    assert fold("a < b and c -> d") == "a < b and c -> d"


def test_without_a_compiler_it_says_what_to_install(monkeypatch, tmp_path, own_cache):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NoCompiler, match=r"no C\+\+ compiler was found.*\n.*apt-get install g\+\+.*xcode-select"):
        build(TWO, name="two")


def test_a_program_that_only_offers_to_install_is_no_compiler(monkeypatch, tmp_path):
    for name in ("g++", "clang++", "c++"):
        fake = tmp_path / name
        fake.write_text("#!/bin/sh\necho install me\nexit 1\n")
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.delenv("CXX", raising=False)
    if sys.platform == "linux":
        monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCompiler):
        compiler()
