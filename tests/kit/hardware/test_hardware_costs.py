"""Costs against programs: each algorithm is carried out chunk by chunk, its messages are counted, exactly.

A round is a list of messages (src, dst, set of (chunk, contributors)). It takes alpha plus the bytes of the busiest
port over B, in fractions. Carrying the algorithm out also shows that its rounds really are an all-reduce.
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.kit.hardware import costs

ALPHA, BANDWIDTH = Fraction(5, 10**6), Fraction(50 * 10**9)
NBYTES = Fraction(3_628_800)  # 10!, divisible by many numbers of ranks


class Ranks:
    """n ranks that each hold `chunks` chunks; a chunk is the set of ranks whose numbers are in it."""

    def __init__(self, n, chunks, alpha=ALPHA, bandwidth=BANDWIDTH, nbytes=NBYTES):
        self.n, self.chunks, self.seconds = n, chunks, Fraction(0)
        self.alpha, self.bandwidth, self.chunk_bytes = alpha, bandwidth, nbytes / chunks
        self.held = [[frozenset([rank])] * chunks for rank in range(n)]
        self.sent = [Fraction(0)] * n

    def round(self, messages, add):
        """Messages (src, dst, chunk indices) at the same time; the receiver adds to what it holds, or replaces it."""
        before = [list(row) for row in self.held]
        out, into = [Fraction(0)] * self.n, [Fraction(0)] * self.n
        for src, dst, chunks in messages:
            for c in chunks:
                if add:
                    assert not before[src][c] & self.held[dst][c], "a number must not be added twice"
                    self.held[dst][c] = self.held[dst][c] | before[src][c]
                else:
                    self.held[dst][c] = before[src][c]
            out[src] += len(chunks) * self.chunk_bytes
            into[dst] += len(chunks) * self.chunk_bytes
        self.seconds += self.alpha + max(out + into) / self.bandwidth
        self.sent = [a + b for a, b in zip(self.sent, out)]

    def check(self):
        assert all(held == frozenset(range(self.n)) for row in self.held for held in row), "not an all-reduce"
        return self


def ring(n):
    ranks = Ranks(n, n)
    for step in range(n - 1):
        ranks.round([(r, (r + 1) % n, [(r - step) % n]) for r in range(n)], add=True)
    for step in range(n - 1):
        ranks.round([(r, (r + 1) % n, [(r + 1 - step) % n]) for r in range(n)], add=False)
    return ranks.check()


def tree(n):
    ranks, levels = Ranks(n, 1), []
    distance = 1
    while distance < n:
        levels.append([(r + distance, r) for r in range(0, n - distance, 2 * distance)])
        distance *= 2
    for level in levels:
        ranks.round([(src, dst, [0]) for src, dst in level], add=True)
    for level in reversed(levels):
        ranks.round([(dst, src, [0]) for src, dst in level], add=False)
    return ranks.check()


def halving_doubling(n):
    ranks, span = Ranks(n, n), {rank: range(n) for rank in range(n)}
    distance, spans = n // 2, []
    while distance:
        spans.append((distance, dict(span)))
        messages = []
        for r in range(n):
            half = len(span[r]) // 2
            keep, give = (span[r][:half], span[r][half:]) if not r & distance else (span[r][half:], span[r][:half])
            messages.append((r, r ^ distance, give))
            span[r] = keep
        ranks.round(messages, add=True)
        distance //= 2
    for distance, _ in reversed(spans):
        ranks.round([(r, r ^ distance, span[r]) for r in range(n)], add=False)
        span = {r: sorted([*span[r], *span[r ^ distance]]) for r in range(n)}
    return ranks.check()


def mesh(n):
    ranks = Ranks(n, n)
    ranks.round([(src, dst, [dst]) for src in range(n) for dst in range(n) if src != dst], add=True)
    ranks.round([(src, dst, [src]) for src in range(n) for dst in range(n) if src != dst], add=False)
    return ranks.check()


def collector(n):
    ranks = Ranks(n, 1)
    ranks.round([(src, 0, [0]) for src in range(1, n)], add=True)
    ranks.round([(0, dst, [0]) for dst in range(1, n)], add=False)
    return ranks.check()


SIZES = [2, 3, 4, 5, 7, 8, 12, 16]
POWERS = [2, 4, 8, 16, 32]
ALGORITHMS = [
    *((ring, costs.ring_all_reduce, n) for n in SIZES),
    *((tree, costs.tree_all_reduce, n) for n in SIZES),
    *((halving_doubling, costs.halving_doubling_all_reduce, n) for n in POWERS),
    *((mesh, costs.mesh_all_reduce, n) for n in SIZES),
    *((collector, costs.collector_all_reduce, n) for n in SIZES),
]


@pytest.mark.parametrize(("program", "cost", "n"), ALGORITHMS, ids=lambda x: getattr(x, "__name__", x))
def test_cost_equals_the_program_counted_round_by_round(program, cost, n):
    counted = program(n)
    assert cost(n, float(NBYTES), float(ALPHA), float(BANDWIDTH)) == pytest.approx(float(counted.seconds), rel=1e-12)
    bound = costs.lower_bound_all_reduce(n, float(NBYTES), float(ALPHA), float(BANDWIDTH))
    assert bound <= float(counted.seconds) * (1 + 1e-12)
    assert sum(counted.sent) >= 2 * (n - 1) * NBYTES, "fewer bytes than the lower bound allows"


@pytest.mark.parametrize("n", SIZES)
def test_ring_halves_are_reduce_scatter_and_all_gather(n):
    half = float(ring(n).seconds) / 2
    for cost in (costs.reduce_scatter, costs.all_gather):
        assert cost(n, float(NBYTES), float(ALPHA), float(BANDWIDTH)) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_one_round_collectives(n):
    """Scatter, gather, all-to-all: the rounds of the mesh, one at a time or from one rank only."""
    everyone, root = Ranks(n, n), Ranks(n, n)
    everyone.round([(a, b, [b]) for a in range(n) for b in range(n) if a != b], add=False)
    root.round([(0, b, [b]) for b in range(1, n)], add=False)
    for cost, counted in ((costs.all_to_all, everyone), (costs.scatter, root), (costs.gather, root)):
        seconds = cost(n, float(NBYTES), float(ALPHA), float(BANDWIDTH))
        assert seconds == pytest.approx(float(counted.seconds), rel=1e-12)


@pytest.mark.parametrize(("nodes", "g"), [(2, 2), (3, 4), (4, 3), (1, 4), (5, 1)])
def test_hierarchical_in_three_phases(nodes, g):
    a_in, b_in, a_out, b_out = Fraction(2, 10**6), Fraction(450 * 10**9), Fraction(7, 10**6), Fraction(50 * 10**9)
    inside = Ranks(g, g, a_in, b_in)  # one node: reduce-scatter, then all-gather, n-1 rounds each
    for _ in range(2):
        for step in range(g - 1):
            inside.round([(r, (r + 1) % g, [(r - step) % g]) for r in range(g)], add=False)
    gathering = a_in + NBYTES * (g - 1) / g / b_in if g > 1 else 0
    expected = {
        "device": inside.seconds + 2 * (nodes - 1) * (a_out + NBYTES / g / nodes / b_out),
        "shared": inside.seconds + 2 * (nodes - 1) * (a_out + NBYTES / nodes / b_out),
        "leader": inside.seconds + 2 * gathering + 2 * (nodes - 1) * (a_out + NBYTES / nodes / b_out),
    }
    for uplink, seconds in expected.items():
        cost = costs.hierarchical_all_reduce(nodes, g, float(NBYTES), *map(float, (a_in, b_in, a_out, b_out)), uplink)
        assert cost == pytest.approx(float(seconds), rel=1e-12)


def test_hierarchical_formula_of_the_syllabus():
    n, g, s, b_in, b_out = 16, 8, 1e9, 450e9, 50e9
    inside = 2 * (g - 1) / g * s / b_in
    each = costs.hierarchical_all_reduce(n, g, s, 0.0, b_in, 0.0, b_out)
    assert each == pytest.approx(inside + 2 * (n - 1) / n * s / (g * b_out), rel=1e-12)
    one = costs.hierarchical_all_reduce(n, g, s, 0.0, b_in, 0.0, b_out, "shared")
    assert one == pytest.approx(inside + 2 * (n - 1) / n * s / b_out, rel=1e-12)
    with pytest.raises(ValueError, match="uplink must be"):
        costs.hierarchical_all_reduce(2, 2, s, 0.0, b_in, 0.0, b_out, "both")


def test_overlapped_collector_halves_the_bytes():
    two = costs.collector_all_reduce(4, 100e6, 0.0, 50e9)
    assert (two, costs.collector_all_reduce(4, 100e6, 0.0, 50e9, overlapped=True)) == (12e-3, 6e-3)
    assert costs.lower_bound_all_reduce(4, 100e6, 0.0, 50e9) == pytest.approx(3e-3, rel=1e-12)


EVERY = [
    costs.all_gather,
    costs.all_to_all,
    costs.collector_all_reduce,
    costs.double_tree_all_reduce,
    costs.double_tree_broadcast,
    costs.gather,
    costs.halving_doubling_all_reduce,
    costs.lower_bound_all_reduce,
    costs.mesh_all_reduce,
    costs.parameter_server_colocated,
    costs.reduce_scatter,
    costs.ring_all_reduce,
    costs.scatter,
    costs.tree_all_reduce,
    costs.tree_broadcast,
    costs.tree_reduce,
]
ALL_REDUCES = [cost for cost in EVERY if cost.__name__.endswith("all_reduce")]


@pytest.mark.parametrize("cost", EVERY, ids=lambda cost: cost.__name__)
def test_one_rank_costs_nothing_and_wrong_arguments_are_named(cost):
    assert cost(1, 1e6, 5e-6, 50e9) == 0.0
    for arguments, message in [
        ((0, 1.0, 0.0, 1.0), "world_size must be at least 1, not 0"),
        ((2, -1.0, 0.0, 1.0), "nbytes must be"),
        ((2, 1.0, float("nan"), 1.0), "latency must be"),
        ((2, 1.0, 0.0, 0.0), "bandwidth must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            cost(*arguments)
    with pytest.raises(TypeError, match=r"world_size must be a whole number, not 2\.5"):
        cost(2.5, 1.0, 0.0, 1.0)


@given(st.integers(0, 11), st.integers(0, 10**12), st.floats(0, 1e-3), st.floats(1e6, 1e12))
def test_nothing_beats_the_lower_bound_and_halving_never_loses_to_the_ring(power, nbytes, latency, bandwidth):
    n = 2**power
    bound = costs.lower_bound_all_reduce(n, nbytes, latency, bandwidth)
    for cost in ALL_REDUCES:
        assert cost(n, nbytes, latency, bandwidth) >= bound * (1 - 1e-12)
    halving = costs.halving_doubling_all_reduce(n, nbytes, latency, bandwidth)
    assert halving <= costs.ring_all_reduce(n, nbytes, latency, bandwidth) * (1 + 1e-12)


@given(st.sampled_from(EVERY), st.integers(1, 10), st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_bytes_never_cost_less(cost, power, a, b):
    low, high = sorted((a, b))
    assert cost(2**power, low, 5e-6, 50e9) <= cost(2**power, high, 5e-6, 50e9) * (1 + 1e-12)


def test_halving_and_doubling_wants_a_power_of_two():
    with pytest.raises(ValueError, match="must be a power of two, not 6"):
        costs.halving_doubling_all_reduce(6, 1.0, 0.0, 1.0)


FACTORS = {
    "all_reduce": [0, 1, Fraction(4, 3), Fraction(3, 2), Fraction(8, 5)],
    "reduce_scatter": [0, Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(4, 5)],
    "all_gather": [0, Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(4, 5)],
    "all_to_all": [0, Fraction(1, 2), Fraction(2, 3), Fraction(3, 4), Fraction(4, 5)],
    "broadcast": [1] * 5,
    "reduce": [1] * 5,
}


@pytest.mark.parametrize("collective", FACTORS)
def test_bus_factors(collective):
    factors = [costs.bus_factor(collective, n) for n in range(1, 6)]
    assert factors == [float(factor) for factor in FACTORS[collective]]
    assert costs.bus_bandwidth(collective, 4, 8e9, 2.0) == factors[3] * 4e9


def test_bus_bandwidth_of_a_ring_without_latency_is_the_links():
    for n in (2, 3, 8, 1000):
        seconds = costs.ring_all_reduce(n, 1e9, 0.0, 50e9)
        assert costs.bus_bandwidth("all_reduce", n, 1e9, seconds) == pytest.approx(50e9, rel=1e-12)
    with pytest.raises(ValueError, match="no bus bandwidth is defined for 'barrier'; known: all_reduce"):
        costs.bus_factor("barrier", 2)
    with pytest.raises(ValueError, match="seconds must be"):
        costs.bus_bandwidth("reduce", 2, 1.0, 0.0)
