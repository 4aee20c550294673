"""Closed forms for pipelines of equal stages without communication: the bubble, and what a rank holds."""

from __future__ import annotations

from labs.pipeline_parallel.durations import Durations

HOLDS_ANSWERS = True  # the learner chooses micro-batch counts by them: the sandbox of the grader gets a stub

NAMES = ("GPipe", "1F1B", "interleaved", "ZB-H1")


def bubble_share(ranks: int, micro_batches: int, stages_per_rank: int = 1) -> float:
    """The bubble's share of the step, for GPipe, 1F1B and (with v stages a rank, where p divides m) interleaved 1F1B.

    (p - 1)/(vm + p - 1): 43, 27 and 16% for p = m = 4 and v = 1, 2, 4. How long backward takes does not matter.
    """
    return (ranks - 1) / (stages_per_rank * micro_batches + ranks - 1)


def bubble_over_useful(ranks: int, micro_batches: int, stages_per_rank: int = 1) -> float:
    """The bubble against the useful time, as Megatron-LM counts it: (p - 1)/(vm)."""
    return (ranks - 1) / (stages_per_rank * micro_batches)


def bubble_time(name: str, ranks: int, durations: Durations | None = None, stages_per_rank: int = 1) -> float:
    """How long each rank stands still in a step.

    Parameters
    ----------
    name : {"GPipe", "1F1B", "interleaved", "ZB-H1"}
    ranks : int
        p.
    durations : Durations, optional
        Of a rank's whole share of the model; an interleaved schedule computes it in v pieces.
    stages_per_rank : int
        v, for "interleaved".

    Returns
    -------
    float
        (p - 1)(F + I + W), divided by v when interleaved; (p - 1)(F + I - W) for ZB-H1 with at least p micro-batches
        and a W that is no longer than F and no longer than I.

    References
    ----------
    Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, table 2.
    """
    _known(name)
    durations = durations or Durations()
    forward, of_input, of_weight = (durations.seconds(kind, 0) for kind in "FIW")
    if name == "ZB-H1":
        return (ranks - 1) * (forward + of_input - of_weight)
    pieces = stages_per_rank if name == "interleaved" else 1
    return (ranks - 1) * (forward + of_input + of_weight) / pieces


def holds(name: str, ranks: int, micro_batches: int) -> bool:
    """Whether `bubble_time` is right for these numbers.

    Interleaved 1F1B needs rounds of p micro-batches, and ZB-H1 as many micro-batches as ranks, or the pipeline never
    fills.
    """
    _known(name)
    if name == "interleaved":
        return micro_batches % ranks == 0
    return name != "ZB-H1" or micro_batches >= ranks


def peak_activations(name: str, ranks: int, micro_batches: int, rank: int = 0, stages_per_rank: int = 1) -> int:
    """The most micro-batches whose activations a rank holds (for "interleaved": of one stage, a v-th of its share).

    Parameters
    ----------
    name : {"GPipe", "1F1B", "interleaved", "ZB-H1"}
    ranks, micro_batches, rank : int
    stages_per_rank : int
        v, for "interleaved" (where p divides m, or m <= p).

    Returns
    -------
    int
        m for GPipe; p - r for 1F1B; p for ZB-H1; (v - 1)p + 2(p - 1 - r) + 1 interleaved; never more than there are.
    """
    _known(name)
    if name == "interleaved":
        ahead = (stages_per_rank - 1) * min(ranks, micro_batches) + 2 * (ranks - 1 - rank)
        return min(stages_per_rank * micro_batches, ahead + 1)
    held = {"GPipe": micro_batches, "1F1B": ranks - rank, "ZB-H1": ranks}[name]
    return min(micro_batches, held)


def _known(name):
    if name not in NAMES:
        raise ValueError(f"there are formulas for {', '.join(NAMES)}, not for {name!r}")
