"""Which `cuda` a program gets, and what profile and outcome do with a real one (played by a stand-in here)."""

import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from labs.kit import gpu
from labs.kit.exercise import completed, plain
from labs.kit.exercise.case import Wrong
from labs.kit.gpu import choice

ROOT = Path(__file__).parents[3]


def told(code, **environment):
    environment = {k: v for k, v in os.environ.items() if k != "LABS_GPU"} | environment
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


def no_device_here():
    return not choice._driver()


@pytest.mark.skipif(not no_device_here(), reason="there is a CUDA driver here: the virtual device is not the default")
def test_without_a_device_it_is_the_virtual_one():
    assert "virtual CUDA device" in told("from labs.kit.gpu import cuda; print(cuda)")
    text = told("from labs.kit.gpu import cuda", LABS_GPU="real")
    assert "LABS_GPU=real, but there is no CUDA driver here" in text


def test_a_setting_that_means_nothing_is_refused():
    assert "set it to virtual or real" in told("from labs.kit.gpu import cuda", LABS_GPU="fast")


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'cudaa'"):
        _ = gpu.cudaa
    assert {"cuda", "profile", "outcome", "is_virtual"} <= set(dir(gpu))


def test_every_name_that_is_offered_exists(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")
    for name in gpu.__all__:
        assert getattr(gpu, name) is not None
        assert name == "cuda" or callable(getattr(gpu, name)), name


class Stopwatch:
    """An event that knows what time it is on the stand-in's clock."""

    clock = 0.0

    def record(self, stream=0):
        Stopwatch.clock += 1.0
        self.time = Stopwatch.clock

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return end.time - self.time


@pytest.fixture
def real(monkeypatch):
    """A numba.cuda whose kernels do nothing but take a millisecond."""

    class Kernel:
        def __init__(self, function):
            self.py_func = function

        def launch(self, args, griddim, blockdim, stream=0, sharedmem=0):
            self.py_func(*args)

    cuda = types.SimpleNamespace(event=Stopwatch, get_current_device=lambda: types.SimpleNamespace(id=0))
    dispatcher = types.ModuleType("numba.cuda.dispatcher")
    dispatcher._Kernel = Kernel
    for name, module in (("numba", types.ModuleType("numba")), ("numba.cuda", types.ModuleType("numba.cuda"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "numba.cuda.dispatcher", dispatcher)
    monkeypatch.setattr(choice, "_chosen", lambda setting: cuda)
    return Kernel


def fill(out):
    out[:] = 1


def test_on_a_real_device_a_profile_has_times_only(real):
    original = real.launch
    with gpu.profile() as p:
        assert not p.virtual and "real GPU" in p.note
        real(fill).launch((np.zeros(3),), (2, 1), 64, 0, 0)
    assert real.launch is original
    (launch,) = p.launches
    assert (launch.kernel, launch.grid, launch.block) == ("fill", (2, 1, 1), (64, 1, 1))
    assert launch.seconds == pytest.approx(1e-3) and not launch.observed
    assert p.findings == [] and p.lines == [] and "fill (2, 1, 1) x (64, 1, 1): 1000 µs" in repr(p)


def test_on_a_real_device_outcome_has_the_result(real):
    out = gpu.outcome(lambda x: real(fill).launch((x,), 1, 32) or x, np.zeros(3))
    assert out["virtual"] is False and out["result"].tolist() == [1, 1, 1] and out["seconds"] is None
    assert plain.encode(out)


def test_on_a_real_device_a_stub_is_still_unsolved(real):
    def stub(out):
        raise NotImplementedError()

    launched = types.SimpleNamespace(dispatcher=real(stub), __call__=None)

    def program(x):
        launched.dispatcher.launch((x,), 1, 32)

    with pytest.raises(NotImplementedError):
        gpu.outcome(program, real(stub))


SOURCE = """
@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    out[i] = 2 * x[i]
"""


def test_an_exercise_takes_a_failed_launch_as_data(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")
    import linecache

    linecache.cache["<ipython-input-7>"] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), "<ipython-input-7>")
    scope = {"cuda": gpu.cuda}
    exec(compile(SOURCE, "<ipython-input-7>", "exec"), scope)

    def program(x):
        out = np.zeros_like(x)
        scope["double"][2, 32](x, out)
        return out

    good = plain.decode(plain.encode(gpu.outcome(program, np.arange(64.0))))
    assert np.array_equal(completed(good)["result"], 2 * np.arange(64.0))
    failed = plain.decode(plain.encode(gpu.outcome(program, np.arange(50.0))))
    with pytest.raises(Wrong) as caught:
        completed(failed, out_of_bounds=("no_guard", "Which threads should not run this line?"))
    assert caught.value.hint == "no_guard" and "line 5 of your cell, in double" in caught.value.message
    assert "thread (18, 0, 0) of block (1, 0, 0)" in caught.value.message  # the evidence
