"""Routes: against a search through all paths; rules of graphs; the order of ranks."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit.hardware import Device, Edge, Link, Network, Route, Topology, both_ways, cluster, uniform

LATENCIES = st.sampled_from([0.0, 1e-6, 2e-6, 2.5e-6, 7e-6])
BANDWIDTHS = st.sampled_from([1e9, 2e9, 25e9])


@st.composite
def networks(draw):
    """Up to four devices and three switches, joined by a random choice of full-duplex cables."""
    devices = [f"gpu{i}" for i in range(draw(st.integers(2, 4)))]
    points = devices + [f"switch{i}" for i in range(draw(st.integers(0, 3)))]
    edges = []
    for i, a in enumerate(points):
        for b in points[:i]:
            if draw(st.booleans()):
                edges += both_ways(a, b, draw(BANDWIDTHS), draw(LATENCIES))
    return devices, points, edges


def all_paths(devices, points, edges, source, target):
    """Every path that repeats no point and passes through switches only, as lists of edges: by trying all of them."""
    table = {(edge.source, edge.target): edge for edge in edges}
    inner = [point for point in points if point not in devices]
    for count in range(len(inner) + 1):
        for between in permutations(inner, count):
            steps = list(pairwise((source, *between, target)))
            if all(step in table for step in steps):
                yield [table[step] for step in steps]


@given(networks())
@settings(max_examples=200, deadline=None)
def test_a_route_is_the_best_of_all_paths(case):
    devices, points, edges = case
    network = Network(devices, edges)
    for a, b in permutations(devices, 2):
        paths = list(all_paths(devices, points, edges, a, b))
        if not paths:
            with pytest.raises(ValueError, match=f"no path leads from '{a}' to '{b}'"):
                network.route(a, b)
            continue
        found = network.route(a, b)
        ranked = [
            (round(sum(edge.link.latency for edge in path), 12), len(path), -min(edge.link.bandwidth for edge in path))
            for path in paths
        ]
        assert (round(found.latency, 12), len(found.links), -found.bandwidth) == min(ranked)


@given(networks())
@settings(max_examples=100, deadline=None)
def test_a_route_is_connected_and_as_long_as_its_way_back(case):
    devices, _, edges = case
    network = Network(devices, edges)
    ends = {edge.link.name: (edge.source, edge.target) for edge in edges}
    for a, b in permutations(devices, 2):
        try:
            route = network.route(a, b)
        except ValueError:
            continue
        hops = [ends[link.name] for link in route.links]
        assert hops[0][0] == a and hops[-1][1] == b
        assert all(first[1] == second[0] for first, second in pairwise(hops))
        assert route.latency == network.route(b, a).latency


def test_devices_do_not_forward():
    chain = [*both_ways("a", "b", 1e9), *both_ways("b", "c", 1e9)]
    topology = Topology("chain", [Device(name) for name in "abc"], chain)
    assert topology.route(0, 1).bandwidth == 1e9
    with pytest.raises(ValueError, match="no path leads from 'a' to 'c'"):
        topology.route(0, 2)


def test_a_message_alone_takes_latency_plus_bytes_over_the_slowest_link():
    slow, fast = Link("slow", 2.0, 1.0), Link("fast", 8.0, 0.5)
    assert Route(1.5, (fast, slow, fast)).time(10) == 1.5 + 10 / 2.0
    assert uniform(3).route(1, 1) == Route(0.0, ()) and uniform(3).route(1, 1).time(1e9) == 0.0


def test_directions_may_differ():
    edges = [Edge("a", "b", Link("there", 4.0, 1.0)), Edge("b", "a", Link("back", 1.0, 3.0))]
    topology = Topology("one way is faster", [Device("a"), Device("b")], edges)
    assert (topology.route(0, 1).time(8), topology.route(1, 0).time(8)) == (3.0, 11.0)
    assert topology.bandwidth_matrix().tolist() == [[float("inf"), 4.0], [1.0, float("inf")]]
    assert topology.latency_matrix().tolist() == [[0.0, 1.0], [3.0, 0.0]]


@pytest.mark.parametrize(
    ("devices", "edges", "message"),
    [
        ("ab", [Edge("a", "a", Link("x", 1.0))], "from 'a' to itself"),
        ("ab", [Edge("a", "b", Link("x", 1.0)), Edge("a", "b", Link("y", 1.0))], "two edges lead from 'a' to 'b'"),
        ("ab", [Edge("a", "b", Link("x", 1.0)), Edge("b", "a", Link("x", 2.0))], "two different links are called 'x'"),
        ("aa", [], "two devices are called 'a'"),
        ("ab", [Edge("a", "b", Link("x", 1.0))], "no link leads to device 'a'"),
        ("ab", [Edge("b", "a", Link("x", 1.0))], "no link leaves device 'a'"),
        ("", [], "no device"),
    ],
)
def test_rules_are_explained(devices, edges, message):
    with pytest.raises(ValueError, match=message):
        Topology("wrong", [Device(name) for name in devices], edges)


@pytest.mark.parametrize("values", [(0.0, 0.0), (-1.0, 0.0), (float("inf"), 0.0), (1.0, -1.0), (1.0, float("nan"))])
def test_links_have_sensible_figures(values):
    with pytest.raises(ValueError, match="link 'x'"):
        Link("x", *values)


@given(st.permutations(range(12)))
@settings(max_examples=50, deadline=None)
def test_reordering_moves_ranks_and_nothing_else(order):
    machine = cluster(3, 4)
    moved = machine.reorder(order)
    assert sorted(device.name for device in moved.devices) == sorted(device.name for device in machine.devices)
    for new in range(12):
        assert moved.node_of(new) == machine.node_of(order[new])
        assert moved.route(new, (new + 5) % 12) == machine.route(order[new], order[(new + 5) % 12])
    back = moved.reorder([order.index(rank) for rank in range(12)])
    assert back.devices == machine.devices
    assert moved.links() is machine.links()


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1, 1], "missing: 2; twice or unknown: 1"),
        ([0, 1], "missing: 2; twice or unknown: none"),
        ([0, 1, 2, 3], "missing: none; twice or unknown: 3"),
        ([-1, 0, 1], "missing: 2; twice or unknown: -1"),
    ],
)
def test_an_order_that_is_none_is_explained(order, message):
    with pytest.raises(ValueError, match=message):
        uniform(3).reorder(order)


def test_unknown_ranks_are_named():
    for call in (lambda: uniform(4).route(0, 4), lambda: uniform(4).route(-1, 0), lambda: uniform(4).node_of(7)):
        with pytest.raises(ValueError, match=r"there is no rank (4|-1|7): .* has ranks 0\.\.3"):
            call()
