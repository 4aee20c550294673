"""Crossovers, two paths and parameter servers: figures of the syllabus, balances, linear programming."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.kit.hardware import costs

ALPHA, BANDWIDTH = 5e-6, 50e9


@pytest.mark.parametrize(("n", "megabytes", "digits"), [(8, 0.47, 0.005), (64, 2.8, 0.05), (1024, 28, 0.5)])
def test_ring_against_binomial_tree(n, megabytes, digits):
    at = costs.ring_tree_crossover(n, ALPHA, BANDWIDTH)
    assert at / 1e6 == pytest.approx(megabytes, abs=digits)
    ring, tree = costs.ring_all_reduce, costs.tree_all_reduce
    assert ring(n, at, ALPHA, BANDWIDTH) == pytest.approx(tree(n, at, ALPHA, BANDWIDTH), rel=1e-12)
    assert ring(n, 1.01 * at, ALPHA, BANDWIDTH) < tree(n, 1.01 * at, ALPHA, BANDWIDTH)
    assert ring(n, 0.99 * at, ALPHA, BANDWIDTH) > tree(n, 0.99 * at, ALPHA, BANDWIDTH)


def test_for_two_and_three_ranks_the_ring_never_loses():
    assert costs.ring_tree_crossover(2, ALPHA, BANDWIDTH) == costs.ring_tree_crossover(3, ALPHA, BANDWIDTH) == 0.0
    with pytest.raises(ValueError, match="world_size must be at least 2"):
        costs.ring_tree_crossover(1, ALPHA, BANDWIDTH)


@pytest.mark.parametrize(("n", "megabytes", "digits"), [(64, 13, 0.5), (1024, 3100, 50)])
def test_ring_against_double_tree(n, megabytes, digits):
    at = costs.ring_double_tree_crossover(n, ALPHA, BANDWIDTH)
    assert at / 1e6 == pytest.approx(megabytes, abs=digits)
    # the closed form without whole blocks: with u = sqrt(S/B), u^2/n + sqrt(8 L alpha) u - (n-1-2L) alpha = 0
    depth = (n - 1).bit_length()
    u = max(np.roots([1 / n, np.sqrt(8 * depth * ALPHA), -(n - 1 - 2 * depth) * ALPHA]).real)
    assert at == pytest.approx(u * u * BANDWIDTH, rel=0.01)
    assert costs.ring_all_reduce(n, 1.01 * at, ALPHA, BANDWIDTH) < costs.double_tree_all_reduce(
        n, 1.01 * at, ALPHA, BANDWIDTH
    )


def test_among_eight_the_ring_always_beats_the_double_tree():
    assert costs.ring_double_tree_crossover(8, ALPHA, BANDWIDTH) == 0.0
    for nbytes in (0, 1, 1e3, 1e6, 1e9):
        ring, trees = (f(8, nbytes, ALPHA, BANDWIDTH) for f in (costs.ring_all_reduce, costs.double_tree_all_reduce))
        assert ring < trees


paths = st.tuples(st.floats(0, 1e-3), st.floats(1e8, 1e12))


@given(st.floats(0, 1e10), paths, paths)
def test_two_paths_finish_together_and_no_other_share_is_faster(nbytes, first, second):
    share = costs.two_paths_bytes(nbytes, *first, *second)
    best = costs.two_paths_time(nbytes, *first, *second)
    assert 0 <= share <= nbytes

    def time(x):
        return max(
            first[0] + x / first[1] if x > 0 else 0.0,
            second[0] + (nbytes - x) / second[1] if x < nbytes else 0.0,
        )

    if nbytes > 0:
        tries = np.linspace(0, nbytes, 41)
        assert best <= min(map(time, tries)) * (1 + 1e-9)
        assert best == pytest.approx(time(share), rel=1e-12)
        mirrored = costs.two_paths_bytes(nbytes, *second, *first)
        assert share + mirrored == pytest.approx(nbytes, rel=1e-9, abs=1e-6)
    if 0 < share < nbytes:
        assert first[0] + share / first[1] == pytest.approx(second[0] + (nbytes - share) / second[1], rel=1e-6)


def test_below_the_threshold_everything_takes_the_quicker_path():
    first, second = (1e-6, 50e9), (12e-6, 20e9)
    threshold = costs.two_paths_threshold(*first, second[0])
    assert threshold == pytest.approx(550e3, rel=1e-12)
    assert costs.two_paths_bytes(0.999 * threshold, *first, *second) == 0.999 * threshold
    assert costs.two_paths_bytes(1.001 * threshold, *first, *second) < 1.001 * threshold
    assert costs.two_paths_threshold(2e-6, 1e9, 1e-6) == 0.0
    far = 1e15
    gain = costs.two_paths_time(far, *first, 1.0, 1e-9) / costs.two_paths_time(far, *first, *second)
    assert gain == pytest.approx(1 + 20 / 50, rel=1e-6)


@pytest.mark.parametrize(("spare", "expected"), [(0, 1.75), (2, 1.47), (4, 1.27), (8, 1.00), (12, 1.00)])
def test_spare_machines_for_eight_workers(spare, expected):
    assert costs.parameter_server_spare_machines(8, 1.0, 0.0, 1.0, spare) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 16])
def test_spare_machines_by_linear_programming(n):
    """Each machine may serve any share; minimise T subject to every link's bytes, without assuming equal shares."""
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy solves the linear program")
    for spare in range(0, n + 3):
        machines = n + spare
        cost = np.zeros(machines + 1)
        cost[-1] = 1.0  # variables: the share of each machine, then T
        rows, right = [], []
        for m in range(machines):
            # a link carries, each way: gradients of the other workers for its share, results of the others' shares
            row = np.zeros(machines + 1)
            row[m] = n - 1 if m < n else n
            if m < n:
                row[[other for other in range(machines) if other != m]] = 1.0
            row[-1] = -1.0
            rows.append(row)
            right.append(0.0)
        total = np.append(np.ones(machines), 0.0)
        best = optimize.linprog(cost, A_ub=rows, b_ub=right, A_eq=[total], b_eq=[1.0], bounds=(0, None))
        assert best.success
        assert costs.parameter_server_spare_machines(n, 1.0, 0.0, 1.0, spare) == pytest.approx(best.fun, rel=1e-7)


