"""Right answers to the exercises of lesson 11, written in different ways; each must be accepted."""

IDLE = """
def idle(forward, backward, transfer):
    whole = sum(forward) + sum(backward) + 2 * (len(forward) - 1) * transfer
    return [1 - (f + b) / whole for f, b in zip(forward, backward)]
"""

PLACE = """
def fill(nbytes, seconds, limits, ceiling):
    counts, layer = [], 0
    for limit in limits:
        first = layer
        while (layer < len(nbytes) and sum(nbytes[first:layer + 1]) <= limit
               and sum(seconds[first:layer + 1]) <= ceiling):
            layer += 1
        counts.append(layer - first)
    return counts, layer

def place(names, nbytes, seconds, limits):
    counts, placed = fill(nbytes, seconds, limits, float("inf"))
    if placed < len(names):
        raise ValueError(f"{names[placed]} needs {nbytes[placed]} bytes, and no device has them left")
    for ceiling in sorted({sum(seconds[i:j]) for j in range(len(names) + 1) for i in range(j)}):
        counts, placed = fill(nbytes, seconds, limits, ceiling)
        if placed == len(names):
            return counts
    return counts
"""

STEP = """
import torch

def train_step(stage, optimiser, loss, images, labels, shape, dist):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    optimiser.zero_grad()
    incoming, value = images, None
    if rank > 0:
        incoming = torch.empty(shape, dtype=torch.float64)
        dist.recv(incoming, src=rank - 1)
        incoming.requires_grad_()
    outgoing = stage(incoming)
    if rank < last:
        dist.send(outgoing.detach().contiguous(), dst=rank + 1)
        gradient = torch.empty(outgoing.shape, dtype=torch.float64)
        dist.recv(gradient, src=rank + 1)
        outgoing.backward(gradient)
    else:
        value = loss(outgoing, labels)
        value.backward()
    if rank > 0:
        dist.send(incoming.grad, dst=rank - 1)
    optimiser.step()
    return None if value is None else value.item()
"""

BYTES = """
def bytes_needed(weights, for_weights, for_inputs, trained):
    total, learning = 0, False
    for k in range(len(weights)):
        learning = learning or trained[k]
        total += weights[k]
        if trained[k]:
            total += 3 * weights[k] + for_weights[k]
        if learning:
            total += for_inputs[k]
    return total
"""

SERVE = """
import torch

def serve_stream(stage, requests, count, shape, dist):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    answers = []
    with torch.no_grad():
        for k in range(count):
            if rank > 0:
                incoming = torch.empty(shape, dtype=torch.float64)
                dist.recv(incoming, src=rank - 1)
            else:
                incoming = requests[k]
            outgoing = stage(incoming)
            if rank < last:
                dist.send(outgoing, dst=rank + 1)
            else:
                answers.append(outgoing)
    return answers if rank == last else None
"""

RIGHT = {
    "idle": {
        "sum": IDLE,
        "numpy": """
import numpy as np

def idle(forward, backward, transfer):
    busy = np.asarray(forward) + np.asarray(backward)
    step = busy.sum() + transfer * 2 * (len(busy) - 1)
    return ((step - busy) / step).tolist()
""",
        "walked": """
def idle(forward, backward, transfer):
    clock, last = 0.0, len(forward) - 1
    for k, seconds in enumerate(forward + backward[::-1]):
        clock += seconds
        if k != last and k != len(forward) + last:
            clock += transfer
    return [(clock - forward[k] - backward[k]) / clock for k in range(len(forward))]
""",
    },
    "place": {
        "ceilings": PLACE,
        "dynamic": """
import functools

def place(names, nbytes, seconds, limits):
    layers, devices = len(names), len(limits)

    @functools.cache
    def best(first, device):
        if device == devices:
            return (0, ()) if first == layers else (float("inf"), ())
        found = (float("inf"), ())
        for end in range(first, layers + 1):
            if sum(nbytes[first:end]) > limits[device]:
                break
            rest, counts = best(end, device + 1)
            found = min(found, (max(rest, sum(seconds[first:end])), (end - first, *counts)))
        return found

    slowest, counts = best(0, 0)
    if slowest < float("inf"):
        return list(counts)
    layer = 0
    for limit in limits:
        left = limit
        while layer < layers and nbytes[layer] <= left:
            left -= nbytes[layer]
            layer += 1
    raise ValueError("no room for " + names[layer] + f" ({nbytes[layer]:,} B)")
""",
        "bisection": PLACE[: PLACE.index("    for ceiling in sorted")]
        + """
    low, high = 0, sum(seconds)
    while low < high:
        middle = (low + high) // 2
        if fill(nbytes, seconds, limits, middle)[1] == len(names):
            high = middle
        else:
            low = middle + 1
    return fill(nbytes, seconds, limits, high)[0]
""",
    },
    "train_step": {
        "branches": STEP,
        "isend": """
import torch

def train_step(stage, optimiser, loss, images, labels, shape, dist):
    me, size = dist.get_rank(), dist.get_world_size()
    first, final = me == 0, me == size - 1
    if first:
        x = images
    else:
        x = torch.zeros(*shape, dtype=torch.double)
        dist.irecv(x, src=me - 1).wait()
        x = x.requires_grad_(True)
    y = stage(x)
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    if final:
        error = loss(y, labels)
        torch.autograd.backward(error)
    else:
        out = y.detach().clone(memory_format=torch.contiguous_format)
        sent = dist.isend(out, dst=me + 1)
        g = torch.zeros_like(out)
        dist.recv(g, src=me + 1)
        sent.wait()
        torch.autograd.backward(y, g)
    back = None if first else dist.isend(x.grad.clone(), dst=me - 1)
    optimiser.step()
    if back is not None:
        back.wait()
    if final:
        return error.item()
""",
    },
    "bytes_needed": {
        "one_pass": BYTES,
        "first_trained": """
def bytes_needed(weights, for_weights, for_inputs, trained):
    if not any(trained):
        return sum(weights)
    first = trained.index(True)
    learned = sum(w for w, t in zip(weights, trained) if t)
    stored = sum(a for a, t in zip(for_weights, trained) if t) + sum(for_inputs[first:])
    return sum(weights) + 3 * learned + stored
""",
    },
    "serve_stream": {
        "loop": SERVE,
        "isend": """
import torch

@torch.inference_mode()
def serve_stream(stage, requests, count, shape, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    answers, under_way = [], []
    for k in range(count):
        if rank == 0:
            x = requests[k]
        else:
            x = torch.empty(shape, dtype=torch.float64)
            dist.recv(x, src=rank - 1)
        y = stage(x)
        if rank == size - 1:
            answers.append(y.clone())
        else:
            under_way.append((y, dist.isend(y, dst=rank + 1)))
    for _, handle in under_way:
        handle.wait()
    if rank == size - 1:
        return answers
""",
    },
}
