"""Wrong answers to the exercises of lesson 11: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
IDLE, PLACE, STEP, BYTES, SERVE = (_right[name] for name in ("IDLE", "PLACE", "STEP", "BYTES", "SERVE"))


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


def idle(step, share="1 - (f + b) / whole"):
    return f"""
def idle(forward, backward, transfer):
    p = len(forward)
    whole = {step}
    return [{share} for f, b in zip(forward, backward)]
"""


TOTAL = "sum(forward) + sum(backward)"
REFUSAL = """        raise ValueError(f"{names[placed]} needs {nbytes[placed]} bytes, and no device has them left")
"""
RECEIVE = """        gradient = torch.empty(outgoing.shape, dtype=torch.float64)
        dist.recv(gradient, src=rank + 1)
"""
SEND = "        dist.send(outgoing.detach().contiguous(), dst=rank + 1)\n"
BACK = """    if rank > 0:
        dist.send(incoming.grad, dst=rank - 1)
"""
FORWARD = """    if rank > 0:
        incoming = torch.empty(shape, dtype=torch.float64)
        dist.recv(incoming, src=rank - 1)
        incoming.requires_grad_()
"""

WRONG = {
    "idle": {
        "average_for_all": idle("p", "(p - 1) / p"),
        "backward_left_out": idle("sum(forward) + (p - 1) * transfer", "1 - f / whole"),
        "all_at_once": idle("max(a + c for a, c in zip(forward, backward))"),
        "transfer_left_out": idle(TOTAL),
        "one_way": idle(f"{TOTAL} + (p - 1) * transfer"),
        "messages_miscounted": idle(f"{TOTAL} + 2 * p * transfer"),
        "busy_share": idle(f"{TOTAL} + 2 * (p - 1) * transfer", "(f + b) / whole"),
        "percent": idle(f"{TOTAL} + 2 * (p - 1) * transfer", "100 * (1 - (f + b) / whole)"),
        "one_number": changed(
            IDLE, ("[1 - (f + b) / whole for f, b in zip(forward, backward)]", "(len(forward) - 1) / len(forward)")
        ),
        "nothing_returned": changed(IDLE, ("    return", "    shares =")),
        "other_length": changed(IDLE, ("zip(forward, backward)]", "zip(forward[1:], backward)]")),
    },
    "place": {
        "equal_counts": """
