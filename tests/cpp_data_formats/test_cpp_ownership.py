"""The buffer outlives its reader, is shared and not copied, and is freed once. The locale changes nothing."""

import gc
import os
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest

from labs.cpp_data_formats import readers, views
from labs.cpp_data_formats.specimens import FOLDER

ROOT = Path(__file__).parents[2]
READS = {
    "csv": lambda: readers.read_csv(FOLDER / "plain.csv").values,
    "json": lambda: readers.read_json(FOLDER / "plain.json"),
    "hdf5": lambda: readers.read_hdf5(FOLDER / "gzip.h5", "x"),
    "image": lambda: readers.read_image(FOLDER / "rgb.png"),
    "npy": lambda: readers.read_npy(FOLDER / "plain.npy"),
}


@pytest.mark.parametrize("kind", READS)
def test_a_buffer_lives_as_long_as_somebody_looks_and_is_freed_once(readers_built, kind):
    torch = pytest.importorskip("torch")
    gc.collect()
    before = readers_built.buffers_alive()
    array = READS[kind]()
    expected = array.copy()
    assert readers_built.buffers_alive() == before + 1 and array.ctypes.data % 64 == 0
    gone = weakref.ref(array)
    tensor = torch.from_numpy(array)
    assert tensor.data_ptr() == array.ctypes.data, "torch sees the same memory"
    row = tensor[-1]
    del array, tensor
    gc.collect()
    assert readers_built.buffers_alive() == before + 1, "a view keeps the memory"
    assert np.array_equal(row.numpy(), expected[-1])
    del row
    gc.collect()
    assert gone() is None and readers_built.buffers_alive() == before


def test_reading_and_failing_many_times_leaves_nothing_behind(readers_built):
    gc.collect()
    before = readers_built.buffers_alive()
    for _ in range(50):
        for name in ("ragged_short", "word", "quote_open"):
            with pytest.raises(readers.FormatError):
                readers.read_csv(FOLDER / f"{name}.csv")
        with pytest.raises(readers.FormatError):
            readers.read_image(FOLDER / "truncated.jpg")
    gc.collect()
    assert readers_built.buffers_alive() == before


def test_each_library_sees_the_same_bytes_and_the_column_major_map_other_numbers(readers_built):
    values = np.arange(1.0, 7.0).reshape(2, 3)
    seen = views.seen_by(values)
    assert {view.address for view in seen} == {values.ctypes.data}
    for view in seen:
        if view.type == "Map<MatrixXd>":
            assert view.row_sums == (1 + 3 + 5, 2 + 4 + 6) and view.second == 3, "column after column"
        else:
            assert view.row_sums == (6, 15) and view.second == 2
            assert view.shape == ((3, 2) if view.library == "Armadillo" else (2, 3))
    assert [view.library for view in seen][:2] == ["NumPy", "torch"]
    for strange in (values.T, values.astype("f4"), values[:, ::2]):
        with pytest.raises(TypeError, match="without a copy"):
            views.seen_by(strange)
    for empty in ((0, 3), (2, 0), (1, 1)):
        views.seen_by(np.ones(empty))


CHILD = """
import locale, sys
from labs.cpp_data_formats import readers
assert locale.setlocale(locale.LC_ALL, "de_DE.UTF-8") and locale.localeconv()["decimal_point"] == ","
import ctypes
strtod = ctypes.CDLL(None).strtod
strtod.restype = ctypes.c_double
assert strtod(b"1.5", None) == 1.0, "C's own strtod is misled in this locale"
from labs.cpp_data_formats.errors import MissingPart
from labs.cpp_data_formats.specimens import SPECIMENS
import numpy as np
for specimen in SPECIMENS:
    try:
        values = specimen.read()
    except MissingPart:
        continue
    except readers.FormatError as problem:
        assert specimen.values is None and specimen.error in str(problem), specimen.file
    else:
        assert specimen.values is not None, specimen.file
        assert np.array_equal(values, np.asarray(specimen.values), equal_nan=True), specimen.file
print("the same")
"""


