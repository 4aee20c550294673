"""The report of a check: HTML for JupyterLab and the book, plain text for consoles, a verdict for a traceback.

On failure three readers want three things. The **card** (HTML) has everything: cases, question, evidence, picture,
hints. The **verdict** (a traceback of a few lines) has the headline and the question, for nbgrader's Validate, nbval
and nbmake, which show nothing else; a style rule of the card hides it where the card itself is seen, so that nobody
reads the same twice. A **console** prints the text form and then the verdict.
"""

from dataclasses import dataclass, field

from labs.kit.exercise.explain import clip, in_notebook
from labs.kit.exercise.markup import card

_LEVELS = ((0, None), (3, "A pointer"), (5, "A worked step"))
"""Failed checks from which a hint of that level is shown, and its name."""


@dataclass(frozen=True)
class Report:
    """What is shown after a check.

    Parameters
    ----------
    exercise : Exercise
    outcomes : sequence of Outcome
        One for every case; empty when the call itself was at fault.
    failed : int
        Failed checks of this exercise so far, this one included: decides the level of the hints.
    problem : Wrong, optional
        What was wrong with the call.
    warnings : sequence of str
        Warnings that Python gave while the answer ran.
    """

    exercise: object
    outcomes: tuple
    failed: int = 0
    problem: object = None
    warnings: tuple = field(default=())

    @property
    def first(self):
        """The first outcome that did not pass, or None."""
        return next((outcome for outcome in self.outcomes if not outcome.passed), None)

    @property
    def wrong(self):
        """The `Wrong` that the report explains, or None when all cases pass."""
        return self.problem or (self.first.wrong if self.first else None)

    @property
    def state(self) -> str:
        """One of "solved", "unsolved", "call" (the call was at fault) and "failed"."""
        if not self.wrong:
            return "solved"
        return self.wrong.hint if self.wrong.hint in ("unsolved", "call") else "failed"

    @property
    def headline(self) -> str:
        """One line: the exercise, and what became of it."""
        title = self.exercise.title
        if self.state == "solved":
            count = len(self.outcomes)
            return f"{title}: {'all ' + str(count) + ' cases pass' if count != 1 else 'the case passes'}"
        if self.state == "unsolved":
            return f"{title}: not solved yet"
        if self.state == "call":
            return f"{title}: nothing was checked"
        at = next(number for number, outcome in enumerate(self.outcomes, 1) if outcome is self.first)
        return f"{title}: case {at} of {len(self.outcomes)} does not pass ({self.first.case.title})"

    def hints(self) -> list[tuple[str, str]]:
        """Further hints that have been earned, as (name, text); earlier ones stay."""
        then = self.wrong.then if self.wrong else ()
        return [(name, text) for (tries, name), text in zip(_LEVELS[1:], then) if self.failed >= tries]

    def next_hint(self) -> str:
        """A sentence on when the next hint comes, or empty text."""
        then = self.wrong.then if self.wrong and self.state == "failed" else ()
        for (tries, name), _ in zip(_LEVELS[1:], then):
            if self.failed < tries:
                left = tries - self.failed
                return f"{name} comes after {left} more failed check{'s' if left > 1 else ''}."
        return ""

    def achieved(self) -> list[tuple[str, str]]:
        """What a right answer achieved, as (name, value); a line of text has an empty name."""
        if self.state != "solved" or self.exercise.achieved is None:
            return []
        try:
            told = self.exercise.achieved([(outcome.case, outcome.output) for outcome in self.outcomes])
            return [("", told)] if isinstance(told, str) else [(str(name), str(value)) for name, value in told]
        except Exception:  # a decoration must never turn a right answer into an error; lessons' tests call it directly
            return []

    def verdict(self) -> str:
        """Headline and question: what Validate, nbval and nbmake show."""
        mark = {"solved": "✔", "unsolved": "○", "call": "○"}.get(self.state, "✘")
        lines = [f"{mark} {self.headline}"]
        if self.wrong:
            lines.append(f"  {clip(self.wrong.question, 600)}")
        if self.state == "failed":
            lines.append(f"  hint: {self.exercise.id}/{self.wrong.hint}")
        return _printable("\n".join(lines))

    def details(self) -> str:
        """What the verdict leaves out, as text: cases, evidence, further hints; of a right answer, what it achieved."""
        lines = [_case_line(outcome) for outcome in self.outcomes] if self.state == "failed" else []
        if self.wrong and self.wrong.evidence:
            lines += ["", *self.wrong.evidence.splitlines()]
        for name, text in self.hints():
            lines += ["", f"{name}: {text}"]
        lines += ["", self.next_hint()] if self.next_hint() else []
        lines += [f"  {name + ': ' if name else ''}{value}" for name, value in self.achieved()]
        lines += [f"  Python warned: {warning}" for warning in self.warnings[:3]]
        return _printable("\n".join(lines).strip("\n"))

    def text(self) -> str:
        """All of it, for a console."""
        return "\n".join(filter(None, [self.verdict(), self.details()]))

    def html(self) -> str:
        """The card."""
        return _printable(card(self))

    def show(self):
        """Show the report where the learner looks: as a card in a notebook, as text in a console."""
        if not in_notebook():
            print(self.text())
            return
        from IPython.display import display

        # A console under IPython shows this text and then the verdict as the traceback: all of it, nothing twice.
        text = self.text() if self.state == "solved" else self.details()
        display({"text/html": self.html(), "text/plain": text}, raw=True)


def _case_line(outcome):
    mark = "✔" if outcome.passed else "✘" if outcome.reached else "·"
    return f"  {mark} {outcome.case.title}" + ("" if outcome.case.part == "correct" else f" ({outcome.case.part})")


def _printable(text):
    """Half surrogates and control characters, which a learner's string may hold, cannot be sent to a browser."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c >= " " or c in "\n\t" else "�" for c in text)
