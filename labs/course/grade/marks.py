"""What grading finds: a `Mark` for each exercise, a `Result` for each notebook."""

from dataclasses import asdict, dataclass


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


@dataclass(frozen=True)
class Result:
    """What came of one notebook.

    Attributes
    ----------
    notebook : str
        Path as it was given.
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
    """

    notebook: str
    lesson: str
    marks: tuple = ()
    notes: tuple = ()
    seconds: float = 0.0
    isolation: str = ""
    refused: str = ""

    @property
    def points(self):
        """Points reached."""
        return sum(mark.points for mark in self.marks)

    @property
    def of(self):
        """Points possible."""
        return sum(mark.of for mark in self.marks)

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
        data["marks"] = tuple(Mark(**mark) for mark in data["marks"])
        return cls(**data | {"notes": tuple(data["notes"])})
