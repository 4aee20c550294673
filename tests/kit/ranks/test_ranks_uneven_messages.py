"""Ranks may send different numbers of messages before a collective, although calls are compared."""

import pytest
import torch

from labs.kit import ranks


def uneven(dist):
    """Rank 0 talks to rank 1, rank 2 is silent; then all meet; and once more, from any source."""
    rank, found = dist.get_rank(), []
    for value in (1.0, 2.0):
        if rank == 0:
            dist.send(torch.tensor([value]), dst=1)
        if rank == 1:
            message = torch.zeros(1)
            source = dist.recv(message)
            found.append((source, message.item()))
        total = torch.tensor([float(rank)])
        dist.all_reduce(total)
        found.append(total.item())
    return found


@pytest.mark.parametrize("on", ["virtual", "gloo"])
def test_a_collective_after_uneven_messages_is_no_mismatch(on):
    run = ranks.run(uneven, 3, on=on)
    assert run.results == ([3.0, 3.0], [(0, 1.0), 3.0, (0, 2.0), 3.0], [3.0, 3.0])


def within_a_group(dist):
    """Messages of the default group and of a smaller one keep apart, also with equal tags and peers."""
    rank = dist.get_rank()
    pair = dist.new_group([0, 2])
    received = torch.zeros(2)
    if rank == 0:
        works = [dist.isend(torch.tensor([1.0]), dst=2, group=pair), dist.isend(torch.tensor([2.0]), dst=2)]
    elif rank == 2:
        works = [dist.irecv(received[1:], src=0), dist.irecv(received[:1], src=0, group=pair)]
    else:
        works = []
    for work in works:
        work.wait()
    dist.barrier()
    return received.tolist()


def test_messages_of_a_group_stay_in_it():
    assert ranks.run(within_a_group, 3, on="gloo").results[2] == [1.0, 2.0]


def really_different(dist):
    if dist.get_rank() == 0:
        dist.broadcast(torch.ones(1), src=0)
    else:
        dist.all_reduce(torch.ones(1))


def test_a_real_mismatch_is_still_found():
    with pytest.raises(ranks.Mismatch, match="broadcast"):
        ranks.run(really_different, 2, on="gloo")
