"""The same step by torch.distributed.pipelining: its schedules, its order of actions, and what it refuses."""

from __future__ import annotations

from typing import NamedTuple

from labs.pipeline_parallel.actions import Action, round_robin, v_shape


class Kind(NamedTuple):
    """One of PyTorch's schedules.

    Parameters
    ----------
    name : str
        Of its class in torch.distributed.pipelining.schedules.
    stages_per_rank : int
        How many it is used with here.
    v : bool
        Whether stages are placed in the shape of a V.
    """

    name: str
    stages_per_rank: int
    v: bool = False


KINDS = {
    "GPipe": Kind("ScheduleGPipe", 1),
    "1F1B": Kind("Schedule1F1B", 1),
    "Interleaved1F1B": Kind("ScheduleInterleaved1F1B", 2),
    "InterleavedZeroBubble": Kind("ScheduleInterleavedZeroBubble", 2),
    "LoopedBFS": Kind("ScheduleLoopedBFS", 2),
    "ZBV": Kind("ScheduleZBVZeroBubble", 2, v=True),
    "DualPipeV": Kind("ScheduleDualPipeV", 2, v=True),
}

LETTERS = {"FORWARD": "F", "FULL_BACKWARD": "B", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W"}


def homes_of(name: str, ranks: int) -> tuple[int, ...]:
    """The rank of each stage in one of PyTorch's schedules."""
    kind = KINDS[name]
    return v_shape(ranks) if kind.v else round_robin(kind.stages_per_rank * ranks, ranks)


def scheduler(name, modules, loss, micro_batches, reduction, dist):
    """Build one of PyTorch's schedules on a rank.

    Parameters
    ----------
    name : str
        A key of `KINDS`.
    modules : dict of int to torch.nn.Module
        This rank's stages by number.
    loss : callable
    micro_batches : int
    reduction : {"mean", "sum"}
        What `loss` does within a micro-batch. PyTorch divides gradients by the number of micro-batches after the last
        one (``scale_grads``), which is right for a mean, if all micro-batches are of one size.
    dist : torch.distributed

    Returns
    -------
    torch.distributed.pipelining schedule
    """
    import torch
    from torch.distributed.pipelining import PipelineStage, schedules

    kind, number = KINDS[name], len(homes_of(name, dist.get_world_size()))
    device = torch.device("cpu")
    stages = [PipelineStage(module, index, number, device) for index, module in sorted(modules.items())]
    make = getattr(schedules, kind.name)
    single = kind.name in ("ScheduleGPipe", "Schedule1F1B")
    scale = reduction == "mean"
    return make(stages[0] if single else stages, micro_batches, loss_fn=loss, scale_grads=scale)


def one_torch_step(name, modules, inputs, targets, loss, micro_batches, reduction, dist):
    """Rank program: one step by PyTorch.

    Parameters
    ----------
    name, modules, loss, micro_batches, reduction, dist
        As for `scheduler`.
    inputs, targets : torch.Tensor or None
        The whole batch, where the first and the last stage live.

    Returns
    -------
    dict
        ``loss`` (float; None where the last stage is elsewhere) and ``gradients`` (by stage), as
        `executor.one_step` returns them.
    """
    from labs.pipeline_parallel.executor import gradients_of

    for module in modules.values():
        module.zero_grad(set_to_none=True)
    found = losses_of_step(scheduler(name, modules, loss, micro_batches, reduction, dist), inputs, targets)
    total = sum(found) / (len(found) if reduction == "mean" else 1) if found else None
    return {"loss": total, "gradients": {number: gradients_of(module) for number, module in modules.items()}}


def losses_of_step(schedule, inputs, targets):
    """Run one step of one of PyTorch's schedules; returns all losses where the last stage lives."""
    losses: list = []
    last = {} if targets is None else {"target": targets, "losses": losses}
    schedule.step(*([] if inputs is None else [inputs]), **last)
    return [loss.item() for loss in losses]


def share_of(rank, name, ranks, stages, inputs, targets):
    """What a rank needs of the stages and the batch: (modules by number, inputs or None, targets or None)."""
    homes = homes_of(name, ranks)
    if len(stages) != len(homes):
        raise ValueError(f"{name} on {ranks} ranks takes {len(homes)} stages here, not {len(stages)}")
    own = {number: stage for number, stage in enumerate(stages) if homes[number] == rank}
    return own, inputs if homes[0] == rank else None, targets if homes[-1] == rank else None


def run_torch(name, ranks_, stages, inputs, targets, loss, micro_batches, *, reduction="mean", timeout=60.0):
    """Run one step of one of PyTorch's schedules on real ranks (gloo).

    Parameters
    ----------
    name : str
        A key of `KINDS`.
    ranks_ : int
        How many; `stages` has that many times ``KINDS[name].stages_per_rank`` modules.
    stages, inputs, targets, loss, micro_batches, reduction, timeout
        As for `executor.run_pipeline`. PyTorch needs micro-batches of one size.

    Returns
    -------
    executor.Result
        Without spans and peaks.
    """
    from labs.kit import ranks
    from labs.pipeline_parallel.executor import Result

    def arguments(rank):
        own, first, last = share_of(rank, name, ranks_, stages, inputs, targets)
        return name, own, first, last, loss, micro_batches, reduction

    run = ranks.run(one_torch_step, ranks_, arguments, on="gloo", timeout=timeout, stream=False)
    gradients = {number: found for outcome in run.results for number, found in outcome["gradients"].items()}
    total = next(outcome["loss"] for outcome in run.results if outcome["loss"] is not None)
    return Result(total, dict(sorted(gradients.items())), run=run)


def orders_and_refusals(cases, dist):
    """Rank program: PyTorch's order of actions for each case, or the words with which it refuses.

    Parameters
    ----------
    cases : sequence of (str, int)
        Name of a schedule, micro-batches.

    Returns
    -------
    list of (tuple of tuple of Action, or str)
    """
    import torch

    size, rank, found = dist.get_world_size(), dist.get_rank(), []
    for name, micro_batches in cases:
        own = {number: torch.nn.Identity() for number, home in enumerate(homes_of(name, size)) if home == rank}
        try:
            made = scheduler(name, own, torch.nn.functional.mse_loss, micro_batches, "mean", dist)
        except ValueError as error:
            found.append(" ".join(str(error).split()))
        else:
            found.append(_order(made, size))
    return found


def refusal(name: str, ranks_: int, micro_batches: int) -> str | None:
    """The words with which PyTorch refuses a schedule, or None where it takes it (asked on real ranks)."""
    from labs.kit import ranks

    run = ranks.run(orders_and_refusals, ranks_, ([(name, micro_batches)],), on="gloo", stream=False)
    answer = run.results[0][0]
    return answer if isinstance(answer, str) else None


def _order(made, size):
    """PyTorch's own list of actions, in our words (only what computes)."""
    order = getattr(made, "pipeline_order", None) or made._get_pipeline_order()
    return tuple(tuple(_actions(order[rank])) for rank in range(size))


def _actions(entries):
    for entry in entries:
        if entry is None:
            continue
        for part in getattr(entry, "sub_actions", None) or (entry,):
            if letter := LETTERS.get(part.computation_type.name):
                yield Action(letter, part.stage_index, part.microbatch_index)
