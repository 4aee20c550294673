"""Servers, placements and training of lesson 09: right weights on every fabric, no update lost, times as derived."""

import runpy
from pathlib import Path

import pytest
import torch

from labs.kit import ranks
from labs.kit.hardware import costs
from labs.parameter_server import attendants, exchange, sharded, training
from labs.parameter_server.problem import digits

RIGHT = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))
SCOPE: dict = {}
exec(RIGHT["SYNCHRONOUS"], SCOPE)
server, worker = SCOPE["server"], SCOPE["worker"]
FABRICS = [("virtual", n) for n in (1, 2, 3, 4, 8)] + [("gloo", 1), ("gloo", 3)]


def on_one_process(workers, rounds, rate=1.0):
    """Weights after training on the whole batch."""
    data = digits()
    weights, batch = data.start, slice(0, len(data.labels) // workers * workers)
    for _ in range(rounds):
        weights -= rate * data.gradient(weights, batch)
    return weights


# ---------------------------------------------------------------- in step


@pytest.mark.parametrize(("fabric", "workers"), FABRICS)
def test_a_server_in_step_trains_as_one_process_does(fabric, workers):
    def program(dist):
        data, rank = digits(), dist.get_rank()
        if rank == 0:
            return server(data.start, 5, 1.0, dist)
        mine = data.shard(rank - 1, workers)
        return worker(data.start, lambda weights: data.gradient(weights, mine), 5, dist)

    want = on_one_process(workers, 5)
    for weights in ranks.run(program, workers + 1, on=fabric).results:
        assert torch.allclose(weights, want, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("fabric", "servers", "workers"),
    [("virtual", 1, 1), ("virtual", 2, 3), ("virtual", 3, 2), ("virtual", 5, 2), ("gloo", 2, 2)],
)
def test_sharded_servers_train_as_one_process_does(fabric, servers, workers):
    data = digits()
    start = [row.clone() for row in data.start.view(65, 10)[:4]] + [data.start.view(65, 10)[4:].clone(), torch.zeros(0)]
    owner = [i % servers for i in range(len(start))]

    def gradients(weights, worker):
        whole = digits().gradient(torch.cat([weight.flatten() for weight in weights]), digits().shard(worker, workers))
        rows = whole.view(65, 10)
        return [*(row.clone() for row in rows[:4]), rows[4:].clone(), torch.zeros(0)]

    run = ranks.run(sharded.program, servers + workers, args=(start, gradients, owner, servers, 4, 1.0), on=fabric)
    want = on_one_process(workers, 4)
    for rank in range(servers, servers + workers):
        assert torch.allclose(torch.cat([w.flatten() for w in run.results[rank]]), want, rtol=0, atol=1e-12)


def test_the_time_of_sharded_servers_is_that_of_the_fullest():
    sizes, workers = [4_000_000, 400_000, 400_000, 400_000], 3
    one, two = (sharded.exchange_seconds(sizes, owner, 2, workers) for owner in ([0, 0, 0, 0], [0, 1, 1, 1]))
    assert one == pytest.approx(2 * workers * 5_200_000 / 12.5e9, rel=0.02)
    assert two == pytest.approx(2 * workers * 4_000_000 / 12.5e9, rel=0.02)


# ---------------------------------------------------------------- a death


@pytest.mark.parametrize("fabric", ["virtual", "gloo"])
@pytest.mark.parametrize("dead", [1, 3])
def test_survivors_go_on_with_the_mean_of_those_that_are_left(fabric, dead):
    def program(dist):
        rank, weights = dist.get_rank(), torch.zeros(1, dtype=torch.float64)
        if rank:
            for step in range(4):
                if rank == dead and step == 2:
                    raise RuntimeError("power cut")
                dist.send(weights - 10.0**rank, dst=0)
                dist.recv(weights, src=0)
            return weights
        alive = [1, 2, 3]
        for _ in range(4):
            gradients = []
            for other in list(alive):
                buffer = torch.empty_like(weights)
                try:
                    dist.recv(buffer, src=other)
                    gradients.append(buffer)
                except RuntimeError:
                    alive.remove(other)
            weights -= 0.5 * sum(gradients) / len(gradients)
            for other in alive:
                dist.send(weights, dst=other)
        return weights

    want = 0.0
    for step in range(4):
        left = [10.0**rank for rank in (1, 2, 3) if step < 2 or rank != dead]
        want -= 0.5 * (want - sum(left) / len(left))
    results = ranks.run(program, 4, on=fabric, expect_dead={dead}).results
    assert results[dead] is None
    assert [float(w) for w in results if w is not None] == pytest.approx([want] * 3, rel=1e-12)


# ---------------------------------------------------------------- out of step


@pytest.mark.parametrize("workers", range(1, 9))
def test_an_asynchronous_server_loses_no_update(workers):
    pushed = []

    def program(dist):
        rank, weights = dist.get_rank(), torch.zeros(3, dtype=torch.float64)
        if rank == 0:
            return training.serve(weights, 5, None, 0.5, dist)
        for step in range(5):
            ranks.work(seconds=1e-3 * (1 + (rank * 7 + step * 3) % 5))
            gradient = weights - rank - step
            pushed.append(gradient.clone())
            dist.send(gradient, dst=0)
            dist.recv(weights, src=0)
        return None

    kept, staleness = ranks.run(program, workers + 1).results[0]
    assert len(kept) == len(staleness) == len(pushed) == 5 * workers
    assert torch.allclose(kept[-1], -0.5 / workers * sum(pushed), rtol=0, atol=1e-12)


def test_a_bound_of_0_trains_as_one_process_with_all_the_batches():
    data, workers, rounds, batch, rate = digits(), 4, 6, 16, 2.0
    weights, randoms = data.start, [torch.Generator().manual_seed(rank) for rank in range(1, workers + 1)]
    for _ in range(rounds):
        drawn = [torch.randint(len(data.labels), (batch,), generator=random) for random in randoms]
        weights -= rate * data.gradient(weights, torch.cat(drawn))
    done = training.train([1.0, 2.0, 1.5, 1.0], rounds, bound=0, batch=batch, rate=rate, every=workers)
    assert done.losses[-1] == pytest.approx(data.loss(weights), rel=1e-12)
    assert len(done.times) == workers * rounds


def test_equally_quick_asynchronous_workers_are_n_minus_1_stale():
    done = training.train([1.0] * 5, 6, bound=None)
    assert done.staleness[:5] == (0, 1, 2, 3, 4)
    assert set(done.staleness[5:]) == {4}


def test_the_same_machine_gives_the_same_training():
    first, second = (training.train([1.0, 1.3, 2.2], 8, bound=1) for _ in range(2))
    assert first == second


def test_a_loss_that_is_never_reached_is_said_to_be():
    done = training.Training((1.0, 2.0, 3.0, 4.0), (2.0, 0.5), 2, (0, 0, 0, 0))
    assert done.reaches(0.6) == (4.0, 4)
    assert done.reaches(0.1) == (None, None)


# ---------------------------------------------------------------- placements on the virtual clock


@pytest.mark.parametrize("workers", [2, 5, 8])
@pytest.mark.parametrize("servers", [1, 3, 8, 11])
def test_dedicated_servers_take_what_the_formulas_say(workers, servers):
    shares = exchange.shares_dedicated(workers, servers)
    phases = costs.parameter_server(workers, 1, 0, 1, servers=servers)
    overlapped = costs.parameter_server(workers, 1, 0, 1, servers=servers, overlapped=True)
    assert exchange.exchange_time(workers, shares) == pytest.approx(phases, rel=1e-3)
    assert exchange.exchange_time(workers, shares, pieces=8) == pytest.approx(overlapped * 9 / 8, rel=1e-3)


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_workers_that_serve_are_exactly_as_quick_as_all_reduce(workers):
    shares = exchange.shares_colocated(workers)
    ring = costs.ring_all_reduce(workers, 1, 0, 1)
    for pieces in (1, 8):
        assert exchange.exchange_time(workers, shares, pieces) == pytest.approx(ring, rel=1e-3)


@pytest.mark.parametrize(("spare", "factor"), [(0, 1.75), (2, 1.47), (4, 1.27), (8, 1.00)])
def test_spare_machines_help_as_byteps_says(spare, factor):
    pieces = 16
    time = exchange.exchange_time(8, exchange.shares_with_spares(8, spare), pieces)
    assert factor - 0.005 <= time <= (factor + 0.005) * (pieces + 1) / pieces


def test_shares_add_up_and_long_ones_travel_in_more_messages():
    shares = exchange.shares_with_spares(8, 2)
    assert sum(shares) == pytest.approx(1)
    assert exchange.equal_streams(shares) == [3] * 8 + [7] * 2
    assert exchange.equal_streams([0.0, 0.0, 1.0]) == [0, 0, 1]


# ---------------------------------------------------------------- a thread for each worker


@pytest.mark.parametrize(("workers", "dead"), [(1, None), (3, None), (8, None), (2, 1), (5, 2)])
def test_on_real_ranks_no_update_is_lost_and_a_killed_worker_stops_nobody(workers, dead):
    run = ranks.run(attendants.program, workers + 1, args=(6, dead), on="gloo", expect_dead={dead} if dead else ())
    weights, applied = run.results[0]
    assert applied == [2 if worker == dead else 6 for worker in range(1, workers + 1)]
    assert weights.tolist() == [-sum(worker * count for worker, count in enumerate(applied, 1))] * 4
