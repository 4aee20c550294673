"""Where one algorithm overtakes another, and how to share a message between two paths."""

from __future__ import annotations

from labs.kit.hardware.costs.all_reduce import double_tree_all_reduce, ring_all_reduce
from labs.kit.hardware.costs.checks import checked, log2_ceil, not_negative, positive


def ring_tree_crossover(world_size: int, latency: float, bandwidth: float) -> float:
    """Bytes above which the ring beats the binomial tree: (n-1-L) alpha B / (L - (n-1)/n).

    Parameters
    ----------
    world_size, latency, bandwidth
        n >= 2, alpha (s), B (B/s).

    Returns
    -------
    float
        Bytes S at which `ring_all_reduce` and `tree_all_reduce` take the same time. 0 where the ring never loses.

    Notes
    -----
    Set 2(n-1) alpha + 2(n-1)/n S/B = 2L (alpha + S/B) and solve for S. With 5 us and 50 GB/s: 0.47 MB for 8 ranks,
    2.8 MB for 64, 28 MB for 1024.
    """
    n = _at_least_two(world_size, latency, bandwidth)
    depth = log2_ceil(n)
    return (n - 1 - depth) * latency * bandwidth / (depth - (n - 1) / n)


def ring_double_tree_crossover(world_size: int, latency: float, bandwidth: float) -> float:
    """Bytes above which the ring beats two pipelined binary trees (each with its best number of blocks).

    Parameters
    ----------
    world_size, latency, bandwidth
        n >= 2, alpha (s), B (B/s).

    Returns
    -------
    float
        Bytes S at which `ring_all_reduce` and `double_tree_all_reduce` take the same time, to 12 digits. 0 where the
        ring never loses. With 5 us and 50 GB/s: 0 for 8 ranks, 13 MB for 64, 3.1 GB for 1024.

    Notes
    -----
    With a byte more, the trees' time grows by at least 2/B, the ring's by 2(n-1)/n /B, so there is one crossing at
    most; it is found by bisection. Limits: those of `double_tree_broadcast`.
    """
    n = _at_least_two(world_size, latency, bandwidth)

    def ring_wins(nbytes: float) -> bool:
        trees = double_tree_all_reduce(n, nbytes, latency, bandwidth)
        return ring_all_reduce(n, nbytes, latency, bandwidth) <= trees

    if ring_wins(0.0):
        return 0.0
    low, high = 0.0, latency * bandwidth
    while not ring_wins(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if ring_wins(middle) else (middle, high)
    return high


def two_paths_bytes(nbytes: float, latency_1: float, bandwidth_1: float, latency_2: float, bandwidth_2: float) -> float:
    """Bytes to send over path 1 so that both paths finish together: S R/(1+R) + (a_2-a_1) B_1 B_2/(B_1+B_2).

    Parameters
    ----------
    nbytes : float
        S, bytes to send in all.
    latency_1, latency_2 : float
        a_1 and a_2, seconds.
    bandwidth_1, bandwidth_2 : float
        B_1 and B_2, B/s; R = B_1/B_2.

    Returns
    -------
    float
        Bytes for path 1, in [0, S]; the rest goes over path 2.

    Notes
    -----
    Derivation: solve a_1 + x/B_1 = a_2 + (S-x)/B_2 for x and clip. Assumes that the paths share no wire, which is to
    be measured: two paths through one host memory do.
    """
    _check_paths(nbytes, latency_1, bandwidth_1, latency_2, bandwidth_2)
    both = bandwidth_1 + bandwidth_2
    balanced = (nbytes * bandwidth_1 + (latency_2 - latency_1) * bandwidth_1 * bandwidth_2) / both
    return min(max(balanced, 0.0), float(nbytes))


def two_paths_time(nbytes: float, latency_1: float, bandwidth_1: float, latency_2: float, bandwidth_2: float) -> float:
    """Seconds to send `nbytes` over two paths at once, shared as `two_paths_bytes` says.

    Parameters
    ----------
    nbytes, latency_1, bandwidth_1, latency_2, bandwidth_2
        As in `two_paths_bytes`.

    Returns
    -------
    float
        Seconds; a path that gets no bytes costs nothing. For large S the gain over path 1 alone tends to 1 + 1/R.
    """
    first = two_paths_bytes(nbytes, latency_1, bandwidth_1, latency_2, bandwidth_2)
    times = [latency_1 + first / bandwidth_1] if first > 0 else []
    if first < nbytes:
        times.append(latency_2 + (nbytes - first) / bandwidth_2)
    return max(times, default=min(latency_1, latency_2))


def two_paths_threshold(latency_1: float, bandwidth_1: float, latency_2: float) -> float:
    """Bytes up to which everything should go over path 1, the one that starts sooner: (a_2 - a_1) B_1.

    Parameters
    ----------
    latency_1, latency_2 : float
        a_1 and a_2, seconds.
    bandwidth_1 : float
        B_1, B/s.

    Returns
    -------
    float
        Bytes; 0 when path 2 starts no later.

    Notes
    -----
    Path 1 has then sent them all before the first byte of path 2 could arrive.
    """
    _check_paths(0, latency_1, bandwidth_1, latency_2, 1.0)
    return max(0.0, (latency_2 - latency_1) * bandwidth_1)


def _at_least_two(world_size: int, latency: float, bandwidth: float) -> int:
    n = checked(world_size, 0, latency, bandwidth)
    if n < 2:
        raise ValueError("one rank sends nothing, so there is nothing to compare; world_size must be at least 2")
    return n


def _check_paths(nbytes: float, latency_1: float, bandwidth_1: float, latency_2: float, bandwidth_2: float) -> None:
    for name, value in (("nbytes", nbytes), ("latency_1", latency_1), ("latency_2", latency_2)):
        not_negative(name, value)
    for name, value in (("bandwidth_1", bandwidth_1), ("bandwidth_2", bandwidth_2)):
        positive(name, value)
