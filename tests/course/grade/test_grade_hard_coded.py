"""Real lessons: an answer that only knows the right results of the public cases earns nothing on secret ones.

What a learner can do at most: note down each public case with its right result, and look it up. Points need every
"correct" case, so at least one of these must be one that the public seed does not have.
"""

import importlib
from pathlib import Path

import pytest

import labs
from labs.kit.exercise import Exercise, Wrong, plain
from labs.kit.exercise.exercise import PUBLIC_SEED

ROOT = Path(labs.__file__).resolve().parent.parent
SECRET_SEEDS = (987_654_321, 24_681_357, 5)
TOPICS = sorted(path.stem.split("_", 1)[1] for path in (ROOT / "solutions").glob("[0-9][0-9]_*.ipynb"))
FIXED = {
    "collectives": "names the eight collectives from their pictures: there are no others to ask for (1 point)",
}
"""Exercises whose cases are the same for every seed, and why. Each is "predict or explain", worth one point."""


def exercises(topic):
    module = importlib.import_module(f"labs.{topic}.exercises")
    return [value for value in vars(module).values() if isinstance(value, Exercise)]


@pytest.mark.parametrize("topic", TOPICS)
def test_noting_down_the_public_cases_earns_nothing(topic):
    earned, unknown = {}, Wrong("not_known", "Not among the public cases.")
    for exercise in exercises(topic):
        known = {plain.encode(case.inputs) for case in exercise.cases(PUBLIC_SEED)}
        for seed in SECRET_SEEDS:
            cases = exercise.cases(seed)
            points = exercise.score([(c, None if plain.encode(c.inputs) in known else unknown) for c in cases])
            if points:
                earned.setdefault(exercise.id, []).append(points)
    fixed = {name for name in earned if name in FIXED}
    assert all(max(earned[name]) <= 1 for name in fixed), earned
    assert set(earned) == fixed, earned
