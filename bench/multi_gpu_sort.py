"""Sorts over two processes against the library's sorts of all keys, and merging against sorting two sorted runs."""

from __future__ import annotations

import time

import numpy as np

from bench.measure import Row, Series
from labs.kit import ranks

NAME = "multi-gpu-sort"
TITLE = "The course's sorts on 2 gloo ranks, against the library's sort of all keys in one process"
NOTES = (
    "float32, standard normal; seconds by the clock of the slower rank, from a barrier on, till each has its half",
    "in order. The library's sort runs on rank 0 with one thread (or two) while rank 1 waits; by turns in the same",
    "processes, after one unmeasured turn; what was sorted is compared. Rank 0 and 1 share this machine's memory.",
    "merge: two sorted halves into one, stably (NumPy finds the two runs), against numpy.sort of both together.",
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
        lines.append(merging(n, runs))
    return lines


def merging(n: int, runs: int) -> Row:
    """Merge two sorted halves with `merge_runs`, against sorting their concatenation."""
    from labs.multi_gpu_sort.local import merge_runs

    random = np.random.default_rng(1)
    a, b = (np.sort(random.standard_normal(n // 2, dtype=np.float32)) for _ in range(2))
    contenders = (lambda: merge_runs([a, b])[0], lambda: np.sort(np.concatenate([a, b])))
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(-1, runs):
        for seconds, call in zip(taken, contenders):
            start = time.process_time()
            call()
            if turn >= 0:
                seconds.append(time.process_time() - start)
    ours, theirs = (Series(tuple(seconds)) for seconds in taken)
    return Row(f"{n:.0e} keys, merge of two halves", ours, "s CPU", "concatenate and sort", theirs, aim=AIM)
