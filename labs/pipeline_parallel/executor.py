"""Run a schedule on ranks, virtual or real, with stages that are modules; and the one process to compare it with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from labs.pipeline_parallel.actions import Schedule, placement_of, shape_of
from labs.pipeline_parallel.checking import demand
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.plan import forms_of, plans_of
from labs.pipeline_parallel.timeline import Span
from labs.pipeline_parallel.worker import Worker

HOLDS_ANSWERS = True  # the learner writes an executor in an extension: the grader's sandbox gets a stub

INSTANT = 1e300  # B/s: a message of any size takes no time that a float could show


@dataclass(frozen=True, eq=False)
class Result:
    """What a training step gave, up to the optimiser.

    Parameters
    ----------
    loss : float
        Of the whole batch.
    gradients : dict of int to list of torch.Tensor
        By stage, in the order of its parameters; zeros for a parameter that took no part.
    peaks : tuple of int
        The most micro-batches that each rank held.
    spans : tuple of Span
        Times of all actions in s: virtual ones, or real ones from the first start on.
    run : labs.kit.ranks.Run or None
    """

    loss: float
    gradients: dict[int, list]
    peaks: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    run: Any = None

    @property
    def norm(self) -> float:
        """The length of all gradients taken as one vector: where a wrong scale shows."""
        return math.sqrt(sum(float(g.double().square().sum()) for gs in self.gradients.values() for g in gs))

    @property
    def time(self) -> float:
        """From the first start to the last end, in s."""
        return max((span.end for span in self.spans), default=0.0) - min((s.start for s in self.spans), default=0.0)


def run_pipeline(
    schedule: Schedule,
    stages,
    inputs,
    targets,
    loss,
    *,
    reduction: str = "mean",
    on: str = "virtual",
    durations: Durations | None = None,
    topology=None,
    timeout: float = 60.0,
    check: bool = False,
) -> Result:
    """Run one step of a schedule on as many ranks as it has.

    Parameters
    ----------
    schedule : tuple of tuple of Action
    stages : sequence of torch.nn.Module
        All of them, in order; each takes and returns one tensor with the batch first. They are copied, not changed.
    inputs, targets : torch.Tensor
        The whole batch, of at least as many samples as micro-batches. The last micro-batch may be smaller.
    loss : callable
        ``loss(output, target)``: a scalar tensor.
    reduction : {"mean", "sum"}
        What `loss` does within a micro-batch.
    on : {"virtual", "gloo", "nccl"}
    durations : Durations, optional
        What actions take on virtual ranks, in s; one second each for F, I and W by default.
    topology : labs.kit.hardware.Topology, optional
        For virtual ranks; by default messages take no time.
    timeout, check
        As for `labs.kit.ranks.run`; checks compare collectives, and a pipeline has none.

    Returns
    -------
    Result

    Raises
    ------
    BadSchedule
        Before anything runs, with what is wrong.
    """
    from labs.kit import ranks
    from labs.kit.hardware import uniform

    demand(schedule)
    shape = shape_of(schedule)
    if len(stages) != shape.stages:
        raise ValueError(f"the schedule has {shape.stages} stages, but there are {len(stages)} modules")
    plans = plans_of(schedule, forms_of(stages, inputs), len(inputs))
    homes = placement_of(schedule)
    durations = durations or Durations()
    if on == "virtual" and topology is None:
        topology = uniform(shape.ranks, latency=0.0, bandwidth=INSTANT)

    def arguments(rank):
        own = {number: stage for number, stage in enumerate(stages) if homes[number] == rank}
        first, last = homes[0] == rank, homes[-1] == rank
        batch = inputs if first else None, targets if last else None
        return plans[rank], own, *batch, loss, reduction, durations

    run = ranks.run(
        one_step, shape.ranks, arguments, on=on, topology=topology, timeout=timeout, check=check, stream=False
    )
    return collected(schedule, run, on)


def one_step(plan, stages, inputs, targets, loss, reduction, durations, dist):
    """Rank program: one step of `Worker`, with its gradients.

    Returns
    -------
    dict
        As `Worker.step`, and ``gradients`` by stage.
    """
    if dist.get_backend() != "virtual":
        dist.barrier()  # so that spans of real ranks begin together
    outcome = Worker(plan, stages, dist, durations).step(inputs, targets, loss, reduction)
    return outcome | {"gradients": {number: gradients_of(stage) for number, stage in stages.items()}}


def gradients_of(module):
    """A list of gradients, with zeros for parameters that have none."""
    return [p.grad if p.grad is not None else p.detach().new_zeros(p.shape) for p in module.parameters()]


def collected(schedule, run, on):
    """Put together what the ranks of `one_step` returned."""
    outcomes = run.results
    gradients = {number: found for outcome in outcomes for number, found in outcome["gradients"].items()}
    if on == "virtual":
        times = [[] for _ in schedule]
        for event in run.trace:
            if event.kind == "work":
                times[event.rank].append((event.start, event.end))
    else:
        zero = min(begin for outcome in outcomes for begin, _ in outcome["spans"])
        times = [[(begin - zero, end - zero) for begin, end in outcome["spans"]] for outcome in outcomes]
    spans = tuple(
        Span(rank, position, action, *times[rank][position])
        for rank, actions in enumerate(schedule)
        for position, action in enumerate(actions)
    )
    return Result(
        loss=next(outcome["loss"] for outcome in outcomes if outcome["loss"] is not None),
        gradients=dict(sorted(gradients.items())),
        peaks=tuple(outcome["peak"] for outcome in outcomes),
        spans=spans,
        run=run,
    )


def one_process(stages, inputs, targets, loss) -> Result:
    """The same step without pipeline and micro-batches: the whole batch through copies of all stages, one backward."""
    import copy

    stages = copy.deepcopy(list(stages))
    x = inputs
    for stage in stages:
        stage.zero_grad(set_to_none=True)
        x = stage(x)
    total = loss(x, targets)
    total.backward()
    return Result(total.item(), {number: gradients_of(stage) for number, stage in enumerate(stages)})
