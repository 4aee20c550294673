"""Rank programs on real GPUs give what they give on virtual ranks. Needs torch with CUDA; run by `make gpu-test`."""

import importlib.util

import pytest
import torch

MISSING = [name for name in ("greenlet", "cloudpickle") if importlib.util.find_spec(name) is None]
if MISSING:  # a machine that was set up for the kernels only
    pytest.skip(f"rank programs need {' and '.join(MISSING)}, not installed here", allow_module_level=True)

from labs.kit.ranks import Misuse, run  # noqa: E402

DEVICES = torch.cuda.device_count() if torch.cuda.is_available() else 0

pytestmark = pytest.mark.skipif(DEVICES == 0, reason="no CUDA device here: NCCL needs one GPU for each rank")
several = pytest.mark.skipif(DEVICES < 2, reason=f"{DEVICES} CUDA device here: messages between ranks need two")


def integers(rank, dtype=torch.float32, numel=1001):
    """Whole numbers that every dtype here holds exactly, different on each rank."""
    return (torch.arange(numel) % 7 + rank).to(dtype)


def collectives(tensor, dist):
    """The result of several collectives on this rank, on the CPU."""
    size = dist.get_world_size()
    total, largest, first = tensor.clone(), tensor.clone(), tensor.clone()
    dist.all_reduce(total)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    dist.broadcast(first, src=size - 1)
    parts = [torch.empty_like(tensor) for _ in range(size)]
    dist.all_gather(parts, tensor)
    return [part.cpu() for part in (total, largest, first, *parts)]


def ring(tensor, dist):
    """Pass `tensor` once around the ring, adding up."""
    rank, size = dist.get_rank(), dist.get_world_size()
    total, moving = tensor.clone(), tensor.clone()
    for _ in range(size - 1):
        arriving = torch.empty_like(moving)
        sent = dist.isend(moving, dst=(rank + 1) % size)
        dist.recv(arriving, src=(rank - 1) % size)
        sent.wait()
        total += arriving
        moving = arriving
    return total.cpu()


def test_every_rank_has_a_gpu_of_its_own():
    def where(tensor, dist):
        return str(tensor.device)

    found = run(where, DEVICES, args=lambda rank: (integers(rank),), on="nccl").results
    assert sorted(found) == sorted(f"cuda:{rank}" for rank in range(DEVICES))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.float16, torch.bfloat16], ids=str)
def test_collectives_give_the_numbers_of_virtual_ranks(dtype):
    args = lambda rank: (integers(rank, dtype),)
    real, virtual = (run(collectives, DEVICES, args=args, on=on).results for on in ("nccl", "virtual"))
    for mine, theirs in zip(real, virtual):
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs))


@several
def test_messages_give_the_numbers_of_virtual_ranks():
    real, virtual = (run(ring, DEVICES, args=lambda r: (integers(r),), on=on).results for on in ("nccl", "virtual"))
    assert all(torch.equal(a, b) for a, b in zip(real, virtual))


def test_more_ranks_than_gpus_are_refused_in_words():
    with pytest.raises(Misuse, match=f"{DEVICES + 1} ranks need {DEVICES + 1} GPUs"):
        run(ring, DEVICES + 1, args=lambda rank: (integers(rank),), on="nccl")
