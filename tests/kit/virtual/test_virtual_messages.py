"""Messages: matching, semantics, what arrives, random generators, grad mode, arguments."""

import gc

import pytest
import torch
from greenlet import greenlet
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit.virtual import Deadlock, RankFailed, simulate, work
from labs.kit.virtual import messages as room


def exchange_both_send_first(dist):
    rank, peer = dist.get_rank(), 1 - dist.get_rank()
    mine, other = torch.full((4,), float(rank)), torch.empty(4)
    dist.send(mine, dst=peer)
    mine.fill_(9)
    dist.recv(other, src=peer)
    return other.tolist()


def test_sends_wait_for_their_receiver_unless_they_are_eager():
    with pytest.raises(Deadlock):
        simulate(exchange_both_send_first, 2)
    with pytest.raises(Deadlock):
        simulate(exchange_both_send_first, 2, eager_bytes=15)
    assert simulate(exchange_both_send_first, 2, eager_bytes=16).results == ([1.0] * 4, [0.0] * 4)


def test_any_source_and_tags():
    def program(dist):
        rank, t = dist.get_rank(), torch.full((2,), float(dist.get_rank()))
        if rank == 0:
            got = [(dist.recv(t, src=None), t[0].item()) for _ in range(2)]
            dist.recv(t, src=1, tag=7)
            first = t[0].item()
            dist.recv(t, src=1, tag=8)
            return got, first, t[0].item()
        work(3.0 - rank)
        dist.send(t, dst=0)
        if rank == 1:
            w = dist.isend(torch.full((2,), 80.0), dst=0, tag=8)
            dist.send(torch.full((2,), 70.0), dst=0, tag=7)
            w.wait()

    assert simulate(program, 3).results[0] == ([(2, 2.0), (1, 1.0)], 70.0, 80.0)


def test_receives_match_in_the_order_in_which_they_were_posted():
    def program(first, second, dist):
        if dist.get_rank() == 0:
            a, b = torch.zeros(1), torch.zeros(1)
            for w in [dist.irecv(a, src=first), dist.irecv(b, src=second)]:
                w.wait()
            return a.item(), b.item()
        for x in (5.0, 6.0):
            dist.send(torch.full((1,), x), dst=0)

    for order in ((1, None), (None, 1), (1, 1), (None, None)):
        assert simulate(program, 2, order).results[0] == (5.0, 6.0)


def test_batches_and_polling():
    def program(dist):
        rank, n = dist.get_rank(), dist.get_world_size()
        t, u = torch.full((3,), float(rank)), torch.empty(3)
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, t, (rank + 1) % n), dist.P2POp(dist.irecv, u, (rank - 1) % n)]
        )
        first = works[1].is_completed()
        while not works[1].is_completed():
            pass  # asking lets virtual time go on
        works[0].wait()
        return first, u[0].item()

    assert simulate(program, 3).results == ((False, 2.0), (False, 0.0), (False, 1.0))


DTYPES = [torch.float32, torch.float64, torch.int64, torch.float16, torch.bfloat16, torch.int16, torch.bool]


@settings(deadline=None, max_examples=40)
@given(st.sampled_from([1, 2, 3, 4, 5, 8]), st.sampled_from(range(6)), st.sampled_from(DTYPES))
def test_a_shift_around_the_ring_moves_the_bits(n, which, dtype):
    size = [0, 1, n - 1, n, n + 1, 1000][which]

    def program(dist):
        rank = dist.get_rank()
        mine = ((torch.arange(size) * 7 + rank) % 13).to(dtype)
        got = torch.zeros(size, dtype=dtype)
        if n > 1:
            sending = dist.isend(mine, dst=(rank + 1) % n)
            dist.recv(got, src=(rank - 1) % n)
            sending.wait()
        return got

    for rank, got in enumerate(simulate(program, n).results if n > 1 else ()):
        assert torch.equal(got, ((torch.arange(size) * 7 + (rank - 1) % n) % 13).to(dtype))


def test_a_reused_buffer_arrives_changed_and_is_reported():
    def program(dist):
        t = torch.zeros(3)
        if dist.get_rank() == 0:
            w = dist.isend(t, dst=1)
            t.fill_(9)
            w.wait()
        else:
            dist.recv(t, src=0)
            return t.tolist()

    run = simulate(program, 2)
    assert run.results[1] == [9.0] * 3
    (reused,) = run.reused_buffers
    assert (reused.rank, reused.peer, reused.bytes) == (0, 1, 12)
    assert reused.place.line == program.__code__.co_firstlineno + 3 and "isend" in str(reused)


def test_writing_beside_a_message_is_no_reuse():
    def program(dist):
        t = torch.zeros(6)
        a, b = t.chunk(2)
        peer = 1 - dist.get_rank()
        w = dist.isend(a, dst=peer)
        b.fill_(3)
        dist.recv(b, src=peer)
        w.wait()

    assert simulate(program, 2).reused_buffers == ()


