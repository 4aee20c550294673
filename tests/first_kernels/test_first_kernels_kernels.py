"""The kernels of lessons 00 and 03: what NumPy says, on the virtual device, on numba-cuda's simulator, and as PTX."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None or importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not installed: the kernels are not held against its simulator and its compiler",
)


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


def child(file, *arguments, **environment):
    names = {key: value for key, value in os.environ.items() if key not in ("NUMBA_ENABLE_CUDASIM", "LABS_GPU")}
    command = [sys.executable, str(file), *map(str, arguments)]
    root = {"PYTHONPATH": os.pathsep.join(filter(None, [str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(command, env=names | root | environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def cases():
    spec = importlib.util.spec_from_file_location("first_kernels_cases", HERE / "kernel_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("take_turns", [False, True], ids=["in step", "warps take turns"])
def test_every_kernel_and_size_gives_what_numpy_says_without_a_race(cases, take_turns):
    from labs.kit.gpu import profile

    with profile(warps_take_turns=take_turns) as seen:
        for name, got, right in cases.results():
            np.testing.assert_array_equal(got, right, err_msg=name)
    assert seen.findings == []


@numba_cuda
def test_the_simulator_of_numba_agrees(cases, tmp_path):
    sizes = {} if os.environ.get("LABS_SOAK") == "1" else {"KERNELS_SIZES": "0 33 257"}
    child(HERE / "kernel_cases.py", tmp_path / "peer.npz", KERNELS_ON="simulator", **sizes)
    peer = np.load(tmp_path / "peer.npz")
    mine = {name: got for name, got, _ in cases.results()}
    assert len(peer.files) > 35 and (sizes or len(peer.files) == len(mine))
    for name in peer.files:
        np.testing.assert_array_equal(mine[name], peer[name], err_msg=name)


@numba_cuda
def test_every_kernel_compiles_to_ptx(cases):
    compiled = child(HERE / "kernel_cases.py", "ptx", KERNELS_ON="numba").split()
    assert compiled == list(cases.SIGNATURES)


def test_the_kernel_without_barriers_is_caught_and_wrong_when_warps_take_turns():
    from labs.first_kernels.given import sum_without_barriers
    from labs.kit.gpu import cuda, profile

    x = cuda.to_device(np.arange(256, dtype=np.float32))
    for turns, right in ((False, True), (True, False)):
        out = cuda.device_array(1, np.float32)
        with profile(warps_take_turns=turns) as seen:
            sum_without_barriers[1, 256](x, out)
        assert (out.copy_to_host()[0] == 32640) == right
        assert {finding.kind for finding in seen.races} == {"race"} and seen.races[0].array == "s"


def test_divide8_loads_64_bits_in_ptx_and_sass():
    from labs.first_kernels.wide_loads import listing
    from labs.kit.gpu.inspect import MissingPackage

    try:
        ptx, sass = listing("divide8", "ptx"), listing("divide8", "sass")
        plain = listing("divide", "ptx")
    except MissingPackage as why:  # the kernel has changed since its listing was stored
        pytest.skip(str(why))
    assert ptx.count(r"ld\.global\.u64") == ptx.widths("global load")[64] == 1
    assert sass.count(r"LDG\.E\.64") == sass.widths("global load")[64] == 1
    assert set(plain.widths("global load")) == {8}


def test_the_stored_listings_are_those_of_todays_kernels():
    from labs.first_kernels import kernels
    from labs.first_kernels.wide_loads import ASKED, LISTINGS
    from labs.kit.gpu.inspect import stored
    from labs.kit.gpu.inspect.devices import target as target_of
    from labs.kit.gpu.inspect.request import request

    for name, target, form in ASKED:
        wanted = request(getattr(kernels, name), target_of(target, form), kernels.SIGNATURES[name])
        assert (LISTINGS / stored.file_name(wanted)).is_file(), f"{name} has changed: run labs.first_kernels.wide_loads"
    assert len(list(LISTINGS.glob("*.json"))) == len(ASKED)


def test_the_lesson_s_own_answers_are_accepted():
    from labs.first_kernels import exercises
    from labs.kit.exercise.testing import assert_accepts

    cells = json.loads((HERE.parents[1] / "solutions" / "03_first_kernels.ipynb").read_text())["cells"]
    scope = "import numpy as np\nfrom labs.kit.gpu import cuda\nfrom labs.first_kernels.given import divide_rows\n"
    found = 0
    for cell in cells:
        role = cell["metadata"].get("nbgrader", {})
        exercise = getattr(exercises, role.get("grade_id", ""), None)
        if role.get("solution") and hasattr(exercise, "points"):
            scope += "".join(cell["source"]) + "\n\n"
            assert_accepts(exercise, scope)
            found += 1
    assert found == 6
