"""Wrong answers to the exercises of lesson 08: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
CHUNKS, REDUCE_SCATTER, ALL_GATHER = _right["CHUNKS"], _right["REDUCE_SCATTER"], _right["ALL_GATHER"]
CROSSOVER, TREE, TWO_PATHS = _right["CROSSOVER"], _right["TREE"], _right["TWO_PATHS"]
HIERARCHICAL = _right["HIERARCHICAL"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


LOST = """
def chunk_bounds(numel, size):
    step = numel // size
    return [(rank * step, (rank + 1) * step) for rank in range(size)]
"""

WRONG = {
    "chunk_bounds": {
        "remainder_lost": LOST,
        "remainder_last": """
def chunk_bounds(numel, size):
    step = numel // size
    return [(k * step, (k + 1) * step if k < size - 1 else numel) for k in range(size)]
""",
        "past_the_end": changed(CHUNKS, ("divmod(numel, size)", "(numel // size or 1, numel % size)")),
        "uneven": """
def chunk_bounds(numel, size):
    step = -(-numel // size)
    return [(min(k * step, numel), min((k + 1) * step, numel)) for k in range(size)]
""",
        "other_rule": """
def chunk_bounds(numel, size):
    return [(k * numel // size, (k + 1) * numel // size) for k in range(size)]
""",
        "inclusive_end": """
def chunk_bounds(numel, size):
    step = numel // size
    return [(k * step, (k + 1) * step - 1) for k in range(size)]
""",
        "start_and_length": changed(CHUNKS, ("(start, end)", "(start, end - start)")),
        "not_a_slice": """
def chunk_bounds(numel, size):
    return [(k * numel / size, (k + 1) * numel / size) for k in range(size)]
""",
        "wrong_count": """
import torch

def chunk_bounds(numel, size):
    ends = [0]
    for part in torch.arange(numel).chunk(size + 1):
        ends.append(ends[-1] + len(part))
    return list(zip(ends, ends[1:]))
""",
        "nothing_returned": changed(CHUNKS, ("    return bounds", "    bounds")),
        "gap": changed(CHUNKS, ("        start = end", "        start = end + 1")),
        "backwards": changed(CHUNKS, ("    return bounds", "    return bounds[::-1]")),
    },
    "reduce_scatter": {
        "deadlock": changed(
            REDUCE_SCATTER,
            ("work = dist.isend(outgoing, dst=right)", "dist.send(outgoing, dst=right)"),
            ("work.wait()", "pass"),
        ),
        "all_receive": changed(
            REDUCE_SCATTER,
            (
                "        work = dist.isend(outgoing, dst=right)\n        dist.recv(buffer, src=left)\n        work.wait()",
                "        dist.recv(buffer, src=left)\n        dist.send(outgoing, dst=right)",
            ),
        ),
        "wrong_neighbour": changed(REDUCE_SCATTER, ("src=left", "src=right")),
        "no_wrap": changed(REDUCE_SCATTER, ("(rank + 1) % size, (rank - 1) % size", "rank + 1, rank - 1")),
        "same_chunk": changed(REDUCE_SCATTER, ("chunks[(rank - 1 - step) % size]", "chunks[(rank - 1) % size]")),
        "overwritten": changed(
            REDUCE_SCATTER,
            ("dist.recv(buffer, src=left)", "dist.recv(incoming, src=left)"),
            ("        incoming += buffer\n", ""),
        ),
        "not_added": changed(
            REDUCE_SCATTER,
            ("torch.empty_like", "torch.zeros_like"),
            ("dist.recv(buffer, src=left)", "receive = dist.irecv(buffer, src=left)\n        incoming += buffer"),
            ("work.wait()\n        incoming += buffer", "work.wait()\n        receive.wait()"),
        ),
        "buffer_reused": changed(
            REDUCE_SCATTER,
            ("torch.empty_like(incoming)", "outgoing.clone()"),
            ("dist.isend(outgoing", "dist.isend(buffer"),
        ),
        "owner": changed(
            REDUCE_SCATTER, ("(rank - 1 - step)", "(rank - step)"), ("(rank - 2 - step)", "(rank - 1 - step)")
        ),
        "wrong_next": changed(
            REDUCE_SCATTER, ("(rank - 1 - step)", "(rank + step)"), ("(rank - 2 - step)", "(rank - 1 + step)")
        ),
        "misplaced": changed(REDUCE_SCATTER, ("(rank - 2 - step)", "(rank - step)")),
        "rounds": changed(REDUCE_SCATTER, ("range(size - 1)", "range(size - 2)")),
        "averaged": REDUCE_SCATTER + "    chunks[rank] /= size\n",
        "tail": REDUCE_SCATTER.replace(CHUNKS, LOST),
        "direction": changed(
            REDUCE_SCATTER, ("(rank + 1) % size, (rank - 1) % size", "(rank - 1) % size, (rank + 1) % size")
        ),
        "dtype": changed(REDUCE_SCATTER, ("torch.empty_like(incoming)", "torch.empty(incoming.numel())")),
        "buffer_length": changed(REDUCE_SCATTER, ("torch.empty_like(incoming)", "torch.empty_like(outgoing)")),
        "not_in_place": changed(
            REDUCE_SCATTER,
            ("    rank, size", "    tensor = tensor.clone()\n    rank, size"),
        )
        + "    return tensor\n",
        "nothing_sent": "\ndef reduce_scatter(tensor, dist):\n    tensor *= 1\n",
        "library": CHUNKS
        + """
def reduce_scatter(tensor, dist):
    dist.all_reduce(tensor)
""",
        "too_many_bytes": """
import torch

def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    carried = tensor.clone()
    for _ in range(size - 1):
        buffer = torch.empty_like(tensor)
        work = dist.isend(carried, dst=(rank + 1) % size)
        dist.recv(buffer, src=(rank - 1) % size)
        work.wait()
        tensor += buffer
        carried = buffer
""",
        "too_many_messages": CHUNKS
        + """
import torch

def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    bounds = chunk_bounds(tensor.numel(), size)
    for step in range(size - 1):
        a, b = bounds[(rank - 1 - step) % size], bounds[(rank - 2 - step) % size]
        for half in range(2):
            out, into = tensor[slice(*a)].tensor_split(2)[half], tensor[slice(*b)].tensor_split(2)[half]
            buffer = torch.empty_like(into)
            work = dist.isend(out, dst=(rank + 1) % size)
            dist.recv(buffer, src=(rank - 1) % size)
            work.wait()
            into += buffer
""",
        "not_a_ring": CHUNKS
        + """
import torch

def reduce_scatter(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = [tensor[a:b] for a, b in chunk_bounds(tensor.numel(), size)]
    works = [dist.isend(chunks[other], dst=other) for other in range(size) if other != rank]
    for other in range(size):
        if other != rank:
            buffer = torch.empty_like(chunks[rank])
            dist.recv(buffer, src=other)
            chunks[rank] += buffer
    for work in works:
        work.wait()
""",
        "serial": changed(
            REDUCE_SCATTER,
            (
                "        work = dist.isend(outgoing, dst=right)\n        dist.recv(buffer, src=left)\n        work.wait()",
                "        if rank % 2:\n            dist.recv(buffer, src=left)\n            dist.send(outgoing, dst=right)\n"
                "        else:\n            dist.send(outgoing, dst=right)\n            dist.recv(buffer, src=left)",
            ),
        ),
    },
    "all_gather": {
        "deadlock": changed(ALL_GATHER, ("work = dist.isend(", "dist.send("), ("        work.wait()\n", "")),
        "wrong_neighbour": changed(ALL_GATHER, ("src=left", "src=right")),
        "added": CHUNKS
        + """
import torch

def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = [tensor[start:end] for start, end in chunk_bounds(tensor.numel(), size)]
    for step in range(size - 1):
        into = chunks[(rank - 1 - step) % size]
        buffer = torch.empty_like(into)
        work = dist.isend(chunks[(rank - step) % size], dst=(rank + 1) % size)
        dist.recv(buffer, src=(rank - 1) % size)
        work.wait()
        into += buffer
""",
        "wrong_start": changed(
            ALL_GATHER,
            ("chunks[(rank - step) % size]", "chunks[(rank - 1 - step) % size]"),
            ("dist.recv(chunks[(rank - 1 - step) % size]", "dist.recv(chunks[(rank - 2 - step) % size]"),
        ),
        "same_chunk": changed(ALL_GATHER, ("chunks[(rank - step) % size]", "chunks[rank]")),
        "stale": changed(
            ALL_GATHER,
            ("chunks[(rank - step) % size]", "chunks[(rank + step) % size]"),
            ("chunks[(rank - 1 - step) % size]", "chunks[(rank - 1 + step) % size]"),
        ),
        "misplaced": CHUNKS
        + """
import torch

def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = [tensor[start:end] for start, end in chunk_bounds(tensor.numel(), size)]
    carried = chunks[rank].clone()
    for step in range(1, size):
        buffer = torch.empty_like(chunks[(rank - step) % size])
        work = dist.isend(carried, dst=(rank + 1) % size)
        dist.recv(buffer, src=(rank - 1) % size)
        work.wait()
        chunks[(rank + step) % size].copy_(buffer[: len(chunks[(rank + step) % size])])
        carried = buffer
""",
        "rounds": changed(ALL_GATHER, ("range(size - 1)", "range(size - 2)")),
        "tail": ALL_GATHER.replace(CHUNKS, LOST),
        "library": CHUNKS
        + """
def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    for root, (start, end) in enumerate(chunk_bounds(tensor.numel(), size)):
        dist.broadcast(tensor[start:end], src=root)
""",
        "not_in_place": changed(ALL_GATHER, ("    rank, size", "    tensor = tensor.clone()\n    rank, size"))
        + "    return tensor\n",
        "nothing_sent": "\ndef all_gather(tensor, dist):\n    tensor *= 1\n",
        "too_many_bytes": """
import torch

def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    step, extra = divmod(tensor.numel(), size)
    first = lambda k: k * step + min(k, extra)
    for round in range(1, size):
        buffer = torch.empty_like(tensor)
        work = dist.isend(tensor.clone(), dst=(rank + 1) % size)
        dist.recv(buffer, src=(rank - 1) % size)
        work.wait()
        k = (rank - round) % size
        tensor[first(k):first(k + 1)] = buffer[first(k):first(k + 1)]
""",
        "not_a_ring": CHUNKS
        + """
def all_gather(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = [tensor[a:b] for a, b in chunk_bounds(tensor.numel(), size)]
    works = [dist.isend(chunks[rank], dst=other) for other in range(size) if other != rank]
    works += [dist.irecv(chunks[other], src=other) for other in range(size) if other != rank]
    for work in works:
        work.wait()
""",
    },
    "crossover": {
        "natural_log": """
import math

def crossover(world_size, latency, bandwidth):
    n, rounds = world_size, math.log(world_size)
    return (n - 1 - rounds) * latency * bandwidth / (rounds - (n - 1) / n)
""",
        "part_of_a_round": """
import math

def crossover(world_size, latency, bandwidth):
    n, rounds = world_size, math.log2(world_size)
    return (n - 1 - rounds) * latency * bandwidth / (rounds - (n - 1) / n) if n > 1 else 0
""",
        "whole_tensor_in_the_ring": changed(
            CROSSOVER, ("(rounds - (world_size - 1) / world_size)", "(rounds - (world_size - 1))")
        ),
        "ring_counted_once": changed(
            CROSSOVER,
            ("(world_size - 1 - rounds)", "((world_size - 1) / 2 - rounds)"),
            ("(rounds - (world_size - 1) / world_size)", "(rounds - (world_size - 1) / 2 / world_size)"),
        ),
        "tree_counted_once": changed(
            CROSSOVER,
            ("(world_size - 1 - rounds)", "(2 * (world_size - 1) - rounds)"),
            ("(rounds - (world_size - 1) / world_size)", "(rounds - 2 * (world_size - 1) / world_size)"),
        ),
        "n_rounds": changed(
            CROSSOVER,
            ("(world_size - 1 - rounds)", "(world_size - rounds)"),
            ("(rounds - (world_size - 1) / world_size)", "(rounds - 1)"),
        ),
        "upside_down": """
def crossover(world_size, latency, bandwidth):
    n, rounds = world_size, (world_size - 1).bit_length()
    return (rounds - (n - 1) / n) * latency * bandwidth / (n - 1 - rounds)
""",
        "sign": changed(CROSSOVER, ("    return (", "    return -(")),
        "chunk_size": changed(CROSSOVER, ("latency * bandwidth", "latency * bandwidth / world_size")),
        "unit": changed(CROSSOVER, ("latency * bandwidth", "latency * bandwidth / 1e6")),
        "one_rank": changed(CROSSOVER, ("    if world_size == 1:\n        return 0.0\n", "")),
        "not_a_number": changed(CROSSOVER, ("    return (", "    nbytes = (")),
        "not_equal": changed(CROSSOVER, ("latency * bandwidth", "latency")),
    },
    "tree": {
        "root_only": TREE[: TREE.index("    while distance > 1")],
        "star": """
import torch

def tree(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    buffer = torch.empty_like(tensor)
    if rank:
        dist.send(tensor, dst=0)
        dist.recv(tensor, src=0)
        return
    for other in range(1, size):
        dist.recv(buffer, src=other)
        tensor += buffer
    for other in range(1, size):
        dist.send(tensor, dst=other)
""",
        "deep": """
import torch

def tree(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank < size - 1:
        buffer = torch.empty_like(tensor)
        dist.recv(buffer, src=rank + 1)
        tensor += buffer
    if rank:
        dist.send(tensor, dst=rank - 1)
        dist.recv(tensor, src=rank - 1)
    if rank < size - 1:
        dist.send(tensor, dst=rank + 1)
""",
        "more_than_a_tree": """
import torch

def tree(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    full = 1 << (size.bit_length() - 1)
    buffer = torch.empty_like(tensor)
    if rank >= full:
        dist.send(tensor, dst=rank - full)
        dist.recv(tensor, src=rank - full)
        return
    if rank + full < size:
        dist.recv(buffer, src=rank + full)
        tensor += buffer
    distance = 1
    while distance < full:
        work = dist.isend(tensor.clone(), dst=rank ^ distance)
        dist.recv(buffer, src=rank ^ distance)
        work.wait()
        tensor += buffer
        distance *= 2
    if rank + full < size:
        dist.send(tensor, dst=rank + full)
""",
        "power_of_two": changed(TREE, (" and rank + distance < size:\n            buffer", ":\n            buffer")),
        "twice": """
import torch

def tree(tensor, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    buffer = torch.empty_like(tensor)
    distance = 1
    while distance < size:
        work = dist.isend(tensor.clone(), dst=(rank - distance) % size)
        dist.recv(buffer, src=(rank + distance) % size)
        work.wait()
        tensor += buffer
        if distance == 1:
            tensor += buffer
        distance *= 2
""",
        "missing": changed(
            TREE, ("            tensor += buffer\n", "            tensor += buffer if distance < 2 else 0\n")
        ),
        "library": """
def tree(tensor, dist):
    dist.reduce(tensor, dst=0)
    dist.broadcast(tensor, src=0)
""",
        "not_in_place": changed(TREE, ("    rank, size", "    tensor = tensor.clone()\n    rank, size"))
        + "    return tensor\n",
        "nothing_sent": "\ndef tree(tensor, dist):\n    tensor *= 1\n",
    },
    "two_paths": {
        "half": "\ndef two_paths(nbytes, first, second):\n    return nbytes / 2\n",
        "latency_forgotten": """
def two_paths(nbytes, first, second):
    return nbytes * first[1] / (first[1] + second[1])
""",
        "swapped": """
def two_paths(nbytes, first, second):
    return nbytes * second[1] / (first[1] + second[1])
""",
        "clip": changed(TWO_PATHS, ("min(max(share, 0), nbytes)", "share")),
        "latency_sign": changed(TWO_PATHS, ("(a2 - a1)", "(a1 - a2)")),
        "fraction": changed(TWO_PATHS, ("min(max(share, 0), nbytes)", "min(max(share, 0), nbytes) / max(nbytes, 1)")),
        "not_a_number": changed(
            TWO_PATHS, ("    return min(max(share, 0), nbytes)", "    share = min(max(share, 0), nbytes)")
        ),
        "not_together": changed(TWO_PATHS, ("nbytes * b1 / (b1 + b2)", "nbytes * b1 / (b1 + 2 * b2)")),
    },
    "hierarchical": {
        "node_only": changed(HIERARCHICAL, ("    dist.all_reduce(piece, group=lane)\n", "")),
        "lane_only": """
def hierarchical(tensor, gpus_per_node, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    lanes = [dist.new_group(list(range(place, size, gpus_per_node))) for place in range(gpus_per_node)]
    dist.all_reduce(tensor, group=lanes[rank % gpus_per_node])
""",
        "not_gathered": changed(
            HIERARCHICAL,
            (
                "dist.all_gather_into_tensor(tensor, piece, group=node)",
                "start = rank % gpus_per_node * piece.numel()\n    tensor[start:start + piece.numel()] = piece",
            ),
        ),
        "not_in_place": changed(
            HIERARCHICAL,
            ("dist.all_gather_into_tensor(tensor, piece", "dist.all_gather_into_tensor(tensor.clone(), piece"),
        ),
        "sum": changed(HIERARCHICAL, ("    dist.all_gather_into", "    piece += 1\n    dist.all_gather_into")),
        "groups_differ": """
import torch

def hierarchical(tensor, gpus_per_node, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    first, place = rank // gpus_per_node * gpus_per_node, rank % gpus_per_node
    node = dist.new_group(list(range(first, first + gpus_per_node)))
    lane = dist.new_group(list(range(place, size, gpus_per_node)))
    dist.all_reduce(tensor, group=node)
    dist.all_reduce(tensor, group=lane)
""",
        "flat": "\ndef hierarchical(tensor, gpus_per_node, dist):\n    dist.all_reduce(tensor)\n",
        "whole_tensor": changed(
            HIERARCHICAL,
            ("    piece = torch.empty(tensor.numel() // gpus_per_node, dtype=tensor.dtype)\n", ""),
            ("    dist.reduce_scatter_tensor(piece, tensor, group=node)", "    dist.all_reduce(tensor, group=node)"),
            ("dist.all_reduce(piece, group=lane)", "dist.all_reduce(tensor, group=lane)"),
            ("    dist.all_gather_into_tensor(tensor, piece, group=node)\n", ""),
        ),
        "leaders": """
import torch

def hierarchical(tensor, gpus_per_node, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    nodes = [dist.new_group(list(range(first, first + gpus_per_node))) for first in range(0, size, gpus_per_node)]
    leaders = dist.new_group(list(range(0, size, gpus_per_node)))
    node, first = nodes[rank // gpus_per_node], rank // gpus_per_node * gpus_per_node
    dist.reduce(tensor, dst=first, group=node)
    if rank == first:
        dist.all_reduce(tensor, group=leaders)
    dist.broadcast(tensor, src=first, group=node)
""",
    },
}