def test_parameters_shapes_and_grad_mode():
    def program(dist):
        parameter = torch.nn.Parameter(torch.full((2, 3), float(dist.get_rank())))
        if dist.get_rank() == 0:
            with torch.no_grad():
                dist.send(parameter, dst=1)
        else:
            work(1e-3)
            assert torch.is_grad_enabled()
            dist.recv(parameter, src=0)
            assert parameter.sum() == 0 and parameter.is_leaf and parameter.requires_grad
        assert torch.is_grad_enabled()

    simulate(program, 2)


def test_arguments_are_copied_for_each_rank():
    mine = torch.zeros(3)

    def program(tensor, dist):
        dist.all_reduce(tensor.add_(1))
        return tensor

    assert [r.tolist() for r in simulate(program, 2, (mine,)).results] == [[2.0] * 3] * 2
    assert mine.sum() == 0


BAD_CALLS = [
    (lambda d: d.send(torch.zeros(2), dst=d.get_rank()), "itself"),
    (lambda d: d.send(torch.zeros(2), dst=7), "no rank 7"),
    (lambda d: d.isend(torch.zeros(2), dst=-1), "no rank -1"),
    (lambda d: d.recv(torch.zeros(2), src=d.get_rank()), "itself"),
    (lambda d: d.send(torch.zeros(2)), "which rank"),
    (lambda d: d.send([1, 2], dst=0), "takes a tensor, not list"),
    (lambda d: d.send(torch.zeros(4, 4)[:, 0], dst=1 - d.get_rank()), "contiguous"),
    (lambda d: d.irecv(torch.zeros(4, 4)[:, 0], src=1 - d.get_rank()), "contiguous"),
    (lambda d: d.all_reduce([1]), "takes tensors, not list"),
    (lambda d: d.broadcast(torch.zeros(2)), "which rank"),
    (lambda d: d.P2POp(d.send, torch.zeros(2), 1), "isend or dist.irecv"),
    (lambda d: d.batch_isend_irecv([]), "not empty"),
    (lambda d: d.reduce_scatter_tensor(torch.zeros(3), torch.zeros(7)), "2 x 3 = 6 elements"),
    (lambda d: d.all_gather_single(torch.zeros(7), torch.zeros(3)), "2 x 3 = 6 elements"),
    (lambda d: d.all_gather([torch.zeros(3)], torch.zeros(3)), "one tensor for each of 2 ranks"),
    (lambda d: d.gather(torch.zeros(3), [torch.zeros(3)] * 2, dst=1 - d.get_rank()), "only the destination"),
    (lambda d: d.all_to_all_single(torch.zeros(3), torch.zeros(3)), "do not divide"),
    (lambda d: d.new_group([0, 0]), "twice"),
    (lambda d: d.new_group([0, 5]), "no rank 5"),
    (lambda d: d.all_to_all_single(torch.zeros(4).int(), torch.zeros(4)), "different dtypes"),
    (lambda d: d.init_process_group("gloo"), "leave dist.init_process_group out"),
    (lambda d: d.all_gather_object([], 1), "runs on real ranks"),
    (lambda d: d.allreduce(torch.zeros(1)), "did you mean all_reduce"),
]


@pytest.mark.parametrize("call, words", BAD_CALLS)
def test_impossible_calls_are_refused_in_words(call, words):
    with pytest.raises(RankFailed, match=words):
        simulate(call, 2)


def test_messages_are_freed_without_the_collector():
    def program(dist):
        peer = 1 - dist.get_rank()
        for _ in range(50):
            w = dist.isend(torch.zeros(2), dst=peer)
            dist.recv(torch.zeros(2), src=peer)
            w.wait()

    def alive():
        return sum(type(o) in (room.Send, room.Receive) for o in gc.get_objects())

    gc.collect()
    before = alive()
    gc.disable()
    try:
        simulate(program, 2)
        left = alive() - before
    finally:
        gc.enable()
    assert left < 20


def test_a_run_leaves_nothing_behind():
    def stuck(dist):
        dist.recv(torch.zeros(1), src=(dist.get_rank() + 1) % 8)

    thresholds = gc.get_threshold()
    gc.collect()
    before = sum(issubclass(type(o), greenlet) for o in gc.get_objects())
    for _ in range(3):
        with pytest.raises(Deadlock):
            simulate(stuck, 8)
        simulate(lambda dist: dist.barrier(), 8, collectives="messages")
    gc.collect()
    assert sum(issubclass(type(o), greenlet) for o in gc.get_objects()) == before
    assert gc.get_threshold() == thresholds and gc.get_freeze_count() == 0
