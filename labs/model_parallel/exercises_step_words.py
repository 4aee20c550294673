"""What the exercise train_step says to a run that did not end, to wrong gradients, and to right ones at too high a cost."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def questions(inputs, output):
    """What to ask when a run failed: arguments for `labs.kit.exercise.completed`."""
    failure = output.get("failure") if type(output) is dict else None
    text = (
        " ".join(str(failure.get(key, "")) for key in ("message", "text", "exception")) if type(failure) is dict else ""
    )
    size = len(inputs["matrices"])
    asked = {
        "deadlock": (
            "waits_for_the_gradient_first",
            "Everybody waits. Which message must travel first in a step, and who sends it?",
            "A gradient can come back only after the activations have gone out.",
            "Rank r: receive activations from r - 1, compute, send to r + 1; only then receive the gradient from r + 1.",
        )
    }
    told = None
    if inputs["kind"] == "transposed" and "contiguous" in text:
        told = (
            "not_contiguous",
            "A message must lie in memory in one piece. What about a tensor that was transposed?",
            "stage(incoming) may return a view, and torch.empty_like of a view is laid out like the view.",
            "Send outgoing.contiguous(), and receive the gradient into torch.empty(outgoing.shape, dtype=torch.float64).",
        )
    elif "labels are on the last rank" in text:
        told = (
            "loss_everywhere",
            "A rank in the middle computes the loss. From what? The labels are on the last rank only.",
            "Only the last rank knows how far off the network is. What do the others learn from their neighbour?",
            "On the last rank: loss(outgoing, labels).backward(). On the others: outgoing.backward(gradient).",
        )
    elif "implicitly created only for scalar" in text:
        told = (
            "backward_without_gradient",
            "What leaves this stage is no single number. With which gradient does its backward begin?",
            "With the gradient of the loss by `outgoing`. The next rank knows it.",
            "Receive it from rank + 1 into a tensor like outgoing, and call outgoing.backward(gradient).",
        )
    elif size == 1:
        told = (
            "one_rank",
            "With one rank there is nobody to talk to: it is the first rank and the last. Which of your branches does it take?",
            "Ask two questions, apart from each other: is there a rank before me? Is there one after me?",
            "if rank > 0: receive ... ; if rank < last: send ...; else: the loss.",
        )
    else:
        told = _about_none(failure) if type(failure) is dict else None
    if told:
        asked |= {"error": told, "misuse": told, "mismatch": told}
    return asked


def _about_none(failure):
    """What to say when something was None that should have been a tensor; None when that is not it."""
    message, rank = str(failure.get("message")), failure.get("rank")
    place = str(failure.get("lines"))
    if "does not require grad" in message or ("NoneType" in message and "grad" in place and rank != 0):
        return (
            "input_needs_no_gradient",
            "There is no gradient of what came in: incoming.grad is None. Does autograd know that you want one?",
            "A tensor from recv is plain data. Autograd computes gradients only for what requires them.",
            "incoming.requires_grad_() after recv, and before it goes into the stage.",
        )
    if "NoneType" not in message:
        return None
    if rank == 0 and "grad" in place:
        return (
            "gradient_for_nobody",
            "Rank 0 passes a gradient on. To whom? No rank is before it, and nobody asked for the gradient of the images.",
            "Only ranks with a neighbour before them send a gradient.",
            "if rank > 0: dist.send(incoming.grad, dst=rank - 1)",
        )
    if rank == 0:
        return (
            "first_rank_receives",
            "Rank 0 is the first. From whom does it want to receive? Its shape is None.",
            "What goes into the first stage are the images, and rank 0 has them.",
            "incoming = images on rank 0; on the others a tensor of that shape, and recv.",
        )
    return (
        "images_everywhere",
        f"On rank {rank} something is None: the images are on rank 0 only. What goes into this stage instead?",
        "The activations that the rank before sends.",
        "incoming = torch.empty(shape, dtype=torch.float64), recv from rank - 1, then stage(incoming).",
    )


def explain_values(inputs, rank, result, steps, output):
    """Raise the Wrong that the first wrong value on a rank deserves."""
    size = len(inputs["matrices"])
    last = rank == size - 1

    def wrong(hint, question, *then, values=()):
        evidence = f"\nrank {rank} of {size}" + "".join(f"\n{name} {short(_few(value))}" for name, value in values)
        raise Wrong(hint, question + evidence, then=then, picture=lambda: run_picture(output))

    if len(result["gradients"]) > len(steps):
        wrong(
            "step_twice",
            f"{len(steps)} batches, and your optimiser took {len(result['gradients'])} steps. How often should it?",
            "Once a batch, when all gradients of the stage are there.",
        )
    for number, step in enumerate(steps):
        if inputs["matrices"][rank] and len(result["gradients"]) <= number:
            wrong(
                "never_stepped",
                "The optimiser has not taken its step. Whose weights shall it change?",
                "Each rank has its own optimiser, over the weights of its own stage.",
                "optimiser.step() on every rank, once the gradients are there.",
            )
        for index, (got, right) in enumerate(zip(result["gradients"][number], step["gradients"][rank])):
            if not _close(got, right):
                _explain_gradient(inputs, rank, number, index, got, right, steps, wrong, output)
        if len(result["gradients"][number]) < len(step["gradients"][rank]):
            wrong(
                "no_gradient",
                "The optimiser takes its step, and a weight has no gradient yet. What must happen before?",
                "backward first, then optimiser.step().",
            )
    for got, right in zip(result["weights"], steps[-1]["weights"][rank]):
        if not _close(got, right):
            wrong(
                "other_step",
                "The gradients are right, the weights are not. Who else changes them, beside the optimiser?",
                "Nobody should: one step of the optimiser that you were given.",
                values=(("expected", right), ("yours   ", got)),
            )
    wanted = [step["loss"] for step in steps] if last else [None] * len(steps)
    if result["losses"] != wanted and not (last and _close_losses(result["losses"], wanted)):
        if last and None in result["losses"]:
            wrong(
                "loss_not_returned",
                "The last rank returns None. Who tells the learner how training goes?",
                "Return the loss on the last rank, as a number: value.item().",
            )
        wrong(
            "other_loss",
            "The returned loss is another one. Which rank knows it, and which does not?",
            "The last rank returns the loss of the batch; the others return None.",
            values=(("expected", [w or 0 for w in wanted]), ("yours   ", [v or 0 for v in result["losses"]])),
        )


def _explain_gradient(inputs, rank, number, index, got, right, steps, wrong, output):
    size, step = len(inputs["matrices"]), steps[number]
    values = ("expected", right), ("yours   ", got)
    if number and _close(got, right + steps[number - 1]["gradients"][rank][index]):
        wrong(
            "gradients_left_over",
            "The first step is right, the second is not. Whose gradients are in this sum?",
            "backward adds to what is in parameter.grad already.",
            "optimiser.zero_grad() at the beginning of each step.",
            values=values,
        )
    if size > 1 and _close(got, right / size):
        wrong(
            "divided_by_ranks",
            f"Everything is too small by a factor of {size}, the number of ranks. Over what do you average?",
            "The ranks do not hold parts of the batch here. Each sees the whole batch, and a part of the network.",
            "Nothing is divided: model parallel has no average.",
            values=values,
        )
    if rank < size - 1 and _close(got, step["ones"][rank][index]):
        wrong(
            "gradient_ignored",
            "This is the gradient of the *sum* of what leaves the stage, not of the loss. What does the loss say?",
            "The next rank knows the gradient of the loss by your output. It sends it to you.",
            "outgoing.backward(gradient), with the tensor that came from rank + 1.",
            values=values,
        )
    if rank < size - 1 and _close(got, step["activations"][rank][index]):
        wrong(
            "activations_sent_back",
            "Rank r + 1 sends something back that was sent to it. Is it a gradient?",
            "The activations came in. Their *gradient* goes back: incoming.grad.",
            values=values,
        )
    if any(sent < due for sent, due in zip(output["bytes"], due_bytes(inputs))) and np.allclose(got, right, rtol=1e-1):
        wrong(
            "precision_lost",
            "Nearly right, with fewer bytes than there are. What was rounded on the way?",
            "The network computes in float64. A message of another type loses digits.",
            "torch.empty(shape, dtype=torch.float64) on the receiving side, and no cast on the sending side.",
            values=(*values, ("apart by", np.abs(got - right))),
        )
    wrong(
        "other_gradient",
        "The gradient of this stage is another one. What came in from the right, and what went out to the left?",
        "Forward: activations to the right. Backward: the gradient of those activations to the left.",
        values=values,
    )


def due_bytes(inputs):
    """Bytes that each rank has to send: its activations to the right, and the gradient of what it got to the left."""
    samples, width = sum(map(len, inputs["images"])), inputs["images"][0].shape[1]
    widths = []
    for own in inputs["matrices"]:
        width = own[-1].shape[1] if own else width
        widths.append(width)
    last = len(widths) - 1
    return [
        8 * samples * ((widths[rank] if rank < last else 0) + (widths[rank - 1] if rank else 0))
        for rank in range(len(widths))
    ]


def due_time(inputs):
    """Seconds of one step on the ideal machine of the cases: all forwards, all backwards, the last optimiser."""
    from labs.kit.hardware import uniform

    seconds = inputs["seconds"]
    route = uniform(2).route(0, 1)
    samples, borders = len(inputs["images"][0]), [own[-1].shape[1] for own in inputs["matrices"][:-1]]
    transfers = sum(2 * (route.latency + 8 * samples * width / route.bandwidth) for width in borders)
    return sum(f + b for f, b, _ in seconds) + transfers + seconds[0][2]


def explain_costs(case, output):
    """Raise the Wrong that right gradients at too high a cost deserve."""
    inputs = case.inputs
    size, batches = len(inputs["matrices"]), len(inputs["images"])
    bytes_due, sent = due_bytes(inputs), output["bytes"]
    messages = [batches * ((rank < size - 1) + (rank > 0)) for rank in range(size)]

    def wrong(hint, question, *then, evidence=""):
        raise Wrong(hint, question + evidence, then=then, picture=lambda: run_picture(output))

    calls = [result["calls"] for result in output["results"]]
    if max(calls) > batches:
        wrong(
            "forward_twice",
            "Right values, but a stage runs forward twice in a step. What does that cost?",
            "Keep what the forward pass returned: outgoing still knows how it was computed.",
            evidence=f"\nforward passes by rank: {calls}, batches: {batches}",
        )
    if sent != bytes_due:
        rank = next(k for k, (got, due) in enumerate(zip(sent, bytes_due)) if got != due)
        wrong(
            "too_many_bytes",
            f"Right values, but rank {rank} sends {sent[rank]} B, and {bytes_due[rank]} B are due. Who needs the rest?",
            "Each border is crossed by the activations once, and by their gradient once.",
            "send to rank + 1, send to rank - 1: nothing else, and no collective.",
            evidence=f"\nbytes sent by rank: {sent}\ndue:                {bytes_due}",
        )
    if output["messages"] != messages:
        wrong(
            "too_many_messages",
            "The right bytes, in more messages than needed. Each pays a latency. Why not in one?",
            "Activations are one tensor, and so is their gradient.",
            evidence=f"\nmessages by rank: {output['messages']}, needed: {messages}",
        )
    if case.part == "budget" and output["time"] > due_time(inputs) * (1 + 1e-6) + 1e-9:
        wrong(
            "step_before_send",
            "Right values, but the rank before you waits while you do something that it does not need. What is it?",
            "The gradient of the input is ready after backward. The optimiser changes only your own weights.",
            "Send incoming.grad first, then optimiser.step().",
            evidence=f"\nyour step: {output['time'] * 1e3:.3f} ms, possible: {due_time(inputs) * 1e3:.3f} ms",
        )


def _few(values):
    """The first four numbers, with five digits each."""
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float).reshape(-1)[:4]]


def run_picture(output):
    """The run as a timeline."""
    from labs.kit.draw import timeline

    return timeline(output["events"], world_size=len(output["results"]), name="Your step")


def _close(got, right):
    got = np.asarray(got)
    return got.shape == right.shape and np.allclose(got, right, rtol=1e-10, atol=1e-13)


def _close_losses(got, wanted):
    return all(value is not None and abs(value - right) <= 1e-10 * abs(right) for value, right in zip(got, wanted))
