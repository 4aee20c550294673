"""What an action waits for, and which rank has it: the arrows between the actions of a schedule."""

from __future__ import annotations

from typing import NamedTuple

from labs.pipeline_parallel.actions import Action, Schedule, placement_of, shape_of


class Place(NamedTuple):
    """Where an action stands in a schedule."""

    rank: int
    position: int


class Step(NamedTuple):
    """An action with its two neighbours in the flow of data.

    Parameters
    ----------
    action : Action
    source : Action or None
        The action on the neighbouring stage whose result this one takes; None where the data or the loss begin.
    source_place : Place or None
    target_place : Place or None
        Where the action stands that takes this one's result; None where nobody does.
    """

    action: Action
    source: Action | None
    source_place: Place | None
    target_place: Place | None


def steps_of(schedule: Schedule) -> tuple[tuple[Step, ...], ...]:
    """Add to each action what it takes and who takes its result, by rank.

    The schedule must be complete (see `checking.check`): a result that nobody computes stays None.
    """
    stages = shape_of(schedule).stages
    places, gradients = {}, {}
    for rank, actions in enumerate(schedule):
        for position, action in enumerate(actions):
            places[action] = Place(rank, position)
            if action.kind in "BI":
                gradients[action.stage, action.micro_batch] = action

    def forward(stage, micro_batch):
        return Action("F", stage, micro_batch)

    def neighbours(action):
        kind, stage, micro_batch = action
        if kind == "F":
            before = forward(stage - 1, micro_batch) if stage else None
            return before, forward(stage + 1, micro_batch)
        if kind == "W":
            return None, None
        return gradients.get((stage + 1, micro_batch)), gradients.get((stage - 1, micro_batch))

    def step(action):
        source, target = neighbours(action)
        if action.kind == "F" and action.stage == stages - 1:
            target = None
        return Step(action, source, places.get(source), places.get(target))

    return tuple(tuple(map(step, actions)) for actions in schedule)


def channels_of(schedule: Schedule) -> dict[tuple[int, int], list[Action]]:
    """Messages between ranks: by (sender, receiver), the actions whose results are sent, in the order of sending.

    Receiving in this order is what keeps every schedule free of mix-ups, without a tag on any message.
    """
    placement_of(schedule)
    found: dict[tuple[int, int], list[Action]] = {}
    for rank, steps in enumerate(steps_of(schedule)):
        for step in steps:
            if step.target_place and step.target_place.rank != rank:
                found.setdefault((rank, step.target_place.rank), []).append(step.action)
    return found
