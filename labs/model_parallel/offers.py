"""Competing plans for one network and one budget: what fits, how long a step takes, how many answers a second."""

from __future__ import annotations

HOLDS_ANSWERS = True  # it runs labs.model_parallel.placement, which holds an answer
FLOPS = 50e9  # of the toy GPU, FLOP/s
MB = 1_000_000


def seconds_of(costs):
    """Seconds of forward and backward of each layer on the toy GPU.

    Parameters
    ----------
    costs : sequence of labs.model_parallel.memory.Cost

    Returns
    -------
    forward, backward : list of float
    """
    return [each.forward / FLOPS for each in costs], [each.backward / FLOPS for each in costs]


def explore_plans(place, costs):
    """Explore plans for a network: how large the devices are, and how many.

    Parameters
    ----------
    place : callable
        The learner's ``place(names, nbytes, seconds, limits)``.
    costs : sequence of labs.model_parallel.memory.Cost

    Returns
    -------
    labs.kit.draw.Explorer or None
    """
    from labs.kit.draw import explore

    if not written(place):
        return None

    def picture(limit_MB, devices):
        return plans_of(place, costs, limit_MB, devices)

    return explore(
        picture,
        label="Which plan?",
        limit_MB=[12, 9, 10, 14, 18, 28],
        devices=(1, 8, 1, 4),
        frames=[
            {"limit_MB": 12},
            {"limit_MB": 12, "devices": 3},
            {"limit_MB": 14, "devices": 3},
            {"limit_MB": 18},
            {"limit_MB": 28, "devices": 1},
        ],
    )


def written(place):
    """Whether there is an answer; says what to do when not."""
    try:
        place(["a"], [1], [1], [1])
    except NotImplementedError:
        print("Solve place first: then this cell shows your plans.")
        return False
    return True


def plans_of(place, costs, limit, devices):
    """Draw an equal number of layers on each device beside the learner's plan, or its refusal.

    Parameters
    ----------
    place : callable
    costs : sequence of Cost
    limit : float
        MB of each device.
    devices : int

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.model_parallel.plans import plan_picture
    from labs.model_parallel.sums import equal_counts

    names, nbytes, whole = as_lists(costs)
    limits = [limit * MB] * devices
    plans = {"As many layers on each": equal_counts(len(names), devices)}
    title = f"{devices} devices of {limit} MB"
    try:
        plans["Your place"] = place(names, nbytes, [round(each * 1e6) for each in whole], limits)
    except ValueError as refused:
        title += f". Your place refuses: {refused}"
        plans = {f"As many on each; your place refuses: {str(refused)[:44]}": plans["As many layers on each"]}
    return plan_picture(plans, names, nbytes, whole, limits, name=title)


def count_layers(names, nbytes, seconds, limits):
    """A plan that looks at nothing but the number of layers."""
    from labs.model_parallel.sums import equal_counts

    return equal_counts(len(names), len(limits))


def filled_up(names, nbytes, seconds, limits):
    """A plan that fills device after device, and does not look at seconds."""
    from labs.model_parallel.placement import fill

    return fill(nbytes, seconds, limits, float("inf"))[0]


def as_lists(costs):
    """Names, bytes, and seconds of forward and backward, layer by layer."""
    forward, backward = seconds_of(costs)
    names, nbytes = [each.name for each in costs], [each.nbytes for each in costs]
    return names, nbytes, [f + b for f, b in zip(forward, backward)]


def compare(place, idle, plans):
    """Lines of text: a row for each offer.

    Parameters
    ----------
    place, idle : callable
        The learner's answers.
    plans : dict of str to (sequence of Cost, list of float, callable or None)
        By title: what the layers cost, the devices' limits in MB, and who places: a function like `place`; the
        learner's own if None.

    Returns
    -------
    str
    """
    from labs.model_parallel.sums import sums

    lines = [f"{'':34}devices  fullest     step   busy   answers/s"]
    for title, (costs, limits, planner) in plans.items():
        names, nbytes, whole = as_lists(costs)
        room = [limit * MB for limit in limits]
        try:
            counts = (planner or place)(names, nbytes, [round(each * 1e6) for each in whole], room)
        except ValueError as refused:
            lines.append(f"{title:34}{len(limits):7}  refused: {str(refused)[:60]}")
            continue
        held = sums(nbytes, counts)
        if any(own > limit for own, limit in zip(held, room)):
            worst = max(range(len(held)), key=held.__getitem__)
            lines.append(
                f"{title:34}{len(limits):7}  does not fit: device {worst} would hold {held[worst] / MB:.1f} MB"
            )
            continue
        forward, backward = (sums(each, counts) for each in seconds_of(costs))
        busy = 1 - sum(idle(forward, backward, 0.0)) / len(limits)
        step = sum(forward) + sum(backward)
        lines.append(
            f"{title:34}{len(limits):7}  {max(held) / MB:4.1f} MB  {step * 1e3:5.2f} ms   {busy:4.0%}"
            f"   {1 / max(forward):9.0f}"
        )
    return "\n".join(lines)
