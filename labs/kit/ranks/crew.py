"""The ranks of one run seen from the parent: listens to all of them at once, asks, ends and kills them."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any

from labs.kit.ranks import wire
from labs.kit.ranks.output import Lines
from labs.kit.ranks.server import Process

_LAST_WORDS_SECONDS = 5.0  # how long a killed or finished process may take to disappear
_START_SECONDS = 30.0  # how long the server may take to fork, on a machine that is busy
_LAST_REPORT_SECONDS = 1.0  # a report may be read after the news that its rank has ended


class Member:
    """What is known about one rank."""

    def __init__(self, rank: int, process: Process, sink: Callable[[str], None] | None) -> None:
        self.rank, self.process = rank, process
        self.inbox, self.lines = wire.Inbox(process.job), Lines(rank, sink)
        self.pid: int | None = None
        self.end: str | None = None  # "exit 0", "signal 9", ... once the process is gone
        self.ended_at = 0.0
        self.report: tuple[str, Any] | None = None  # ("result", bytes) or ("error", dict)
        self.doing: tuple[int, dict] | None = None  # number of the question, and the answer
        self.silent = False  # whether its side of the job socket is closed
        self._status = b""

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be expected from this rank: it has reported, or is gone without a report."""
        gone = self.end is not None and (self.silent or time.monotonic() > self.ended_at + _LAST_REPORT_SECONDS)
        return self.report is not None or gone

    def read_status(self) -> bool:
        """Take over what the server reports; return False once it has nothing more to say."""
        piece = os.read(self.process.status, 256)
        self._status += piece
        *lines, self._status = self._status.split(b"\n")
        for line in lines:
            word, number = line.decode().split()
            if word == "pid":
                self.pid = int(number)
            else:
                self.end, self.ended_at = f"{word} {number}", time.monotonic()
        if not piece and self.end is None:  # the server is gone, and its ranks with it
            self.end, self.ended_at = "server", time.monotonic()
        return bool(piece)


class Crew:
    """All ranks of one run. A context manager: leaving it leaves no process behind, whatever happened inside."""

    def __init__(self, processes: Iterable[Process], sink: Callable[[str], None] | None) -> None:
        self.members = [Member(rank, process, sink) for rank, process in enumerate(processes)]
        self._selector = selectors.DefaultSelector()
        for member in self.members:
            for channel, what in (
                (member.process.job, "job"),
                (member.process.output, "output"),
                (member.process.status, "status"),
            ):
                self._selector.register(channel, selectors.EVENT_READ, (member, what))

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.see_off(kill=True)
        finally:
            self._selector.close()
            for member in self.members:
                member.process.close()

    def give(self, rank: int, message: Any) -> None:
        """Send one message to a rank; a rank that is gone is noticed elsewhere."""
        try:
            wire.send(self.members[rank].process.job, message)
        except OSError:
            pass

    def listen(self, seconds: float) -> bool:
        """Take in whatever arrives within `seconds`; return at once after the first batch, False if nothing came."""
        if not self._selector.get_map():
            return False
        ready = self._selector.select(max(seconds, 0.0))
        for key, _ in ready:
            member, what = key.data
            if what == "output":
                still_open = member.lines.read(key.fd)
            elif what == "status":
                still_open = member.read_status()
            else:
                messages, still_open = member.inbox.read()
                for message in messages:
                    if message[0] == "doing":
                        member.doing = message[1:]
                    else:
                        member.report = message
                member.silent = not still_open
            if not still_open:
                self._selector.unregister(key.fileobj)
        return bool(ready)

    def ask(self, number: int, members: Iterable[Member], seconds: float) -> list[Member]:
        """Ask ranks what they are doing; return those that have not answered after `seconds`."""
        waiting = [m for m in members if m.end is None]
        for member in waiting:
            self.give(member.rank, ("look", number))
        deadline = time.monotonic() + seconds
        while True:
            waiting = [
                m for m in waiting if m.end is None and (m.doing is None or m.doing[0] != number) and not m.settled
            ]
            left = deadline - time.monotonic()
            if not waiting or left <= 0:
                return waiting
            self.listen(left)

    def dump(self, members: list[Member], seconds: float) -> None:
        """Have ranks that cannot answer (compiled code keeps them busy) dump their Python stack."""
        for member in members:
            member.lines.hold()
            if member.pid is not None and member.end is None:
                _signal(os.kill, member.pid, signal.SIGUSR1)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not all(m.lines.held_stack() for m in members):
            self.listen(left)

    def started(self) -> bool:
        """Wait until every rank has a process; False if the server was gone before it could start them all."""
        deadline = time.monotonic() + _START_SECONDS
        while any(m.pid is None and m.end is None for m in self.members) and time.monotonic() < deadline:
            self.listen(deadline - time.monotonic())
        return all(m.pid is not None for m in self.members)

    def release(self) -> None:
        """Tell all ranks that they may end."""
        for member in self.members:
            self.give(member.rank, "end")

    def see_off(self, kill: bool = False) -> bool:
        """Wait until every process is gone and all its output has been shown; False if one would not go.

        With `kill`, end every process that is still there, with everything it has started.
        """
        deadline = time.monotonic() + _LAST_WORDS_SECONDS
        killed: set[int] = set()
        while alive := [m for m in self.members if m.end is None]:
            for member in alive if kill else ():
                if member.pid is not None and member.rank not in killed:
                    _signal(os.killpg, member.pid, signal.SIGKILL)
                    killed.add(member.rank)
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.listen(left)
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            self.listen(left)
        return True


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    try:
        send(pid, number)
    except (ProcessLookupError, PermissionError):  # gone already
        pass
