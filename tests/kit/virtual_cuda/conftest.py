"""What the tests of the virtual CUDA device share."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _load(name):
    known = f"virtual_cuda_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, HERE / f"{name}.py")
        sys.modules[known] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.fixture(scope="session")
def kernels():
    """The module of kernels, on the virtual device."""
    return _load("kernels")


@pytest.fixture(autouse=True)
def fresh_machine(monkeypatch):
    """Each test has a virtual machine of its own, with a clock at zero, also where there is a GPU."""
    from labs.kit.gpu import virtual_machine

    monkeypatch.setenv("LABS_GPU", "virtual")

    with virtual_machine() as machine:
        yield machine


@pytest.fixture(params=["in step", "warps take turns"])
def watched(request):
    """``with watched() as p``: a profile in one of the two orders of running."""
    from labs.kit.gpu import profile

    turns = request.param == "warps take turns"
    return lambda **options: profile(warps_take_turns=turns, **options)


@pytest.fixture
def without_simulator():
    """The environment of a child that asks Numba's compiler; skipped where there is none."""
    if not importlib.util.find_spec("numba_cuda"):
        pytest.skip("numba-cuda is not installed: nothing to ask")
    return {name: value for name, value in os.environ.items() if name not in ("NUMBA_ENABLE_CUDASIM", "LABS_GPU")}
