"""One matrix in several file formats: how large each file is, and how fast each reader gives back the numbers."""

from __future__ import annotations

import importlib.util
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labs.kit.native.failures import NativeError

from .errors import MissingPart

OURS = ("CSV, this lesson", "JSON, this lesson", "HDF5, this lesson")


@dataclass(frozen=True)
class Measurement:
    """What `measure` found.

    Parameters
    ----------
    nbytes : int
        Of the numbers themselves.
    sizes : dict of str to int
        B of each file, by format.
    seconds : dict of str to list of float
        By reader, from the fastest run to the slowest.
    missing : tuple of str
        A sentence for each reader that could not be measured here.
    """

    nbytes: int
    sizes: dict[str, int]
    seconds: dict[str, list[float]]
    missing: tuple[str, ...] = ()

    def speeds(self) -> dict[str, float]:
        """B of numbers a second by reader: what arrives, however long the text is. Median run, the slowest first."""
        speeds = {name: self.nbytes / statistics.median(times) for name, times in self.seconds.items()}
        return dict(sorted(speeds.items(), key=lambda item: item[1]))

    def ratio(self, slow: str, fast: str) -> float:
        """How many times as long one reader takes as another, by their medians."""
        return statistics.median(self.seconds[slow]) / statistics.median(self.seconds[fast])


def write(values, folder):
    """Write a matrix in every format for which there is a library.

    Parameters
    ----------
    values : ndarray of shape (rows, columns), float64
    folder : path

    Returns
    -------
    dict of str to pathlib.Path
        By format.
    """
    folder, rows = Path(folder), values.tolist()
    files = {name: folder / f"x.{name.replace(' ', '-')}" for name in ("csv", "json", "npy")}
    header = ",".join(f"c{j}" for j in range(values.shape[1]))
    lines = [",".join(map(repr, row)) for row in rows]
    files["csv"].write_text("\n".join([header, *lines, ""]), encoding="ascii")
    files["json"].write_text(json.dumps(rows), encoding="ascii")
    np.save(files["npy"], values)
    if importlib.util.find_spec("h5py"):
        import h5py

        for name, options in (("hdf5", {}), ("hdf5 gzip", {"compression": "gzip", "shuffle": True})):
            files[name] = folder / f"x-{name.replace(' ', '-')}.h5"
            with h5py.File(files[name], "w") as file:
                file.create_dataset("x", data=values, **options)
    if importlib.util.find_spec("pyarrow"):
        import pyarrow as pa
        import pyarrow.feather

        files["arrow"] = folder / "x.arrow"
        table = pa.table({f"c{j}": values[:, j] for j in range(values.shape[1])})
        pyarrow.feather.write_feather(table, files["arrow"], compression="uncompressed")
    return files


def contenders(files):
    """Readers by name: functions without arguments that return the matrix.

    Parameters
    ----------
    files : dict of str to path
        As `write` returns.
    """
    from . import readers

    def by_h5py(path):
        import h5py

        with h5py.File(path) as file:
            return file["x"][()]

    def by_pandas():
        import pandas

        return pandas.read_csv(files["csv"]).to_numpy()

    def by_orjson():
        import orjson

        return np.array(orjson.loads(files["json"].read_bytes()))

    found = {
        "JSON, json": lambda: np.array(json.loads(files["json"].read_text())),
        "JSON, orjson": by_orjson,
        "JSON, this lesson": lambda: readers.read_json(files["json"]),
        "CSV, numpy.loadtxt": lambda: np.loadtxt(files["csv"], delimiter=",", skiprows=1),
        "CSV, pandas": by_pandas,
        "CSV, this lesson": lambda: readers.read_csv(files["csv"], threads=1).values,
        ".npy, numpy": lambda: np.load(files["npy"]),
    }
    if "hdf5" in files:
        found["HDF5 gzip, h5py"] = lambda: by_h5py(files["hdf5 gzip"])
        found["HDF5, h5py"] = lambda: by_h5py(files["hdf5"])
        found["HDF5, this lesson"] = lambda: readers.read_hdf5(files["hdf5"], "x", isolated=False)
    if "arrow" in files:
        found["Arrow, pyarrow"] = lambda: readers.read_arrow(files["arrow"]).values
    return found


def measure(rows=12_000, columns=32, repeats=3) -> Measurement:
    """Write a matrix of random numbers in each format and time each reader on this machine, one thread, files cached.

    Every reader must return the same numbers to the last bit, or nearly so (pandas's usual parser may be off by one
    unit in the last place).
    """
    values = np.random.default_rng(21).standard_normal((rows, columns))
    seconds, missing = {}, []
    with tempfile.TemporaryDirectory(prefix="formats-") as folder:
        files = write(values, folder)
        sizes = {name: path.stat().st_size for name, path in files.items()}
        for name, read in contenders(files).items():
            try:
                got = read()
            except (NativeError, MissingPart, ImportError) as absent:
                missing.append(f"{name} is not measured: {str(absent).splitlines()[0]}")
                continue
            if got.shape != values.shape or not np.allclose(got, values, rtol=1e-15, atol=0):
                raise AssertionError(f"{name} returns other numbers")
            seconds[name] = sorted(_timed(read) for _ in range(repeats))
    if "hdf5" not in files:
        missing.append("HDF5 is not measured: h5py, which writes the file, is not installed (pip install h5py)")
    if "arrow" not in files:
        missing.append("Arrow is not measured: pyarrow is not installed (pip install pyarrow)")
    return Measurement(values.nbytes, sizes, seconds, tuple(missing))


def _timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def chart(measurement):
    """Speeds on a logarithmic axis, the lesson's own readers as diamonds; thin lines span slowest and fastest run.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from . import bars

    speeds = measurement.speeds()
    spread = {
        name: (measurement.nbytes / times[-1], measurement.nbytes / times[0])
        for name, times in measurement.seconds.items()
    }
    return bars.picture(
        speeds, "B/s", title="float64 numbers read, in bytes a second (more is better)",
        name="One matrix, several formats and readers, on this machine", ours=OURS, spread=spread, log=True,
    )  # fmt: skip


def sizes_chart(measurement):
    """Bars of the file sizes, beside the numbers themselves.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from . import bars

    sizes = {"the numbers alone": measurement.nbytes, **measurement.sizes}
    return bars.picture(
        dict(sorted(sizes.items(), key=lambda item: item[1])), "B", title="size of the file (less is better)",
        name="The same matrix of random float64 numbers in several formats",
    )  # fmt: skip
