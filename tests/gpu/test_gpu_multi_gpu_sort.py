"""Lesson 17 on real GPUs: kernels, the sort with peer copies, and rank programs over NCCL, against NumPy."""

import os
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

LESSON = Path(__file__).parents[1] / "multi_gpu_sort"
DEVICES = torch.cuda.device_count() if torch.cuda.is_available() else 0
POWERS = [count for count in (1, 2, 4, 8) if count <= DEVICES]


def why_not() -> str:
    """Why kernels cannot run on a GPU here; "" where they can."""
    from labs.kit.gpu.choice import _real

    if os.environ.get("LABS_GPU", "").lower() == "virtual":
        return "LABS_GPU=virtual: the tests on a real GPU are left out"
    return _real()[1]


REASON = why_not()
kernels = pytest.mark.skipif(bool(REASON), reason=REASON or "a GPU is here")
nccl = pytest.mark.skipif(DEVICES == 0, reason="no CUDA device here: NCCL needs one GPU for each rank")


def some(n, dtype, seed=0):
    """Keys with ties, and the awkward ones of their dtype."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        keys = random.standard_normal(n).astype(dtype)
        keys[: n // 8] = random.choice(
            np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, np.finfo(dtype).max], dtype), n // 8
        )
        return keys
    info = np.iinfo(dtype)
    keys = random.integers(info.min, info.max, n, dtype, endpoint=True)
    keys[: n // 8] = random.choice(np.array([info.max, info.min, 7], dtype), n // 8)
    return keys


@kernels
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 255, 256, 257, 1000, 100_003])
def test_the_radix_sort_sorts(n, dtype):
    from labs.kit.gpu import cuda
    from labs.multi_gpu_sort.kernels import radix_sort

    keys = some(n, dtype)
    for threads in (1, 64, 128, 256):
        result, _ = radix_sort(cuda.to_device(keys), cuda.device_array(n, keys.dtype), threads=threads)
        np.testing.assert_array_equal(result.copy_to_host(), np.sort(keys))


@kernels
@pytest.mark.parametrize(("n", "m"), [(0, 5), (5, 0), (1, 1), (33, 7), (100, 101), (50_000, 70_001)])
def test_the_merge_merges(n, m):
    from labs.kit.gpu import cuda
    from labs.multi_gpu_sort.kernels import merge

    a, b = (np.sort(some(size, "int64", size)) for size in (n, m))
    for blocks, threads in ((1, 1), (1, 32), (3, 50), (40, 128)):
        out = cuda.device_array(n + m, np.int64)
        merge[blocks, threads](cuda.to_device(a), cuda.to_device(b), out)
        np.testing.assert_array_equal(out.copy_to_host(), np.sort(np.concatenate([a, b])))


@kernels
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
@pytest.mark.parametrize("devices", POWERS or [1])
def test_the_sort_with_peer_copies(devices, dtype):
    from labs.multi_gpu_sort.peers import peer_merge_sort

    for n in (0, 1, 7, 1000, 40_001):
        for descending in (False, True):
            keys = some(n, dtype, n)
            found = peer_merge_sort(keys, devices, descending=descending)
            right = np.sort(keys)[::-1] if descending else np.sort(keys)
            np.testing.assert_array_equal(found.keys, right)
    reverse = peer_merge_sort(np.arange(64 * devices, 0, -1).astype(dtype), devices)
    moved = sum(move.count for _, moves in reverse.stages for move in moves)
    assert moved == 64 * devices * (devices - 1)


def sort_rows(sort, keys, values, dist):
    """Rank program on tensors that lie on the rank's GPU."""
    found = sort(keys, dist, values)
    assert found.keys.device == keys.device
    return found.keys.cpu(), None if values is None else found.values.cpu()


@nccl
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", ["merge_sort", "radix_partition"])
def test_rank_programs_over_nccl(name, dtype, pairs):
    from importlib import import_module

    from labs.kit.ranks import run

    sort = getattr(import_module(f"labs.multi_gpu_sort.{name}"), name)
    for world_size in POWERS if name == "merge_sort" else range(1, DEVICES + 1):
        n = 50_000 * world_size
        keys, numbers = some(n, dtype), np.arange(n)
        rows, values = (
            [torch.from_numpy(part.copy()) for part in np.split(whole, world_size)] for whole in (keys, numbers)
        )

        def arguments(rank, rows=rows, values=values):
            return sort, rows[rank], values[rank] if pairs else None

        results = run(sort_rows, world_size, args=arguments, on="nccl").results
        found = torch.cat([result[0] for result in results]).numpy()
        np.testing.assert_array_equal(found, np.sort(keys))
        if pairs:
            order = torch.cat([result[1] for result in results]).numpy()
            np.testing.assert_array_equal(np.sort(order), numbers)
            np.testing.assert_array_equal(keys[order], found)


@nccl
def test_answers_of_the_lesson_over_nccl():
    from labs.kit.ranks import run
    from labs.multi_gpu_sort.exchange import exchange_parts, trade
    from labs.multi_gpu_sort.steps import swap_halves

    answers = runpy.run_path(str(LESSON / "right_answers.py"))["RIGHT"]
    programs = {"radix_partition": DEVICES, "sort_ranks": POWERS[-1]}
    if DEVICES > 1:
        programs["sort_pair"] = 2
    for name, world_size in programs.items():
        scope = {"__name__": "__main__", "trade": trade, "exchange_parts": exchange_parts, "swap_halves": swap_halves}
        exec(next(iter(answers[name].values())), scope)
        keys = torch.randint(0, 2**31, (world_size, 10_000), generator=torch.Generator().manual_seed(0))

        def program(mine, dist, answer=scope[name]):
            return answer(mine, dist).cpu()

        rows = [(row,) for row in keys]
        found = torch.cat(run(program, world_size, args=rows.__getitem__, on="nccl").results)
        assert torch.equal(found, keys.flatten().sort().values), name


@nccl
def test_arrays_are_refused_in_words():
    from labs.kit.ranks import RankFailed, run
    from labs.multi_gpu_sort.merge_sort import merge_sort

    with pytest.raises(RankFailed, match="NCCL connects GPUs, and the keys of rank 0 are a ndarray"):
        run(merge_sort, 1, args=(np.arange(4),), on="nccl")
