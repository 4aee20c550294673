"""Right answers to the exercises of lesson 08, written in different ways; each must be accepted."""

CHUNKS = """
def chunk_bounds(numel, size):
    step, extra = divmod(numel, size)
    bounds, start = [], 0
    for rank in range(size):
        end = start + step + (rank < extra)
        bounds.append((start, end))
        start = end
    return bounds
"""

REDUCE_SCATTER = (
    CHUNKS
    + """
import torch

def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = [tensor[start:end] for start, end in chunk_bounds(tensor.numel(), size)]
    for step in range(size - 1):
        outgoing, incoming = chunks[(rank - 1 - step) % size], chunks[(rank - 2 - step) % size]
        buffer = torch.empty_like(incoming)
        work = dist.isend(outgoing, dst=right)
        dist.recv(buffer, src=left)
        work.wait()
        incoming += buffer
"""
)

ALL_GATHER = (
    CHUNKS
    + """
def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = [tensor[start:end] for start, end in chunk_bounds(tensor.numel(), size)]
    for step in range(size - 1):
        work = dist.isend(chunks[(rank - step) % size], dst=right)
        dist.recv(chunks[(rank - 1 - step) % size], src=left)
        work.wait()
"""
)

CROSSOVER = """
def crossover(world_size, latency, bandwidth):
    if world_size == 1:
        return 0.0
    rounds = (world_size - 1).bit_length()
    return (world_size - 1 - rounds) * latency * bandwidth / (rounds - (world_size - 1) / world_size)
"""

TREE = """
import torch

def tree(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    distance = 1
    while distance < size:
        if rank % (2 * distance) == distance:
            dist.send(tensor, dst=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            buffer = torch.empty_like(tensor)
            dist.recv(buffer, src=rank + distance)
            tensor += buffer
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == distance:
            dist.recv(tensor, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            dist.send(tensor, dst=rank + distance)
"""

TWO_PATHS = """
def two_paths(nbytes, first, second):
    (a1, b1), (a2, b2) = first, second
    share = nbytes * b1 / (b1 + b2) + (a2 - a1) * b1 * b2 / (b1 + b2)
    return min(max(share, 0), nbytes)
"""

HIERARCHICAL = """
import torch

def hierarchical(tensor, gpus_per_node, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    nodes = [dist.new_group(list(range(first, first + gpus_per_node))) for first in range(0, size, gpus_per_node)]
    lanes = [dist.new_group(list(range(place, size, gpus_per_node))) for place in range(gpus_per_node)]
    node, lane = nodes[rank // gpus_per_node], lanes[rank % gpus_per_node]
    piece = torch.empty(tensor.numel() // gpus_per_node, dtype=tensor.dtype)
    dist.reduce_scatter_tensor(piece, tensor, group=node)
    dist.all_reduce(piece, group=lane)
    dist.all_gather_into_tensor(tensor, piece, group=node)
"""

