"""Wrong answers to the exercises of lesson 17: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
FIND_PIVOT, SORT_PAIR, RADIX = _right["FIND_PIVOT"], _right["SORT_PAIR"], _right["RADIX"]
CUT, SORT_RANKS, BEST = _right["CUT"], _right["SORT_RANKS"], _right["BEST"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


PADDED = """
import torch

def radix_partition(keys, dist):
    world_size = dist.get_world_size()
    buckets = keys >> 23
    counts = torch.bincount(buckets, minlength=256)
    dist.all_reduce(counts)
    before = counts.cumsum(0) - counts
    total = max(int(counts.sum()), 1)
    ranks = (before * world_size // total)[buckets]
    most = torch.bincount(ranks, minlength=world_size).max()
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    padded = torch.full((world_size, int(most)), 2**31 - 1)   # every message equally long
    for rank in range(world_size):
        mine = keys[ranks == rank]
        padded[rank, : len(mine)] = mine
    received = torch.empty_like(padded)
    dist.all_to_all_single(received, padded)
    received = received.flatten()
    return received[received < 2**31 - 1].sort().values
"""

WRONG = {
    "find_pivot": {
        "ties_move": changed(FIND_PIVOT, ("<= b", "< b")),
        "never_all": changed(FIND_PIVOT, ("0, len(a)", "0, max(len(a) - 1, 0)")),
        "wrong_end": changed(FIND_PIVOT, ("a[len(a) - middle - 1]", "a[middle]")),
        "one_more": changed(
            FIND_PIVOT, ("a[len(a) - middle - 1] <= b[middle]", "middle and a[len(a) - middle] <= b[middle - 1]")
        ),
        "kept": changed(FIND_PIVOT, ("return low", "return len(a) - low")),
        "beyond": changed(
            FIND_PIVOT, ("while low < high", "while low <= high"), ("high = middle", "high = middle - 1")
        ),
        "linear": """
def find_pivot(a, b):
    p = 0
    while p < len(a) and a[len(a) - p - 1] > b[p]:
        p += 1
    return p
""",
        "minus_one": """
def find_pivot(a, b):
    n = len(a)
    low, high = 0, n
    while low < high:                       # looks for the largest p that is still needed
        middle = (low + high + 1) // 2
        if a[n - middle - 1] > b[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low
""",
        "not_a_count": changed(FIND_PIVOT, ("return low", "return None")),
        "too_few": changed(FIND_PIVOT, ("return low", "return low // 2")),
        "too_many": changed(FIND_PIVOT, ("return low", "return min(low + 2, len(a)) if 0 < low else low")),
    },
    "sort_pair": {
        "wrong_end": changed(
            SORT_PAIR,
            ("(keys[n - p:], keys[:n - p])", "(keys[:p], keys[p:])"),
            ("else (keys[:p], keys[p:])", "else (keys[n - p:], keys[:n - p])"),
        ),
        "not_merged": changed(SORT_PAIR, (", dist)]).sort().values", ", dist)])")),
        "one_side": changed(
            SORT_PAIR,
            (
                "return torch.cat([keep, trade(give, 1 - rank, dist)]).sort().values",
                """mine = torch.cat([keep, trade(give, 1 - rank, dist)])
    if rank == 0:
        mine = mine.sort().values
    return mine""",
            ),
        ),
        "everything": """
import torch
from labs.multi_gpu_sort.exchange import trade

def sort_pair(keys, dist):
    if dist.get_world_size() == 1:
        return keys.sort().values
    n, rank = len(keys), dist.get_rank()
    whole = torch.cat([keys, trade(keys, 1 - rank, dist)]).sort().values
    return whole[:n] if rank == 0 else whole[n:]
""",
        "ties_moved": changed(SORT_PAIR, ("if a <= b", "if a < b")),
        "deadlock": changed(
            SORT_PAIR,
            (
                "from labs.multi_gpu_sort.exchange import trade",
                """
def trade(tensor, other, dist):
    received = torch.empty_like(tensor)
    dist.send(tensor, dst=other)
    dist.recv(received, src=other)
    return received
""",
            ),
        ),
        "lengths": changed(
            SORT_PAIR, ("a, b = (mine, theirs) if rank == 0 else (theirs, mine)", "a, b = mine, theirs")
        ),
        "sizes": changed(
            SORT_PAIR,
            (
                "return torch.cat([keep, trade(give, 1 - rank, dist)]).sort().values",
                """received = trade(give, 1 - rank, dist)
    whole = torch.cat([keep, received]).sort().values
    pool = torch.cat([whole, trade(whole, 1 - rank, dist)]).sort().values
    return pool[:n - 1] if rank == 0 and n > 1 else pool[n - 1:] if n > 1 else whole""",
            ),
        ),
        "copied": changed(SORT_PAIR, ("torch.cat([keep,", "torch.cat([keys,")),
        "lost": changed(
            SORT_PAIR,
            (
                "return torch.cat([keep, trade(give, 1 - rank, dist)]).sort().values",
                "trade(give, 1 - rank, dist)\n    return keep",
            ),
        ),
        "nothing_sent": """
def sort_pair(keys, dist):
    return keys.sort().values
""",
        "pivot": changed(SORT_PAIR, ("    p = low\n", "    p = low // 2\n")),
        "reversed": changed(
            SORT_PAIR,
            (
                "    return torch.cat([keep, trade(give, 1 - rank, dist)]).sort().values",
                """
    mine = torch.cat([keep, trade(give, 1 - rank, dist)]).sort().values
    return trade(mine, 1 - rank, dist)""",
            ),
        ),
        "other_keys": changed(
            SORT_PAIR,
            (
                "torch.cat([keep, trade(give, 1 - rank, dist)])",
                "torch.cat([keep, torch.zeros_like(trade(give, 1 - rank, dist))])",
            ),
        ),
        "dtype": changed(SORT_PAIR, ("    return torch.cat([keep", "    return torch.cat([keep.double()")),
        "nothing_returned": changed(SORT_PAIR, ("    return torch.cat", "    keys[:] = torch.cat")),
    },
    "radix_partition": {
        "unbalanced": changed(RADIX, ("(before * world_size // total)[buckets]", "buckets * world_size // 256")),
        "overlap": changed(RADIX, ("    dist.all_reduce(counts)\n", "")),
        "not_sorted": changed(RADIX, ("dist).sort().values", "dist)")),
        "not_grouped": changed(RADIX, ("keys[order]", "keys")),
        "backwards": changed(
            RADIX,
            ("(before * world_size // total)[buckets]", "world_size - 1 - (before * world_size // total)[buckets]"),
        ),
        "rank_count": changed(RADIX, ("torch.bincount(ranks, minlength=world_size)", "torch.bincount(ranks)")),
        "remainder": changed(RADIX, ("(before * world_size // total)", "(before // max(total // world_size, 1))")),
        "padding": PADDED,
        "padding_stays": changed(PADDED, ("received[received < 2**31 - 1]", "received")),
        "gathered": """
import torch

def radix_partition(keys, dist):
    size, rank = dist.get_world_size(), dist.get_rank()
    lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(lengths, torch.tensor([len(keys)]))
    most = max(int(n) for n in lengths)
    padded = torch.full((most,), 2**40)
    padded[: len(keys)] = keys
    everything = [torch.zeros(most, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(everything, padded)
    whole = torch.cat(everything).sort().values
    whole = whole[whole < 2**40]
    n = len(whole)
    return whole[n * rank // size : n * (rank + 1) // size]
""",
        "other_keys": changed(RADIX, ("dist).sort().values", "dist).unique()")),
        "nothing_returned": changed(RADIX, ("    return exchange_parts", "    keys = exchange_parts")),
    },
    "cut": {
        "ties": changed(CUT, ("a[middle] <= b", "a[middle] < b")),
        "beyond": changed(CUT, ("max(0, diagonal - len(b)), min(diagonal, len(a))", "0, diagonal")),
        "from_b": changed(CUT, ("return low", "return diagonal - low")),
        "off_by_one": changed(CUT, ("b[diagonal - middle - 1]", "b[min(diagonal - middle, len(b) - 1)]")),
        "linear": """
def cut(a, b, diagonal):
    i = j = 0
    for _ in range(diagonal):
        if j == len(b) or (i < len(a) and a[i] <= b[j]):
            i += 1
        else:
            j += 1
    return i
""",
        "not_a_count": changed(CUT, ("return low", "return (low, diagonal - low)")),
        "other": changed(CUT, ("return low", "return len(a) if len(a) > 2 else low")),
    },
    "sort_ranks": {
        "power_of_two": changed(SORT_RANKS, ("(size & (size - 1)) != 0", "size & ((size - 1) != 0)")),
        "gathered": """
import torch

def sort_ranks(keys, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    if (size & (size - 1)) != 0:
        raise ValueError(f"{size} ranks")
    everything = [torch.empty_like(keys) for _ in range(size)]
    dist.all_gather(everything, keys)
    return torch.cat(everything).sort().values[rank * len(keys) : (rank + 1) * len(keys)]
""",
        "halves_once": changed(SORT_RANKS, ("return sort_halves(keys, *half)", "return keys")),
        "one_half": changed(
            SORT_RANKS,
            ("return sort_halves(keys, *half)", "return sort_halves(keys, *half) if rank < middle else keys"),
        ),
        "unsorted_halves": changed(SORT_RANKS, ("        keys = sort_halves(keys, *half)\n", "")),
        "no_swap": changed(SORT_RANKS, ("        keys = swap_halves(keys, first, middle, end, dist)\n", "")),
        "not_in_group": changed(
            SORT_RANKS, ("half = (first, middle) if rank < middle else (middle, end)", "half = (first, middle)")
        ),
        "deadlock": changed(
            SORT_RANKS, ("        keys = swap_halves", "        if rank < middle:\n            keys = swap_halves")
        ),
        "refused": changed(SORT_RANKS, ("(size & (size - 1)) != 0", "size % 2 or size > 4")),
        "local": changed(
            SORT_RANKS, ("sort_halves(keys.sort().values, 0, size)", "sort_halves(keys.sort().values, 0, size).flip(0)")
        ),
    },
    "best_sort": {
        "one_way": changed(BEST, ("2 * chunk", "chunk")),
        "no_copies": changed(BEST, ("2 * chunk / host", "0.0")),
        "whole_array": changed(BEST, ("2 * chunk / host", "2 * nbytes / host")),
        "log_stages": changed(BEST, ("(gpus - 1) * chunk", "(gpus.bit_length() - 1) * chunk")),
        "g_stages": changed(BEST, ("(gpus - 1) * chunk", "gpus * chunk")),
        "all_move": changed(BEST, ("(gpus - 1) / gpus * chunk", "chunk")),
        "parallel_merge": changed(BEST, ("nbytes / cpu", "chunk / cpu")),
        "three_numbers": changed(BEST, ("            copies + nbytes / cpu)", "            'heterogeneous')")),
        "time": changed(BEST, ("nbytes / cpu", "3 * nbytes / cpu")),
    },
}
