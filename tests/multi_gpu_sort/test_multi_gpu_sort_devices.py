"""The kernels, and the sort in one process over several devices with peer copies, against NumPy."""

import os

import numpy as np
import pytest

from labs.kit.gpu import cuda, is_virtual, profile, virtual_machine
from labs.kit.hardware import nvswitch_node
from labs.multi_gpu_sort import codes, distributions
from labs.multi_gpu_sort.kernels import merge, radix_sort
from labs.multi_gpu_sort.peers import peer_merge_sort

SOAK = os.environ.get("LABS_SOAK") == "1"
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1000) if SOAK else (0, 1, 33, 257)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("n", SIZES)
def test_the_radix_sort_sorts_on_the_device(n, dtype):
    info = np.iinfo(dtype)
    keys = np.random.default_rng(n).integers(info.min, info.max, n, dtype, endpoint=True)
    keys[: n // 3] = keys[:1]  # ties
    result, spare = radix_sort(cuda.to_device(keys), cuda.device_array(n, dtype), threads=32)
    assert np.array_equal(result.copy_to_host(), np.sort(keys)) and spare.size == n


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 5), (5, 0), (1, 1), (33, 7), (100, 101)])
@pytest.mark.parametrize("top", [3, 10**6])
def test_the_merge_kernel_merges_whatever_the_number_of_threads(n, m, top):
    random = np.random.default_rng(n + m)
    a, b = (np.sort(random.integers(0, top, size)).astype(np.int32) for size in (n, m))
    for blocks, threads in ((1, 1), (1, 32), (3, 50)):
        out = cuda.to_device(np.full(n + m, -1, np.int32))
        merge[blocks, threads](cuda.to_device(a), cuda.to_device(b), out)
        assert np.array_equal(out.copy_to_host(), np.sort(np.concatenate([a, b]), kind="stable"))


@pytest.mark.skipif(not is_virtual(), reason="races are observed on the virtual device only")
def test_the_kernels_race_for_nothing():
    keys = np.random.default_rng(0).integers(-99, 99, 300).astype(np.int32)
    with profile() as seen:
        radix_sort(cuda.to_device(keys), cuda.device_array(300, np.int32), threads=32)
    assert len(seen.launches) == 24
    assert not [finding for launch in seen.launches for finding in launch.findings]


@pytest.fixture
def eight():
    if not is_virtual():
        if len(cuda.gpus) < 8:
            pytest.skip(f"needs 8 GPUs; there are {len(cuda.gpus)}")
        yield
        return
    with virtual_machine(nvswitch_node(8)):
        yield


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_devices_give_the_same_keys_and_moves_as_ranks(eight, devices):
    from labs.kit import ranks
    from labs.multi_gpu_sort.merge_sort import merge_sort

    def on_ranks(keys, dist):
        n, rank, size = len(keys), dist.get_rank(), dist.get_world_size()
        return merge_sort(keys[n * rank // size : n * (rank + 1) // size], dist)

    cases = [("uniform", "float32", 101), ("reverse", "int32", 64), ("all equal", "int64", 20), ("normal", "uint32", 7)]
    for name, dtype, n in cases[: None if devices < 8 or SOAK else 2]:
        keys = distributions.draw(name, n, dtype, world_size=devices)
        found = peer_merge_sort(keys, devices)
        run = ranks.run(on_ranks, devices, args=(keys,))
        assert found.keys.tobytes() == np.concatenate([result.keys for result in run.results]).tobytes()
        assert np.array_equal(found.keys, np.sort(keys))
        for device, result in enumerate(run.results):
            ours = [move for _, moves in found.stages for move in moves if move.source == device]
            assert sum(move.count for move in ours) == result.moved


def test_specials_and_descending_order(eight):
    keys = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo("f4").max, 1, 1, -1e-40], np.float32)
    for descending in (False, True):
        found = peer_merge_sort(keys, 2, descending=descending).keys
        right = np.sort(keys)[::-1] if descending else np.sort(keys)
        assert np.array_equal(found, right, equal_nan=True)
        assert codes.decode(np.sort(codes.encode(keys, descending)), "f4", descending).tobytes() == found.tobytes()


@pytest.mark.parametrize("devices", [3, 5, 6, 7, 0])
def test_other_numbers_of_devices_are_refused_with_the_alternative(devices):
    with pytest.raises(ValueError, match=f"not {devices}; a radix partition takes any"):
        peer_merge_sort(np.arange(9, dtype=np.int32), devices)


def test_more_devices_than_there_are_is_refused_in_words(eight):
    with pytest.raises(ValueError, match="asked for 16 devices, but there are 8 here"):
        peer_merge_sort(np.arange(9, dtype=np.int32), 16)
