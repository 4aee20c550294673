"""For the tests of lessons: is every misconception met by its own hint, and every right answer accepted?

A lesson's ``wrong_answers.py`` and ``right_answers.py`` hold the answers as source text::

    WRONG = {"chunk_bounds": {"lost_remainder": "def chunk_bounds(numel, size): ..."}}
    RIGHT = {"chunk_bounds": {"divmod": "def chunk_bounds(numel, size): ..."}}

and its tests call `assert_exercises` once, or the functions below one by one.
"""

import linecache
import zlib

from labs.kit.exercise import plain
from labs.kit.exercise.answers import call_problem
from labs.kit.exercise.exercise import PUBLIC_SEED
from labs.kit.exercise.markup import picture_markup
from labs.kit.exercise.selfcontained import check_self_contained

SEEDS = (PUBLIC_SEED, 7)
"""The learner's cases, and those of some grader."""


def answers_from(exercise, source) -> tuple:
    """The answers that `source` defines, executed in a fresh namespace as if it stood in a notebook's cell.

    The source is registered under the name of a pseudo-file, so that tracebacks show its lines.
    """
    name = f"<ipython-input-{exercise.id}-{zlib.crc32(source.encode()):08x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), scope)
    missing = [answer for answer in exercise.answers if answer not in scope]
    assert not missing, f"{exercise.id}: the source defines no {', '.join(missing)}"
    return tuple(scope[answer] for answer in exercise.answers)


def outcomes_of(exercise, source, seed=PUBLIC_SEED) -> list:
    """Outcomes of the answer in `source`, one for each case of `seed`; shows and records nothing."""
    answers = answers_from(exercise, source)
    problem = call_problem(exercise, answers)
    assert problem is None, f"{exercise.id}: {problem.message}"
    return exercise.examine(lambda inputs: exercise.run(answers, inputs), seed)


def assert_accepts(exercise, source, seeds=SEEDS) -> None:
    """Assert that the answer in `source` passes every case, earns all points and has its achievement told."""
    for seed in seeds:
        outcomes = outcomes_of(exercise, source, seed)
        for outcome in outcomes:
            assert outcome.passed, (
                f"{exercise.id} rejects a right answer, seed {seed}, case {outcome.case.title!r}:"
                f" {outcome.wrong.hint}: {outcome.wrong.message}"
            )
        assert exercise.score(outcomes) == exercise.points
        if exercise.achieved is not None:
            told = exercise.achieved([(outcome.case, outcome.output) for outcome in outcomes])
            assert isinstance(told, str) or all(len(item) == 2 for item in told), (
                f"{exercise.id}: achieved gave {told!r}"
            )


def assert_rejects(exercise, source, hint, seeds=SEEDS):
    """Assert that the first failing case answers `source` with `hint`, a question, and a picture that draws.

    Returns
    -------
    Wrong
        Of the first seed, for further assertions.
    """
    first = None
    for seed in seeds:
        outcomes = outcomes_of(exercise, source, seed)
        failed = next((outcome for outcome in outcomes if not outcome.passed), None)
        assert failed is not None, f"{exercise.id} accepts a wrong answer ({hint}), seed {seed}"
        wrong = failed.wrong
        assert wrong.hint == hint, (
            f"{exercise.id}, seed {seed}, case {failed.case.title!r}: hint {hint!r} was due,"
            f" but it was {wrong.hint!r}: {wrong.message}"
        )
        assert exercise.score(outcomes) < exercise.points
        _assert_readable(exercise, wrong)
        first = first or wrong
    return first


def assert_hints(exercise, wrong_sources, least=3) -> None:
    """Assert that at least `least` named misconceptions are each rejected with their own hint and question."""
    assert len(wrong_sources) >= least, f"{exercise.id} has only {len(wrong_sources)} wrong answers"
    questions = {}
    for hint, source in wrong_sources.items():
        question = assert_rejects(exercise, source, hint).question
        assert question not in questions, f"{exercise.id}: {hint} and {questions[question]} ask the same: {question}"
        questions[question] = hint


def assert_exercise(exercise, wrong_sources, right_sources) -> None:
    """Everything that must hold for one exercise: see the assertions in this module."""
    assert len(right_sources) >= 2, f"{exercise.id} has fewer than two right answers"
    check_self_contained(exercise)
    assert_cases(exercise)
    assert_untouched(exercise)
    for source in right_sources.values():
        assert_accepts(exercise, source)
    assert_hints(exercise, wrong_sources)


def assert_cases(exercise, seeds=SEEDS) -> None:
    """Assert that cases are plain, repeat for a seed, have different titles, and that some test correctness."""
    for seed in seeds:
        cases, again = exercise.cases(seed), exercise.cases(seed)
        texts = [plain.encode(case.inputs) for case in cases]
        assert texts == [plain.encode(case.inputs) for case in again], f"{exercise.id}: seed {seed} does not repeat"
        titles = [case.title for case in cases]
        assert len(set(titles)) == len(titles), f"{exercise.id}: two cases have the same title: {titles}"
        assert any(case.part == "correct" for case in cases), f"{exercise.id} has no case of part 'correct'"


def assert_untouched(exercise) -> None:
    """Assert that the published stub is unsolved and earns nothing."""

    def stub(*args, **kwargs):
        raise NotImplementedError

    outcomes = exercise.examine(lambda inputs: exercise.run((stub,) * len(exercise.answers), inputs), PUBLIC_SEED)
    assert outcomes[0].wrong is not None and outcomes[0].wrong.hint == "unsolved", (
        f"{exercise.id}: the stub is not seen as unsolved but as {outcomes[0].wrong and outcomes[0].wrong.message}"
    )
    assert exercise.score(outcomes) == 0


def _assert_readable(exercise, wrong):
    where = f"{exercise.id}/{wrong.hint}"
    assert wrong.hint.isidentifier() and wrong.hint == wrong.hint.lower(), f"{where}: name hints in snake_case"
    assert wrong.question.strip(), f"{where}: the first line of the message, the question, is empty"
    assert len(wrong.then) <= 2 and all(text.strip() for text in wrong.then), f"{where}: a further hint is empty"
    if wrong.picture is not None:
        drawn = wrong.picture()
        assert drawn is not None, f"{where}: the picture function returned None; it must return a Picture"
        shows = any(hasattr(drawn, name) for name in ("_repr_mimebundle_", "_repr_html_", "svg"))
        assert shows, f"{where}: the picture function returned a {type(drawn).__name__}, which is no Picture"
        markup = picture_markup(drawn)
        assert "<svg" in markup or "<img" in markup, f"{where}: the picture is empty"
