"""A lesson's own extension: built by CMake on demand, kept by content, with the parts that are here."""

import re
import sys
import textwrap

import pytest

from labs.kit.native import CompileError, NativeError, extension, libraries, parts, project

CMAKE = """
cmake_minimum_required(VERSION 3.18...4.0)
project(tiny LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
include(LabParts)
lab_find_parts(nlohmann_json Blaze libfccp)
lab_extension(tiny_readers readers.cpp)
target_compile_definitions(tiny_readers PRIVATE ANSWER=${LAB_ANSWER})
"""
CODE = """
#include <nanobind/nanobind.h>
NB_MODULE(tiny_readers, m) {
    m.def("answer", [] { return ANSWER; });
#if LAB_HAS_nlohmann_json
    m.def("has_json", [] { return true; });
#else
    m.def("has_json", [] { return false; });
#endif
}
"""
OPTIONS = {"LAB_ANSWER": "41", "CMAKE_BUILD_TYPE": "Debug"}  # Debug is built in half the time


@pytest.fixture
def package(own_cache, tmp_path, monkeypatch):
    """A package with an extension of its own; the tests are skipped where it cannot be built, with the reason."""
    try:
        project.cmake()
        libraries.python_headers()
        libraries.nanobind()
        project.compiler()
    except NativeError as error:
        pytest.skip(f"no extensions here: {error}")
    native = tmp_path / "tiny_lesson" / "native"
    native.mkdir(parents=True)
    (native.parent / "__init__.py").touch()
    (native / "CMakeLists.txt").write_text(CMAKE)
    (native / "readers.cpp").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield native
    for name in [name for name in sys.modules if name.startswith("tiny_lesson")]:
        del sys.modules[name]


def test_it_is_built_once_with_what_is_here_and_again_when_it_changes(package, own_cache):
    module = extension("tiny_lesson", options=OPTIONS)
    assert module.answer() == 41
    here = parts.present()
    assert set(module.__parts__) == {name for name in ("nlohmann_json", "Blaze", "libfccp") if here[name]}
    assert module.has_json() == here["nlohmann_json"]
    built = list(own_cache.iterdir())
    assert extension("tiny_lesson", options=OPTIONS) is module
    assert list(own_cache.iterdir()) == built
    assert sorted(path.name for path in package.iterdir()) == ["CMakeLists.txt", "readers.cpp"]  # nothing is left here

    (package / "readers.cpp").write_text(
        CODE.replace("return ANSWER;", "return ANSWER + 1; }  // changed\n    int x {")
    )
    with pytest.raises(CompileError, match=r"the extension in tiny_lesson/native was not built:\n.*readers\.cpp:\d+"):
        extension("tiny_lesson", options=OPTIONS)
    assert list(own_cache.iterdir()) == built


def test_a_library_that_is_installed_later_makes_another_build(package, own_cache, monkeypatch):
    made = []
    monkeypatch.setattr(project, "build_once", lambda name, make, wait: made.append((name, wait)))
    for zlib in (False, True, False):
        monkeypatch.setattr(parts, "present", lambda zlib=zlib: {"HDF5": True, "zlib": zlib})
        project.build(package, options={})
    (name, wait), (other, _), (again, _) = made
    assert name == again != other and wait


def test_each_part_that_cmake_knows_is_one_that_the_doctor_names():
    rules = (project.HERE / "cmake" / "LabParts.cmake").read_text(encoding="utf-8")
    assert set(re.findall(r'part STREQUAL "(\w+)"', rules)) == {part.name for part in parts.PARTS}


def test_a_package_without_one_is_told():
    with pytest.raises(NativeError, match=r"labs\.welcome has no folder 'native' with a CMakeLists\.txt"):
        extension("labs.welcome")


def test_without_cmake_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(project.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(NativeError, match=r"CMake.*is not installed: pip install -e \.$"):
        project.cmake()


def test_versions_of_parts_are_read(tmp_path):
    (tmp_path / "parts.txt").write_text(
        textwrap.dedent("""\
        Eigen 3.4.1
        Blaze
    """)
    )
    assert project.found_parts(tmp_path) == {"Eigen": "3.4.1", "Blaze": ""}


def test_headers_come_from_packages_before_the_system(tmp_path, monkeypatch):
    shipped, system = tmp_path / "site-packages" / "simdjson", tmp_path / "include"
    for folder in (shipped, system):
        folder.mkdir(parents=True)
    (system / "simdjson.h").touch()
    monkeypatch.setattr(libraries, "SYSTEM", (str(system),))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages")])
    assert libraries.header("simdjson.h") == system
    (shipped / "simdjson.h").touch()
    assert libraries.header("simdjson.h") == shipped
    assert libraries.header("absent.h") is None
