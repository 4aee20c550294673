"""What the course uses of other people's software: what it needs, and what a lesson uses when it is there."""

from __future__ import annotations

from dataclasses import dataclass

NEEDED = {
    "numpy": "numpy",
    "torch": "torch",
    "greenlet": "greenlet",
    "cloudpickle": "cloudpickle",
    "matplotlib": "matplotlib",
    "ipywidgets": "ipywidgets",
    "jupyterlab": "jupyterlab",
    "nbgrader": "nbgrader",
    "platformdirs": "platformdirs",
}
"""Module name -> distribution name: without one of these some lesson's core does not run."""

LISTED = ("jupyterlab_widgets", "widgetsnbextension", "ipykernel", "cuda-bindings", "nvidia-cuda-nvrtc", "nvidia-nvvm")
"""Other distributions whose versions matter to a trap."""


@dataclass(frozen=True)
class Optional:
    """Something a lesson uses when it is there.

    Attributes
    ----------
    name : str
        As people call it.
    module, program : str
        The module or the program that shows that it is there; one of them is empty.
    without : str
        What its absence costs.
    install : str
        How to get it.
    """

    name: str
    without: str
    install: str
    module: str = ""
    program: str = ""


OPTIONAL = (
    Optional(
        "numba-cuda",
        "kernels run on the virtual device, even beside a GPU",
        "pip install -e '.[gpu]'",
        module="numba_cuda",
    ),
    Optional("CuPy", "CUDA C++ runs on the CPU, even beside a GPU", "pip install -e '.[gpu]'", module="cupy"),
    Optional("Triton", "Triton examples are shown, not run", "pip install -e '.[inspect]'", module="triton"),
    Optional(
        "NVRTC",
        "no machine code for NVIDIA devices is compiled; stored listings are shown",
        "pip install -e '.[inspect]'",
        module="cuda.bindings.nvrtc",
    ),
    Optional("nvcc", "nothing: no lesson needs the CUDA toolkit", "NVIDIA's CUDA toolkit", program="nvcc"),
    Optional("h5py", "HDF5 files are not compared with Python's reader", "pip install h5py", module="h5py"),
    Optional(
        "scikit-learn",
        "lessons that train on its digits use made-up data",
        "pip install scikit-learn",
        module="sklearn",
    ),
)
