"""What a run can end in, each kind a class that explains itself in words and carries its facts as data.

The same classes serve virtual and real ranks, so every constructor takes plain facts and no engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labs.kit.virtual import wording
from labs.kit.virtual.places import Place


@dataclass(frozen=True, slots=True)
class Waiting:
    """One rank that stands still.

    Parameters
    ----------
    rank : int
        Who waits.
    operation : str
        In what, as a phrase: "send to rank 1 (40 B)".
    peers : tuple of int
        For whom; empty if for nobody in particular.
    place : Place or str or None
        Where in the learner's code.
    """

    rank: int
    operation: str
    peers: tuple[int, ...]
    place: Place | str | None

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"rank {self.rank} waits in {self.operation}{at}"


class RunFailure(RuntimeError):
    """A run that did not end well. `str()` is the explanation; `as_data()` the same as plain data."""

    kind = "failure"
    fields: tuple[str, ...] = ()

    def as_data(self) -> dict:
        """The failure as a plain dictionary: "kind", "text" (with its notes), and what this kind knows besides."""
        data = {"kind": self.kind, "text": "\n".join([str(self), *getattr(self, "__notes__", ())])}
        data.update((name, _plain(getattr(self, name))) for name in self.fields)
        return data

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: the explanation and nothing of the machinery."""
        name, text = type(self).__name__, str(self)
        first = text.split(maxsplit=1)[0].rstrip(":") if text else " "
        repeats = name.startswith(first)  # "Deadlock after ...", "Deadlock: ...", "Rank 2 raised ..."
        return [text if repeats else f"{name}: {text}", *getattr(self, "__notes__", ())]

    def __reduce__(self):
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(cls, args, state):
    failure = cls.__new__(cls, *args)
    failure.args = args
    failure.__dict__.update(state)
    return failure


def _plain(value):
    if isinstance(value, Waiting):
        return {
            "rank": value.rank,
            "operation": value.operation,
            "peers": list(value.peers),
            "place": str(value.place or ""),
        }
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Place):
        return str(value)
    return value


class Deadlock(RunFailure):
    """Ranks wait, and nothing that could end their waiting will ever happen.

    Attributes
    ----------
    waiting : tuple of Waiting
        Every rank that stands still.
    cycles : tuple of tuple of int
        Ranks that wait for one another in a circle, smallest rank first.
    unreceived : tuple of str
        Messages and receives that nobody matched and nobody waits in.
    """

    kind = "deadlock"
    fields = ("waiting", "cycles", "unreceived")

    def __init__(self, text: str, waiting: Sequence[Waiting] = (), cycles: Sequence = (), unreceived: Sequence = ()):
        super().__init__(text)
        self.waiting = tuple(waiting)
        self.cycles = tuple(tuple(cycle) for cycle in cycles)
        self.unreceived = tuple(unreceived)


class Mismatch(RunFailure):
    """Two ranks disagree about one operation: its name, size, dtype, root or reduction."""

    kind = "mismatch"


class Unreceived(RunFailure):
    """All ranks returned, but messages or receives were left over.

    Attributes
    ----------
    messages : tuple of str
        One sentence for each.
    """

    kind = "unreceived"
    fields = ("messages",)

    def __init__(self, messages: Sequence[str]):
        lines = wording.head(list(messages))
        super().__init__("\n  ".join(["All ranks have returned, but something was left over:", *lines]))
        self.messages = tuple(messages)


class RankFailed(RunFailure):
    """The program raised an exception in one rank.

    Attributes
    ----------
    rank : int
        In which.
    exception : str
        Name of the exception's type.
    message : str
        Its text.
    lines : tuple of str
        The learner's own lines of the traceback, outermost first.
    time : float or None
        Virtual time, in s.
    """

    kind = "error"
    fields = ("rank", "exception", "message", "lines", "time")

    def __init__(self, rank: int, exception: str, message: str, lines: Sequence = (), time: float | None = None):
        what = f"{exception}: {message}" if message else exception
        if what == "NotImplementedError":  # the stub that a published lesson leaves
            what = "this is not solved yet"
        when = "" if time is None else f" after {wording.seconds(time)} of virtual time"
        super().__init__(
            "\n".join([f"Rank {rank} raised an exception{when}: {what}", *(f"  at {line}" for line in lines)])
        )
        self.rank, self.exception, self.message, self.time = rank, exception, message, time
        self.lines = tuple(str(line) for line in lines)


class RankDied(RunFailure):
    """A rank is gone, and another one depends on it.

    Raised inside the surviving ranks by operations with a rank of `expect_dead` (and catchable there), and by real
    ranks when a process was killed.
    """

    kind = "died"
    fields = ("rank",)

    def __init__(self, text: str, rank: int | None = None):
        super().__init__(text)
        self.rank = rank


class TimedOut(RunFailure):
    """The run took too long on the wall clock.

    Attributes
    ----------
    timeout : float
        The limit, in s.
    running : int or None
        The rank that was running.
    waiting : tuple of Waiting
        What the other ranks were doing.
    """

    kind = "timeout"
    fields = ("timeout", "running", "waiting")

    def __init__(self, text: str, timeout: float, running: int | None = None, waiting: Sequence[Waiting] = ()):
        super().__init__(text)
        self.timeout, self.running, self.waiting = timeout, running, tuple(waiting)


class Misuse(RunFailure):
    """Something that these ranks cannot do, said in words."""

    kind = "misuse"
    fields = ("rank",)

    def __init__(self, text: str, rank: int | None = None):
        super().__init__(text)
        self.rank = rank
