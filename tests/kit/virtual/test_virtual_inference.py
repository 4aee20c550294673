"""Each rank has its own inference mode, and a rank in it can receive."""

import pytest
import torch

from labs.kit.virtual import Deadlock, simulate


def relay(dist):
    """Rank 0 serves in inference mode, rank 1 trains; both talk to each other again and again."""
    rank, modes = dist.get_rank(), []
    weight = torch.ones(2, requires_grad=True)
    with torch.inference_mode(rank == 0):
        message = torch.zeros(2)
        for step in range(3):
            if rank == 0:
                dist.send(torch.full((2,), float(step)), dst=1)
                dist.recv(message, src=1)
                dist.all_reduce(message)
            else:
                dist.recv(message, src=0)
                dist.send(message + 10, dst=0)
                dist.all_reduce(message)
            modes.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled(), (weight * 2).requires_grad))
    return modes, message.tolist(), torch.is_inference_mode_enabled()


@pytest.mark.parametrize("collectives", ["model", "messages"])
def test_inference_mode_stays_with_its_rank(collectives):
    first, second = simulate(relay, 2, collectives=collectives).results
    assert first[0] == [(True, False, False)] * 3
    assert second[0] == [(False, True, True)] * 3
    assert first[1] == second[1] == [14.0, 14.0]  # 2 + 12
    assert not first[2] and not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
    assert (torch.ones(1, requires_grad=True) * 2).requires_grad


def test_collectives_write_into_tensors_of_inference_mode():
    def program(dist):
        with torch.inference_mode():
            rank, size = dist.get_rank(), dist.get_world_size()
            parts = [torch.zeros(1) for _ in range(size)]
            dist.all_gather(parts, torch.tensor([float(rank)]))
            whole, mine = torch.zeros(size), torch.zeros(1)
            dist.all_gather_single(whole, torch.tensor([float(rank)]))
            dist.reduce_scatter_single(mine, whole)
            dist.broadcast(whole, src=1)
            return [part.item() for part in parts], whole.tolist(), mine.item()

    for rank, (parts, whole, mine) in enumerate(simulate(program, 3).results):
        assert parts == whole == [0.0, 1.0, 2.0] and mine == 3.0 * rank


def test_a_run_that_fails_in_inference_mode_leaves_the_caller_as_it_was():
    def program(dist):
        with torch.inference_mode():
            dist.recv(torch.zeros(1), src=1 - dist.get_rank())

    with pytest.raises(Deadlock):
        simulate(program, 2)
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
