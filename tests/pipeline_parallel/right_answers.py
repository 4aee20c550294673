"""Right answers to the exercises of lesson 12, written in different ways; each must be accepted."""

GPIPE = """
def gpipe(rank, stages, micro_batches):
    return [("F", k) for k in range(micro_batches)] + [("B", k) for k in range(micro_batches)]
"""

ONE_F_ONE_B = """
def one_f_one_b(rank, stages, micro_batches):
    ahead = min(stages - rank, micro_batches)
    actions = [("F", k) for k in range(ahead)]
    for k in range(micro_batches):
        actions.append(("B", k))
        if ahead + k < micro_batches:
            actions.append(("F", ahead + k))
    return actions
"""

CHOOSE = """
import math

def choose_m(stages, samples, sample_bytes, limit_bytes, fixed, each):
    best, shortest = None, math.inf
    for m in range(1, samples + 1):
        size = math.ceil(samples / m)
        time = (m + stages - 1) * 3 * (fixed + each * size)
        if min(stages, m) * size * sample_bytes <= limit_bytes and time < shortest:
            best, shortest = m, time
    return best
"""

ZERO_BUBBLE = (
    ONE_F_ONE_B
    + """
def zero_bubble(rank, stages, micro_batches):
    actions = []
    for kind, k in one_f_one_b(rank, stages, micro_batches):
        actions.append(("F" if kind == "F" else "I", k))
        if kind == "B" and k >= rank:
            actions.append(("W", k - rank))
    return actions + [("W", k) for k in range(max(0, micro_batches - rank), micro_batches)]
"""
)

RUN_SCHEDULE = """
import torch

def run_schedule(actions, stage, inputs, targets, loss, dist):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    samples = sum(len(target) for target in targets)
    stored, sent = {}, []
    for kind, k in actions:
        if kind == "F":
            x = inputs[k]
            if rank > 0:
                dist.recv(x, src=rank - 1)
                x.requires_grad_()
            y = stage(x)
            stored[k] = x, y
            if rank < last:
                message = y.detach()
                sent.append((message, dist.isend(message, dst=rank + 1)))
        else:
            x, y = stored.pop(k)
            if rank == last:
                (loss(y, targets[k]) * len(targets[k]) / samples).backward()
            else:
                gradient = torch.empty_like(y)
                dist.recv(gradient, src=rank + 1)
                y.backward(gradient)
            if rank > 0:
                sent.append((x.grad, dist.isend(x.grad, dst=rank - 1)))
    for message, work in sent:
        work.wait()
"""

INTERLEAVE = """
def interleave(rank, ranks, chunks, micro_batches):
    own = [rank + chunk * ranks for chunk in range(chunks)]
    forward = [("F", stage, k) for stage in own for k in range(micro_batches)]
    return forward + [("B", stage, k) for stage in reversed(own) for k in range(micro_batches)]
"""

RIGHT = {
    "gpipe": {
        "two_lists": GPIPE,
        "generator": """
def gpipe(rank, stages, micro_batches):
    for kind in "FB":
        for k in range(micro_batches):
            yield kind, k
""",
        "newest_first": """
def gpipe(rank, stages, micro_batches):
    actions = []
    for k in range(micro_batches):
        actions.append(("F", k))
    for k in reversed(range(micro_batches)):
        actions.append(("B", k))
    return actions
""",
    },
    "one_f_one_b": {
        "backward_then_forward": ONE_F_ONE_B,
        "forward_then_backward": """
def one_f_one_b(rank, stages, micro_batches):
    ahead = min(stages - rank - 1, micro_batches)
    steady = micro_batches - ahead
    warm_up = [("F", k) for k in range(ahead)]
    pairs = [action for k in range(steady) for action in (("F", ahead + k), ("B", k))]
    return warm_up + pairs + [("B", k) for k in range(steady, micro_batches)]
""",
        "by_counting": """
def one_f_one_b(rank, stages, micro_batches):
    actions, forward, backward = [], 0, 0
    while backward < micro_batches:
        if forward < micro_batches and forward - backward < stages - rank:
            actions.append(("F", forward))
            forward += 1
        else:
            actions.append(("B", backward))
            backward += 1
    return actions
""",
    },
    "choose_m": {
        "loop": CHOOSE,
        "one_expression": """
def choose_m(stages, samples, sample_bytes, limit_bytes, fixed, each):
    sizes = {m: -(-samples // m) for m in range(1, samples + 1)}
    fitting = [m for m, b in sizes.items() if min(m, stages) * b * sample_bytes <= limit_bytes]
    return min(fitting, key=lambda m: (m + stages - 1) * (fixed + each * sizes[m]), default=None)
""",
    },
    "zero_bubble": {
        "from_1f1b": ZERO_BUBBLE,
        "by_counting": """
def zero_bubble(rank, stages, micro_batches):
    actions, done = [], {"F": 0, "I": 0, "W": 0}

    def take(kind):
        actions.append((kind, done[kind]))
        done[kind] += 1

    while done["W"] < micro_batches:
        if done["F"] < micro_batches and done["F"] - done["I"] < stages - rank:
            take("F")
        elif done["I"] < micro_batches:
            take("I")
            if done["I"] > rank:
                take("W")
        else:
            take("W")
    return actions
""",
    },
    "run_schedule": {
        "weighted_loss": RUN_SCHEDULE,
        "weighted_gradient": """
import torch

def run_schedule(actions, stage, inputs, targets, loss, dist):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    samples = sum(map(len, targets))
    outputs, requests = {}, []
    for kind, k in actions:
        if kind == "F":
            if rank:
                requests.append(dist.irecv(inputs[k], src=rank - 1))
                requests.pop().wait()
            inputs[k].requires_grad_(rank > 0)
            outputs[k] = stage(inputs[k])
            if rank != last:
                requests.append(dist.isend(outputs[k].detach(), dst=rank + 1))
            continue
        y = outputs.pop(k)
        if rank == last:
            gradient = torch.autograd.grad(loss(y, targets[k]), y, retain_graph=True)[0] * (len(targets[k]) / samples)
        else:
            gradient = torch.zeros_like(y)
            dist.recv(gradient, src=rank + 1)
        torch.autograd.backward(y, gradient)
        if rank:
            requests.append(dist.isend(inputs[k].grad, dst=rank - 1))
    for request in requests:
        request.wait()
""",
    },
    "interleave": {
        "breadth_first": INTERLEAVE,
        "in_rounds": """
def interleave(rank, ranks, chunks, micro_batches):
    rounds = max(1, micro_batches // ranks)
    ends = [micro_batches * (r + 1) // rounds for r in range(rounds)]
    groups = [range(a, b) for a, b in zip([0] + ends, ends)]
    forward = [("F", rank + c * ranks, k) for group in groups for c in range(chunks) for k in group]
    backward = [("B", rank + c * ranks, k) for group in groups for c in reversed(range(chunks)) for k in group]
    ahead = min(len(forward), 2 * (ranks - 1 - rank) + (chunks - 1) * len(groups[0]) + 1)
    actions = forward[:ahead]
    for n, action in enumerate(backward):
        actions.append(action)
        actions += forward[ahead + n : ahead + n + 1]
    return actions
""",
    },
}
