"""How many micro-batches' activations a rank holds: from their forward until nothing needs them any more."""

from __future__ import annotations

from collections.abc import Sequence

from labs.pipeline_parallel.actions import Schedule

CHANGE = {"F": 1, "B": -1, "I": 0, "W": -1}  # the weights' gradient needs the activations, so I lets go of nothing


def live(schedule: Schedule, sizes: Sequence[float] | None = None) -> tuple[tuple[float, ...], ...]:
    """What each rank holds after each of its actions.

    Parameters
    ----------
    schedule : tuple of tuple of Action
    sizes : sequence of float, optional
        What one micro-batch takes on each stage, in any unit (say, B). By default 1: micro-batches are counted, and
        those of an interleaved schedule's thin stages count as much as others.

    Returns
    -------
    tuple of tuple of float
    """
    found = []
    for actions in schedule:
        held, counts = 0, []
        for action in actions:
            held += CHANGE[action.kind] * (1 if sizes is None else sizes[action.stage])
            counts.append(held)
        found.append(tuple(counts))
    return tuple(found)


def peaks(schedule: Schedule, sizes: Sequence[float] | None = None) -> tuple[float, ...]:
    """The most that each rank ever holds, as in `live`."""
    return tuple(max(counts, default=0) for counts in live(schedule, sizes))
