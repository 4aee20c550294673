"""Lesson 21's readers beside the libraries that people use for the same files: same values, CPU time, one run."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.measure import Row, alternate, cpu_seconds, wall_seconds

TITLE = "files into one NumPy array: the course's readers beside others"
NOTES = (
    "Each returns float64 (pictures: uint8) in a NumPy array, equal to the file's numbers; one thread, CPU seconds,",
    "children included. polars, pandas and pyarrow parse and convert to NumPy. HDF5: `isolated`, the default, asks a",
    "small helper process (wall clock, since its time is not ours); `trusted` asks the library in this process.",
    "Two threads: wall clock, against our own one.",
)


def rows(quick: bool) -> list[Row]:
    """Measure all of it; what is not installed is left out, and printed.

    Parameters
    ----------
    quick : bool
        Small files and few runs.
    """
    os.environ["POLARS_MAX_THREADS"] = "1"  # read when polars is imported
    runs, shape = (3, (2_000, 16)) if quick else (9, (170_000, 64))
    values = np.random.default_rng(21).standard_normal(shape).round(6)
    with tempfile.TemporaryDirectory(prefix="readers-") as folder:
        place = Path(folder)
        return [
            *_csv(place, values, runs),
            *_json(place, values[: shape[0] // 5], runs),
            *_hdf5(place, values, runs),
            *_images(place, quick, runs),
        ]


def cpu_with_children(work: Callable[[], object]) -> float:
    """CPU seconds of this process and of the children that ended meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = cpu_seconds(work)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _compare(what, ours, peers, expected, runs, aims, clock=cpu_with_children, unit="s CPU"):
    """A row for each peer; `peers` and `aims` by name. Every contender must return the expected values."""
    contenders = {"ours": ours, **peers}
    for name, contender in contenders.items():
        got = contender()
        if not np.array_equal(got, expected):
            raise AssertionError(f"{what}: {name} returns other values")
        del got
    series = dict(zip(contenders, alternate(list(contenders.values()), runs, clock, warm_up=False)))
    return [Row(what, series["ours"], unit, name, series[name], aims.get(name)) for name in peers]


def _present(what, **names):
    """Of peers by module name those that are installed; says which are not."""
    found = {}
    for module, peer in names.items():
        if importlib.util.find_spec(module) is None:
            print(f"{what}: {module} is not installed, so it is not measured")
        else:
            found.update(peer)
    return found


def _csv(place, values, runs):
    from labs.cpp_data_formats.readers import read_csv

    path = place / "x.csv"
    names = [f"c{i}" for i in range(values.shape[1])]
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(names) + "\n")
        for row in values.tolist():
            file.write(",".join(map(repr, row)) + "\n")

    def polars():
        import polars

        return polars.read_csv(path).to_numpy()

    def pandas():
        import pandas

        return pandas.read_csv(path).to_numpy()

    def pyarrow():
        import pyarrow.csv

        table = pyarrow.csv.read_csv(path, read_options=pyarrow.csv.ReadOptions(use_threads=False))
        return np.column_stack([column.to_numpy() for column in table.columns])

    peers = _present("CSV", polars={"polars": polars}, pandas={"pandas": pandas}, pyarrow={"pyarrow": pyarrow})
    one = lambda: read_csv(path, threads=1).values
    size = f"{values.shape[0]:,} x {values.shape[1]}, {path.stat().st_size / 1e6:.0f} MB"
    result = _compare(f"CSV, {size}", one, peers, values, runs, dict.fromkeys(peers, 1.7))
    two = lambda: read_csv(path, threads=2).values
    big = path.stat().st_size > 1e7  # a small file is not worth a second thread
    aims = {"one thread": 1.8} if big else {}
    return result + _compare("CSV, two threads", two, {"one thread": one}, values, runs, aims, wall_seconds, "s")


def _json(place, values, runs):
    from labs.cpp_data_formats.readers import read_json

    path = place / "x.json"
    path.write_text(json.dumps(values.tolist()))

    def pysimdjson():
        import simdjson

        flat = simdjson.Parser().load(path).as_buffer(of_type="d")
        return np.frombuffer(flat, dtype=float).reshape(values.shape)

    def orjson():
        import orjson

        return np.array(orjson.loads(path.read_bytes()))

    peers = _present("JSON", simdjson={"pysimdjson": pysimdjson}, orjson={"orjson": orjson})
    size = f"{path.stat().st_size / 1e6:.0f} MB"
    return _compare(f"JSON matrix, {size}", lambda: read_json(path), peers, values, runs, dict.fromkeys(peers, 1.0))


def _hdf5(place, values, runs):
    if importlib.util.find_spec("h5py") is None:
        print("HDF5: h5py is not installed, so nothing is measured")
        return []
    import h5py

    from labs.cpp_data_formats.readers import read_hdf5

    path = place / "x.h5"
    some = values[: len(values) // 4]
    with h5py.File(path, "w") as file:
        file.create_dataset("plain", data=values)
        file.create_dataset("gzip", data=some, compression="gzip", chunks=(min(1000, len(some)), values.shape[1]))

    def by_h5py(name):
        with h5py.File(path) as file:
            return file[name][()]

    result = []
    for name, expected in (("plain", values), ("gzip", some)):
        peers = {"h5py": lambda name=name: by_h5py(name)}
        for how, isolated in (("trusted", False), ("isolated", True)):
            ours = lambda name=name, isolated=isolated: read_hdf5(path, name, isolated=isolated)
            what = f"HDF5 {name}, {expected.nbytes / 1e6:.0f} MB, {how}"
            clock, unit, aims = (wall_seconds, "s", {}) if isolated else (cpu_with_children, "s CPU", {"h5py": 0.95})
            result += _compare(what, ours, peers, expected, runs, aims, clock, unit)
    return result


def _images(place, quick, runs):
    from PIL import Image

    from labs.cpp_data_formats.readers import read_image

    height, width = (120, 160) if quick else (1200, 1600)
    y, x, c = np.mgrid[0:height, 0:width, 0:3]
    noise = np.random.default_rng(0).integers(0, 12, (height, width, 3))
    picture = ((np.sin(x / 90 + c) + np.cos(y / 70)) * 60 + 120 + noise).astype("u1")

    result = []
    for kind, options in (("png", {}), ("jpg", {"quality": 90}), ("ppm", {})):
        path = place / f"x.{kind}"
        Image.fromarray(picture).save(path, **options)

        def pillow(path=path):
            return np.asarray(Image.open(path))

        def opencv(path=path):
            import cv2

            return cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)

        peers = {"Pillow": pillow, **_present("images", cv2={"OpenCV": opencv})}
        expected = read_image(path)
        if kind == "jpg":  # decoders round differently, by a few units
            peers = {name: _close(peer, expected) for name, peer in peers.items()}
        result += _compare(
            f"{kind.upper()}, {width} x {height}", lambda path=path: read_image(path), peers, expected, runs, {}
        )
    return result


def _close(peer, expected):
    """The peer, which may differ by a few units: checked now, and then taken for equal."""
    if np.abs(peer().astype(int) - expected).max() > 8:
        raise AssertionError("a decoder of JPEG returns another picture")
    first = [True]

    def same():
        got = peer()
        if first:
            first.clear()
            return expected
        return got

    return same
