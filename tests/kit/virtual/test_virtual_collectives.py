"""Collectives: values against PyTorch, both modes against each other, costs, groups, what is refused."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit.hardware import Link, Route, costs, uniform
from labs.kit.virtual import Deadlock, Mismatch, RankFailed, simulate, work

LATENCY, BANDWIDTH = 5e-6, 25e9
MODES = ["model", "messages"]
OPS = {
    "SUM": lambda x: x.sum(0),
    "AVG": lambda x: x.mean(0),
    "MAX": lambda x: x.amax(0),
    "MIN": lambda x: x.amin(0),
    "PRODUCT": lambda x: x.prod(0),
}


def near(a, b):
    assert abs(a - b) <= 1e-9 * abs(b), (a, b)


def spellings(dist):
    """Every collective by its old and its new name."""
    return (
        (dist.reduce_scatter_tensor, dist.all_gather_into_tensor),
        (dist.reduce_scatter_single, dist.all_gather_single),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("async_op", [False, True])
def test_every_collective_gives_the_right_values(mode, n, async_op):
    data = (torch.arange(n * n * 2).reshape(n, 2 * n) % 7 + 1).double()

    def program(dist):
        rank, mine = dist.get_rank(), data[dist.get_rank()].clone()

        def do(call, *a, **k):
            handle = call(*a, async_op=async_op, **k)
            assert (handle is not None) == async_op
            if async_op:
                assert handle.wait() and handle.is_completed()

        do(dist.barrier)
        for reduce_scatter, all_gather in spellings(dist):
            for name, oracle in OPS.items():
                op = getattr(dist.ReduceOp, name)
                t = mine.clone()
                do(dist.all_reduce, t, op)
                assert torch.allclose(t, oracle(data)), name
                t = mine.clone()
                do(dist.reduce, t, dst=n - 1, op=op)
                assert torch.allclose(t, oracle(data) if rank == n - 1 else mine)
                t = torch.empty(2).double()
                do(reduce_scatter, t, mine, op)
                assert torch.allclose(t, oracle(data)[2 * rank : 2 * rank + 2])
            t = torch.empty(n, 2 * n).double()
            do(all_gather, t, mine)
            assert torch.equal(t, data)
        t = mine.clone()
        do(dist.broadcast, t, src=n // 2)
        assert torch.equal(t, data[n // 2])
        ts = [torch.empty_like(mine) for _ in range(n)]
        do(dist.all_gather, ts, mine)
        assert torch.equal(torch.stack(ts), data)
        t = torch.empty_like(mine)
        do(dist.all_to_all_single, t, mine)
        assert torch.equal(t.view(n, 2), data[:, 2 * rank : 2 * rank + 2])
        ts = [torch.empty_like(mine) for _ in range(n)] if rank == 0 else None
        do(dist.gather, mine, ts)
        assert rank or torch.equal(torch.stack(ts), data)
        t = torch.empty_like(mine)
        do(dist.scatter, t, [d.clone() for d in data] if rank == n - 1 else None, src=n - 1)
        assert torch.equal(t, mine)
        return mine

    run = simulate(program, n, collectives=mode)
    assert all(torch.equal(result, row) for result, row in zip(run.results, data))
    kinds = {event.kind for event in run.trace}
    assert "collective" in kinds if mode == "model" else "collective" not in kinds


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([1, 2, 3, 4, 5, 8]),
    st.sampled_from(range(6)),
    st.sampled_from([torch.float32, torch.float64, torch.int64, torch.float16, torch.bfloat16]),
    st.sampled_from(MODES),
    st.sampled_from(["SUM", "MAX", "MIN"]),
)
def test_whole_numbers_are_reduced_exactly(n, which, dtype, mode, op):
    size = [0, 1, n - 1, n, n + 1, 1000][which]
    data = torch.stack([(torch.arange(size) * (r + 3)) % 5 - 2 for r in range(n)]) if size else torch.zeros(n, 0).long()
    want = {"SUM": data.sum, "MAX": data.amax, "MIN": data.amin}[op](0).to(dtype)

    def program(dist):
        t = data[dist.get_rank()].to(dtype)
        dist.all_reduce(t, getattr(dist.ReduceOp, op))
        parts = torch.empty(size, dtype=dtype)
        dist.reduce_scatter_single(parts, t.repeat(n), dist.ReduceOp.MAX)
        everything = torch.empty(n * size, dtype=dtype)
        dist.all_gather_single(everything, parts)
        return t, everything

    for t, everything in simulate(program, n, collectives=mode).results:
        assert torch.equal(t, want) and torch.equal(everything, want.repeat(n))


def one_of_each(name, n, dist):
    rank, mine, big = dist.get_rank(), torch.ones(1200), torch.ones(1200 * n)
    parts = list(big.chunk(n)) if rank == 0 else None
    {
        "barrier": lambda: dist.barrier(),
        "broadcast": lambda: dist.broadcast(mine, src=1),
        "reduce": lambda: dist.reduce(mine, dst=1),
        "all_reduce": lambda: dist.all_reduce(big),
        "all_gather_single": lambda: dist.all_gather_single(big, mine),
        "reduce_scatter_single": lambda: dist.reduce_scatter_single(mine, big),
        "all_to_all_single": lambda: dist.all_to_all_single(big.clone(), big),
        "scatter": lambda: dist.scatter(mine, parts, src=0),
        "gather": lambda: dist.gather(mine, parts, dst=0),
        "all_gather": lambda: dist.all_gather(list(big.chunk(n)), mine),
    }[name]()


COST = {
    "broadcast": costs.tree_broadcast,
    "reduce": costs.tree_reduce,
    "all_reduce": costs.ring_all_reduce,
    "all_gather_single": costs.all_gather,
    "reduce_scatter_single": costs.reduce_scatter,
    "all_to_all_single": costs.all_to_all,
    "scatter": costs.scatter,
    "gather": costs.gather,
    "all_gather": costs.all_gather,
    "barrier": None,
}


@pytest.mark.parametrize("n", [2, 4, 6, 8])
@pytest.mark.parametrize("name", COST)
def test_model_and_messages_cost_the_same_and_what_the_formulas_say(n, name):
    net = uniform(n, LATENCY, BANDWIDTH)
    model, messages = (simulate(one_of_each, n, (name, n), topology=net, collectives=mode) for mode in MODES)
    near(messages.time, model.time)
    for rank in range(n):
        assert model.bytes_sent(rank) == messages.bytes_sent(rank), name
        assert model.messages_sent(rank) == messages.messages_sent(rank), name
    if COST[name]:
        full = 4800 * (n if name not in ("broadcast", "reduce") else 1)
        near(model.time, COST[name](n, full, LATENCY, BANDWIDTH))


def test_uneven_chunks_count_the_same_bytes_in_both_modes():
    for n, size in ((4, 10), (5, 3), (3, 0)):
        runs = [simulate(lambda d, s=size: d.all_reduce(torch.ones(s)), n, collectives=mode) for mode in MODES]
        assert all(runs[0].bytes_sent(r) == runs[1].bytes_sent(r) for r in range(n))


@pytest.mark.parametrize("mode", MODES)
def test_all_to_all_with_splits(mode):
    def program(dist):
        rank = dist.get_rank()
        mine, got = torch.arange(3.0) + 10 * rank, torch.empty(2 if rank == 0 else 4)
        dist.all_to_all_single(got, mine, [1, 1] if rank == 0 else [2, 2], [1, 2])
        return got.tolist()

    assert simulate(program, 2, collectives=mode).results == ([0, 10], [1, 2, 11, 12])


@pytest.mark.parametrize("mode", MODES)
def test_groups(mode):
    def program(dist):
        rank = dist.get_rank()
        even, odd = dist.new_group([0, 2, 4]), dist.new_group([3, 1])
        mine, other = (odd, even) if rank % 2 else (even, odd)
        t = torch.full((4,), float(rank))
        dist.all_reduce(t, group=mine)
        assert dist.all_reduce(torch.ones(9), group=other) is None and other == dist.GroupMember.NON_GROUP_MEMBER
        if rank == 1:
            dist.send(t, dst=3, group=mine)
        if rank == 3:
            dist.recv(t, group_src=0, group=mine)
        dist.broadcast(t, src=dist.get_global_rank(mine, 1), group=mine)
        return t[0].item(), dist.get_rank(mine), dist.get_rank(even), dist.get_world_size(mine)

    want = ((6, 0, 0, 3), (4, 0, -1, 2), (6, 1, 1, 3), (4, 1, -1, 2), (6, 2, 2, 3))
    assert simulate(program, 5, collectives=mode).results == want


@pytest.mark.parametrize("mode", MODES)
def test_an_asynchronous_collective_overlaps_work(mode):
    def program(dist):
        a, b = torch.ones(25_000_000 // 4), torch.ones(8)
        first, second = dist.all_reduce(a, async_op=True), dist.all_reduce(b, async_op=True)
        work(0.5e-3)
        first.wait()
        work(1e-9, label="after the first")
        second.wait()

    run = simulate(program, 2, topology=uniform(2, LATENCY, BANDWIDTH), collectives=mode)
    (start,) = (event.start for event in run.trace if event.label == "after the first" and event.rank == 0)
    near(start, 2 * (LATENCY + 12_500_000 / BANDWIDTH))


def test_collectives_show_in_the_trace():
    def program(dist):
        dist.all_reduce(torch.ones(8))

    (model,) = {event[1:4] + event[6:] for event in simulate(program, 4).trace}
    assert model == ("collective", None, 48, "all_reduce")
    assert {e.label for e in simulate(program, 4, collectives="messages").trace} == {"all_reduce"}


def test_groups_that_share_a_wire_slow_each_other_down():
    """Two groups of two ranks; in one network all messages of one direction cross the same wire."""

    def program(both, dist):
        first, second = dist.new_group([0, 2]), dist.new_group([1, 3])
        rank = dist.get_rank()
        if both or rank % 2 == 0:
            dist.all_reduce(torch.ones(1000), group=second if rank % 2 else first)

    def route(source, target):
        return Route(0.0, (Link("forth" if source < target else "back", 1e6),))

    shared = SimpleNamespace(world_size=4, devices=(None,) * 4, route=route)
    for mode in MODES:
        for net, factor in ((shared, 2), (uniform(4, 0.0, 1e6), 1)):
            alone, both = (simulate(program, 4, (both,), topology=net, collectives=mode).time for both in (False, True))
            near(alone, 4e-3)
            near(both, factor * alone)


def test_a_ring_that_crosses_one_wire_twice_takes_twice_as_long():
    """All four steps of the ring share one wire, so each gets a quarter; a message beside them gets a fifth."""
    wire = SimpleNamespace(world_size=6, devices=(None,) * 6, route=lambda s, d: Route(0.0, (Link("wire", 1e6),)))

    def program(beside, dist):
        group, rank = dist.new_group([0, 1, 2, 3]), dist.get_rank()
        if rank < 4:
            dist.all_gather_single(torch.ones(4000), torch.ones(1000), group=group)
        elif beside:
            dist.send(torch.ones(3000), dst=5) if rank == 4 else dist.recv(torch.ones(3000), src=4)

    for mode in MODES:
        near(simulate(program, 6, (False,), topology=wire, collectives=mode).time, 3 * 4000 * 4 / 1e6)
        near(simulate(program, 6, (True,), topology=wire, collectives=mode).time, 3 * 4000 * 5 / 1e6)


REFUSED = [
    (torch.int64, "AVG", "cannot average int64"),
    (torch.bool, "AVG", "cannot average bool"),
    (torch.float32, "BAND", "bit by bit"),
    (torch.float16, "BXOR", "bit by bit"),
    (torch.complex64, "MAX", "complex"),
    (torch.int16, "SUM", "does not work on int16"),
    (torch.float8_e4m3fn, "SUM", "does not work on float8"),
]


@pytest.mark.parametrize("dtype, op, words", REFUSED)
@pytest.mark.parametrize("mode", MODES)
def test_pairs_of_dtype_and_operation_that_gloo_refuses_are_refused(dtype, op, words, mode):
    def program(dist):
        dist.all_reduce(torch.zeros(4).to(dtype), getattr(dist.ReduceOp, op))

    with pytest.raises(RankFailed, match=words):
        simulate(program, 2, collectives=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda d, r: d.all_reduce(torch.ones(2 + r)),
            r"all_reduce \(2 x float32.*rank 1 .*\(3 x float32",
        ),
        (lambda d, r: d.all_reduce(torch.ones(2, dtype=[torch.float, torch.int32][r])), "float32.*int32"),
        (lambda d, r: d.broadcast(torch.ones(2), src=r), "root 0.*root 1"),
        (lambda d, r: d.all_reduce(torch.ones(2), op=[d.ReduceOp.SUM, d.ReduceOp.MAX][r]), "SUM.*MAX"),
        (
            lambda d, r: d.barrier() if r else d.all_reduce(torch.ones(1)),
            "all_reduce.*calls barrier at test_virtual",
        ),
        (lambda d, r: d.new_group([0, 1][: 1 + r]), "disagree about new_group"),
    ],
)
def test_mismatches_are_named(mode, call, words):
    with pytest.raises(Mismatch, match="(?s)" + words):
        simulate(lambda d: call(d, d.get_rank()), 2, collectives=mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_skipped_collective_is_a_deadlock_that_names_the_rank(mode):
    def program(dist):
        if dist.get_rank() != 2:
            dist.barrier()

    with pytest.raises(Deadlock) as caught:
        simulate(program, 4, collectives=mode)
    text = str(caught.value)
    assert "wait for rank 2, which has returned" in text.splitlines()[0]
    assert "rank 0 waits in barrier" in text
    assert f"test_virtual_collectives.py:{program.__code__.co_firstlineno + 2}, in program: dist.barrier()" in text