def place(names, nbytes, seconds, limits):
    n, p = len(names), len(limits)
    return [n // p + (k < n % p) for k in range(p)]
""",
        "filled_first": changed(PLACE, (PLACE[PLACE.index("    for ceiling in sorted") :], "    return counts\n")),
        "balanced_bytes": changed(
            PLACE,
            ("{sum(seconds[i:j])", "{sum(nbytes[i:j])"),
            (
                "        counts, placed = fill(nbytes, seconds, limits, ceiling)",
                "        counts, placed = fill(nbytes, nbytes, limits, ceiling)",
            ),
        ),
        "cut_at_average": PLACE[: PLACE.index("    for ceiling in sorted")]
        + """
    share, counts, layer = sum(seconds) / len(limits), [], 0
    for device, limit in enumerate(limits):
        first = layer
        while (layer < len(names) and sum(nbytes[first:layer + 1]) <= limit
               and (device == len(limits) - 1 or layer == first or sum(seconds[first:layer + 1]) <= share)):
            layer += 1
        counts.append(layer - first)
    return counts if layer == len(names) else fill(nbytes, seconds, limits, float("inf"))[0]
""",
        "exact_fit_refused": changed(PLACE, ("[first:layer + 1]) <= limit", "[first:layer + 1]) < limit")),
        "not_refused": changed(PLACE, (REFUSAL, "        return counts\n")),
        "layer_not_named": changed(PLACE, (REFUSAL, '        raise ValueError("the network does not fit")\n')),
        "other_layer_named": changed(
            PLACE,
            (REFUSAL, "        placed = 0\n" + REFUSAL),
        ),
        "bytes_not_named": changed(
            PLACE, (REFUSAL, '        raise ValueError(f"{names[placed]} does not fit")\n')
        ),
        "no_empty_device": changed(
            PLACE,
            ("    if placed < len(names):", "    if names and 0 in counts and placed == len(names):\n        placed = len(names) - 1\n    if placed < len(names):"),
        ),
        "limit_ignored": """
def place(names, nbytes, seconds, limits):
    if any(b > max(limits) for b in nbytes) or sum(nbytes) > sum(limits):
        k = next((k for k in range(len(names)) if nbytes[k] > max(limits)), len(names) - 1)
        raise ValueError(f"{names[k]} needs {nbytes[k]} bytes")
    return [len(names)] + [0] * (len(limits) - 1)
""",
        "layer_lost": changed(
            PLACE,
            ("counts.append(layer - first)\n", "counts.append(layer - first)\n        layer += 1\n"),
            ("    if placed < len(names):", "    if False:"),
        ),
        "nothing_returned": changed(PLACE, ("            return counts\n    return counts\n", "            break\n")),
        "layer_twice": changed(
            PLACE,
            ("counts.append(layer - first)", "counts.append(layer - first + (layer > first and layer < len(nbytes)))"),
        ),
        "nothing_refused": changed(
            PLACE, ("    if placed < len(names):", "    if not names:\n        raise ValueError('nothing to place')\n    if placed < len(names):")
        ),
        "not_best": changed(
            PLACE, ("            return counts\n    return", "            return fill(nbytes, seconds, limits, ceiling + 3)[0]\n    return")
        ),
    },
    "train_step": {
        "waits_for_the_gradient_first": changed(STEP, (SEND + RECEIVE, RECEIVE + SEND)),
        "input_needs_no_gradient": changed(STEP, ("        incoming.requires_grad_()\n", "")),
        "images_everywhere": changed(STEP, ("outgoing = stage(incoming)", "outgoing = stage(images)")),
        "first_rank_receives": changed(STEP, (FORWARD, FORWARD.replace("if rank > 0", "if True"))),
        "gradient_for_nobody": changed(STEP, (BACK, BACK.replace("if rank > 0", "if True"))),
        "gradient_ignored": changed(STEP, ("outgoing.backward(gradient)", "outgoing.sum().backward()")),
        "backward_without_gradient": changed(STEP, ("outgoing.backward(gradient)", "outgoing.backward()")),
        "activations_sent_back": changed(STEP, ("dist.send(incoming.grad, dst", "dist.send(incoming.detach(), dst")),
        "divided_by_ranks": changed(STEP, ("value.backward()", "(value / dist.get_world_size()).backward()")),
        "gradients_left_over": changed(STEP, ("    optimiser.zero_grad()\n", "")),
        "never_stepped": changed(STEP, ("    optimiser.step()\n", "")),
        "no_gradient": changed(STEP, ("    optimiser.step()\n", ""), ("    incoming, value = images, None\n",
                               "    incoming, value = images, None\n    optimiser.step()\n")),
        "step_before_send": changed(STEP, (BACK + "    optimiser.step()\n", "    optimiser.step()\n" + BACK)),
        "not_contiguous": changed(
            STEP,
            ("outgoing.detach().contiguous()", "outgoing"),
            ("torch.empty(outgoing.shape, dtype=torch.float64)", "torch.empty_like(outgoing)"),
        ),
        "one_rank": changed(
            STEP,
            ("    if rank < last:\n", "    if rank == 0 or rank < last:\n"),
        ),
        "loss_everywhere": changed(
            STEP,
            ("    if rank < last:\n" + SEND, "    value = loss(outgoing, labels)\n    if rank < last:\n" + SEND),
        ),
        "loss_not_returned": changed(STEP, ("    return None if value is None else value.item()\n", "")),
        "precision_lost": changed(
            STEP,
            ("        dist.send(outgoing.detach().contiguous(), dst=rank + 1)",
             "        dist.send(outgoing.detach().contiguous().float(), dst=rank + 1)"),
            (FORWARD, """    if rank > 0:
        small = torch.empty(shape)
        dist.recv(small, src=rank - 1)
        incoming = small.double().requires_grad_()
"""),
        ),
        "forward_twice": changed(
            STEP,
            ("        outgoing.backward(gradient)", "        stage(incoming).backward(gradient)"),
        ),
        "too_many_bytes": changed(
            STEP,
            ("    optimiser.step()\n", "    optimiser.step()\n    known = torch.zeros(1) if value is None else "
             "value.detach().reshape(1).float()\n    dist.broadcast(known, src=last)\n"),
        ),
        "too_many_messages": changed(
            STEP,
            (SEND, "        for row in outgoing.detach().contiguous():\n            dist.send(row, dst=rank + 1)\n"),
            ("        dist.recv(incoming, src=rank - 1)\n",
             "        for row in incoming:\n            dist.recv(row, src=rank - 1)\n"),
        ),
        "step_twice": changed(STEP, ("    optimiser.step()\n", "    optimiser.step()\n    optimiser.step()\n")),
        "other_gradient": changed(STEP, ("dist.send(incoming.grad, dst", "dist.send(2 * incoming.grad, dst")),
        "other_loss": changed(STEP, ("value.item()", "value.item() / len(outgoing)")),
    },
    "bytes_needed": {
        "late_freezing_saves": """
def bytes_needed(weights, for_weights, for_inputs, trained):
    total = sum(weights)
    for k, learns in enumerate(trained):
        if learns:
            total += 3 * weights[k] + for_weights[k] + for_inputs[k]
    return total
""",
        "prefix_still_stored": """
def bytes_needed(weights, for_weights, for_inputs, trained):
    return sum(weights) + 3 * sum(w for w, t in zip(weights, trained) if t) + sum(for_weights) + sum(for_inputs)
""",
        "input_of_frozen_layer": changed(
            BYTES, ("            total += for_inputs[k]", "            total += for_inputs[k] + (not trained[k]) * for_weights[k]")
        ),
        "gradients_of_frozen": changed(
            BYTES, ("total += weights[k]\n", "total += 4 * weights[k]\n"), ("3 * weights[k] + for", "for")
        ),
        "optimiser_left_out": changed(BYTES, ("3 * weights[k]", "weights[k]")),
        "frozen_weights_gone": changed(
            BYTES, ("        total += weights[k]\n", ""), ("3 * weights[k]", "4 * weights[k]")
        ),
        "first_trained_layer": changed(
            BYTES,
            ("        learning = learning or trained[k]\n", "        before = learning\n        learning = learning or trained[k]\n"),
            ("3 * weights[k] + for_weights[k]", "3 * weights[k] + before * for_weights[k]"),
            ("        if learning:", "        if before:"),
        ),
        "nothing_returned": changed(BYTES, ("    return total\n", "")),
        "nothing_is_trained": changed(BYTES, ("learning = 0, False", "learning = 0, not any(trained)")),
        "other_sum": changed(BYTES, ("total += for_inputs[k]", "total += for_inputs[k] * (k > 0)")),
    },
    "serve_stream": {
        "one_at_a_time": changed(
            SERVE,
            ("                answers.append(outgoing)\n", "                answers.append(outgoing)\n            dist.barrier()\n"),
        ),
        "graph_kept": changed(SERVE, ("    with torch.no_grad():\n", "    if True:\n"),
                              ("dist.send(outgoing, dst", "dist.send(outgoing.detach(), dst")),
        "same_buffer": changed(
            SERVE,
            ("                incoming = torch.empty(shape, dtype=torch.float64)\n", ""),
            ("    answers = []\n", "    answers = []\n    incoming = torch.empty(shape, dtype=torch.float64)\n"),
        ),
        "waits_for_all": """
import torch

@torch.no_grad()
def serve_stream(stage, requests, count, shape, dist):
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    if rank == 0:
        x = torch.cat(requests) if requests else torch.empty(0, *shape[1:], dtype=torch.float64)
    else:
        x = torch.empty(count, *shape[1:], dtype=torch.float64)
        dist.recv(x, src=rank - 1)
    x = stage(x)
    if rank < last:
        dist.send(x, dst=rank + 1)
    else:
        return list(x.split(1))
""",
        "too_many_messages": changed(
            SERVE,
            ("                answers.append(outgoing)\n",
             "                answers.append(outgoing)\n"
             "        if rank == last and last:\n            for answer in answers:\n                dist.send(answer, dst=0)\n"
             "        elif rank == 0:\n            for _ in range(count if last else 0):\n"
             "                dist.recv(torch.empty(shape, dtype=torch.float64), src=last)\n"),
        ),
        "one_rank": changed(SERVE, ("            if rank < last:", "            if rank == 0 or rank < last:")),
        "answers_not_returned": changed(SERVE, ("    return answers if rank == last else None\n", "")),
        "lost": changed(SERVE, ("range(count)", "range(count - 1)")),
        "answers_everywhere": changed(
            SERVE, ("            if rank < last:", "            if rank < last:\n                answers.append(outgoing)\n            if rank < last:"),
            ("    return answers if rank == last else None", "    return answers"),
        ),
        "order_reversed": changed(SERVE, ("    return answers if", "    return answers[::-1] if")),
        "not_received": changed(SERVE, ("range(count)", "range(count if rank < last else count - 1)")),
        "waits_for_an_answer": changed(
            SERVE,
            ("                dist.send(outgoing, dst=rank + 1)\n",
             "                dist.send(outgoing, dst=rank + 1)\n"
             "                dist.recv(torch.empty(shape, dtype=torch.float64), src=last)\n"),
        ),
        "other_answers": changed(SERVE, ("outgoing = stage(incoming)", "outgoing = stage(stage(incoming))")),
    },
}  # fmt: skip
