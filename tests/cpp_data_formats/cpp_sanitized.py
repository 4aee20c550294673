"""Build the fuzzing harness with sanitizers: what the tests on memory errors, leaks and fuzzing run."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "labs" / "cpp_data_formats" / "native"
FILES = NATIVE.parent / "files"
COMMON = ("error", "buffer", "file")
SOURCES = {
    "csv": ("number", "csv", "csv_layout", "csv_threads"),
    "json": ("number", "json"),
    "image": ("npy", "image", "image_pnm", "image_png", "image_jpeg"),  # and .npy, told by its first bytes
    "hdf5": ("npy", "hdf5", "hdf5_layout", "hdf5_look", "hdf5_child", "hdf5_helper", "chunk_filters"),
}
SEEDS = {"csv": ("*.csv",), "json": ("*.json",), "image": ("*.p*", "*.jpg", "*.npy"), "hdf5": ("*.h5",)}


def build(reader, target, compiler, *flags, driver):
    """Compile the harness of one reader; returns the program, or a sentence on what is missing."""
    sources = [NATIVE / "src" / f"{name}.cpp" for name in (*COMMON, *SOURCES[reader])]
    words = [
        compiler,
        "-std=c++17",
        "-O1",
        "-g",
        f"-DREADER_{reader}",
        *flags,
        "-I",
        str(NATIVE / "include"),
        "-pthread",
    ]
    libraries = []
    if reader == "json":
        spec = importlib.util.find_spec("simdjson")
        if spec is None:
            return "pysimdjson, which ships simdjson's source, is not installed"
        folder = Path(spec.origin).parent
        sources.append(folder / "simdjson.cpp")
        words += ["-isystem", str(folder)]
    if reader == "image":
        words += ["-DLAB_HAS_zlib=1", "-DLAB_HAS_libjpeg=1"]
        libraries = ["-lz", "-ljpeg"]
    if reader == "hdf5":
        found = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5"], capture_output=True, text=True)
        if found.returncode:
            return "libhdf5-dev is not installed"
        libraries = [*found.stdout.split(), "-lz"]
    sources += [NATIVE / "fuzz" / "harness.cpp", *([NATIVE / "fuzz" / "driver.cpp"] if driver else [])]
    done = subprocess.run([*words, *map(str, sources), *libraries, "-o", str(target)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the harness for {reader} was not built:\n{done.stderr[-3000:]}")
    return target


def seeds(reader):
    """The shipped files of one reader."""
    return sorted(path for pattern in SEEDS[reader] for path in FILES.glob(pattern))


def more_hdf5(folder):
    """Files for the fuzzer to start from, with dataset "x": each index of chunks, filter and form of group; by h5py."""
    try:
        import h5py
        import numpy as np
    except ImportError:
        return
    matrix = np.arange(20.0).reshape(5, 4)
    forms = (
        {"chunks": (2, 2)},
        {"chunks": (5, 4)},
        {"chunks": (2, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
        {"chunks": (2, 3), "maxshape": (None, 4)},
        {"chunks": (2, 3), "maxshape": (None, None), "compression": "gzip"},
        {"chunks": (2, 3), "maxshape": (9, 9)},
        {"chunks": (1, 1, 2), "data": np.arange(24, dtype=">i2").reshape(2, 3, 4)},
        {"data": np.float32(3)},
        {"data": matrix > 3},
        {"data": np.zeros(3, dtype=[("a", "i4"), ("b", "f8")])},
    )
    for version in ("earliest", "v108", "v110"):
        for i, form in enumerate(forms):
            with h5py.File(folder / f"{version}-{i}.h5", "w", libver=(version, "v110")) as file:
                file.create_dataset("x", **{"data": matrix, "track_times": False, **form})
        with h5py.File(folder / f"{version}-group.h5", "w", libver=(version, "v110"), userblock_size=512) as file:
            group = file.create_group("g", track_order=True)
            for i in range(12):
                group.create_dataset(f"n{i}", data=matrix, chunks=(2, 2))
            file["x"] = h5py.SoftLink("/g/n3")
            group["n3"].attrs["MATLAB_class"] = np.bytes_("double")


def clang():
    """clang++ with libFuzzer, or None."""
    return next((found for name in ("clang++", "clang++-14", "clang++-16") if (found := shutil.which(name))), None)
