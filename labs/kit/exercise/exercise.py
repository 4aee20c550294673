"""What an exercise is: cases, a run of the learner's code on each, and a verdict on what came out.

The three steps are kept apart so that a grader can put the learner's code, and only that, in a sandbox:
``cases(seed)`` and ``verify(case, output)`` stay outside, the source of ``run(answers, inputs)`` goes in.
"""

import inspect
import os
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from labs.kit.exercise import plain, progress
from labs.kit.exercise.answers import call_problem, unavailable, untouched
from labs.kit.exercise.case import Case, Wrong, short
from labs.kit.exercise.explain import clip, stopped, unsolved, where
from labs.kit.exercise.scoring import score

PUBLIC_SEED = 20260
"""Seed of the cases that a learner sees. A class sets its own in the environment variable LABS_SEED."""

_LAST = ("unsolved", "timeout")
"""Hints after which the remaining cases are not tried: they would only say the same, slowly."""


class NotYet(Exception):
    """What a check raises when the answer does not pass yet: in a notebook a few lines, not a traceback."""

    def __init__(self, report):
        super().__init__(report.headline)
        self.report = report

    def _render_traceback_(self):
        return self.report.verdict().splitlines()


class Interrupted(KeyboardInterrupt):
    """The learner stopped a check; says at which line of their code it was."""

    def _render_traceback_(self):
        return str(self).splitlines()


class Gone(Exception):
    """Base of what `call` raises when step 2 never came back (a sandbox died). `judge` lets it pass: no verdict."""


class Outcome(NamedTuple):
    """What became of one case."""

    case: Case
    wrong: Wrong | None
    output: Any = None

    @property
    def passed(self) -> bool:
        """Whether the case was tried and nothing was wrong."""
        return self.wrong is None

    @property
    def reached(self) -> bool:
        """Whether the case was tried at all."""
        return self.wrong is None or self.wrong.hint != "not_reached"


