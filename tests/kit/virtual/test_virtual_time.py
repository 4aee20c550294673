"""Virtual time against closed forms and against an independent max-min allocation."""

import random
from types import SimpleNamespace

import pytest
import torch

from labs.kit.hardware import Link, Route, cluster, costs, uniform
from labs.kit.virtual import engine, simulate, work

LATENCY, BANDWIDTH = 5e-6, 25e9


def near(a, b):
    assert abs(a - b) <= 1e-9 * abs(b), (a, b)


def topology(world_size, route):
    """The least that a topology must be: `route(source, target)` gives (latency, [(name, bandwidth), ...])."""

    def made(source, target):
        latency, links = route(source, target)
        return Route(latency, tuple(Link(name, bandwidth) for name, bandwidth in links))

    return SimpleNamespace(world_size=world_size, devices=(None,) * world_size, route=made)


def one_link(world_size, latency=0.0):
    return topology(world_size, lambda s, d: (latency, [("wire", 1000.0)]))


def bytes_tensor(count):
    return torch.zeros(count, dtype=torch.uint8)


def arrivals(run):
    """Time of arrival by receiver."""
    return {event.rank: event.end for event in run.trace if event.kind == "recv"}


def pairs(sizes, delays=None):
    """Rank 2i sends sizes[i] bytes to rank 2i + 1, both after delays[i]."""

    def program(dist):
        i, odd = divmod(dist.get_rank(), 2)
        if delays:
            work(delays[i])
        if odd:
            dist.recv(bytes_tensor(sizes[i]), src=2 * i)
        else:
            dist.send(bytes_tensor(sizes[i]), dst=2 * i + 1)

    return program


def ring(tensor, dist):
    rank, n = dist.get_rank(), dist.get_world_size()
    parts, right, left = tensor.chunk(n), (rank + 1) % n, (rank - 1) % n
    buffer = torch.empty_like(parts[0])
    for k in range(n - 1):
        sending = dist.isend(parts[(rank - k) % n], dst=right)
        dist.recv(buffer, src=left)
        sending.wait()
        parts[(rank - k - 1) % n].add_(buffer)
    for k in range(n - 1):
        sending = dist.isend(parts[(rank + 1 - k) % n], dst=right)
        dist.recv(parts[(rank - k) % n], src=left)
        sending.wait()
    return tensor


def tree(tensor, dist):
    """Binomial: reduce to rank 0, then broadcast."""
    rank, n, k = dist.get_rank(), dist.get_world_size(), 1
    buffer = torch.empty_like(tensor)
    while k < n and not rank & k:
        if rank + k < n:
            dist.recv(buffer, src=rank + k)
            tensor.add_(buffer)
        k *= 2
    if rank:
        dist.send(tensor, dst=rank - k)
        dist.recv(tensor, src=rank - k)
    while k := k // 2:
        if rank + k < n:
            dist.send(tensor, dst=rank + k)
    return tensor


def mesh(tensor, dist):
    """Direct: everybody sends everybody its chunk, then its sum."""
    rank, n = dist.get_rank(), dist.get_world_size()
    parts = tensor.chunk(n)
    others = [p for p in range(n) if p != rank]
    got = {p: torch.empty_like(parts[rank]) for p in others}
    for w in [*[dist.isend(parts[p], dst=p) for p in others], *[dist.irecv(got[p], src=p) for p in others]]:
        w.wait()
    for p in others:
        parts[rank].add_(got[p])
    for w in [*[dist.isend(parts[rank], dst=p) for p in others], *[dist.irecv(parts[p], src=p) for p in others]]:
        w.wait()
    return tensor


@pytest.mark.parametrize("n", [2, 3, 8, 31])
@pytest.mark.parametrize("algorithm, cost", [(ring, costs.ring_all_reduce), (mesh, costs.mesh_all_reduce)])
def test_ring_and_mesh_take_their_closed_form(n, algorithm, cost):
    run = simulate(
        algorithm,
        n,
        lambda rank: (torch.full((1000 * n,), float(rank)),),
        topology=uniform(n, LATENCY, BANDWIDTH),
    )
    assert all((result == n * (n - 1) / 2).all() for result in run.results)
    near(run.time, cost(n, 4000 * n, LATENCY, BANDWIDTH))
    assert all(run.messages_sent(r) == 2 * (n - 1) and run.bytes_sent(r) == 2 * (n - 1) * 4000 for r in range(n))
    assert len(run.trace) == 2 * 2 * n * (n - 1)


