"""The report of a check: HTML for JupyterLab and the book, plain text for consoles, a verdict for a traceback.

On failure three readers want three things. The **card** (HTML) has everything: cases, question, evidence, picture,
hints. The **verdict** (a traceback of a few lines) has the headline and the question, for nbgrader's Validate, nbval
and nbmake, which show nothing else; a style rule of the card hides it where the card itself is seen, so that nobody
reads the same twice. A **console** prints the text form and then the verdict.
"""

from dataclasses import dataclass, field

from labs.kit.exercise.explain import clip, in_notebook
from labs.kit.exercise.markup import card, printable

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
        return printable("\n".join(lines))

    def standing(self) -> str:
        """How many cases pass, in a few words."""
        passed, count = sum(outcome.passed for outcome in self.outcomes), len(self.outcomes)
        if self.state == "failed":
            return f"{passed} of {count} cases pass"
        if self.state == "solved":
            return f"all {count} cases pass" if count != 1 else "the case passes"
        return "not solved yet" if self.state == "unsolved" else "nothing was checked"

    def points(self) -> str:
        """Points so far, in words; empty when nothing was judged."""
        if self.state not in ("solved", "failed"):
            return ""
        got, of = self.exercise.score(self.outcomes), self.exercise.points
        return f"{got:g} of {of:g} point{'s' if of != 1 else ''}"

    def details(self) -> str:
        """What the verdict leaves out, as text: evidence, further hints, cases; of a right answer, what it achieved."""
        blocks = []
        if self.wrong and self.wrong.evidence.strip():
            blocks.append(self.wrong.evidence.strip("\n"))
        blocks += [f"{name}: {text}" for name, text in self.hints()]
        blocks.append(self.next_hint())
        if self.state == "failed":
            blocks.append("\n".join([f"{self.standing()}, {self.points()}:", *map(_case_line, self.outcomes)]))
        blocks.append("\n".join(f"  {name + ': ' if name else ''}{value}" for name, value in self.achieved()))
        blocks.append("\n".join(f"Python warned: {warning}" for warning in self.warnings[:3]))
        return printable("\n\n".join(filter(None, blocks)))

    def text(self) -> str:
        """All of it, for a console."""
        return "\n".join(filter(None, [self.verdict(), self.details()]))

    def html(self) -> str:
        """The card."""
        return card(self)

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
