"""Find the keys at given places of the sorted whole without sorting it: digit by digit, with counts only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

DIGIT_BITS = 8


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
    codes : numpy.ndarray, shape (n,)
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
    bits = 8 * codes.dtype.itemsize
    unsigned = codes.view(f"u{codes.dtype.itemsize}") ^ (1 << (bits - 1))  # digits have no sign
    prefixes, remaining = [0] * len(places), list(places)
    for shift in range(bits - DIGIT_BITS, -1, -DIGIT_BITS):
        counts = torch.from_numpy(np.stack([_histogram(unsigned, prefix, shift, bits) for prefix in prefixes]))
        dist.all_reduce(counts)
        for k, histogram in enumerate(counts.numpy()):
            below = np.concatenate([[0], np.cumsum(histogram)])
            digit = min(int(np.searchsorted(below, remaining[k], "right")) - 1, 2**DIGIT_BITS - 1)
            remaining[k] -= int(below[digit])
            prefixes[k] |= digit << shift
    return _deal_ties(unsigned, prefixes, remaining, bits, dist)


def _histogram(unsigned, prefix, shift, bits):
    """Counts of the digit at `shift` among the codes whose higher digits are those of `prefix`."""
    above = shift + DIGIT_BITS
    chosen = unsigned if above == bits else unsigned[unsigned >> above == prefix >> above]
    return np.bincount((chosen >> shift & (2**DIGIT_BITS - 1)).astype(np.intp), minlength=2**DIGIT_BITS)


def _deal_ties(unsigned, prefixes, remaining, bits, dist):
    ties = torch.tensor([int(np.count_nonzero(unsigned == prefix)) for prefix in prefixes])
    all_ties = [torch.empty_like(ties) for _ in range(dist.get_world_size())]
    dist.all_gather(all_ties, ties)
    before = sum(all_ties[: dist.get_rank()], torch.zeros_like(ties))
    return [
        Splitter(prefix - (1 << (bits - 1)), min(max(left - int(before[k]), 0), int(ties[k])))
        for k, (prefix, left) in enumerate(zip(prefixes, remaining))
    ]
