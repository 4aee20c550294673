"""Find the keys at given places of the sorted whole without sorting it: digit by digit, with counts only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from labs.multi_gpu_sort.local import DIGIT_BITS, digits


class Splitter(NamedTuple):
    """Where the sorted whole is cut between two ranks.

    Parameters
    ----------
    code : int
        Smaller codes belong below, larger ones above.
    ties_below : int
        How many of this rank's codes that are equal to `code` belong below: its first ones.
    """

    code: int
    ties_below: int


def find_splitters(codes, places, dist):
    """The codes at some places of the sorted whole, found by counting.

    Parameters
    ----------
    codes : torch.Tensor, shape (n,)
        This rank's, int32 or int64, in any order.
    places : sequence of int
        From 0 to the number of codes of all ranks.
    dist : virtual or real torch.distributed
        Each digit of 8 bits costs one all-reduce of 256 counts a place.

    Returns
    -------
    list of Splitter
        For each place k, cuts so that exactly k codes of all ranks lie below; ties are dealt out in order of ranks.
    """
    if not places:
        return []
    bits = 8 * codes.element_size()
    prefixes, remaining = [0] * len(places), list(places)
    chosen = [codes] * len(places)  # for each place: the codes that agree with its splitter in the digits so far
    for shift in range(bits - DIGIT_BITS, -1, -DIGIT_BITS):
        found = [digits(some, shift) for some in (chosen if shift + DIGIT_BITS < bits else [codes])]
        counts = torch.stack([torch.bincount(row, minlength=2**DIGIT_BITS) for row in found])
        counts = counts.expand(len(places), -1).contiguous()  # all places share the count of the first digit
        dist.all_reduce(counts)
        for k, histogram in enumerate(counts.cpu().numpy()):
            below = np.concatenate([[0], np.cumsum(histogram)])
            digit = min(int(np.searchsorted(below, remaining[k], "right")) - 1, 2**DIGIT_BITS - 1)
            remaining[k] -= int(below[digit])
            prefixes[k] |= digit << shift
            chosen[k] = chosen[k][found[k if len(found) > 1 else 0] == digit]
    return _deal_ties(chosen, prefixes, remaining, bits, dist)


def _deal_ties(chosen, prefixes, remaining, bits, dist):
    """Each rank takes of the ties that belong below as many as the ranks before it leave."""
    ties = torch.tensor([len(some) for some in chosen], device=chosen[0].device)
    all_ties = [torch.empty_like(ties) for _ in range(dist.get_world_size())]
    dist.all_gather(all_ties, ties)
    before = sum(all_ties[: dist.get_rank()], torch.zeros_like(ties)).tolist()
    return [
        Splitter(prefix - (1 << (bits - 1)), min(max(left - before[k], 0), len(chosen[k])))
        for k, (prefix, left) in enumerate(zip(prefixes, remaining))
    ]