@pytest.mark.parametrize("n", [2, 4, 16, 64])
def test_tree_takes_its_closed_form(n):
    run = simulate(tree, n, lambda rank: (torch.full((5000,), float(rank)),), topology=uniform(n, LATENCY, BANDWIDTH))
    assert all((result == n * (n - 1) / 2).all() for result in run.results)
    near(run.time, costs.tree_all_reduce(n, 20000, LATENCY, BANDWIDTH))


def test_two_equal_messages_on_a_shared_link_take_twice_as_long():
    one = simulate(pairs([500]), 2, topology=one_link(2)).time
    assert one == 0.5
    assert simulate(pairs([500, 500]), 4, topology=one_link(4)).time == 2 * one
    near(simulate(pairs([500] * 4), 8, topology=one_link(8)).time, 4 * one)


def test_a_short_message_leaves_room_for_a_long_one():
    arrived = arrivals(simulate(pairs([100, 300]), 4, topology=one_link(4)))
    near(arrived[1], 0.2)
    near(arrived[3], 0.4)


def test_a_message_that_cannot_use_its_share_leaves_it_to_the_other():
    slow_first = topology(3, lambda s, d: (0.5, [(f"up{s}", 250.0 if s == 0 else 1000.0), (f"down{d}", 1000.0)]))

    def program(dist):
        if dist.get_rank() == 2:
            for w in [dist.irecv(bytes_tensor(750), src=0), dist.irecv(bytes_tensor(750), src=1)]:
                w.wait()
        else:
            dist.send(bytes_tensor(750), dst=2)

    run = simulate(program, 3, topology=slow_first)
    ends = {event.peer: event.end for event in run.trace if event.kind == "recv"}
    near(ends[1], 1.0 + 0.5)
    near(ends[0], 3.0 + 0.5)


def test_a_late_message_slows_down_one_that_was_alone():
    arrived = arrivals(simulate(pairs([500, 500], [0.0, 0.25]), 4, topology=one_link(4)))
    near(arrived[1], 0.75)
    near(arrived[3], 1.0)


def test_latency_does_not_occupy_the_link():
    arrived = arrivals(simulate(pairs([1000, 1000], [0.0, 1.0]), 4, topology=one_link(4, latency=5.0)))
    near(arrived[1], 6.0)
    near(arrived[3], 7.0)


def test_incast_shares_the_receivers_link():
    def program(dist):
        if dist.get_rank() == 0:
            for w in [dist.irecv(torch.zeros(1000), src=p) for p in range(1, 9)]:
                w.wait()
        else:
            dist.send(torch.zeros(1000), dst=0)

    near(simulate(program, 9, topology=uniform(9, LATENCY, BANDWIDTH)).time, LATENCY + 8 * 4000 / BANDWIDTH)


def reference(flows, capacity):
    """Ends of flows (start, bytes, links): max-min rates of all active flows from scratch at every event."""
    left, now, end = {i: float(flow[1]) for i, flow in enumerate(flows)}, 0.0, {}
    while left:
        active = [i for i in left if flows[i][0] <= now]
        rate, free, todo = {}, dict(capacity), set(active)
        while todo:
            load = {link: [i for i in todo if link in flows[i][2]] for link in free}
            tightest = min((link for link in free if load[link]), key=lambda link: free[link] / len(load[link]))
            share = free[tightest] / len(load[tightest])
            for i in load[tightest]:
                rate[i] = share
                todo.discard(i)
                for link in flows[i][2]:
                    free[link] -= share
        steps = [left[i] / rate[i] for i in active] + [flows[i][0] - now for i in left if flows[i][0] > now]
        step = min(steps)
        for i in active:
            left[i] -= rate[i] * step
            if left[i] <= 1e-9:
                del left[i]
                end[i] = now + step
        now += step
    return end


