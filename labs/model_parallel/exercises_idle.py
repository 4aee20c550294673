"""Exercise idle: how much of a step each device stands still when one batch passes through all of them."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, forward, backward, transfer, part="correct"):
        inputs = {"forward": list(map(float, forward)), "backward": list(map(float, backward))}
        return Case(title, inputs | {"transfer": float(transfer)}, part)

    drawn = rng.integers(1, 9, 5)
    return [
        case("2 devices, sending takes no time", (1, 1), (2, 2), 0),
        case("4 equal devices, sending takes no time", (1,) * 4, (2,) * 4, 0),
        case("3 devices of different speed", (1, 4, 2), (3, 8, 4), 0),
        case("4 devices, a transfer takes 1 ms", (2, 1, 3, 2), (4, 2, 6, 4), 1),
        case("5 devices, all different, and transfers", drawn, drawn * 2 + 1, int(rng.integers(1, 4))),
        case("a single device", (3,), (6,), 1, "edge"),
        case("the first stage is frozen: no backward there", (2, 2, 2), (0, 4, 4), 1, "edge"),
        case("a stage without layers", (2, 0, 2), (4, 0, 4), 1, "edge"),
        case("16 devices", (1,) * 16, (2,) * 16, 0, "edge"),
    ]


def run(answers, inputs):
    shares = answers[0](list(inputs["forward"]), list(inputs["backward"]), inputs["transfer"])
    if isinstance(shares, (int, float)):
        return {"shares": float(shares)}
    return {"shares": None if shares is None else [float(share) for share in shares]}


def step_time(forward, backward, transfer):
    """Length of the step, walked through: forward to the last device, backward to the first."""
    now = 0.0
    for stage, seconds in enumerate(forward):
        now += seconds + (transfer if stage < len(forward) - 1 else 0)
    for stage in reversed(range(len(backward))):
        now += backward[stage] + (transfer if stage else 0)
    return now


def verify(case, output):
    forward, backward, transfer = (case.inputs[name] for name in ("forward", "backward", "transfer"))
    devices, whole = len(forward), step_time(forward, backward, transfer)
    busy = [f + b for f, b in zip(forward, backward)]
    wanted = [1 - own / whole for own in busy]
    got = output["shares"]

    def wrong(hint, question, *then):
        evidence = (
            f"\nforward {forward}, backward {backward}, transfer {transfer:g} (ms)"
            f"\nexpected {_told(wanted)}\nyours    {_told(got)}"
        )
        raise Wrong(hint, question + evidence, then=then, picture=lambda: case_picture(case.inputs))

    if got is None:
        wrong("nothing_returned", "Your function returned None. Where does the list go at its end?")
    if isinstance(got, float):
        wrong(
            "one_number",
            "One number for all devices? A device with little to do stands still for longer than the others.",
            "Return a list: a share for each device.",
        )
    if len(got) != devices:
        wrong("other_length", f"{devices} devices, {len(got)} shares. Whose is missing?", "One share for each device.")

    def like(values):
        return np.allclose(got, values, rtol=1e-9, atol=1e-9)

    if like(wanted):
        return
    total, hops = sum(busy), devices - 1
    if like([own / whole for own in busy]):
        wrong("busy_share", "These are the shares in which each device works. What was asked for?", "1 minus that.")
    if like([100 * share for share in wanted]):
        wrong("percent", "A share of a whole lies between 0 and 1. Yours are in per cent. Does the 100 belong there?")
    if like([1 - f / (sum(forward) + hops * transfer) for f in forward]) or like([1 - f / whole for f in forward]):
        wrong(
            "backward_left_out",
            "You count forward only. What comes back after the loss?",
            "Each device works twice in a step: once forward, once backward. Gradients travel back, too.",
        )
    if like([(devices - 1) / devices] * devices):
        wrong(
            "average_for_all",
            "(p-1)/p is the average over equal devices. Is each of these devices idle for that long?",
            "Start from the length of the step: everything happens one after another.",
            "whole = all forwards + all backwards + all transfers; device s is idle for 1 - (its own work) / whole.",
        )
    if max(busy) > 0 and like([1 - own / max(busy) for own in busy]):
        wrong(
            "all_at_once",
            "In your step all devices compute at the same time. On what does the second one work while the first still "
            "computes?",
            "There is one batch. Stage 1 needs the activations of stage 0, so nothing overlaps.",
            "The step lasts as long as all of them together: a sum, not a maximum.",
        )
    if transfer and like([1 - own / total for own in busy]):
        wrong(
            "transfer_left_out",
            "While a message is under way, who computes? Your step leaves the transfers out.",
            "A device that sends or waits for a message does not compute.",
            f"{hops} messages forward and {hops} backward.",
        )
    if transfer and like([1 - own / (total + hops * transfer) for own in busy]):
        wrong(
            "one_way",
            "You count the messages of one direction. What travels in the other?",
            "Activations forward, gradients backward.",
        )
    if transfer and any(
        like([1 - own / (total + count * transfer) for own in busy])
        for count in (devices, 2 * devices, 2 * devices - 1)
    ):
        wrong(
            "messages_miscounted",
            f"How many messages does a step send between {devices} devices? You count another number.",
            "There is a border between neighbours, one less than there are devices. Each is crossed twice.",
        )
    if any(share < -1e-9 for share in got):
        wrong("negative", "A device cannot stand still for less than no time. What have you divided by what?")
    wrong(
        "other_shares",
        "How long is the whole step, from the first forward to the last backward? Work it out by hand for this case.",
        "Everything happens one after another: add up all forwards, all backwards and all transfers.",
        f"Here that is {whole:g} ms.",
    )


def _told(values):
    if isinstance(values, list):
        return "[" + ", ".join(f"{value:.3f}" for value in values[:8]) + (", …]" if len(values) > 8 else "]")
    return str(values)


def case_picture(inputs):
    """The step of a case as a timeline, all in ms."""
    from labs.kit.draw import timeline

    forward, backward, transfer = (inputs[name] for name in ("forward", "backward", "transfer"))
    events, now, last = [], 0.0, len(forward) - 1
    for rank, seconds in enumerate(forward):
        events.append((rank, "work", None, 0, now / 1e3, (now + seconds) / 1e3, "forward"))
        now += seconds
        if rank < last:
            events += _message(rank, rank + 1, now, transfer)
            now += transfer
    for rank in reversed(range(len(backward))):
        events.append((rank, "work", None, 0, now / 1e3, (now + backward[rank]) / 1e3, "backward"))
        now += backward[rank]
        if rank:
            events += _message(rank, rank - 1, now, transfer)
            now += transfer
    return timeline(events, world_size=len(forward), name="The step of this case")


def _message(source, target, at, transfer):
    span = (0, at / 1e3, (at + transfer) / 1e3, "")
    return [(source, "send", target, *span), (target, "recv", source, *span)]


def achieved(outputs):
    mean = [np.mean(output["shares"]) for case, output in outputs if "equal devices" in case.title]
    return [("4 equal devices, one batch", f"each idle for {mean[0]:.0%} of the step")]


idle = Exercise("idle", "How idle is each device?", 1, cases, run, verify, achieved=achieved)
