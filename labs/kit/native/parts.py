"""The C++ libraries that lessons can use: which are here, and what each missing one costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labs.kit.native import libraries


@dataclass(frozen=True, slots=True)
class Part:
    """A C++ library that a lesson's extension uses when it is here.

    Parameters
    ----------
    name : str
        As in CMake's ``lab_find_parts``.
    header : str
        A file that shows that it is here.
    without : str
        What its absence costs.
    install : str
        How to get it.
    """

    name: str
    header: str
    without: str
    install: str

    def folder(self) -> Path | None:
        """The folder that holds its header, or None."""
        if self.name == "Eigen":
            return libraries.eigen()
        for name in (self.header, *_ELSEWHERE.get(self.name, ())):
            if found := libraries.header(name):
                return found
        return None


_ELSEWHERE = {"HDF5": ("hdf5/serial/hdf5.h",), "OpenCV": ("opencv4/opencv2/core.hpp",)}
"""Other places of a header under the same folders."""
_VIEW = "lesson 21 does not show its view of the shared buffer"

# fmt: off
PARTS = (
    Part("Eigen", "Eigen/Core", "C++ cells cannot use Eigen's matrices", "pip install -e ."),
    Part("simdjson", "simdjson.h", "lesson 21's own reader of JSON is not built", "pip install -e ."),
    Part(
        "nlohmann_json",
        "nlohmann/json.hpp",
        "C++ cells have no JSON library",
        "pip install -e .",
    ),
    Part("zlib", "zlib.h", "lesson 21's own readers of PNG and HDF5 are not built", "apt install zlib1g-dev"),
    Part("HDF5", "hdf5.h", "lesson 21's own reader of HDF5 is not built", "apt install libhdf5-dev zlib1g-dev"),
    Part("libjpeg", "jpeglib.h", "lesson 21's own reader of JPEG is not built", "apt install libjpeg-dev"),
    Part("OpenCV", "opencv2/core.hpp", _VIEW, "apt install libopencv-dev"),
    Part("xtensor", "xtensor/xarray.hpp", _VIEW, "apt install libxtensor-dev"),
    Part("Armadillo", "armadillo", _VIEW, "apt install libarmadillo-dev"),
    Part("Dlib", "dlib/matrix.h", _VIEW, "apt install libdlib-dev"),
    Part(
        "libfccp",
        "csv.h",
        "C++ cells have no csv.h",
        "https://github.com/ben-strasser/fast-cpp-csv-parser",
    ),
    Part(
        "HighFive",
        "highfive/H5File.hpp",
        "C++ cells read HDF5 files through the C interface only",
        "conda install highfive",
    ),
    Part("Blaze", "blaze/Blaze.h", _VIEW, "conda install blaze"),
    Part("ArrayFire", "arrayfire.h", _VIEW, "conda install arrayfire"),
    Part("mlpack", "mlpack/core.hpp", "C++ cells cannot use mlpack", "apt install libmlpack-dev"),
)
# fmt: on


def present() -> dict[str, bool]:
    """Which parts are here, judged by their headers, without running a compiler."""
    return {part.name: part.folder() is not None for part in PARTS}
