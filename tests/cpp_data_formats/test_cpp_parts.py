"""What is missing is told: a library that was not there when the readers were built, or a compiler."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from labs.cpp_data_formats import extension, readers, slabs
from labs.cpp_data_formats.errors import FormatError, MissingPart
from labs.cpp_data_formats.specimens import FOLDER

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("part", "call", "install"),
    [
        ("HDF5", lambda: readers.read_hdf5(FOLDER / "plain.h5", "x"), "libhdf5-dev"),
        ("HDF5", lambda: slabs.read_hdf5_slab(FOLDER / "plain.h5", "x", 0, 2), "libhdf5-dev"),
        ("simdjson", lambda: readers.read_json(FOLDER / "plain.json"), "pip install pysimdjson"),
    ],
)
def test_a_reader_without_its_library_says_what_to_install(readers_built, monkeypatch, part, call, install):
    without = {name: version for name, version in readers_built.__parts__.items() if name != part}
    monkeypatch.setattr(extension, "native", lambda: SimpleNamespace(__parts__=without))
    with pytest.raises(MissingPart, match=f"no {part}, so it lacks: .*{install}") as told:
        call()
    assert "Install it" in str(told.value)
    assert extension.parts()[part] is None


def test_without_a_compiler_the_readers_say_what_to_install(tmp_path):
    """In a process of its own, which finds neither a compiler nor what was built before."""
    code = """
        from labs.cpp_data_formats import readers
        from labs.kit.native import NoCompiler
        try:
            readers.read_csv("x.csv")
        except NoCompiler as told:
            print(told)
    """
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(line[8:] for line in code.splitlines())],
        env={
            "PATH": str(tmp_path),
            "LABS_CACHE": str(tmp_path / "cache"),
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "no C++ compiler was found" in done.stdout and "apt-get install g++" in done.stdout, done.stderr


def test_the_lesson_is_imported_without_a_compiler_and_without_big_packages(tmp_path):
    code = """
        import sys
        for name in ("torch", "matplotlib", "pandas", "h5py", "pyarrow"):
            sys.modules[name] = None
        from labs.cpp_data_formats import readers, slabs, specimens, views, errors, extension
    """
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(line[8:] for line in code.splitlines())],
        env={
            "PATH": str(tmp_path),
            "LABS_CACHE": str(tmp_path / "cache"),
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "cache").exists() or not os.listdir(tmp_path / "cache")


# --- Arrow, by pyarrow -----------------------------------------------------------------------------------------------


@pytest.fixture
def arrow(tmp_path):
    """Write columns to a file; returns its path."""
    pyarrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")

    def write(**columns):
        feather.write_feather(pyarrow.table(columns), tmp_path / "x.arrow")
        return tmp_path / "x.arrow"

    return write


def test_arrow_columns_become_a_row_major_table(arrow):
    table = readers.read_arrow(arrow(a=np.array([1.5, -0.0]), b=np.array([2, 3], "i4"), c=np.array([2**53, 0], "u8")))
    assert table.names == ("a", "b", "c") and table.values.flags.c_contiguous
    assert table.values.tolist() == [[1.5, 2, 2.0**53], [0, 3, 0]] and np.signbit(table.values[1, 0])
    assert readers.read_arrow(arrow(a=np.empty(0))).values.shape == (0, 1)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": ["x"]}, r"column 1 \('a'\) holds string: expected numbers"),
        ({"a": [1.0], "b": [None]}, r"column 2 \('b'\) holds null"),
        ({"a": [1.0, None]}, r"column 1 \('a'\) lacks 1 values"),
        ({"a": [2**53 + 1]}, r"column 1 \('a'\) holds integers that float64 would change"),
        ({"a": [2**63 - 1]}, r"column 1 \('a'\) holds integers that float64 would change"),
    ],
)
def test_arrow_columns_that_are_no_numbers_are_refused(arrow, columns, told):
    with pytest.raises(FormatError, match=told):
        readers.read_arrow(arrow(**columns))


def test_arrow_files_that_are_damaged_are_refused(arrow):
    path = arrow(a=np.arange(5.0))
    whole = path.read_bytes()
    for content in (b"", b"a,b\n1,2\n", whole[:-20], whole[:10]):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"x\.arrow"):
            readers.read_arrow(path)
    with pytest.raises(FileNotFoundError):
        readers.read_arrow(path.with_name("nowhere.arrow"))
