"""The lesson's schedules by the names under which formulas, calculator and pictures compare them."""

from __future__ import annotations

from labs.pipeline_parallel.actions import Schedule
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.schedules import gpipe, one_f_one_b
from labs.pipeline_parallel.zero_bubble import zb_h1

HOLDS_ANSWERS = True  # it gives the learner's schedules: the sandbox of the grader gets a stub


def named(name: str, ranks: int, micro_batches: int, stages_per_rank: int = 1) -> Schedule:
    """Make a schedule by its name.

    Parameters
    ----------
    name : {"GPipe", "1F1B", "interleaved", "ZB-H1"}
        As in `formulas.NAMES`.
    ranks, micro_batches : int
    stages_per_rank : int
        v, for "interleaved"; the others have one stage on each rank.

    Returns
    -------
    tuple of tuple of Action
    """
    if name == "interleaved":
        return interleaved(stages_per_rank, ranks, micro_batches)
    return {"GPipe": gpipe, "1F1B": one_f_one_b, "ZB-H1": zb_h1}[name](ranks, micro_batches)
