"""Inside backward ranks cannot change places: hooks work ahead of the clock, and may only start operations."""

import pytest
import torch

from labs.kit.hardware import uniform
from labs.kit.virtual import Misuse, simulate, work

MS = 1e-3


def chain(layers, width=1):
    """`layers` parameters in a row, so that their gradients come one after another."""
    return torch.nn.Sequential(*[torch.nn.Linear(width, width, bias=False) for _ in range(layers)])


@pytest.mark.parametrize("n", [1, 2, 8, 64])
def test_eight_hooks_of_a_millisecond_take_eight(n):
    def program(dist):
        model = chain(8)
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda p: work(1 * MS))
        model(torch.ones(1, 1)).sum().backward()

    run = simulate(program, n)
    assert run.time == 8 * MS and set(run.ends) == {8 * MS}
    assert [event.end for event in run.trace if event.rank == n - 1] == pytest.approx([k * MS for k in range(1, 9)])


@pytest.mark.parametrize("mode", ["model", "messages"])
@pytest.mark.parametrize("n", [2, 4])
def test_an_all_reduce_started_in_a_hook_overlaps_the_rest_of_backward(mode, n):
    """Communication of layer k runs beside the work of layer k - 1; only the last one is left over."""
    latency, bandwidth, width = 0.0, 4e6, 10  # 400 B a layer

    def program(dist):
        model, handles = chain(8, width), []

        def hook(p):
            work(1 * MS)
            handles.append(dist.all_reduce(p.grad, async_op=True))

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(hook)
        model(torch.ones(1, width)).sum().backward()
        for handle in handles:
            handle.wait()
        return [p.grad for p in model.parameters()]

    one = 2 * (n - 1) / n * 400 / bandwidth
    assert one < 1 * MS
    run = simulate(program, n, topology=uniform(n, latency, bandwidth), collectives=mode)
    assert run.time == pytest.approx(8 * MS + one, rel=1e-9)
    starts = sorted(e.start for e in run.trace if e.rank == 0 and e.label == "all_reduce" and e.kind != "recv")
    assert starts[0] == pytest.approx(1 * MS, rel=1e-9)
    assert all(torch.equal(a, b) for result in run.results for a, b in zip(result, run.results[0]))


def test_messages_started_in_a_hook_start_when_the_hook_ran():
    def program(dist):
        rank = dist.get_rank()
        if rank == 1:
            dist.recv(torch.zeros(1), src=0)
            dist.recv(torch.zeros(1), src=0)
            return
        model, handles = chain(2), []

        def hook(p):
            work(1 * MS)
            handles.append(dist.isend(torch.ones(1), dst=1))

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(hook)
        model(torch.ones(1, 1)).sum().backward()
        work(1 * MS, label="optimiser")
        for handle in handles:
            handle.wait()

    run = simulate(program, 2)
    sends = [event.start for event in run.trace if event.kind == "send"]
    assert sends == pytest.approx([1 * MS, 2 * MS]) and run.time == pytest.approx(3 * MS)
    (optimiser,) = [event for event in run.trace if event.label == "optimiser"]
    assert optimiser.start == pytest.approx(2 * MS)


@pytest.mark.parametrize(
    "operation, block",
    [
        ("send", lambda d, p: d.send(p.grad, dst=1 - d.get_rank())),
        ("recv", lambda d, p: d.recv(p.grad, src=1 - d.get_rank())),
        ("all_reduce", lambda d, p: d.all_reduce(p.grad)),
        ("barrier", lambda d, p: d.barrier()),
        ("wait", lambda d, p: d.all_reduce(p.grad, async_op=True).wait()),
        ("wait", lambda d, p: d.isend(p.grad, dst=1 - d.get_rank()).wait()),
    ],
)
def test_waiting_in_a_hook_is_refused_with_the_line(operation, block):
    def program(dist):
        model = chain(1)
        next(model.parameters()).register_post_accumulate_grad_hook(lambda p: block(dist, p))
        model(torch.ones(1, 1)).sum().backward()

    with pytest.raises(Misuse) as caught:
        simulate(program, 2)
    assert f"calls {operation} inside backward" in str(caught.value)
    assert f"test_virtual_backward.py:{block.__code__.co_firstlineno}" in str(caught.value)


def test_a_rank_with_nothing_in_its_hooks_lets_the_others_run():
    """Ranks meet at their own times after backward."""

    def program(dist):
        model = chain(3)
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda p: work((1 + dist.get_rank()) * MS))
        model(torch.ones(1, 1)).sum().backward()
        dist.barrier()

    run = simulate(program, 4, topology=uniform(4, 0.0, 1e9))
    assert run.time == pytest.approx(12 * MS)
    waits = {event.rank: event.end - event.start for event in run.trace if event.kind == "wait"}
    assert waits == pytest.approx({0: 9 * MS, 1: 6 * MS, 2: 3 * MS})
