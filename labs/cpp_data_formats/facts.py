"""What people say about JSON and HDF5, each sentence put to the test on this machine."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Fact:
    """A sentence, and what a test of it found.

    Parameters
    ----------
    claim : str
    found : str
        What was measured, in words with numbers.
    holds : bool
    """

    claim: str
    found: str
    holds: bool


def best(work, repeats=3):
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def check(rows=8_000, columns=32):
    """Put the seed's claims to the test.

    Returns
    -------
    list of Fact

    Raises
    ------
    ImportError
        Without h5py, which writes the HDF5 files.
    """
    import h5py

    values = np.random.default_rng(1).standard_normal((rows, columns))
    with tempfile.TemporaryDirectory(prefix="facts-") as folder:
        text, binary = Path(folder) / "x.json", Path(folder) / "x.h5"
        text.write_text(json.dumps(values.tolist()))
        with h5py.File(binary, "w") as file:
            file["x"] = values
        return [
            _slow(text, binary, h5py), _poor(text, values), _element(text, binary, h5py, rows),
            _compression(Path(folder), values, h5py), _one_file(Path(folder), h5py), _tools(text, binary),
        ]  # fmt: skip


def _whole(text):
    return np.array(json.loads(text.read_text()))


def _slow(text, binary, h5py):
    def read():
        with h5py.File(binary) as file:
            return file["x"][()]

    ratio = best(lambda: _whole(text)) / best(read)
    return Fact("JSON is slow for matrices", f"json takes {ratio:.0f} times as long as h5py", ratio > 3)


def _poor(text, values):
    ratio = text.stat().st_size / values.nbytes
    back = np.array(json.loads(json.dumps(values[:2].astype(np.float32).tolist())))
    lost = back.dtype != np.float32
    try:
        json.loads(json.dumps([float("nan")], allow_nan=False))
        nan = "can say nan"
    except ValueError:
        nan = "has no nan"
    found = f"{ratio:.1f} times the bytes; float32 comes back as {back.dtype}; JSON {nan}"
    return Fact("JSON is poor for matrices", found, ratio > 2 and lost and nan == "has no nan")


def _element(text, binary, h5py, rows):
    def one():
        with h5py.File(binary) as file:
            return file["x"][rows // 2, 3]

    ratio = best(lambda: _whole(text)[rows // 2, 3]) / best(one)
    return Fact("HDF5: fast access to an element", f"one number: json takes {ratio:.0f} times as long", ratio > 10)


def _compression(folder, values, h5py):
    labels = np.random.default_rng(2).integers(0, 10, values.shape)
    sizes = {}
    for name, data in (("labels", labels), ("noise", values)):
        path = folder / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=data, compression="gzip", shuffle=True)
        sizes[name] = data.nbytes / path.stat().st_size
    found = f"gzip: labels {sizes['labels']:.0f} times smaller, random floats {sizes['noise']:.2f} times"
    return Fact("HDF5: compression", found, sizes["labels"] > 5)


def _one_file(folder, h5py):
    path = folder / "run.h5"
    with h5py.File(path, "w") as file:
        file["train/images"] = np.zeros((4, 8, 8), np.uint8)
        file["train/labels"] = np.arange(4)
        file["weights"] = np.ones((3, 2), np.float32)
        file.attrs["seed"] = 7
    with h5py.File(path) as file:
        shapes = {name: file[name].shape for name in ("train/images", "train/labels", "weights")}
        types = {file[name].dtype for name in shapes}
        seed = int(file.attrs["seed"])
    found = f"{len(shapes)} arrays, {len(types)} types, and the seed {seed}, in one file"
    return Fact("HDF5: everything in one file", found, len(types) == 3 and seed == 7)


def _tools(text, binary):
    def readable(path):
        head = path.read_bytes()[:2000]
        return sum(32 <= byte < 127 or byte in b"\r\n\t" for byte in head) / len(head)

    found = f"of its first 2,000 bytes {readable(binary):.0%} are text; of the JSON file's {readable(text):.0%}"
    return Fact("HDF5 needs special tools", found, readable(binary) < 0.5 and readable(text) > 0.99)
