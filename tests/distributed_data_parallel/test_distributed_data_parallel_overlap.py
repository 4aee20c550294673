"""Overlap saves what the model predicts, on several machines; the model itself is held against hand-made cases."""

import runpy
from pathlib import Path

import pytest

from labs.distributed_data_parallel import backward, cost_model, lanes, overlap
from labs.kit.hardware import a5000_pair, cluster, ethernet_pair, nvswitch_node, uniform

SCOPE: dict = {"__name__": "__main__"}  # as in a notebook, so that its class travels by value
exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))["DDP"], SCOPE)
DDP = SCOPE["DDP"]

MACHINES = {
    "uniform(4)": lambda: uniform(4),
    "uniform(8), slow": lambda: uniform(8, latency=20e-6, bandwidth=10e9),
    "nvswitch": lambda: nvswitch_node(4),
    "two nodes": lambda: cluster(2, gpus_per_node=4),
    "pair": lambda: a5000_pair(),
    "ethernet": lambda: ethernet_pair(),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("bucket_bytes", [1e6, 3e6])
def test_overlap_saves_what_the_model_predicts(machine, bucket_bytes):
    topology = MACHINES[machine]()
    late, early = (overlap.done(make, topology, bucket_bytes) for make in (overlap.AfterBackward, DDP))
    assert early < late
    saving = overlap.modelled_saving(topology, bucket_bytes)
    assert late - early == pytest.approx(saving, rel=0.1)


def test_one_bucket_saves_nothing():
    late, early = (overlap.done(make, uniform(4), 1e9) for make in (overlap.AfterBackward, DDP))
    assert early == pytest.approx(late, rel=1e-9)


def test_the_model_on_cases_counted_by_hand():
    # four gradients of 10 B, 1 s of backward each, an all-reduce of 10 B takes 2 s, of 20 B 3 s (1 s + 0.1 s/B)
    def cost(nbytes):
        return 1 + nbytes / 10

    each = ([10] * 4, 1.0, 10, cost)  # full at 1, 2, 3, 4 s; the network is the bottleneck: 1 + 4 * 2
    assert cost_model.predicted(*each) == pytest.approx(9)
    assert cost_model.predicted(*each, overlap=False) == pytest.approx(4 + 8)
    pairs = ([10] * 4, 1.0, 20, cost)  # full at 2 and 4 s: 2..5 and 5..8
    assert cost_model.predicted(*pairs) == pytest.approx(8)
    assert cost_model.predicted(*pairs, overlap=False) == pytest.approx(10)
    assert cost_model.predicted([], 1.0, 20, cost) == 0


def test_the_buckets_of_the_model_are_those_of_the_exercise():
    sizes = [40, 10, 30, 20, 10]
    buckets = SCOPE["assign_buckets"](sizes, 50)
    assert [size for size, _ in cost_model.buckets_of(sizes, 50)] == [
        sum(sizes[k] for k in bucket) for bucket in buckets
    ]
    assert cost_model.buckets_of([], 50) == []


def test_bucket_size_has_an_optimum_inside():
    sizes = [1e5 * k for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)]
    times = [overlap.model(size, 5e-6, 50e9, 4, 48, 25_000, 20e-6) for size in sizes]
    best = times.index(min(times))
    assert 0 < best < len(times) - 1
    found = [
        lanes.last(*overlap.spans_of(DDP, size, uniform(4), 48, 25_000, 20e-6))
        for size in (sizes[0], sizes[best], sizes[-1])
    ]
    assert found[1] < min(found[0], found[2])
    for simulated, size in zip(found, (sizes[0], sizes[best], sizes[-1])):
        assert simulated == pytest.approx(overlap.model(size, 5e-6, 50e9, 4, 48, 25_000, 20e-6), rel=0.02)


def test_every_gradient_travels_once():
    topology = uniform(4)
    from labs.kit import ranks

    module = backward.chain([1000] * 6, 1e-5)
    run = ranks.run(backward.one_backward, 4, args=(lambda m, dist: DDP(m, dist, 8000), module), topology=topology)
    calls = [event for event in run.trace if event.rank == 0 and event.label == "all_reduce"]
    assert len(calls) == 3
    assert sum(event.bytes for event in calls) == 2 * 3 / 4 * 6 * 4000
