"""Every test here has its own state folder, and a small exercise to work with."""

import pytest

from labs.kit.exercise import Case, Exercise, NotYet, Wrong


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A fresh state folder; returns its path."""
    folder = tmp_path / "state"
    monkeypatch.setenv("LABS_STATE", str(folder))
    monkeypatch.delenv("LABS_SEED", raising=False)
    monkeypatch.delenv("LABS_STATIC", raising=False)
    return folder


def cases(seed):
    return [
        Case("three", {"n": 3}),
        Case("five and a seed", {"n": 5 + seed % 2}),
        Case("zero", {"n": 0}, "edge"),
        Case("a million", {"n": 10**6}, "budget"),
    ]


def run(answers, inputs):
    (double,) = answers
    return double(inputs["n"])


def verify(case, output):
    n = case.inputs["n"]
    if output == n != 0:
        raise Wrong("unchanged", f"{n} is still {n}. What is twice as much?\nyours: {output}", then=("Add.", "3 + 3"))
    if output != 2 * n:
        raise Wrong("value", f"Twice {n} is not {output}. How did you get there?\nyours: {output}")


@pytest.fixture
def double():
    """Exercise `double`, 4 points; its hints: unchanged (two further levels), value."""
    return Exercise("double", "Double a number", 4, cases, run, verify, achieved=lambda told: [("cases", len(told))])


@pytest.fixture
def check():
    """``check(exercise, *answers)`` runs a check here; returns the NotYet that it raised, or None."""

    def call(exercise, *answers):
        try:
            exercise(*answers)
        except NotYet as error:
            return error
        return None

    return call
