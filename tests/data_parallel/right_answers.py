"""Right answers to the exercises of lesson 07, written in different ways; each must be accepted."""

SHARDS = """
import torch

def shard_indices(count, rank, size, epoch, pad):
    generator = torch.Generator().manual_seed(epoch)
    order = torch.randperm(count, generator=generator).tolist()
    if pad and count:
        places = -(-count // size) * size
        order = [order[place % count] for place in range(places)]
    return order[rank::size]
"""

AVERAGE = """
import torch

def average_gradients(gradients, samples, dist):
    total = torch.tensor([float(samples)], dtype=torch.float64)
    dist.all_reduce(total)
    for gradient in gradients:
        if samples == 0:
            gradient.zero_()
        gradient *= samples
        dist.all_reduce(gradient)
        gradient /= max(total.item(), 1.0)
"""

RATE = """
def learning_rate(step, base, workers, warmup):
    if step >= warmup:
        return base * workers
    return base * (1 + (workers - 1) * step / warmup)
"""

ACCUMULATE = """
import torch

def accumulate(total, gradient, batches, dist):
    samples = torch.zeros(1, dtype=torch.float64)
    for batch in batches:
        total += gradient(batch) * len(batch)
        samples += len(batch)
    dist.all_reduce(total)
    dist.all_reduce(samples)
    if samples > 0:
        total /= samples
"""

EVALUATE = """
import torch

def evaluate(predict, images, labels, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    mine, truth = images[rank::size], labels[rank::size]
    right = (predict(mine) == truth).sum()
    counts = torch.tensor([int(right), len(mine)])
    dist.all_reduce(counts)
    return counts[0].item(), counts[1].item()
"""

RIGHT = {
    "shard_indices": {
        "the_lessons_own": SHARDS,
        "contiguous_blocks": """
import numpy as np

def shard_indices(count, rank, size, epoch, pad):
    order = np.random.default_rng([7, epoch]).permutation(count)
    if pad and count:
        order = np.resize(order, -(-count // size) * size)
    return np.array_split(order, size)[rank].tolist()
""",
        "python_only": """
import itertools
import random

def shard_indices(count, rank, size, epoch, pad):
    order = list(range(count))
    random.Random(1000 + epoch).shuffle(order)
    if pad:
        each = (count + size - 1) // size
        order = list(itertools.islice(itertools.cycle(order), each * size))
    return [index for place, index in enumerate(order) if place % size == rank]
""",
    },
    "average_gradients": {
        "the_lessons_own": AVERAGE,
        "one_flat_tensor": """
import torch

def average_gradients(gradients, samples, dist):
    dtype = gradients[0].dtype if gradients else torch.float64
    flat = torch.cat([g.reshape(-1) for g in gradients] + [torch.ones(1, dtype=dtype)])
    flat = flat * samples if samples else torch.zeros_like(flat)
    dist.all_reduce(flat)
    if flat[-1] > 0:
        flat = flat / flat[-1]
    start = 0
    for g in gradients:
        g.copy_(flat[start:start + g.numel()].reshape(g.shape))
        start += g.numel()
""",
        "weights_first": """
import torch

def average_gradients(gradients, samples, dist):
    total = torch.tensor(samples)
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    weight = samples / total.item() if samples else 0
    requests = []
    for gradient in gradients:
        gradient.copy_(gradient * weight if weight else torch.zeros_like(gradient))
        requests.append(dist.all_reduce(gradient, async_op=True))
    for request in requests:
        request.wait()
    return gradients
""",
    },
    "learning_rate": {
        "the_lessons_own": RATE,
        "between_two_rates": """
def learning_rate(step, base, workers, warmup):
    share = min(step / warmup, 1.0) if warmup > 0 else 1.0
    return (1 - share) * base + share * base * workers
""",
    },
    "accumulate": {
        "the_lessons_own": ACCUMULATE,
        "sum_in_a_list": """
import torch

def accumulate(total, gradient, batches, dist):
    count = sum(len(batch) for batch in batches)
    parts = [len(batch) * gradient(batch) for batch in batches] + [torch.zeros_like(total)]
    packed = torch.cat([torch.stack(parts).sum(0), torch.tensor([float(count)], dtype=total.dtype)])
    dist.all_reduce(packed)
    total.copy_(packed[:-1] / max(packed[-1].item(), 1))
""",
    },
    "evaluate": {
        "the_lessons_own": EVALUATE,
        "blocks": """
import torch

def evaluate(predict, images, labels, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    start, end = len(images) * rank // size, len(images) * (rank + 1) // size
    right = seen = 0
    for k in range(start, end):
        right += int(predict(images[k:k + 1])[0] == labels[k])
        seen += 1
    right, seen = torch.tensor(right), torch.tensor(seen)
    dist.all_reduce(right)
    dist.all_reduce(seen)
    return [right, seen]
""",
    },
}
