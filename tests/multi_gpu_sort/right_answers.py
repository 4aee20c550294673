"""Right answers to the exercises of lesson 17, written in different ways."""

FIND_PIVOT = """
def find_pivot(a, b):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[len(a) - middle - 1] <= b[middle]:
            high = middle
        else:
            low = middle + 1
    return low
"""

SORT_PAIR = """
import torch
from labs.multi_gpu_sort.exchange import trade

def sort_pair(keys, dist):
    keys = keys.sort().values
    if dist.get_world_size() == 1:
        return keys
    n, rank = len(keys), dist.get_rank()
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        mine = keys[n - middle - 1] if rank == 0 else keys[middle]
        theirs = trade(mine.reshape(1), 1 - rank, dist)[0]
        a, b = (mine, theirs) if rank == 0 else (theirs, mine)
        if a <= b:
            high = middle
        else:
            low = middle + 1
    p = low
    give, keep = (keys[n - p:], keys[:n - p]) if rank == 0 else (keys[:p], keys[p:])
    return torch.cat([keep, trade(give, 1 - rank, dist)]).sort().values
"""

RADIX = """
import torch
from labs.multi_gpu_sort.exchange import exchange_parts

def radix_partition(keys, dist):
    world_size = dist.get_world_size()
    buckets = keys >> 23
    counts = torch.bincount(buckets, minlength=256)
    dist.all_reduce(counts)
    before = counts.cumsum(0) - counts
    total = max(int(counts.sum()), 1)
    ranks = (before * world_size // total)[buckets]
    order = torch.argsort(ranks, stable=True)
    parts = torch.bincount(ranks, minlength=world_size)
    return exchange_parts(keys[order], parts, dist).sort().values
"""

CUT = """
def cut(a, b, diagonal):
    low, high = max(0, diagonal - len(b)), min(diagonal, len(a))
    while low < high:
        middle = (low + high) // 2
        if a[middle] <= b[diagonal - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low
"""

SORT_RANKS = """
from labs.multi_gpu_sort.steps import swap_halves

def sort_ranks(keys, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    if (size & (size - 1)) != 0:
        raise ValueError(f"{size} ranks: the merge sort needs 1, 2, 4, 8, ...; use a radix partition")

    def sort_halves(keys, first, end):
        if end - first == 1:
            return keys
        middle = (first + end) // 2
        half = (first, middle) if rank < middle else (middle, end)
        keys = sort_halves(keys, *half)
        keys = swap_halves(keys, first, middle, end, dist)
        return sort_halves(keys, *half)

    return sort_halves(keys.sort().values, 0, size)
"""

BEST = """
def best_sort(nbytes, gpus, host, peer, cpu):
    chunk = nbytes / gpus
    copies = 2 * chunk / host
    return (copies + (gpus - 1) * chunk / peer,
            copies + (gpus - 1) / gpus * chunk / peer,
            copies + nbytes / cpu)
"""

RIGHT = {
    "find_pivot": {
        "bisection": FIND_PIVOT,
        "library": """
import bisect

def find_pivot(a, b):
    n = len(a)
    return bisect.bisect_left(range(n), True, key=lambda p: a[n - p - 1] <= b[p])
""",
        "recursion": """
def find_pivot(a, b):
    def search(low, high):
        if low == high:
            return low
        middle = low + (high - low) // 2
        return search(low, middle) if not a[len(a) - 1 - middle] > b[middle] else search(middle + 1, high)
    return search(0, len(b))
""",
    },
    "sort_pair": {
        "one_key_a_step": SORT_PAIR,
        "rank_0_searches": """
import torch

def sort_pair(keys, dist):
    keys, _ = torch.sort(keys)
    if dist.get_world_size() == 1:
        return keys
    n = len(keys)
    if dist.get_rank() == 0:
        low, high = 0, n
        question, answer = torch.zeros(1, dtype=torch.int64), torch.empty(1, dtype=keys.dtype)
        while low < high:
            middle = (low + high) // 2
            question[0] = middle
            dist.send(question, dst=1)
            dist.recv(answer, src=1)
            if keys[n - middle - 1] <= answer[0]:
                high = middle
            else:
                low = middle + 1
        dist.send(torch.tensor([-low - 1]), dst=1)
        p = low
        theirs = torch.empty(p, dtype=keys.dtype)
        dist.send(keys[n - p:].clone(), dst=1)
        dist.recv(theirs, src=1)
        return torch.cat([keys[:n - p], theirs]).sort().values
    question = torch.zeros(1, dtype=torch.int64)
    while True:
        dist.recv(question, src=0)
        if question < 0:
            break
        dist.send(keys[question], dst=0)
    p = int(-question - 1)
    theirs = torch.empty(p, dtype=keys.dtype)
    dist.recv(theirs, src=0)
    dist.send(keys[:p].clone(), dst=0)
    return torch.cat([theirs, keys[p:]]).sort().values
""",
    },
    "radix_partition": {
        "buckets_by_share": RADIX,
        "numpy_and_loops": """
import numpy as np
import torch
from labs.multi_gpu_sort.exchange import exchange_parts

def radix_partition(keys, dist):
    size = dist.get_world_size()
    counts = torch.zeros(256, dtype=torch.int64)
    for key in keys.tolist():
        counts[key // 2**23] += 1
    dist.all_reduce(counts)
    total, seen, owner = int(counts.sum()), 0, []
    for count in counts.tolist():
        owner.append(min(size - 1, seen * size // total) if total else 0)
        seen += count
    mine = [[] for _ in range(size)]
    for key in sorted(keys.tolist()):
        mine[owner[key >> 23]].append(key)
    flat = torch.tensor([key for part in mine for key in part], dtype=torch.int64)
    got = exchange_parts(flat, torch.tensor([len(part) for part in mine]), dist)
    return torch.from_numpy(np.sort(got.numpy()))
""",
    },
    "cut": {
        "bisection": CUT,
        "on_b": """
def cut(a, b, diagonal):
    low, high = max(0, diagonal - len(a)), min(diagonal, len(b))   # how many come from b
    while low < high:
        middle = (low + high) // 2
        if b[middle] < a[diagonal - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return diagonal - low
""",
    },
    "sort_ranks": {
        "recursion": SORT_RANKS,
        "loops": """
from labs.multi_gpu_sort.steps import swap_halves

def sort_ranks(keys, dist):
    size, rank = dist.get_world_size(), dist.get_rank()
    if size not in {2**k for k in range(20)}:
        raise ValueError("a power of two, please, or radix_partition")
    keys = keys.sort().values

    def stages(size):
        return [] if size == 1 else [*stages(size // 2), size, *stages(size // 2)]

    for width in stages(size):
        first = rank // width * width
        keys = swap_halves(keys, first, first + width // 2, first + width, dist)
    return keys
""",
    },
    "best_sort": {
        "formulas": BEST,
        "counted": """
def best_sort(nbytes, gpus, host, peer, cpu):
    def stages(g):
        return 0 if g == 1 else 2 * stages(g // 2) + 1
    out_and_back = nbytes / gpus / host * 2
    swaps = [nbytes / gpus / peer for _ in range(stages(gpus))]
    return [out_and_back + sum(swaps), out_and_back + (nbytes / gpus - nbytes / gpus**2) / peer, out_and_back + nbytes / cpu]
""",
    },
}
