"""What the processes of torch.multiprocessing.spawn run. To be fair to the peer it imports nothing but PyTorch."""

import torch
import torch.distributed as dist


def sum_of_ranks(dist) -> float:
    """The smallest program that needs all ranks."""
    total = torch.tensor(float(dist.get_rank()))
    dist.all_reduce(total)
    return total.item()


def main(rank: int, size: int, port: int, answers) -> None:
    """Join gloo, sum, hand in the answer, leave: what `labs.kit.ranks.run` does around a program."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    answers.put(sum_of_ranks(dist))
    dist.destroy_process_group()
