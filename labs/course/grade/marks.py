"""What grading finds: a `Mark` for each exercise, a `Result` for each notebook."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Part:
    """One share of an exercise's points.

    Attributes
    ----------
    name : {"correct", "edge", "budget"}
    points, of : float
        Reached, and possible.
    state : {"passed", "failed", "not reached"}
    """

    name: str
    points: float
    of: float
    state: str


@dataclass(frozen=True)
class Mark:
    """The verdict on one exercise.

    Attributes
    ----------
    exercise, title : str
    points, of : float
        Reached, and possible.
    status : str
        ``solved``; ``partly`` (right, but not at the edges or not within the budget); ``wrong``; ``unsolved``;
        ``lost`` (it hung, crashed or ended its kernel); ``not graded``.
    hint : str
        Name of the misconception, or empty.
    question : str
        The hint's question, one line.
    case : str
        Title of the first case that did not pass.
    core : bool
        Whether the exercise belongs to the lesson's core.
    evidence : str
        What the check saw (values, lines of code), as lines.
    then : tuple of str
        Further help: a pointer to the line of thought, a worked step.
    picture : str
        An <svg> element with a text alternative, or a sentence that says why there is none, or empty.
    parts : tuple of Part
    achieved : tuple of (str, str)
        Of a right answer, what it achieved: name and value.
    seconds : float
    """

    exercise: str
    title: str
    points: float
    of: float
    status: str = "not graded"
    hint: str = ""
    question: str = ""
    case: str = ""
    core: bool = True
    evidence: str = ""
    then: tuple = ()
    picture: str = ""
    parts: tuple = ()
    achieved: tuple = ()
    seconds: float = 0.0

    @classmethod
    def from_data(cls, data):
        """The inverse of `dataclasses.asdict`."""
        parts = tuple(Part(**part) for part in data.get("parts", ()))
        achieved = tuple((name, value) for name, value in data.get("achieved", ()))
        return cls(**data | {"parts": parts, "achieved": achieved, "then": tuple(data.get("then", ()))})


@dataclass(frozen=True)
class Result:
    """What came of one notebook.

    Attributes
    ----------
    notebook : str
        The file, as a person recognises it.
    lesson : str
        Such as ``08_all_reduce``; empty when the file belongs to none.
    marks : tuple of Mark
    notes : tuple of str
        What else a person should know: cells that were restored, moved or left out.
    seconds : float
    isolation : str
        ``isolated``, or in words why not.
    refused : str
        Why the file could not be graded at all, or empty.
    learner : str
        Key of whoever handed it in (see `learners.Learner`).
    passing : bool
        True when the grader itself was at fault, so that another run may give another result.
    """

    notebook: str
    lesson: str
    marks: tuple = ()
    notes: tuple = ()
    seconds: float = 0.0
    isolation: str = ""
    refused: str = ""
    learner: str = ""
    passing: bool = False

    @property
    def points(self):
        """Points reached."""
        return round(sum(mark.points for mark in self.marks), 2)

    @property
    def of(self):
        """Points possible."""
        return round(sum(mark.of for mark in self.marks), 2)

    @property
    def full(self):
        """Whether every point was reached."""
        return not self.refused and all(mark.points >= mark.of for mark in self.marks)

    def as_data(self):
        """Plain data for JSON."""
        return asdict(self) | {"points": self.points, "of": self.of}

    @classmethod
    def from_data(cls, data):
        """The inverse of `as_data`."""
        data = {key: value for key, value in data.items() if key not in ("points", "of")}
        marks = tuple(Mark.from_data(mark) for mark in data["marks"])
        return cls(**data | {"marks": marks, "notes": tuple(data["notes"])})
