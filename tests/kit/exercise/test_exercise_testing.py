"""The helpers for lessons' tests: they must fail when a lesson is at fault."""

import numpy as np
import pytest

from labs.kit.exercise import Case, Exercise, Wrong, check_self_contained
from labs.kit.exercise import testing as helpers


class Drawn:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": "<svg></svg>"}


def cases(seed):
    rng = np.random.default_rng(seed)
    fixed = [Case("empty", {"x": np.zeros(0)}, "edge"), Case("one", {"x": np.ones(1)}, "edge")]
    return [*fixed, Case("ten numbers", {"x": rng.integers(0, 9, 10).astype(float)})]


def run(answers, inputs):
    import numpy as np

    (total,) = answers
    return float(np.asarray(total(inputs["x"])))


def verify(case, output):
    x = case.inputs["x"]
    if len(x) and output == np.mean(x) != np.sum(x):
        raise Wrong("mean", "Is that the sum or the average?", Drawn)
    if len(x) > 1 and output == np.sum(x[1:]):
        raise Wrong("lost_first", "Which number is missing?", Drawn)
    if output != np.sum(x):
        raise Wrong("value", "How was that added?")


total = Exercise("total", "Add up", 2, cases, run, verify, achieved=lambda told: "all added")
RIGHT = {
    "numpy": "import numpy as np\ndef total(x):\n    return np.sum(x)",
    "loop": "def total(x):\n    return sum(x, 0.0)",
}
WRONG = {
    "mean": "def total(x):\n    return x.mean() if len(x) else 0.0",
    "lost_first": "def total(x):\n    return sum(x[1:]) if len(x) > 1 else sum(x)",
    "value": "def total(x):\n    return sum(x) + 1",
    "error": "def total(x):\n    return x[0] + sum(x[1:])",
}


def changed(**fields):
    values = {name: getattr(total, name) for name in ("id", "title", "points", "cases", "run", "verify", "achieved")}
    return Exercise(**{**values, **fields})


def test_a_sound_exercise_passes():
    helpers.assert_exercise(total, WRONG, RIGHT)


def test_the_line_of_the_source_is_shown():
    wrong = helpers.assert_rejects(total, WRONG["error"], "error")
    assert "line 2 of your cell, in total: return x[0] + sum(x[1:])" in wrong.evidence


def fails(match):
    return pytest.raises(AssertionError, match=match)


def test_another_hint_than_named_is_seen():
    with fails("hint 'order' was due, but it was 'mean'"):
        helpers.assert_rejects(total, WRONG["mean"], "order")


def test_accepting_a_wrong_answer_is_seen():
    with fails("accepts a wrong answer"):
        helpers.assert_rejects(total, RIGHT["loop"], "mean")


def test_rejecting_a_right_answer_is_seen():
    with fails("rejects a right answer"):
        helpers.assert_accepts(total, WRONG["value"])


def test_too_few_misconceptions_or_right_answers_are_seen():
    with fails("only 1 wrong"):
        helpers.assert_hints(total, {"mean": WRONG["mean"]})
    with fails("fewer than two right"):
        helpers.assert_exercise(total, WRONG, {"loop": RIGHT["loop"]})


def test_the_same_question_for_two_hints_is_seen():
    def verify(case, output):
        if output != case.inputs["x"].sum():
            raise Wrong("low" if output < case.inputs["x"].sum() else "high", "What went wrong?")

    sources = {"low": "def total(x):\n    return -1.0", "high": "def total(x):\n    return 999.0"}
    with fails("ask the same"):
        helpers.assert_hints(changed(verify=verify), sources, least=2)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (Wrong("Bad Name", "Why?"), "snake_case"),
        (Wrong("h", "\nevidence only"), "is empty"),
        (Wrong("h", "Why?", lambda: None), "returned None"),
        (Wrong("h", "Why?", lambda: 3), "which is no Picture"),
        (Wrong("h", "Why?", then=("",)), "hint is empty"),
    ],
    ids=["name", "question", "no picture", "number", "hint"],
)
def test_unreadable_verdicts_are_seen(wrong, words):
    def verify(case, output):
        raise wrong

    with fails(words):
        helpers.assert_rejects(changed(verify=verify), RIGHT["loop"], wrong.hint)


def test_a_picture_that_fails_is_seen():
    def verify(case, output):
        raise Wrong("h", "Why?", lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        helpers.assert_rejects(changed(verify=verify), RIGHT["loop"], "h")


def test_cases_that_do_not_repeat_or_share_titles_are_seen():
    rng = np.random.default_rng()
    with fails("does not repeat"):
        helpers.assert_cases(changed(cases=lambda seed: [Case("a", float(rng.random()))]))
    with fails("same title"):
        helpers.assert_cases(changed(cases=lambda seed: [Case("a", 1), Case("a", 2)]))
    with fails("no case of part"):
        helpers.assert_cases(changed(cases=lambda seed: [Case("a", 1, "edge")]))


def test_a_stub_that_is_not_seen_as_unsolved_is_seen():
    def run(answers, inputs):
        try:
            return answers[0](inputs["x"])
        except NotImplementedError:
            return 0.0

    with fails("not seen as unsolved"):
        helpers.assert_untouched(changed(run=run))


def test_a_source_without_the_answer_is_seen():
    with fails("defines no total"):
        helpers.assert_accepts(total, "def sum_up(x):\n    return 0")


def imports_scipy(answers, inputs):
    import scipy

    return scipy


def imports_topic(answers, inputs):
    from labs.all_reduce import exercises

    return exercises


def imports_labs(answers, inputs):
    from labs import all_reduce

    return all_reduce


def uses_global(answers, inputs):
    return [np.sum(x) for x in inputs]


def uses_global_inside(answers, inputs):
    def inner():
        return total

    return inner


def default_global(answers, inputs=total):
    return inputs


def annotated(answers, inputs: np.ndarray):
    return inputs


def fine(answers, inputs: dict) -> list:
    import numpy as np
    import torch

    from labs.kit import ranks
    from labs.kit.ranks import outcome

    class Local:
        size = 3

    return [np, torch, ranks, outcome, Local.size, len(inputs)]


@pytest.mark.parametrize(
    "run, words",
    [
        (imports_scipy, "imports scipy"),
        (imports_topic, "imports labs.all_reduce"),
        (imports_labs, "imports labs.all_reduce"),
        (uses_global, "the global np"),
        (uses_global_inside, "the global total"),
        (default_global, "global total"),
        (annotated, "global np"),
        (lambda answers, inputs: 0, "module level"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_run_that_cannot_travel_is_refused(run, words):
    with pytest.raises(ValueError, match=words):
        check_self_contained(changed(run=run))


def test_a_run_that_can_travel_runs_from_its_source_alone():
    check_self_contained(changed(run=fine))
    check_self_contained(total)
    scope = {}
    exec(total.run_source, scope)
    assert scope[total.run.__name__]((sum,), {"x": [1.0, 2.0]}) == 3.0


def test_decorated_and_nested_runs_are_refused():
    def nested(answers, inputs):
        return 0

    with pytest.raises(ValueError, match="module level"):
        check_self_contained(changed(run=nested))
