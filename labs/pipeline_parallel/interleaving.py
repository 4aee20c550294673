"""Interleaved 1F1B: each rank holds several thin stages, so the pipeline fills sooner."""

from __future__ import annotations

from labs.pipeline_parallel.actions import Action, Schedule

HOLDS_ANSWERS = True  # the learner writes it in an extension: the sandbox of the grader gets a stub of this module


def interleaved(stages_per_rank: int, ranks: int, micro_batches: int) -> Schedule:
    """1F1B with v stages a rank: stage s on rank s mod p, micro-batches in rounds of about p.

    In a round a rank takes the round's micro-batches through its first stage, then through its second, and so on.
    The bubble's time divides by v: its share of the step is (p - 1)/(vm + p - 1) when p divides m.

    Parameters
    ----------
    stages_per_rank, ranks, micro_batches : int
        From 1.

    Returns
    -------
    tuple of tuple of Action

    Notes
    -----
    There are max(1, m // p) rounds. Where m does not divide by their number (p = 3, m = 16) Megatron-LM and PyTorch
    refuse; here the first rounds are longer by one.

    References
    ----------
    Narayanan et al., Megatron-LM, SC 2021, section 2.2; ScheduleInterleaved1F1B in torch.distributed.pipelining.
    """
    if min(stages_per_rank, ranks, micro_batches) < 1:
        given = f"{stages_per_rank}, {ranks} and {micro_batches}"
        raise ValueError(f"at least one stage a rank, one rank and one micro-batch are needed, not {given}")
    rounds = rounds_of(ranks, micro_batches)
    forwards = _visits(rounds, range(stages_per_rank))
    backwards = _visits(rounds, reversed(range(stages_per_rank)))
    ahead_of_last = (stages_per_rank - 1) * len(rounds[0])
    return tuple(
        tuple(_alternate(rank, ranks, forwards, backwards, ahead_of_last + 2 * (ranks - 1 - rank)))
        for rank in range(ranks)
    )


def rounds_of(ranks: int, micro_batches: int) -> list[range]:
    """Deal the micro-batches into max(1, m // p) rounds whose lengths differ by at most one, longer ones first."""
    number = max(1, micro_batches // ranks)
    length, longer = divmod(micro_batches, number)
    ends = [(index + 1) * length + min(index + 1, longer) for index in range(number)]
    return [range(start, end) for start, end in zip([0, *ends], ends)]


def _visits(rounds: list[range], turns) -> list[tuple[int, int]]:
    """(which of the rank's stages, micro-batch), in order: round by round, stage by stage."""
    turns = list(turns)
    return [(turn, micro_batch) for group in rounds for turn in turns for micro_batch in group]


def _alternate(rank, ranks, forwards, backwards, ahead):
    """Run `ahead` forwards first; then a forward and a backward in turn, until both lists are used up."""
    for index in range(-ahead, len(backwards)):
        if ahead + index < len(forwards):
            turn, micro_batch = forwards[ahead + index]
            yield Action("F", turn * ranks + rank, micro_batch)
        if index >= 0:
            turn, micro_batch = backwards[index]
            yield Action("B", turn * ranks + rank, micro_batch)
