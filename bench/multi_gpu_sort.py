"""Sorts over two processes against the library's sorts of all keys, and merging against sorting two sorted runs.

Where a GPU is, also the course's kernels on it, against torch.sort.
"""

from __future__ import annotations

import time

import numpy as np

from bench.measure import Row, Series, alternate, cpu_seconds, wall_seconds
from labs.kit import ranks

NAME = "multi-gpu-sort"
TITLE = "The course's sorts on 2 gloo ranks, against the library's sort of all keys in one process"
NOTES = (
    "float32, standard normal; seconds by the clock of the slower rank, from a barrier on, till each has its half",
    "in order. The library's sort runs on rank 0 with one thread (or two) while rank 1 waits; by turns in the same",
    "processes, after one unmeasured turn; what was sorted is compared. Rank 0 and 1 share this machine's memory.",
    "merge path: two sorted halves into one, in 4,096 pieces that take each step together (NumPy vectors); merge runs:",
    "numpy.sort(kind='stable'), which finds the two runs. Both against numpy.sort of the two halves together.",
    "On a GPU, if there is one: both halves sorted there, by the course's kernels or by torch, then the merge kernel.",
)
AIM = 1.0


def take_turns(n: int, runs: int, dist) -> dict[str, list[float]]:
    """Time all contenders by turns on one rank: seconds by name."""
    import torch

    from labs.multi_gpu_sort.merge_sort import merge_sort
    from labs.multi_gpu_sort.radix_partition import radix_partition

    rank, half = dist.get_rank(), slice(n // 2 * dist.get_rank(), n // 2 * (dist.get_rank() + 1))
    keys = np.random.default_rng(0).standard_normal(n, dtype=np.float32)
    mine, whole = keys[half].copy(), torch.from_numpy(keys)

    def of_torch(threads):
        torch.set_num_threads(threads)
        found = torch.sort(whole).values.numpy()
        torch.set_num_threads(1)
        return found

    ours = {
        "merge sort": lambda: merge_sort(mine, dist).keys,
        "radix partition": lambda: radix_partition(mine, dist).keys,
    }
    library = {
        "numpy.sort": lambda: np.sort(keys),
        "torch.sort": lambda: of_torch(1),
        "torch.sort, 2 threads": lambda: of_torch(2),
    }
    right, taken = np.sort(keys), {name: [] for name in (*ours, *library)}
    for _ in range(runs + 1):
        for name, call in {**ours, **library}.items():
            dist.barrier()
            if name in library and rank:
                taken[name].append(0.0)
                continue
            start = time.perf_counter()
            found = call()
            taken[name].append(time.perf_counter() - start)
            if not np.array_equal(found, right if name in library else right[half]):
                raise AssertionError(f"{name} did not sort, so the times mean nothing")
    return {name: seconds[1:] for name, seconds in taken.items()}


def rows(quick: bool) -> list[Row]:
    """Measure 10^7 and 10^8 keys, or 10^5 when `quick`."""
    lines = []
    for n, runs in [(10**5, 3)] if quick else [(10**7, 9), (10**8, 3)]:
        results = ranks.run(take_turns, 2, (n, runs), on="gloo", check=False, timeout=900.0).results
        taken = {name: Series(tuple(map(max, zip(*(result[name] for result in results))))) for name in results[0]}
        for ours in ("merge sort", "radix partition"):
            for peer in ("numpy.sort", "torch.sort", "torch.sort, 2 threads"):
                aim = None if "2 threads" in peer else AIM
                lines.append(Row(f"{n:.0e} keys, {ours}", taken[ours], "s", peer, taken[peer], aim=aim))
        lines += merging(n, runs)
    return lines if quick else lines + on_a_gpu(10**7, 9)


def merging(n: int, runs: int) -> list[Row]:
    """Merge two sorted halves in two ways, against sorting their concatenation."""
    import torch

    from labs.multi_gpu_sort.local import merge_runs
    from labs.multi_gpu_sort.merging import merge_path

    random = np.random.default_rng(1)
    a, b = (np.sort(random.standard_normal(n // 2, dtype=np.float32)) for _ in range(2))
    contenders = {
        "merge path": lambda: merge_path(a, b),
        "merge runs": lambda: merge_runs(torch.from_numpy(np.concatenate([a, b])))[0].numpy(),
        "concatenate and sort": lambda: np.sort(np.concatenate([a, b])),
    }
    right = contenders["concatenate and sort"]()
    for name, call in contenders.items():
        if not np.array_equal(call(), right):
            raise AssertionError(f"{name} did not merge, so the times mean nothing")
    *ours, theirs = alternate(list(contenders.values()), runs, cpu_seconds, warm_up=False)
    return [
        Row(f"{n:.0e} keys, {name}", mine, "s CPU", "concatenate and sort", theirs, aim=AIM)
        for name, mine in zip(contenders, ours)
    ]


def on_a_gpu(n: int, runs: int) -> list[Row]:
    """Sort both halves and merge them on a GPU, against torch.sort of all keys there; no rows without one."""
    import torch

    from labs.kit.gpu import cuda, is_virtual

    if is_virtual() or not torch.cuda.is_available():
        return []
    from labs.multi_gpu_sort.kernels import merge, radix_sort

    whole = torch.randint(-(2**31), 2**31, (n,), dtype=torch.int32, generator=torch.Generator().manual_seed(0)).cuda()
    keys, spare, out = (cuda.as_cuda_array(tensor) for tensor in (whole.clone(), whole.clone(), whole.clone()))
    half = n // 2

    def merged(a, b):
        merge[n // 64 // 128 + 1, 128](a, b, out)
        cuda.synchronize()
        return torch.as_tensor(out, device="cuda")

    def with_kernels():
        keys.copy_to_device(cuda.as_cuda_array(whole))
        a, b = (radix_sort(keys[part], spare[part])[0] for part in (slice(0, half), slice(half, n)))
        return merged(a, b)

    def with_torch():
        return merged(*(cuda.as_cuda_array(part.sort().values) for part in (whole[:half], whole[half:])))

    def library():
        found = whole.sort().values
        torch.cuda.synchronize()
        return found

    contenders = {"the course's radix sort and merge": with_kernels, "torch.sort of halves, merge": with_torch}
    right = library()
    for name, call in contenders.items():
        if not torch.equal(call(), right):
            raise AssertionError(f"{name} did not sort, so the times mean nothing")
    *ours, theirs = alternate([*contenders.values(), library], runs, wall_seconds)
    return [
        Row(f"GPU, {n:.0e} int32 keys, {name}", mine, "s", "torch.sort", theirs) for name, mine in zip(contenders, ours)
    ]
