"""The two schedules that everyone starts with: GPipe, and one forward, one backward (1F1B)."""

from __future__ import annotations

from labs.pipeline_parallel.actions import Action, Schedule

HOLDS_ANSWERS = True  # the learner writes these two: the sandbox of the grader gets a stub of this module


def gpipe(stages: int, micro_batches: int) -> Schedule:
    """All forwards, then all backwards; rank r computes stage r.

    Parameters
    ----------
    stages, micro_batches : int
        From 1.

    Returns
    -------
    tuple of tuple of Action

    References
    ----------
    Huang et al., GPipe, NeurIPS 2019, figure 2. The backwards run in the order of the forwards, as in PyTorch.
    """
    return tuple(tuple(gpipe_of(rank, stages, micro_batches)) for rank in range(_counted(stages, micro_batches)))


def gpipe_of(rank: int, stages: int, micro_batches: int):
    """Yield the actions of one rank of `gpipe`."""
    for kind in "FB":
        for micro_batch in range(micro_batches):
            yield Action(kind, rank, micro_batch)


def one_f_one_b(stages: int, micro_batches: int) -> Schedule:
    """Rank r runs ahead by p - 1 - r forwards, then alternates one forward and one backward; rank r computes stage r.

    Its bubble is that of GPipe; rank r never holds more than p - r micro-batches.

    Parameters
    ----------
    stages, micro_batches : int
        From 1. Fewer micro-batches than stages are fine here (PyTorch refuses them).

    Returns
    -------
    tuple of tuple of Action

    References
    ----------
    Narayanan et al., PipeDream, SOSP 2019, section 3.2; Megatron-LM, SC 2021, figure 4 (there: PipeDream-Flush).
    """
    return tuple(tuple(one_f_one_b_of(rank, stages, micro_batches)) for rank in range(_counted(stages, micro_batches)))


def one_f_one_b_of(rank: int, stages: int, micro_batches: int):
    """Yield the actions of one rank of `one_f_one_b`."""
    ahead = min(stages - 1 - rank, micro_batches)
    for micro_batch in range(ahead):
        yield Action("F", rank, micro_batch)
    for micro_batch in range(micro_batches):
        if ahead + micro_batch < micro_batches:
            yield Action("F", rank, ahead + micro_batch)
        yield Action("B", rank, micro_batch)


def _counted(stages: int, micro_batches: int) -> int:
    if stages < 1 or micro_batches < 1:
        raise ValueError(f"a pipeline has at least one stage and one micro-batch, not {stages} and {micro_batches}")
    return stages