@dataclass(frozen=True)
class Exercise:
    """An exercise; called in a notebook with the learner's answer, it checks it and shows a report.

    Parameters
    ----------
    id : str
        A Python name: the object's own name in the lesson's ``exercises`` module.
    title : str
        A few words in the imperative: "Reduce-scatter around the ring".
    points : float
        Write 3, repair 2, predict or explain 1.
    cases : callable
        ``cases(seed) -> list[Case]``. The edge cases that real bugs came from are always among them.
    run : callable
        ``run(answers, inputs) -> plain data``. Module-level and self-contained (see `check_self_contained`);
        `answers` is a tuple.
    verify : callable
        ``verify(case, output)`` raises `Wrong`; knows the right value from an independent oracle. `output` is
        untrusted, but of exactly the types of `labs.kit.exercise.plain`.
    core : bool
        Part of the lesson's core (70 % of its points) or an extension.
    achieved : callable, optional
        ``achieved(case_outputs)`` for a right answer: text or a list of (name, value) for the report, from a list of
        (Case, output): messages, bytes, virtual time against the lower bound.
    answers : tuple of str, optional
        Names of the answers in the check cell; the exercise's id when left out.
    """

    id: str
    title: str
    points: float
    cases: Callable
    run: Callable
    verify: Callable
    core: bool = True
    achieved: Callable | None = None
    answers: tuple = ()

    def __post_init__(self):
        names = (self.answers,) if isinstance(self.answers, str) else tuple(self.answers)
        object.__setattr__(self, "answers", names or (self.id,))
        if not self.id.isidentifier():
            raise ValueError(f"Exercise id {self.id!r} must be a Python name")

    @property
    def lesson(self) -> str:
        """Name of the lesson: the topic package that defines the cases (``all_reduce``), or empty text."""
        parts = getattr(self.cases, "__module__", "").split(".")
        return parts[1] if len(parts) > 2 and parts[0] == "labs" and parts[1] != "kit" else ""

    @property
    def run_source(self) -> str:
        """Source text of `run`, for the sandbox; the function in it is named ``exercise.run.__name__``."""
        return textwrap.dedent(inspect.getsource(self.run))

    def judge(self, case, call) -> Wrong | None:
        """Judge one case.

        Parameters
        ----------
        case : Case
        call : callable
            ``call(inputs) -> output`` runs step 2, here or in a sandbox. It may raise `Stopped` to report an
            exception from there, `NotImplementedError` for an unsolved answer, `plain.NotPlain` for an output that
            is not plain data, and `Gone` when there is no verdict, which passes through.

        Returns
        -------
        Wrong or None
            None when the case passes.
        """
        return self._examine(case, call).wrong

    def examine(self, call, seed=None) -> list[Outcome]:
        """Judge all cases of a seed (the public one when left out), one outcome for each.

        Stops early only when an answer is unsolved or ran out of time; the cases after that are "not_reached".
        """
        outcomes = []
        over = None
        for case in self.cases(public_seed() if seed is None else seed):
            if over:
                outcomes.append(Outcome(case, Wrong("not_reached", f"Not tried, because the answer was {over}.")))
                continue
            outcomes.append(self._examine(case, call))
            if not outcomes[-1].passed and outcomes[-1].wrong.hint in _LAST:
                over = "not solved yet" if outcomes[-1].wrong.hint == "unsolved" else "out of time"
        return outcomes

    def score(self, outcomes) -> float:
        """Points for outcomes, one (Case, Wrong or None) for every case; see `labs.kit.exercise.scoring.score`."""
        return score(self.points, outcomes)

    def __call__(self, *answers):
        """Check `answers`, show the report, and raise `NotYet` unless all cases pass. Returns None.

        An answer in a language for which this machine has no compiler is not checked: that is said, and nothing else.
        """
        from labs.kit.exercise.report import Report

        if missing := next((why for answer in answers if (why := unavailable(answer))), ""):
            print(f"Not checked here: {self.title}. {missing}")
            return None
        if problem := call_problem(self, answers):
            report = Report(self, (), problem=problem)
        else:
            outcomes, said = self._examine_here(answers)
            if all(outcome.passed for outcome in outcomes):
                progress.record(self.id, True, points=self.points, of=self.points, lesson=self.lesson)
                # Shown, not returned: nbgrader reads the value of a check cell as partial credit.
                Report(self, outcomes, warnings=said).show()
                return None
            failed = progress.attempts(self.id)
            if not _is_unsolved(outcomes):
                failed = progress.record(self.id, False, points=score(self.points, outcomes), of=self.points,
                                         lesson=self.lesson)  # fmt: skip
            report = Report(self, outcomes, failed=failed, warnings=said)
        report.show()
        raise NotYet(report) from None

    def _examine_here(self, answers):
        """Outcomes with the learner's code run in this process, and the warnings that it gave."""
        with warnings.catch_warnings(record=True) as caught:  # on stderr they would make nbgrader's Validate fail
            warnings.simplefilter("default")
            try:
                outcomes = self.examine(lambda inputs: self.run(answers, inputs))
            except KeyboardInterrupt as stop:
                place = where(stop)
                raise Interrupted(f"■ {self.title}: you stopped the check{' at ' + place if place else ''}.") from None
        if untouched(answers) and not all(outcome.passed for outcome in outcomes):
            rest = [Outcome(case, Wrong("not_reached", "Not tried.")) for case, *_ in outcomes[1:]]
            outcomes = [Outcome(outcomes[0].case, unsolved()), *rest]
        return outcomes, [f"{w.category.__name__}: {clip(w.message, 200)}" for w in caught]

    def _examine(self, case, call):
        inputs = plain.copy(case.inputs)  # a fault here is the author's, and should look like one
        try:
            output = call(inputs)
            if output is ...:
                return Outcome(case, unsolved())
            output = plain.copy(output)
        except Gone:
            raise
        except NotImplementedError as error:
            if clip(error) not in ("", "not solved yet"):
                return Outcome(case, stopped(error))
            return Outcome(case, unsolved())
        except plain.NotPlain as error:
            question = f"What should your answer return? This could not be read: {clip(error)}."
            return Outcome(case, Wrong("type", question))
        except Wrong as wrong:
            return Outcome(case, wrong)
        except (Exception, SystemExit, GeneratorExit) as error:
            return Outcome(case, stopped(error))
        try:
            self.verify(case, output)
        except Wrong as wrong:
            return Outcome(case, wrong, output)
        except Exception:  # an output that verify did not foresee: text where a number is due
            if output is None:
                return Outcome(case, unsolved(), output)
            return Outcome(case, _unexpected_form(output), output)
        return Outcome(case, None, output)


def public_seed() -> int:
    """The seed of the cases that a learner sees: LABS_SEED where a class has set it, else `PUBLIC_SEED`."""
    text = os.environ.get("LABS_SEED", "").strip()
    if not text:
        return PUBLIC_SEED
    return int(text) if text.isdecimal() and len(text) < 19 else int.from_bytes(text.encode()[:7].ljust(7), "big")


def _is_unsolved(outcomes):
    return any(not outcome.passed and outcome.wrong.hint == "unsolved" for outcome in outcomes)


def _unexpected_form(output):
    question = "What form should the result have? Yours has another one, so it could not be compared."
    return Wrong("shape", f"{question}\nyours: {short(output, 200)}")
