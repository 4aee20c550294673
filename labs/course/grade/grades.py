"""What a whole run of the grader found: learners, their results, and what can be seen across them."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hint:
    """A misconception, and how many learners showed it.

    Attributes
    ----------
    lesson, exercise, title : str
    hint, question : str
    learners : tuple of str
        Their keys.
    asked : int
        How many learners were graded on the exercise.
    """

    lesson: str
    exercise: str
    title: str
    hint: str
    question: str
    learners: tuple
    asked: int


@dataclass(frozen=True)
class Grades:
    """Everything that a run found.

    Attributes
    ----------
    learners : tuple of learners.Learner
    results : tuple of marks.Result
        By learner, then by lesson.
    notes : tuple of str
        What belongs to no learner's notebook.
    titles : dict of str to str
        Titles of lessons.
    """

    learners: tuple
    results: tuple
    notes: tuple = ()
    titles: dict = field(default_factory=dict)

    @property
    def points(self):
        """Points reached by all."""
        return round(sum(result.points for result in self.results), 2)

    @property
    def of(self):
        """Points possible in the notebooks that were handed in."""
        return round(sum(result.of for result in self.results), 2)

    @property
    def lessons(self):
        """Names of the lessons that somebody handed in, sorted."""
        return sorted({result.lesson for result in self.results if result.lesson})

    def possible(self, lesson):
        """Points of a lesson."""
        return max(result.of for result in self.results if result.lesson == lesson)

    @property
    def total(self):
        """Points of all lessons that somebody handed in."""
        return round(sum(map(self.possible, self.lessons)), 2)

    def of_learner(self, key):
        """A learner's results."""
        return [result for result in self.results if result.learner == key]

    def found(self, key, lesson):
        """A learner's result in a lesson; None when nothing was handed in."""
        return next((result for result in self.of_learner(key) if result.lesson == lesson), None)

    def reached(self, key):
        """A learner's points in all lessons."""
        return round(sum(result.points for result in self.of_learner(key)), 2)

    @property
    def isolation(self):
        """What is to be said about how answers were kept apart; empty when all ran isolated."""
        return sorted({r.isolation for r in self.results if r.isolation and r.isolation != "isolated"})

    def hints(self):
        """The misconceptions, the most common ones first.

        Returns
        -------
        list of Hint
            Answers that were not solved at all are no misconception.
        """
        who, told, asked = defaultdict(list), {}, Counter()
        for result in self.results:
            for mark in () if result.refused else result.marks:
                asked[result.lesson, mark.exercise] += 1
                if mark.hint and mark.status not in ("solved", "unsolved", "not graded"):
                    place = (result.lesson, mark.exercise, mark.hint)
                    who[place].append(result.learner)
                    told.setdefault(place, mark)
        found = [
            Hint(lesson, exercise, told[place].title, hint, told[place].question, tuple(who[place]),
                 asked[lesson, exercise])
            for place in who
            for lesson, exercise, hint in [place]
        ]  # fmt: skip
        return sorted(found, key=lambda h: (-len(h.learners), h.lesson, h.exercise, h.hint))


def number(value):
    """Points without needless zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