def test_dedicated_servers():
    seconds = [costs.parameter_server(8, 1.0, 0.0, 1.0, servers) for servers in (1, 2, 4, 8, 16)]
    assert seconds == [16.0, 8.0, 4.0, 2.0, 2.0]
    overlapped = [costs.parameter_server(8, 1.0, 0.0, 1.0, servers, overlapped=True) for servers in (1, 2, 4, 8, 16)]
    assert overlapped == [8.0, 4.0, 2.0, 1.0, 1.0]
    assert costs.parameter_server(8, 0.0, 3.0, 1.0, 2) == 6.0
    with pytest.raises(ValueError, match="servers must be at least 1"):
        costs.parameter_server(8, 1.0, 0.0, 1.0, 0)
    with pytest.raises(ValueError, match="workers must be at least 2"):
        costs.parameter_server_spare_machines(1, 1.0, 0.0, 1.0, 1)


@pytest.mark.parametrize("n", [2, 3, 8, 100])
def test_servers_on_the_workers_are_exactly_all_reduce(n):
    arguments = (n, 1e8, ALPHA, BANDWIDTH)
    assert costs.parameter_server_colocated(*arguments) == costs.mesh_all_reduce(*arguments)
    spare = costs.parameter_server_spare_machines(*arguments, spare=0)
    assert spare == pytest.approx(costs.mesh_all_reduce(*arguments), rel=1e-12)
    share = costs.spare_machines_worker_share(n, 0)
    assert share == pytest.approx(1 / n, rel=1e-12)
