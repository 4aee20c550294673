"""A schedule as data: for each rank the order of its actions, and nothing else.

An action is a stage that computes on one micro-batch: its forward (``F``), its whole backward (``B``), or backward in
two halves, the gradient of its input (``I``) and later that of its weights (``W``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

KINDS = {"F": "forward", "B": "backward", "I": "gradient of the input", "W": "gradient of the weights"}


class Action(NamedTuple):
    """One entry of a schedule; ``str`` writes it as PyTorch does: ``2F5`` is the forward of stage 2, micro-batch 5.

    Parameters
    ----------
    kind : {"F", "B", "I", "W"}
        Forward, full backward, gradient of the input only, gradient of the weights only.
    stage, micro_batch : int
        From 0.
    """

    kind: str
    stage: int
    micro_batch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.micro_batch}"

    @property
    def words(self) -> str:
        """For a sentence: "forward of micro-batch 5 on stage 2"."""
        return f"{KINDS[self.kind]} of micro-batch {self.micro_batch} on stage {self.stage}"


Schedule = tuple[tuple[Action, ...], ...]  # by rank, in the order in which the rank works


class Shape(NamedTuple):
    """How large a schedule is."""

    ranks: int
    stages: int
    micro_batches: int


class BadSchedule(ValueError):
    """Something in a schedule cannot be read, or cannot run; the text says where.

    Attributes
    ----------
    rank, position : int or None
        Where it stands; positions count from 0.
    """

    def __init__(self, text: str, rank: int | None = None, position: int | None = None):
        super().__init__(text)
        self.rank, self.position = rank, position

    def __reduce__(self):
        return type(self), (str(self), self.rank, self.position)


def schedule_from(lists: Sequence[Iterable[Sequence]]) -> Schedule:
    """Read a schedule that is written down as plain tuples.

    Parameters
    ----------
    lists : sequence of iterable of tuple
        By rank, in order: ``("F", micro_batch)``, where rank r computes stage r, or ``("F", stage, micro_batch)``.

    Returns
    -------
    tuple of tuple of Action

    Raises
    ------
    BadSchedule
        Naming rank, position and entry. What the actions add up to is for `checking.check` to say.
    """
    if isinstance(lists, str) or not isinstance(lists, Iterable):
        raise BadSchedule(f"A schedule is one list of actions for each rank, but this is {_short(lists)}.")
    found = tuple(_rank_from(rank, actions) for rank, actions in enumerate(lists))
    if not any(found):
        raise BadSchedule("This schedule holds no action at all.")
    return found


def _rank_from(rank: int, actions: Iterable[Sequence]) -> tuple[Action, ...]:
    if isinstance(actions, str) or not isinstance(actions, Iterable):
        raise BadSchedule(f"Rank {rank} needs a list of actions, but has {_short(actions)}.", rank)
    return tuple(_action_from(rank, position, entry) for position, entry in enumerate(actions))


def _action_from(rank: int, position: int, entry: Sequence) -> Action:
    at = f"Rank {rank}, entry {position}: {_short(entry)}"
    if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
        wanted = '("F", micro_batch) or ("F", stage, micro_batch)'
        raise BadSchedule(f"{at} is not an action; an action is a tuple {wanted}.", rank, position)
    kind, *numbers = entry
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join(f'"{letter}" ({words})' for letter, words in KINDS.items())
        raise BadSchedule(f"{at} begins with {kind!r}; an action begins with one of {known}.", rank, position)
    whole = [_whole(number) for number in numbers]
    if None in whole:
        raise BadSchedule(f"{at}: stage and micro-batch are whole numbers from 0 up.", rank, position)
    stage, micro_batch = whole if len(whole) == 2 else (rank, *whole)
    return Action(kind, stage, micro_batch)


def _whole(number) -> int | None:
    if isinstance(number, bool) or not hasattr(number, "__index__") or number < 0:
        return None
    return int(number)


def _short(value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def shape_of(schedule: Schedule) -> Shape:
    """Count ranks, stages and micro-batches, by the highest numbers that occur."""
    stages = 1 + max((action.stage for actions in schedule for action in actions), default=-1)
    micro_batches = 1 + max((action.micro_batch for actions in schedule for action in actions), default=-1)
    return Shape(len(schedule), stages, micro_batches)


def placement_of(schedule: Schedule) -> tuple[int, ...]:
    """The rank of each stage, as the schedule places them.

    Raises
    ------
    BadSchedule
        If two ranks compute the same stage, or none does.
    """
    ranks: dict[int, int] = {}
    for rank, actions in enumerate(schedule):
        for position, action in enumerate(actions):
            if ranks.setdefault(action.stage, rank) != rank:
                other = ranks[action.stage]
                text = f"Ranks {other} and {rank} both compute stage {action.stage}; a stage lives on one rank."
                raise BadSchedule(text, rank, position)
    missing = sorted(set(range(shape_of(schedule).stages)) - set(ranks))
    if missing:
        raise BadSchedule(f"No rank computes stage {missing[0]}.")
    return tuple(ranks[stage] for stage in range(len(ranks)))


def round_robin(stages: int, ranks: int) -> tuple[int, ...]:
    """Stage s on rank s mod ranks: the placement of interleaved schedules (and, with one stage each, of all)."""
    return tuple(stage % ranks for stage in range(stages))


def v_shape(ranks: int) -> tuple[int, ...]:
    """Two stages a rank, down and up again: 0, 1, ..., p-1, p-1, ..., 1, 0 (ZBV)."""
    return (*range(ranks), *reversed(range(ranks)))