@pytest.mark.parametrize("seed", range(20))
def test_sharing_agrees_with_a_reference(seed):
    rnd = random.Random(seed)
    n, latency = 24, rnd.choice([0.0, 0.3])
    capacity = {f"link{k}": rnd.choice([100.0, 250.0, 1000.0]) for k in range(6)}
    flows = [
        (
            rnd.choice([0.0, 0.5, rnd.random() * 5]),
            rnd.randint(1, 2000),
            rnd.sample(sorted(capacity), rnd.randint(1, 3)),
        )
        for _ in range(n)
    ]
    net = topology(2 * n, lambda s, d: (latency, [(link, capacity[link]) for link in flows[s // 2][2]]))
    run = simulate(pairs([flow[1] for flow in flows], [flow[0] for flow in flows]), 2 * n, topology=net)
    got, want = arrivals(run), reference(flows, capacity)
    for i in range(n):
        near(got[2 * i + 1], want[i] + latency)


def test_work_costs_what_the_device_says():
    device = SimpleNamespace(flops=2e12, memory_bandwidth=1e12)
    net = topology(1, None)
    net.devices = (device,)

    def program(dist):
        work(flops=4e9)
        work(bytes=3e9)
        work(flops=4e9, bytes=1e12)
        work(0.5, label="forward")

    run = simulate(program, 1, topology=net)
    near(run.time, 2e-3 + 3e-3 + 1.0 + 0.5)
    assert [event.label for event in run.trace] == ["work", "work", "work", "forward"]


def test_work_does_nothing_outside_of_a_run():
    assert work(5.0) is None
    for bad in ({}, {"seconds": -1}, {"flops": float("nan")}, {"seconds": 1, "bytes": 1}):
        with pytest.raises(ValueError, match="work"):
            work(**bad)


def test_waiting_shows_in_the_trace():
    def program(dist):
        if dist.get_rank() == 0:
            dist.send(torch.zeros(10), dst=1)
        else:
            work(1.0)
            dist.recv(torch.zeros(10), src=0)

    run = simulate(program, 2, topology=uniform(2, LATENCY, BANDWIDTH))
    end = 1.0 + 40 / BANDWIDTH + LATENCY
    assert run.time == end and run.ends == (end, end)
    assert [tuple(event) for event in run.trace] == [
        (0, "wait", None, 0, 0.0, 1.0, ""),
        (1, "work", None, 0, 0.0, 1.0, "work"),
        (0, "send", 1, 40, 1.0, end, ""),
        (1, "recv", 0, 40, 1.0, end, ""),
    ]


def test_without_a_trace_the_sums_are_kept():
    run = simulate(ring, 4, (torch.ones(8),), trace=False)
    assert run.trace == () and run.bytes_sent(0) == 6 * 8 and run.messages_sent(0) == 6


def test_two_runs_give_the_same_trace_to_the_last_digit():
    def program(dist):
        rank, n = dist.get_rank(), dist.get_world_size()
        generator = torch.Generator().manual_seed(rank)
        for k in range(3):
            work(1e-6 * torch.rand(1, generator=generator).item())
            peers = [p for p in range(n) if p != rank]
            sizes = [1 + (rank * p * k) % 50 for p in range(n)]
            works = [dist.isend(torch.ones(sizes[p]), dst=p) for p in peers]
            works += [dist.irecv(torch.ones(sizes[p]), src=p) for p in peers]
            for w in works:
                w.wait()
            dist.all_reduce(torch.ones(n))

    options = {"topology": cluster(3, gpus_per_node=4), "collectives": "messages"}
    first, second = (simulate(program, 12, **options) for _ in range(2))
    assert first.trace == second.trace
    assert sum(event.kind == "send" for event in first.trace) == 12 * 11 * 3 + 3 * 2 * 12 * 11


def test_a_topology_with_too_few_devices_is_refused():
    with pytest.raises(ValueError, match="4 ranks need 4 devices, but this topology has 2"):
        simulate(ring, 4, (torch.ones(4),), topology=uniform(2))


def test_a_long_trace_is_packed_while_it_grows(monkeypatch):
    def program(dist):
        rank, n = dist.get_rank(), dist.get_world_size()
        for _ in range(20):
            sending = dist.isend(torch.zeros(rank + 1), dst=(rank + 1) % n)
            dist.recv(torch.zeros((rank - 1) % n + 1), src=(rank - 1) % n)
            sending.wait()

    whole = simulate(program, 5)
    monkeypatch.setattr(engine, "_ROWS_LOOSE", 25)
    pieces = simulate(program, 5)
    assert len(whole.trace) >= 2 * 5 * 20 and pieces.trace == whole.trace
    assert sum(event.bytes for event in whole.trace if event.kind == "send") == 20 * 4 * (1 + 2 + 3 + 4 + 5)
