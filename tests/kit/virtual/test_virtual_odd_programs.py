"""Programs at the edge of what a rank may do: empty rows, threads of its own, stubs, and an observer of sends."""

import threading

import numpy as np
import pytest
import torch

from labs.kit.virtual import Misuse, RankFailed, simulate


def test_an_empty_row_of_a_numpy_array_can_be_sent_and_written_under_way():
    """Its last stride is 0, so it has no view as bytes."""

    def program(dist):
        row = torch.from_numpy(np.zeros((3, 0)))[0]
        if dist.get_rank() == 0:
            request = dist.isend(row, dst=1)
            row.add_(1)
            request.wait()
        else:
            dist.recv(row, src=0)

    assert simulate(program, 2).reused_buffers == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_dist_in_a_thread_of_the_rank_is_refused_in_words():
    def program(dist):
        thread = threading.Thread(target=dist.barrier)
        thread.start()
        thread.join()
        dist.barrier()

    with pytest.raises(Misuse, match="in a thread that the rank has started"):
        simulate(program, 2)
    assert simulate(lambda dist: dist.get_rank(), 2).results == (0, 1)


def test_a_stub_says_that_it_is_not_solved():
    def program(dist):
        raise NotImplementedError()  # your code here

    with pytest.raises(RankFailed, match="this is not solved yet") as caught:
        simulate(program, 2)
    assert caught.value.exception == "NotImplementedError"


def test_an_observer_sees_every_posted_send_and_none_of_a_collective():
    seen = []

    def program(dist):
        rank = dist.get_rank()
        dist.all_reduce(torch.ones(4))
        if rank == 0:
            dist.send(torch.tensor([7.0, 8.0]), dst=2)
            dist.isend(torch.tensor([9.0]), dst=1).wait()
        else:
            dist.recv(torch.empty(2 if rank == 2 else 1), src=0)

    note = lambda rank, peer, tensor: seen.append((rank, peer, tensor.tolist()))
    observed = simulate(program, 3, collectives="messages", on_send=note)
    assert seen == [(0, 2, [7.0, 8.0]), (0, 1, [9.0])]
    assert observed.trace == simulate(program, 3, collectives="messages").trace


def test_an_observer_sees_messages_within_a_group():
    seen = []

    def program(dist):
        pair = dist.new_group([0, 1])
        if dist.get_rank() == 0:
            dist.send(torch.ones(1), dst=1, group=pair)
        elif dist.get_rank() == 1:
            dist.recv(torch.empty(1), src=0, group=pair)

    simulate(program, 3, on_send=lambda rank, peer, tensor: seen.append((rank, peer)))
    assert seen == [(0, 1)]
