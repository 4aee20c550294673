"""What one rank must know to run its part of a schedule: its steps, and the messages that come in."""

from __future__ import annotations

from typing import Any, NamedTuple

from labs.pipeline_parallel.actions import Action, Schedule, shape_of
from labs.pipeline_parallel.batches import sizes_of
from labs.pipeline_parallel.order import Step, channels_of, steps_of


class Message(NamedTuple):
    """A message to come: whose result it is, where that stands in the sender's order, and the tensor's form."""

    action: Action
    position: int
    shape: tuple[int, ...]
    dtype: Any


class RankPlan(NamedTuple):
    """The part of one rank.

    Parameters
    ----------
    steps : tuple of Step
        Its actions in order, with where inputs come from and results go to.
    incoming : dict of int to tuple of Message
        By sender, in the order of sending.
    last_stage : int
    sizes : tuple of int
        Rows of each micro-batch.
    """

    steps: tuple[Step, ...]
    incoming: dict[int, tuple[Message, ...]]
    last_stage: int
    sizes: tuple[int, ...]


def plans_of(schedule: Schedule, forms: list[tuple[tuple[int, ...], Any]], batch: int) -> list[RankPlan]:
    """Plan a checked schedule for each rank.

    Parameters
    ----------
    schedule : tuple of tuple of Action
    forms : list of (tuple of int, torch.dtype)
        By stage: shape of its output for one sample, without the batch dimension, and dtype (see `forms_of`).
    batch : int
        Samples of the whole batch.

    Returns
    -------
    list of RankPlan
    """
    shape = shape_of(schedule)
    sizes = sizes_of(batch, shape.micro_batches)
    steps = steps_of(schedule)
    positions = {step.action: position for row in steps for position, step in enumerate(row)}

    def message(action):
        form, dtype = forms[action.stage if action.kind == "F" else action.stage - 1]
        return Message(action, positions[action], (sizes[action.micro_batch], *form), dtype)

    incoming: list[dict] = [{} for _ in schedule]
    for (sender, receiver), actions in channels_of(schedule).items():
        incoming[receiver][sender] = tuple(map(message, actions))
    return [RankPlan(row, incoming[rank], shape.stages - 1, sizes) for rank, row in enumerate(steps)]


def forms_of(stages, inputs) -> list[tuple[tuple[int, ...], Any]]:
    """Send one sample through copies of the stages, to see what each gives.

    Parameters
    ----------
    stages : sequence of torch.nn.Module
    inputs : torch.Tensor
        The batch dimension first.

    Returns
    -------
    list of (tuple of int, torch.dtype)
        Shape without the batch dimension, and dtype, by stage.
    """
    import copy

    import torch

    found = []
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        x = inputs[:1]
        for number, stage in enumerate(stages):
            x = copy.deepcopy(stage)(x)
            if not isinstance(x, torch.Tensor) or not x.ndim or len(x) != 1:
                raise TypeError(
                    f"stage {number} must return one tensor whose first dimension is the batch, "
                    f"not {tuple(x.shape) if isinstance(x, torch.Tensor) else type(x).__name__}"
                )
            found.append((tuple(x.shape[1:]), x.dtype))
    return found
