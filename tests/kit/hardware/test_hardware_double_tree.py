"""The pipelined double tree: trees are built, coloured and run step by step, and the formula must bound the steps."""

from math import sqrt

import pytest

from labs.kit.hardware import costs


def in_order_tree(n):
    """Parent of each of n points numbered 1..n in order (0: the root); every odd point is a leaf."""
    parent = {}

    def build(low, high, above):
        if low > high:
            return
        half = 1
        while low - 1 + 2 * half <= high:
            half *= 2
        middle = low - 1 + half
        parent[middle] = above
        build(low, middle - 1, middle)
        build(middle + 1, high, middle)

    build(1, n, 0)
    return parent


def two_trees(ranks):
    """Edges (tree, from, to) over ranks 0..ranks-1; rank 0 feeds the roots. No other has children in both trees."""
    n = ranks - 1
    first = in_order_tree(n)
    edges = [(0, above, point) for point, above in first.items()]
    for point, above in first.items():
        # the second tree is the first, mirrored for an even number of points (odd become even), else shifted by one
        move = (lambda p: n + 1 - p) if n % 2 == 0 else (lambda p: (p - 2) % n + 1)
        edges.append((1, move(above) if above else 0, move(point)))
    return edges


def coloured(edges):
    """Edges with colours 0 and 1, so that no rank sends twice or receives twice in one colour: by walking cycles."""
    by_sender, by_receiver, colour = {}, {}, {}
    for edge in edges:
        by_sender.setdefault(edge[1], []).append(edge)
        by_receiver.setdefault(edge[2], []).append(edge)
    assert all(len(group) <= 2 for group in (*by_sender.values(), *by_receiver.values())), "degree above two"
    for start in edges:
        queue = [(start, 0)] if start not in colour else []
        while queue:
            edge, shade = queue.pop()
            if edge in colour:
                assert colour[edge] == shade
                continue
            colour[edge] = shade
            for other in by_sender[edge[1]] + by_receiver[edge[2]]:
                if other is not edge:
                    queue.append((other, 1 - shade))
    return colour


def steps_needed(ranks, blocks):
    """Steps until every rank holds `blocks` blocks of each half; the edges of one colour work in each step."""
    colour = coloured(two_trees(ranks))
    held = {(tree, rank): blocks if rank == 0 else 0 for tree in (0, 1) for rank in range(ranks)}
    steps = 0
    while min(held.values()) < blocks:
        ready = [e for e, c in colour.items() if c == steps % 2 and held[e[0], e[2]] < held[e[0], e[1]]]
        assert len({e[1] for e in ready}) == len(ready) == len({e[2] for e in ready}), "a rank is used twice"
        for tree, _, target in ready:
            held[tree, target] += 1
        steps += 1
        assert steps < 10_000
    return steps


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 13, 16, 31, 32, 33, 64, 100, 128])
@pytest.mark.parametrize("blocks", [1, 2, 5, 40])
def test_the_formula_bounds_the_steps_and_not_by_much(ranks, blocks):
    bound = 2 * (ranks - 1).bit_length() + 2 * blocks
    steps = steps_needed(ranks, blocks)
    assert bound - 5 - 2 * (ranks <= 3) * blocks <= steps <= bound
    # one step costs alpha + S/(2kB); with S = 2kB it costs alpha + 1
    assert costs.double_tree_broadcast(ranks, 2.0 * blocks, 0.25, 1.0, blocks) == pytest.approx(1.25 * bound, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 8, 64, 1024])
@pytest.mark.parametrize("nbytes", [1e3, 1e5, 1e7, 1e9, 1e11])
def test_the_best_number_of_blocks(ranks, nbytes):
    depth, alpha, bandwidth = (ranks - 1).bit_length(), 5e-6, 50e9
    best = costs.double_tree_all_reduce(ranks, nbytes, alpha, bandwidth)
    around = {max(1, round(sqrt(depth * nbytes / (2 * alpha * bandwidth)) * f)) for f in (0.25, 0.5, 0.9, 1, 1.1, 2, 4)}
    assert best <= min(costs.double_tree_all_reduce(ranks, nbytes, alpha, bandwidth, k) for k in around) * (1 + 1e-12)
    closed = 4 * depth * alpha + 2 * nbytes / bandwidth + 2 * sqrt(8 * depth * alpha * nbytes / bandwidth)
    assert best >= closed * (1 - 1e-12)
    if nbytes > 200 * 2 * alpha * bandwidth / depth:
        assert best == pytest.approx(closed, rel=1e-3)


def test_limits_of_the_double_tree():
    assert costs.double_tree_broadcast(8, 0.0, 1.0, 1.0) == 2 * 3 + 2
    assert costs.double_tree_all_reduce(8, 100.0, 0.0, 50.0) == 4.0
    with pytest.raises(ValueError, match="blocks must be at least 1"):
        costs.double_tree_broadcast(8, 1.0, 1.0, 1.0, blocks=0)
