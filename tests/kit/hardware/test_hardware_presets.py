"""Ready-made machines: who shares which wire, and figures that can be checked by hand."""

import tracemalloc

import pytest

from labs.kit.hardware import a5000_pair, cluster, ethernet_pair, nvswitch_node, pcie_box, reference_machine, uniform

MACHINES = {
    "uniform": uniform(5),
    "a5000 on": a5000_pair(),
    "a5000 off": a5000_pair(False),
    "nvswitch": nvswitch_node(),
    "pcie": pcie_box(6, per_switch=3),
    "cluster": cluster(3, 4),
    "cluster, NIC per GPU": cluster(3, 4, nic_per_gpu=True),
    "one node": cluster(1, 8),
    "ethernet": ethernet_pair(),
}


def shared(topology, *pairs):
    """Names of the wires that the routes of all given (source, destination) pairs have in common."""
    return set.intersection(*({link.name for link in topology.route(*pair).links} for pair in pairs))


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_rank_reaches_every_other_and_both_ways_take_equally_long(machine):
    ranks = range(machine.world_size)
    for src in ranks:
        for dst in ranks:
            route = machine.route(src, dst)
            assert route.latency == machine.route(dst, src).latency
            assert bool(route.links) == (src != dst)
            assert len({link.name for link in route.links}) == len(route.links)
    assert {name for edge in machine.links() for name in (edge.source, edge.target)} == {
        *(device.name for device in machine.devices),
        *machine.switches,
    }


def test_uniform_is_what_the_formulas_assume():
    machine = uniform(4, latency=5e-6, bandwidth=50e9)
    assert machine.route(2, 1).time(100e6) == 5e-6 + 100e6 / 50e9
    assert not shared(machine, (0, 1), (1, 0)), "full duplex"
    assert not shared(machine, (0, 1), (2, 3)), "the switch does not block"
    assert shared(machine, (0, 1), (2, 1)) == {"switch > gpu1"}
    assert shared(machine, (0, 1), (0, 3)) == {"gpu0 > switch"}


def test_uniform_grows_with_its_ranks_and_not_with_their_square():
    tracemalloc.start()
    machine = uniform(16_384, latency=3e-6)
    for rank in range(16_384):
        assert machine.route(rank, rank * 7 % 16_384).latency in (3e-6, 0.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(machine.links()) == 2 * 16_384
    assert peak < 100e6, f"{peak / 16_384**2:.1f} B a pair"


def test_the_reference_pair_repeats_its_measurements():
    machine = reference_machine()
    for access in (True, False):
        pair, one_way = a5000_pair(access), machine.one_way(access)
        for src, dst in ((0, 1), (1, 0)):
            assert pair.route(src, dst).bandwidth == one_way[src, dst]
            assert pair.route(src, dst).latency == pytest.approx(machine.latency(access), rel=1e-12)
        (wire,) = shared(pair, (0, 1), (1, 0))
        bandwidth = {link.name: link.bandwidth for link in pair.route(0, 1).links}[wire]
        assert bandwidth == machine.both_ways(access), "both directions at once get what was measured, summed"
        assert bandwidth / 2 < min(one_way[0, 1], one_way[1, 0])
    assert a5000_pair(True).route(0, 1).links[0].kind == "NVLink"
    assert a5000_pair(False).route(0, 1).links[0].kind == "PCIe"


def test_gpus_under_one_pcie_switch_share_its_uplink():
    box = pcie_box(4)
    assert shared(box, (0, 2), (1, 3)) == {"PCIe switch 0 > host", "host > PCIe switch 1"}
    assert not shared(box, (0, 1), (2, 3))
    assert not shared(box, (0, 2), (2, 0)), "full duplex"
    assert box.route(0, 1).latency < box.route(0, 2).latency


def test_clusters_put_ranks_on_nodes_in_order():
    machine = cluster(3, 4)
    assert [machine.node_of(rank) for rank in range(12)] == [0] * 4 + [1] * 4 + [2] * 4
    assert machine.nodes == (0, 1, 2)
    assert {machine.node_of(rank) for rank in range(5)} == {0, 1}
    assert machine.reorder([0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]).node_of(1) == 1


def test_a_card_per_node_is_shared_and_a_card_per_gpu_is_not():
    one, each = cluster(2, 4), cluster(2, 4, nic_per_gpu=True)
    assert shared(one, (0, 4), (1, 5)) == {"node0 host > network", "network > node1 host"}
    assert not shared(each, (0, 4), (1, 5))
    for machine in (one, each):
        assert machine.route(0, 4).bandwidth == 50e9
        assert machine.route(0, 1).bandwidth == 450e9
        assert machine.route(0, 4).latency >= 5e-6 > machine.route(0, 1).latency
        assert not shared(machine, (0, 4), (0, 1)), "the way out of the node is not the way to the neighbour"


def test_figures_can_be_chosen():
    machine = cluster(2, 2, nic_per_gpu=True, nvlink=300e9, nic=12.5e9, latency=10e-6)
    assert machine.route(0, 1).bandwidth == 300e9
    assert machine.route(0, 2).time(12.5e9) == pytest.approx(1 + 10e-6, rel=1e-12)
    assert ethernet_pair().route(0, 1).bandwidth * 8 == 10e9
    assert ethernet_pair(bandwidth=3e9, latency=0.0).route(1, 0).time(6e9) == 2.0


@pytest.mark.parametrize("make", [uniform, nvswitch_node, pcie_box, cluster])
def test_there_is_at_least_one_of_everything(make):
    assert make(1).world_size >= 1
    with pytest.raises(ValueError, match="must be at least 1, not 0"):
        make(0)
