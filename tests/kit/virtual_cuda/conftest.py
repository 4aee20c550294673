"""What the tests of the virtual CUDA device share."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

os.environ["LABS_GPU"] = "virtual"
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
def fresh_machine():
    """Each test has a machine of its own, with a clock at zero."""
    from labs.kit.gpu import virtual_machine

    with virtual_machine() as machine:
        yield machine


@pytest.fixture(params=["in step", "warps take turns"])
def watched(request):
    """``with watched() as p``: a profile in one of the two orders of running."""
    from labs.kit.gpu import profile

    turns = request.param == "warps take turns"
    return lambda **options: profile(warps_take_turns=turns, **options)
