"""Schedules that fill the bubble with weight gradients, which nobody waits for: ZB-H1 and ZBV."""

from __future__ import annotations

from labs.pipeline_parallel.actions import Action, Schedule

HOLDS_ANSWERS = True  # without the W's this is 1F1B: the sandbox of the grader gets a stub of this module


def zb_h1(stages: int, micro_batches: int) -> Schedule:
    """1F1B with backward in two halves: rank r puts each weight gradient off by r micro-batches.

    The bubble shrinks from (p - 1)(F + I + W) to (p - 1)(F + I - W), and no rank holds more than p micro-batches, which
    is what the first rank of 1F1B holds.

    Parameters
    ----------
    stages, micro_batches : int
        From 1.

    Returns
    -------
    tuple of tuple of Action

    References
    ----------
    Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 2.2 and figure 3.
    """
    if stages < 1 or micro_batches < 1:
        raise ValueError(f"a pipeline has at least one stage and one micro-batch, not {stages} and {micro_batches}")
    return tuple(tuple(_zb_h1_of(rank, stages, micro_batches)) for rank in range(stages))


def _zb_h1_of(rank, stages, micro_batches):
    ahead = min(stages - 1 - rank, micro_batches)
    for micro_batch in range(ahead):
        yield Action("F", rank, micro_batch)
    for micro_batch in range(micro_batches):
        if ahead + micro_batch < micro_batches:
            yield Action("F", rank, ahead + micro_batch)
        yield Action("I", rank, micro_batch)
        if micro_batch >= rank:
            yield Action("W", rank, micro_batch - rank)
    for micro_batch in range(max(0, micro_batches - rank), micro_batches):
        yield Action("W", rank, micro_batch)


def zbv(ranks: int, micro_batches: int) -> Schedule:
    """Two stages a rank in the shape of a V (see `actions.v_shape`): without gaps where F, I and W take equally long.

    Rank r begins r forwards late and ends as much later, so the gaps lie between steps, where the next step fills them.

    Parameters
    ----------
    ranks, micro_batches : int
        From 1. From 2p - 1 micro-batches on the pipeline is full; with fewer there are gaps.

    Returns
    -------
    tuple of tuple of Action

    References
    ----------
    Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, section 6 (ZB-V); ScheduleZBVZeroBubble in
    torch.distributed.pipelining, whose order this is.
    """
    if ranks < 1 or micro_batches < 1:
        raise ValueError(f"a pipeline has at least one rank and one micro-batch, not {ranks} and {micro_batches}")
    return tuple(
        tuple(action for action in _zbv_of(rank, ranks, micro_batches) if action.micro_batch < micro_batches)
        for rank in range(ranks)
    )


def _zbv_of(rank, ranks, micro_batches):
    """Actions for at least 2p - 1 micro-batches; those that do not exist are left out afterwards."""
    full = max(2 * ranks - 1, micro_batches)
    done = {(kind, way): 0 for kind in "FIW" for way in "01"}
    stage = {"0": rank, "1": 2 * ranks - 1 - rank}  # on the way down, on the way up

    def take(*words):
        for kind, way in words:
            yield Action(kind, stage[way], done[kind, way])
            done[kind, way] += 1

    for _ in range(2 * (ranks - rank) - 1):
        yield from take("F0")
    for _ in range(rank):
        yield from take("F1", "F0")
    for _ in range(ranks - rank):
        yield from take("F1", "I1", "W1")
    while done["F", "1"] < done["F", "0"] or done["F", "0"] < full:
        if done["F", "0"] < full:
            yield from take("F0")
        yield from take("I0", "W0", "F1", "I1", "W1")
    for _ in range(rank):
        yield from take("I0", "I1")
    for _ in range(ranks - rank):
        yield from take("I0", "W0")
    for way in "10":
        while done["W", way] < done["I", way]:
            yield from take(f"W{way}")
