"""Every lesson through the real grader: its solution, the untouched notebook, and every answer that tests/ know.

LABS_SOAK=1 grades every right and every wrong answer on three seeds; otherwise a few notebooks of each lesson.
"""

import os
from pathlib import Path

import nbformat
import pytest

from labs.course.grade import compiled, oracles
from labs.course.grade.course import Course
from labs.course.grade.fault import CourseError
from labs.course.grade.grade import grade_many
from labs.course.grade.sandbox import sandbox
from labs.course.testing import answers_of, filled, learners

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT / "solutions")
SOAK = os.environ.get("LABS_SOAK") == "1"
SECRETS = (b"the first term", b"the second term", b"the third term")


@pytest.fixture(scope="module")
def jail():
    with sandbox((COURSE.package,), COURSE.hidden) as made:
        yield made


@pytest.fixture
def grade(jail):
    """grade(paths, secret) -> results, two at a time; skips, in words, where a lesson cannot be graded."""

    def run(paths, secret):
        try:
            compiled.prepare(COURSE, dict.fromkeys(COURSE.name_of(path) for path in paths))
        except CourseError as error:
            pytest.skip(str(error))
        return list(grade_many(paths, COURSE, secret, jail, jobs=2))

    return run


def deal(lesson, folder, secret):
    """Write the notebooks of a lesson's learners; those of a sample unless in a soak run."""
    dealt = learners(answers_of(ROOT, lesson.partition("_")[2]))
    if not SOAK:
        turn = COURSE.names.index(lesson)  # so that not every lesson shows its first answers only
        dealt = [dealt[turn % len(dealt)], dealt[-1]]
    for number, answers in enumerate(dealt):
        sources = {exercise: answer.source for exercise, answer in answers.items()}
        path = folder / f"learner{number}" / f"{lesson}.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(filled(ROOT / "notebooks" / f"{lesson}.ipynb", sources), path)
        yield path, answers


def disagreements(result, answers):
    """Sentences about marks that an answer does not deserve."""
    marks = {mark.exercise: mark for mark in result.marks}
    assert set(marks) == set(answers)
    for exercise, answer in answers.items():
        mark = marks[exercise]
        got = f"{mark.points:g} of {mark.of:g} points, hint {mark.hint!r} in {mark.case!r}: {mark.question}"
        if answer.right and (mark.points != mark.of or mark.hint):
            yield f"{exercise}: the right answer {answer.style!r} got {got}"
        if not answer.right and (mark.points >= mark.of or mark.hint != answer.style or not mark.question):
            yield f"{exercise}: the wrong answer {answer.style!r} got {got}"


@pytest.mark.parametrize(("lesson", "slow"), [("08_all_reduce", False), ("10_distributed_data_parallel", True),
                                              ("11_model_parallel", True), ("12_pipeline_parallel", True)])  # fmt: skip
def test_whose_oracle_needs_torch_is_known_before_workers_start(lesson, slow):
    """Else each worker imports it within the time of a verdict, and on a busy machine a right answer loses points."""
    assert oracles.use_torch(COURSE.lesson(lesson).exercises.values()) == slow


@pytest.mark.parametrize("lesson", COURSE.names)
def test_solved_and_untouched(lesson, grade):
    solved, untouched = grade([ROOT / folder / f"{lesson}.ipynb" for folder in ("solutions", "notebooks")], SECRETS[0])
    assert solved.full and solved.points == solved.of > 0, solved
    assert solved.notes == untouched.notes == ()
    assert untouched.points == 0 and untouched.of == solved.of and not untouched.refused, untouched


@pytest.mark.parametrize("secret", SECRETS if SOAK else SECRETS[:1], ids=bytes.decode)
@pytest.mark.parametrize("lesson", COURSE.names)
def test_every_answer_gets_what_it_deserves(lesson, secret, grade, tmp_path):
    dealt = list(deal(lesson, tmp_path, secret))
    results = grade([path for path, _ in dealt], secret)
    found = [
        f"{path.parent.name}, {sentence}"
        for (path, answers), result in zip(dealt, results, strict=True)
        for sentence in disagreements(result, answers)
    ]
    assert not found, "\n" + "\n".join(found)
