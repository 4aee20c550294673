"""How many micro-batches? More of them shrink the bubble, cost overhead, and (1F1B) take less memory each."""

from __future__ import annotations

from dataclasses import dataclass

from labs.pipeline_parallel import formulas
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.named import named
from labs.pipeline_parallel.simulation import simulate
from labs.pipeline_parallel.timeline import Timeline

HOLDS_ANSWERS = True  # the best number of micro-batches is an exercise: the sandbox of the grader gets a stub


@dataclass(frozen=True)
class Job:
    """A training step to be split: a batch, and what a rank's share of the model costs.

    Parameters
    ----------
    ranks : int
    batch : int
        Samples of a step.
    seconds : float
        Forward of one sample through a rank's share, in s. Backward takes twice that.
    overhead : float
        What every action costs on top, however small its micro-batch (launching kernels), in s.
    activation_bytes : float
        What a rank keeps of one sample between its forward and its backward.
    fixed_bytes : float
        Weights, gradients and optimiser states of a rank.
    limit : float
        Memory of a device, in B.
    """

    ranks: int
    batch: int
    seconds: float
    overhead: float = 0.0
    activation_bytes: float = 0.0
    fixed_bytes: float = 0.0
    limit: float = float("inf")


@dataclass(frozen=True)
class Choice:
    """A number of micro-batches with what follows from it.

    Parameters
    ----------
    name : str
        Of the schedule.
    micro_batches : int
    seconds : float
        The step, by formula.
    bubble : float
        The bubble's share of the step, by formula.
    bytes : float
        The most that a rank needs: rank 0, which holds most.
    fits : bool
    """

    name: str
    micro_batches: int
    seconds: float
    bubble: float
    bytes: float
    fits: bool


class DoesNotFit(ValueError):
    """No number of micro-batches fits the memory; the text names the smallest need."""


def choices(job: Job, name: str = "1F1B", stages_per_rank: int = 1) -> list[Choice]:
    """Every number of micro-batches that divides the batch, with its time and memory, smallest first.

    Parameters
    ----------
    job : Job
    name : {"GPipe", "1F1B", "interleaved", "ZB-H1"}
        "interleaved" takes only numbers that the ranks divide.
    stages_per_rank : int
        v, for "interleaved".
    """
    pieces = stages_per_rank if name == "interleaved" else 1
    counts = [m for m in range(1, job.batch + 1) if job.batch % m == 0]
    if name == "interleaved":
        counts = [m for m in counts if m % job.ranks == 0]
    return [_choice(job, name, micro_batches, pieces) for micro_batches in counts]


def best(job: Job, name: str = "1F1B", stages_per_rank: int = 1) -> Choice:
    """The quickest choice that fits; of equally quick ones the one with the fewest micro-batches.

    Raises
    ------
    DoesNotFit
        Naming the bytes.
    """
    every = choices(job, name, stages_per_rank)
    fitting = [choice for choice in every if choice.fits]
    if fitting:
        return min(fitting, key=lambda choice: (choice.seconds, choice.micro_batches))
    if not every:
        raise DoesNotFit(f"no number of micro-batches divides a batch of {job.batch} and is a multiple of {job.ranks}")
    least = min(every, key=lambda choice: choice.bytes)
    raise DoesNotFit(
        f"{name} does not fit: even with {least.micro_batches} micro-batches rank 0 needs {least.bytes:,.0f} B "
        f"({job.fixed_bytes:,.0f} B of them weights, gradients and optimiser states), and a device has "
        f"{job.limit:,.0f} B"
    )


def simulated(job: Job, name: str, micro_batches: int, stages_per_rank: int = 1) -> Timeline:
    """The same step, run action by action: its makespan and share stand beside the formula's."""
    pieces = stages_per_rank if name == "interleaved" else 1
    return simulate(named(name, job.ranks, micro_batches, pieces), _durations(job, name, micro_batches, pieces))


def _durations(job, name, micro_batches, pieces):
    """Of one stage, which is a v-th of a rank's share. Two halves of a backward are two actions with their overhead."""
    forward = job.seconds * job.batch / micro_batches / pieces
    if name == "ZB-H1":
        return Durations(*[job.overhead + forward] * 3)
    return Durations.of(job.overhead + forward, job.overhead + 2 * forward)


def _choice(job, name, micro_batches, pieces):
    durations = _durations(job, name, micro_batches, pieces)
    useful = micro_batches * pieces * (durations.seconds("F", 0) + durations.seconds("B", 0))
    waits = formulas.bubble_time(name, job.ranks, durations)  # of thin stages, so it is not divided by v once more
    if not formulas.holds(name, job.ranks, micro_batches):
        waits = simulated(job, name, micro_batches, pieces).idle[0]
    held = formulas.peak_activations(name, job.ranks, micro_batches, 0, pieces)
    nbytes = job.fixed_bytes + held * job.activation_bytes * job.batch / micro_batches / pieces
    return Choice(name, micro_batches, useful + waits, waits / (useful + waits), nbytes, nbytes <= job.limit)
