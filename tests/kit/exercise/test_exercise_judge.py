"""Verdicts: cases judged one by one, slips in the call, points, and what counts as an attempt."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.kit.exercise import (
    PUBLIC_SEED,
    Case,
    Exercise,
    Gone,
    NotYet,
    Outcome,
    Stopped,
    Wrong,
    plain,
    progress,
    public_seed,
    score,
)


def right(n):
    return 2 * n


def test_a_right_answer_passes_returns_nothing_and_is_recorded(double, capsys):
    assert double(right) is None
    out, err = capsys.readouterr()
    assert "all 4 cases pass" in out and err == ""
    assert progress.load()["double"].solved and progress.load()["double"].points == 4


def test_all_cases_are_judged_though_an_early_one_fails(double):
    outcomes = double.examine(lambda inputs: 2 * inputs["n"] if inputs["n"] != 3 else 3)
    assert [outcome.passed for outcome in outcomes] == [False, True, True, True]


@pytest.mark.parametrize("hint", ["unsolved", "timeout"])
def test_unsolved_and_timeout_stop_early(hint):
    def verify(case, output):
        raise Wrong(hint, "Why?")

    exercise = Exercise("e", "E", 1, lambda seed: [Case("a", 1), Case("b", 2)], lambda answers, inputs: 1, verify)
    outcomes = exercise.examine(lambda inputs: 1)
    assert [outcome.wrong.hint for outcome in outcomes] == [hint, "not_reached"]
    assert [outcome.reached for outcome in outcomes] == [True, False]


def test_answers_get_copies(double):
    seen = []

    def spoil(inputs):
        seen.append(inputs)
        inputs["n"] = -1
        return 0

    outcomes = double.examine(spoil)
    assert [outcome.case.inputs["n"] for outcome in outcomes] == [3, 5, 0, 10**6] and len(seen) == 4


@pytest.mark.parametrize(
    "raised, hint, words",
    [
        (NotImplementedError(), "unsolved", "not solved yet"),
        (NotImplementedError("complex numbers"), "error", "complex numbers"),
        (plain.NotPlain("a value of type map"), "type", "type map"),
        (IndexError("list index out of range"), "error", "IndexError: list index out of range"),
        (RecursionError("maximum"), "error", "RecursionError"),
        (SystemExit(0), "error", "exit"),
        (GeneratorExit(), "error", "GeneratorExit"),
        (Stopped("KeyError", "'x'", "line 3 of your cell"), "error", "KeyError: 'x'"),
        (type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})(), "error", "Odd"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_a_call_raises_becomes_words(double, raised, hint, words):
    def call(inputs):
        raise raised

    wrong = double.judge(Case("c", {"n": 1}), call)
    assert wrong.hint == hint and words in wrong.question


def test_an_output_that_equals_everything_is_refused(double):
    wily = type("Wily", (int,), {"__eq__": lambda self, other: True, "__ne__": lambda self, other: False})
    assert double.judge(Case("c", {"n": 1}), lambda inputs: wily(7)).hint == "type"
    assert double.judge(Case("c", {"n": 1}), lambda inputs: 2) is None


def test_a_lost_sandbox_is_no_verdict(double):
    def call(inputs):
        raise Gone("killed")

    with pytest.raises(Gone):
        double.judge(Case("c", {"n": 1}), call)


@pytest.mark.parametrize("output", ["text", [1, 2], {"a": 1}, np.zeros((2, 2))], ids=str)
def test_an_output_that_verify_did_not_foresee_is_a_shape(output):
    def verify(case, output):
        assert output["result"][0] + 1 == 2

    exercise = Exercise("e", "E", 1, lambda seed: [], lambda answers, inputs: 0, verify)
    wrong = exercise.judge(Case("c", 1), lambda inputs: output)
    assert wrong.hint == "shape" and "?" in wrong.question


def test_faults_of_the_author_are_not_blamed_on_the_learner(double):
    with pytest.raises(plain.NotPlain):
        double.judge(Case("c", {1, 2}), lambda inputs: 0)
    with pytest.raises(ValueError, match="part"):
        Case("c", 1, part="hard")
    with pytest.raises(ValueError, match="Python name"):
        Exercise("no name", "E", 1, None, None, None)


def stub(n):
    raise NotImplementedError()


def empty(n):
    """Twice n."""
    ...


def passing(n):
    pass


@pytest.mark.parametrize(
    "answer", [stub, empty, passing, ..., lambda n: ...], ids=["stub", "empty", "passing", "ellipsis", "lambda"]
)
def test_unsolved_is_kind_and_no_attempt(double, answer, capsys, check):
    error = check(double, answer)
    assert error.report.state == "unsolved" and "not solved yet" in error.report.verdict()
    assert progress.attempts("double") == 0
    assert "○" in capsys.readouterr().out


def test_a_class_with_empty_methods_is_unsolved(check):
    class Buffer:
        def push(self, value):
            raise NotImplementedError

    def run(answers, inputs):
        answers[0]().push(1)

    exercise = Exercise("b", "B", 1, lambda seed: [Case("c", 1)], run, lambda case, output: None, answers="Buffer")
    assert check(exercise, Buffer).report.state == "unsolved"


@pytest.mark.parametrize(
    "answers, words",
    [
        ((), ["Which answer", "exercises.double(double)"]),
        ((6,), ["6 (int)", "without brackets", "exercises.double(double)"]),
        ((None,), ["gave None", "exercises.double(double)"]),
        (("double",), ["'double' (str)"]),
        ((np.zeros(3),), ["ndarray"]),
        ((right, right), ["one answer (double)", "got 2"]),
    ],
    ids=["nothing", "result", "none", "text", "array", "two"],
)
def test_slips_in_the_call_get_words_and_are_no_attempt(double, answers, words, check):
    error = check(double, *answers)
    assert error.report.state == "call" and all(word in error.report.verdict() for word in words)
    assert progress.attempts("double") == 0


def test_the_check_itself_is_no_answer(double, check):
    assert "the check itself" in check(double, double).report.verdict()


def test_several_answers_are_named(check):
    def run(answers, inputs):
        server, worker = answers
        return server(1) + worker(1)

    def verify(case, output):
        if output != 4:
            raise Wrong("sum", "Four?")

    exercise = Exercise("ps", "P", 1, lambda seed: [Case("c", 1)], run, verify, answers=("server", "worker"))
    assert exercise(right, right) is None
    assert "2 answers (server, worker)" in check(exercise, right).report.verdict()


def test_the_learners_line_is_shown(double, check):
    def fails(n):
        return [1, 2][n]

    verdict = check(double, fails).report.text()
    assert "IndexError: list index out of range" in verdict
    assert "in fails: return [1, 2][n]" in verdict and "labs" not in verdict.split("at ", 1)[1].splitlines()[0]


def test_warnings_do_not_reach_stderr(double, capfd):
    def warns(n):
        warnings.warn("be careful", stacklevel=1)
        return 2 * n

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        double(warns)
    out, err = capfd.readouterr()
    assert err == "" and "Python warned: UserWarning: be careful" in out


def test_an_interrupt_ends_the_check_with_the_line(double):
    def slow(n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        double(slow)
    assert "you stopped the check at" in "".join(caught.value._render_traceback_())
    assert progress.attempts("double") == 0


def test_the_seed_is_fixed_and_a_class_can_set_its_own(double, monkeypatch):
    assert public_seed() == PUBLIC_SEED
    monkeypatch.setenv("LABS_SEED", "7")
    assert public_seed() == 7 and double.cases(public_seed())[1].inputs["n"] == 6
    monkeypatch.setenv("LABS_SEED", "autumn")
    assert isinstance(public_seed(), int) and public_seed() == public_seed() >= 0


def test_lesson_comes_from_the_module_of_the_cases(double):
    assert double.lesson == ""
    here = lambda seed: []
    here.__module__ = "labs.all_reduce.exercises"
    assert Exercise("e", "E", 1, here, None, None).lesson == "all_reduce"
    here.__module__ = "labs.kit.exercise.testing"
    assert Exercise("e", "E", 1, here, None, None).lesson == ""


PARTS = st.lists(st.sampled_from(["correct", "edge", "budget"]), min_size=1, max_size=8)


def outcomes_for(parts, passed):
    return [
        Outcome(Case(str(i), i, part), None if ok else Wrong("h", "m"))
        for i, (part, ok) in enumerate(zip(parts, passed))
    ]


@given(PARTS, st.floats(0.5, 20), st.data())
def test_points_are_bounded_monotone_and_full_for_all(parts, points, data):
    passed = data.draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    got = score(points, outcomes_for(parts, passed))
    assert 0 <= got <= round(points, 2)
    assert score(points, outcomes_for(parts, [True] * len(parts))) == round(points, 2)
    assert score(points, outcomes_for(parts, [False] * len(parts))) == 0
    for i in range(len(parts)):
        assert score(points, outcomes_for(parts, [*passed[:i], True, *passed[i + 1 :]])) >= got
    if any(part == "correct" and not ok for part, ok in zip(parts, passed)):
        assert got == 0


@pytest.mark.parametrize(
    "passed, points",
    [((1, 1, 1, 1), 3), ((1, 1, 0, 1), 2.25), ((1, 1, 1, 0), 2.25), ((1, 1, 0, 0), 1.5), ((1, 0, 1, 1), 0)],
)
def test_points_by_parts(passed, points):
    assert score(3, outcomes_for(["correct", "correct", "edge", "budget"], passed)) == points


def test_points_are_shared_among_the_parts_that_exist():
    assert score(3, outcomes_for(["correct", "edge"], (1, 0))) == 2.0
    assert score(3, outcomes_for(["correct"], (1,))) == 3.0
    assert score(3, []) == 0


def test_not_yet_carries_the_report(double):
    with pytest.raises(NotYet) as caught:
        double(lambda n: n)
    assert str(caught.value) == "Double a number: case 1 of 4 does not pass (three)"
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