RIGHT = {
    "chunk_bounds": {
        "running_start": CHUNKS,
        "min": """
def chunk_bounds(numel, size):
    step, extra = numel // size, numel % size
    return [(k * step + min(k, extra), (k + 1) * step + min(k + 1, extra)) for k in range(size)]
""",
        "tensor_split": """
import torch

def chunk_bounds(numel, size):
    ends = [0]
    for part in torch.arange(numel).tensor_split(size):
        ends.append(ends[-1] + len(part))
    return [[start, end] for start, end in zip(ends, ends[1:])]
""",
    },
    "reduce_scatter": {
        "isend_recv": REDUCE_SCATTER,
        "batch": CHUNKS
        + """
import torch

def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    bounds = chunk_bounds(tensor.numel(), size)
    mine = (rank - 1) % size
    for _ in range(size - 1):
        other = (mine - 1) % size
        start, end = bounds[other]
        buffer = torch.zeros(end - start, dtype=tensor.dtype)
        works = dist.batch_isend_irecv([
            dist.P2POp(dist.isend, tensor[slice(*bounds[mine])], (rank + 1) % size),
            dist.P2POp(dist.irecv, buffer, (rank - 1) % size),
        ])
        for work in works:
            work.wait()
        tensor[start:end] = tensor[start:end] + buffer
        mine = other
""",
        "irecv_first": CHUNKS
        + """
def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    bounds = chunk_bounds(tensor.numel(), size)
    for step in range(1, size):
        a, b = bounds[rank - step], bounds[(rank - step - 1) % size]
        buffer = tensor[b[0]:b[1]].clone()
        receive = dist.irecv(buffer, src=(rank - 1) % size)
        send = dist.isend(tensor[a[0]:a[1]].clone(), dst=(rank + 1) % size)
        receive.wait()
        tensor[b[0]:b[1]].add_(buffer)
        send.wait()
    return tensor
""",
        "other_way_round": CHUNKS
        + """
import torch

def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = [tensor[start:end] for start, end in chunk_bounds(tensor.numel(), size)]
    for step in range(1, size):
        buffer = torch.empty_like(chunks[(rank + step + 1) % size])
        work = dist.isend(chunks[(rank + step) % size], dst=(rank - 1) % size)
        dist.recv(buffer, src=(rank + 1) % size)
        chunks[(rank + step + 1) % size].add_(buffer)
        work.wait()
""",
    },
    "all_gather": {
        "isend_recv": ALL_GATHER,
        "batch": CHUNKS
        + """
def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    bounds, mine = chunk_bounds(tensor.numel(), size), rank
    while size > 1 and mine != (rank + 1) % size:
        other = (mine - 1) % size
        operations = [
            dist.P2POp(dist.isend, tensor[slice(*bounds[mine])], (rank + 1) % size),
            dist.P2POp(dist.irecv, tensor[slice(*bounds[other])], (rank - 1) % size),
        ]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        mine = other
""",
        "through_a_buffer": CHUNKS
        + """
import torch

def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    bounds = chunk_bounds(tensor.numel(), size)
    carried = tensor[slice(*bounds[rank])].clone()
    for step in range(1, size):
        start, end = bounds[(rank - step) % size]
        arriving = torch.empty(end - start, dtype=tensor.dtype)
        send = dist.isend(carried, dst=(rank + 1) % size)
        receive = dist.irecv(arriving, src=(rank - 1) % size)
        receive.wait(), send.wait()
        tensor[start:end] = arriving
        carried = arriving
""",
    },
    "crossover": {
        "formula": CROSSOVER,
        "two_points": """
import math

def crossover(world_size, latency, bandwidth):
    n, rounds = world_size, math.ceil(math.log2(world_size))
    ring = lambda s: 2 * (n - 1) * (latency + s / n / bandwidth)
    tree = lambda s: 2 * rounds * (latency + s / bandwidth)
    if n < 2:
        return 0
    return (ring(0) - tree(0)) / ((tree(1e9) - tree(0)) - (ring(1e9) - ring(0))) * 1e9
""",
    },
    "tree": {
        "distances": TREE,
        "recursive": """
import torch

def tree(tensor, dist):
    rank = dist.get_rank()

    def split(first, end):
        half = 1
        while 2 * half < end - first:
            half *= 2
        return first + half

    def up(first, end):
        if end - first > 1:
            middle = split(first, end)
            up(first, middle) if rank < middle else up(middle, end)
            if rank == middle:
                dist.send(tensor, dst=first)
            elif rank == first:
                buffer = torch.zeros_like(tensor)
                dist.recv(buffer, src=middle)
                tensor.add_(buffer)

    def down(first, end):
        if end - first > 1:
            middle = split(first, end)
            if rank == first:
                dist.send(tensor, dst=middle)
            elif rank == middle:
                dist.recv(tensor, src=first)
            down(first, middle) if rank < middle else down(middle, end)

    up(0, dist.get_world_size())
    down(0, dist.get_world_size())
""",
    },
    "two_paths": {
        "formula": TWO_PATHS,
        "bisection": """
def two_paths(nbytes, first, second):
    ends = lambda path, share: path[0] + share / path[1]
    low, high = 0.0, float(nbytes)
    for _ in range(200):
        middle = (low + high) / 2
        if ends(first, middle) < ends(second, nbytes - middle):
            low = middle
        else:
            high = middle
    return low
""",
    },
    "hierarchical": {
        "groups": HIERARCHICAL,
        "by_hand": '''
import torch

def hierarchical(tensor, gpus_per_node, dist):
    rank, size, g = dist.get_rank(), dist.get_world_size(), gpus_per_node
    node, place, nodes = rank // g, rank % g, size // g
    pieces = list(tensor.chunk(g)) if g > 1 else [tensor]

    def around(members, parts, me, add):
        """One trip around the ring of `members`; afterwards parts[me] is summed, or all parts are known."""
        n = len(members)
        for step in range(n - 1):
            out, into = (me - step - (1 if add else 0)) % n, (me - step - (2 if add else 1)) % n
            buffer = torch.empty_like(parts[into])
            work = dist.isend(parts[out], dst=members[(me + 1) % n])
            dist.recv(buffer, src=members[(me - 1) % n])
            work.wait()
            parts[into].copy_(parts[into] + buffer if add else buffer)

    inside = [node * g + k for k in range(g)]
    across = [k * g + place for k in range(nodes)]
    around(inside, pieces, place, True)
    shards = list(pieces[place].tensor_split(nodes))
    around(across, shards, node, True)
    around(across, shards, node, False)
    around(inside, pieces, place, False)
''',
    },
}
