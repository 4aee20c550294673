"""What the tests of pipelines share: random schedules that can run, small stages, and a slow but plain simulator."""

from fractions import Fraction

import torch
from hypothesis import strategies as st

from labs.pipeline_parallel.actions import Action


def random_schedule(random, ranks, stages, micro_batches):
    """Take at random one of the actions that can run next, until none is left: any order that can run at all."""
    homes = [random.randrange(ranks) for _ in range(stages)]
    homes[: min(ranks, stages)] = random.sample(range(ranks), min(ranks, stages))  # no rank without work
    halves = {(s, k): random.random() < 0.5 for s in range(stages) for k in range(micro_batches)}
    able = [Action("F", 0, k) for k in range(micro_batches)]
    lists = [[] for _ in range(ranks)]
    while able:
        action = able.pop(random.randrange(len(able)))
        kind, stage, k = action
        lists[homes[stage]].append(action)
        if kind == "F" and stage + 1 < stages:
            able.append(Action("F", stage + 1, k))
        elif kind == "F":
            able.append(Action("I" if halves[stage, k] else "B", stage, k))
        elif kind in "BI" and stage:
            able.append(Action("I" if halves[stage - 1, k] else "B", stage - 1, k))
        if kind == "I":
            able.append(Action("W", stage, k))
    return tuple(map(tuple, lists))


@st.composite
def schedules(draw, ranks=4, stages=6, micro_batches=5):
    """Random schedules that can run, of at most this size."""
    number = draw(st.integers(1, stages))
    return random_schedule(
        draw(st.randoms(use_true_random=False)),
        draw(st.integers(1, min(ranks, number))),
        number,
        draw(st.integers(1, micro_batches)),
    )


def times_by_hand(schedule, seconds, communication=0):
    """Start and end of every action from the definition alone, by asking for what it needs; exact with fractions.

    Parameters
    ----------
    seconds : callable
        ``seconds(action)``.
    """
    home = {action: rank for rank, actions in enumerate(schedule) for action in actions}
    before = {action: actions[i - 1] if i else None for actions in schedule for i, action in enumerate(actions)}
    last = max(action.stage for action in home)
    ends = {}

    def needs(action):
        kind, stage, k = action
        if kind == "F":
            return [Action("F", stage - 1, k)] if stage else []
        if kind == "W":
            return [Action("I", stage, k)]
        if stage == last:
            return [Action("F", stage, k)]
        return [other for other in (Action("B", stage + 1, k), Action("I", stage + 1, k)) if other in home]

    def start(action):
        arrivals = [ends[o] + (communication if home[o] != home[action] else 0) for o in needs(action)]
        return max([ends[before[action]] if before[action] else Fraction(0), *arrivals])

    waiting = [list(actions) for actions in schedule]
    while any(waiting):
        moved = False
        for actions in waiting:
            while actions and all(other in ends for other in needs(actions[0])):
                ends[actions[0]] = start(actions[0]) + seconds(actions[0])
                actions.pop(0)
                moved = True
        if not moved:
            break
    return [[(ends[a] - seconds(a), ends[a]) for a in actions if a in ends] for actions in schedule]


def network(stages, width=5, seed=0):
    """Stages of float64: a hidden layer each, so that the halves of backward have something to keep apart."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return [
            torch.nn.Sequential(
                torch.nn.Linear(width, width + 2), torch.nn.Tanh(), torch.nn.Linear(width + 2, width)
            ).double()
            for _ in range(stages)
        ]


def batch(samples, width=5, seed=1):
    """Inputs and targets, float64."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(samples, width, dtype=torch.float64, generator=generator) for _ in range(2))


def distance(result, wanted):
    """The largest difference of loss, of norm and of any gradient."""
    assert result.gradients.keys() == wanted.gradients.keys()
    gaps = [abs(result.loss - wanted.loss), abs(result.norm - wanted.norm)]
    for stage, gradients in wanted.gradients.items():
        assert len(gradients) == len(result.gradients[stage])
        for mine, other in zip(result.gradients[stage], gradients):
            assert mine.dtype == torch.float64 and mine.shape == other.shape
            gaps.append((mine - other).abs().max().item())
    return max(gaps)