def test_the_locale_changes_nothing(readers_built, tmp_path):
    made = (
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")], capture_output=True)
        if Path("/usr/share/i18n/locales/de_DE").exists()
        else None
    )
    if made is None or not (tmp_path / "de_DE.UTF-8").exists():
        pytest.skip("no German locale can be made here: install the package locales")
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "PYTHONPATH": str(ROOT), "LOCPATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "the same", done.stderr


def test_what_the_system_refuses_is_an_oserror(readers_built, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        readers.read_csv(tmp_path / "nowhere.csv")
    with pytest.raises(IsADirectoryError):
        readers.read_image(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen([sys.executable, "-c", f"open({str(tmp_path / 'pipe')!r}, 'w').close()"])
    with pytest.raises(OSError, match="Illegal seek"):
        readers.read_csv(tmp_path / "pipe")
    process.wait(timeout=60)


def test_options_that_cannot_be_meant_are_refused(readers_built):
    for options, words in (
        ({"delimiter": ".."}, "one ASCII character"),
        ({"delimiter": "."}, "delimiter must be"),
        ({"decimal": ","}, "delimiter must be"),
        ({"thousands": "."}, "thousands must be"),
        ({"quote": ","}, "quote must be"),
        ({"columns": []}, "names no column"),
        ({"columns": ["a", "a"]}, "asked for twice"),
        ({"header": "no"}, "header must be"),
        ({"threads": 0}, "at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            readers.read_csv(FOLDER / "plain.csv", **options)
    with pytest.raises(readers.FormatError, match="no column called 'z'"):
        readers.read_csv(FOLDER / "plain.csv", columns=["z"])
    with pytest.raises(readers.FormatError, match="only 3 columns"):
        readers.read_csv(FOLDER / "plain.csv", columns=[3])
    assert readers.read_csv(FOLDER / "plain.csv", columns=["c", "a"]).values.tolist() == [[3, 1], [6, 4]]
    assert readers.read_csv(FOLDER / "plain.csv").column("b").tolist() == [2, 5]


def test_an_interpreter_may_end_while_arrays_are_alive(readers_built):
    code = f"""
        from labs.cpp_data_formats import readers
        kept = [readers.read_csv({str(FOLDER / "plain.csv")!r}).values for _ in range(3)]
        kept.append(kept)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr


HELPERS = """
import os, signal, time
from pathlib import Path
from labs.cpp_data_formats import readers

def helpers():
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(c) for c in children if Path(f"/proc/{c}/comm").read_text().strip() == "hdf5_helper"]

def read():
    return readers.read_hdf5(FILE, "x").sum() == 66

assert read() and read() and len(helpers()) == 1, "started once"
first, = helpers()
os.kill(first, signal.SIGKILL)
# The child that it forked ahead may still answer one question.
assert read() and read() and first not in helpers(), "lost: another way, or another helper"
assert read() and len(helpers()) == 1
second, = helpers()
kept = helpers()
pid = os.fork()
if not pid:
    os._exit(0 if read() and helpers() != kept else 1)
assert os.waitpid(pid, 0)[1] == 0, "a fork has its own"
assert read() and helpers() == [second], "and leaves that of its parent alone"
os.closerange(3, 64)
assert read() and len(helpers()) == 1 and helpers() != [second], "somebody closed all files"
FILE = os.path.abspath(FILE)
os.chdir("/")
assert read(), "in another folder"
print(*helpers(), second)
"""


def test_the_helper_for_hdf5_is_kept_replaced_and_gone_in_the_end(readers_built):
    if "HDF5" not in readers_built.__parts__:
        pytest.skip("this build has no HDF5")
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this system does not list the children of a process in /proc")
    done = subprocess.run(
        [sys.executable, "-c", f"FILE = {str((FOLDER / 'plain.h5').relative_to(ROOT))!r}\n{HELPERS}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    for pid in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
