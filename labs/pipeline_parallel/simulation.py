"""When does each action of a schedule run? An action begins when its rank is free and what it needs has arrived."""

from __future__ import annotations

import numpy as np

from labs.pipeline_parallel.actions import Schedule
from labs.pipeline_parallel.compact import LETTERS, NOTHING, Compact
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.timeline import Timeline

F, B, I, W = range(4)  # noqa: E741 - the field's letters


def simulate(schedule: Schedule | Compact, durations: Durations | None = None, communication: float = 0.0) -> Timeline:
    """Find the times of all actions.

    Sending costs the sender nothing, links never clog, and each result reaches another rank `communication` after it is
    computed. Nothing else happens, so the times are those of the longest chain of actions that need each other.

    Parameters
    ----------
    schedule : tuple of tuple of Action, or Compact
    durations : Durations, optional
        One unit each for F, I and W by default, so two for B.
    communication : float
        In the unit of the durations.

    Returns
    -------
    Timeline
        Of a schedule that gets stuck, the times until then; `Timeline.stuck` says where each rank stands.

    Notes
    -----
    In each turn all ranks whose next action can be timed take one step, as one NumPy operation. That is some
    2(m + p) turns for a usual schedule.
    """
    plan = schedule if isinstance(schedule, Compact) else Compact.of(schedule)
    if not communication >= 0:
        raise ValueError(f"communication must be a number from 0 up, not {communication!r}")
    needs, gives, slots = _wiring(plan)
    seconds = _seconds(plan, durations or Durations())
    travel = _travel(plan, needs, communication)
    positions, ranks = plan.shape
    starts, ends = np.full((2, positions * ranks), np.nan)
    known = np.full(slots, np.inf)  # when each result is there; the last two slots: "needs nothing" and "never"
    known[-2] = 0.0
    free = np.zeros(ranks)
    at = np.arange(ranks)
    while True:
        arrived = known[needs[at]]
        able = np.flatnonzero(arrived < np.inf)
        if not len(able):
            break
        now = at[able]
        start = arrived[able]
        if travel is not None:
            start += travel[now]
        np.maximum(start, free[able], out=start)
        end = start + seconds[now]
        starts[now], ends[now] = start, end
        known[gives[now]] = end
        known[-2] = 0.0  # those whose result nobody needs wrote there
        free[able] = end
        at[able] += ranks
    return Timeline(plan, starts.reshape(plan.shape), ends.reshape(plan.shape))


def _wiring(plan: Compact):
    """For each action the number of the result it needs and of the one it gives, with a row of "never" at the end.

    Results are numbered: activations by stage and micro-batch, then gradients likewise, then "nothing" and "never".
    """
    positions, ranks = plan.shape
    stages = int(plan.stages.max(initial=-1)) + 1
    micro_batches = int(plan.micro_batches.max(initial=-1)) + 1
    half = stages * micro_batches
    nothing, never = 2 * half, 2 * half + 1
    kinds = plan.kinds.ravel()
    own = plan.stages.ravel().astype(np.int32) * micro_batches + plan.micro_batches.ravel()
    first, last = plan.stages.ravel() == 0, plan.stages.ravel() == stages - 1
    backward = (kinds == B) | (kinds == I)

    needs = np.full((positions + 1) * ranks, never, dtype=np.int32)
    needs[: positions * ranks] = np.select(
        [kinds == NOTHING, (kinds == F) & first, kinds == F, backward & last, backward, kinds == W],
        [never, nothing, own - micro_batches, own, half + own + micro_batches, half + own],
    )
    gives = np.where(kinds == F, own, np.where(backward, half + own, nothing)).astype(np.int32)
    return needs, gives, 2 * half + 2


def _seconds(plan: Compact, durations: Durations) -> np.ndarray:
    stages = int(plan.stages.max(initial=-1)) + 1
    table = np.array([[durations.seconds(kind, stage) for stage in range(stages)] for kind in LETTERS])
    return table.reshape(len(LETTERS), stages)[plan.kinds, plan.stages].ravel()


def _travel(plan: Compact, needs: np.ndarray, communication: float):
    """How long what each action needs is on its way; None where that is never any time."""
    if communication == 0:
        return None
    stages = int(plan.stages.max(initial=-1)) + 1
    ranks = np.broadcast_to(np.arange(plan.shape[1]), plan.shape)
    home = np.full(stages + 2, -1)  # with room for the neighbours of the first and the last stage
    real = plan.kinds != NOTHING
    home[plan.stages[real] + 1] = ranks[real]
    step = np.array([-1, 1, 1, 0, 0])[plan.kinds]  # F takes from the stage before, B and I from the one after
    source = home[plan.stages + 1 + step]
    return np.where((source >= 0) & (source != ranks), communication, 0.0).ravel()
