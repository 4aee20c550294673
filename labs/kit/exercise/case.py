"""What an exercise asks and what a wrong answer is told: `Case` and `Wrong`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PARTS = ("correct", "edge", "budget")
"""What a case can prove: the answer is right, right at the edges, and within its budget of bytes or time."""


@dataclass(frozen=True)
class Case:
    """One situation that an answer has to handle.

    Parameters
    ----------
    title : str
        A few words for the learner: "10 numbers on 4 ranks".
    inputs : plain data
        What `run` receives, as a copy (see `labs.kit.exercise.plain`). Tuples arrive as lists.
    part : {"correct", "edge", "budget"}
        Which share of the points the case belongs to.
    """

    title: str
    inputs: Any
    part: str = "correct"

    def __post_init__(self):
        if self.part not in PARTS:
            raise ValueError(f"Case {self.title!r}: part is {self.part!r}; it must be one of {', '.join(PARTS)}")


class Wrong(Exception):
    """What `verify` raises when an output is not right: the misconception it shows, and the evidence.

    Parameters
    ----------
    hint : str
        Short name of the misconception, in snake_case. Wrong answers are tested against it.
    message : str
        The first line is a question that points at the misconception. Further lines are evidence (values, lines of
        code), shown as they stand.
    picture : callable, optional
        ``picture() -> labs.kit.draw.Picture``, called only when the report is shown, so that a grader needs no
        matplotlib. Anything that has ``_repr_html_`` will do.
    then : sequence of str
        Further help, earned by trying: a pointer to the line of thought after three failed checks, a worked step on
        the failing case after five.
    """

    def __init__(self, hint: str, message: str, picture: Callable | None = None, then=()):
        super().__init__(message)
        self.hint = hint
        self.message = str(message)
        self.picture = picture
        self.then = (then,) if isinstance(then, str) else tuple(then)

    @property
    def question(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]

    @property
    def evidence(self) -> str:
        """The lines after the first; empty where there are none."""
        return self.message.partition("\n")[2]


def short(value, length=60) -> str:
    """`value` as text of at most `length` characters, for the evidence of a `Wrong`."""
    text = str(value.tolist() if hasattr(value, "tolist") else value)
    return text if len(text) <= length else text[: length - 2] + " …"
