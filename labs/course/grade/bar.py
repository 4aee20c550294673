"""How far grading is, on stderr: a bar on a terminal; elsewhere (the log of a CI run) a line now and then."""

import shutil
import sys
import time

WIDTH, QUIET = 24, 30.0
"""Characters of the bar; seconds between two lines where there is no terminal."""


class Bar:
    """Shows how many of `total` are done and how long the rest will take.

    Parameters
    ----------
    total : int
    done : int
        Of these, finished before (in an earlier run).
    stream : file
    clock : callable
        Seconds.
    """

    def __init__(self, total, done=0, stream=None, clock=time.monotonic):
        self.total, self.done, self.before = total, done, done
        self.stream, self.clock = stream or sys.stderr, clock
        self.live = self.stream.isatty()
        self.began = self.said = clock()
        if self.live:
            self.show("")

    def step(self, label):
        """One more is done."""
        self.done += 1
        if self.live:
            self.show(label)
        elif self.clock() - self.said >= QUIET and self.done < self.total:
            self.said = self.clock()
            print(self.text(label), file=self.stream, flush=True)

    def text(self, label):
        """Where we are, in words."""
        return " · ".join(filter(None, [f"{self.done} of {self.total} notebooks", label, self.left()]))

    def left(self):
        """How long the rest will take, in words; empty as long as nobody knows."""
        fresh = self.done - self.before
        if not fresh or self.done >= self.total:
            return ""
        seconds = (self.clock() - self.began) / fresh * (self.total - self.done)
        if seconds < 90:
            return f"about {max(1, round(seconds))} s left"
        return f"about {round(seconds / 60)} min left"

    def show(self, label):
        """Draw the bar over what stands there."""
        full = round(WIDTH * self.done / max(1, self.total))
        line = f"[{'#' * full}{'.' * (WIDTH - full)}] {self.text(label)}"
        columns = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\x1b[K" + line[:columns])
        self.stream.flush()

    def close(self):
        """Take the bar away."""
        if self.live:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
