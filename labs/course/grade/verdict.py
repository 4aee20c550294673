"""One exercise: secret cases go in, outputs come back as plain data, and the verdict is reached here."""

import contextlib
import hashlib
import hmac
import signal
import threading
import time
from dataclasses import dataclass

from labs.course.grade.kernel import KernelLost
from labs.course.grade.marks import Mark
from labs.course.grade.reasons import HARMLESS
from labs.course.grade.remote import MIME
from labs.kit.exercise import Stopped, Wrong, plain

PARTS = ("correct", "edge", "budget")


@dataclass(frozen=True)
class Limits:
    """How long things may take (s), and how often a kernel is started anew for one notebook.

    Attributes
    ----------
    cell, exercise, total : float
        One cell; all cases of one exercise; one notebook.
    verify : float
        One verdict.
    grace : float
        What a worker process may take beyond `total` before it is ended from outside.
    starts : int
        Kernels.
    """

    cell: float = 30.0
    exercise: float = 60.0
    total: float = 600.0
    verify: float = 10.0
    grace: float = 60.0
    starts: int = 12


class _TooLong(BaseException):
    """`verify` did not end in time. No `except Exception` of a verdict may catch it."""


def seed(secret, exercise, cells):
    """Return the seed of an exercise's cases in one notebook.

    It repeats when the same notebook is graded again, is unknown to the learner, and is a new one whenever any code in
    the notebook changes, so that cases which leaked help nobody.

    Parameters
    ----------
    secret : bytes
    exercise : str
        Its id.
    cells : sequence of notebook.Cell
        Of the learner.

    Returns
    -------
    int
        31 bits, which every random generator takes as a seed.
    """
    text = "\0".join([exercise] + [cell.source for cell in cells if cell.code])
    digest = hmac.digest(secret, text.encode("utf8", "surrogatepass"), hashlib.sha256)
    return int.from_bytes(digest[:4], "big") >> 1


def judge(kernel, check, exercise, number, limits):
    """Mark one exercise.

    All "correct" cases come first, then "edge", then "budget"; a part is left at its first case that does not pass,
    and the others are not tried once a "correct" case fails.

    Parameters
    ----------
    kernel : Kernel
        Holds the learner's answers.
    check : Check
        Exercise and names of the answers, from the source's check cell.
    exercise : labs.kit.exercise.Exercise
    number : int
        Seed of the cases.
    limits : Limits

    Returns
    -------
    mark : Mark
    alive : bool
        False when the kernel was lost on the way, or must be replaced; the points of the parts that had passed stand.
    """
    until = time.monotonic() + limits.exercise
    outcomes, first, alive, fresh = {}, None, True, True
    cases = exercise.cases(number)
    for part in PARTS:
        for index, case in enumerate(cases):
            if case.part != part or not alive:
                continue
            try:
                wrong = _judge_case(kernel, check, exercise, case, until, limits)
            except KernelLost as error:
                alive = False
                late = "did not finish" in str(error)
                question = "Does your code come to an end by itself?" if late else "What ended your code?"
                wrong = Wrong("timeout" if late else "lost", f"{question} In the case “{case.title}” {error}.")
            else:
                if wrong and wrong.hint == "error" and (met := kernel.limit_met(wrong.message)):
                    limit, did = met
                    fresh = limit in HARMLESS  # what has been used up would fail the next exercise, too
                    wrong = Wrong("limit", f"Does your answer need that much? In the case “{case.title}” it {did}.")
            outcomes[index] = wrong
            if wrong is not None:
                first = first or (case, wrong)
                break
        if first and first[0].part == "correct":
            break
    not_reached = Wrong("not_reached", "Not tried.")
    points = exercise.score([(case, outcomes.get(i, not_reached)) for i, case in enumerate(cases)])
    mark = Mark(exercise.id, exercise.title, points, exercise.points, "solved", core=exercise.core)
    if first is None:
        return mark, alive and fresh
    case, wrong = first
    status = "partly" if points else "unsolved" if wrong.hint == "unsolved" else "wrong" if alive else "lost"
    described = {"hint": wrong.hint, "question": tidy(wrong.question), "case": case.title, "status": status}
    return Mark(**vars(mark) | described), alive and fresh


def _judge_case(kernel, check, exercise, case, until, limits):
    """The `Wrong` that one case deserves, or None."""
    untouched = False
    try:
        output, untouched = _remote(kernel, check, exercise, case, max(0.1, until - time.monotonic()))
    except KernelLost:
        raise
    except Exception as error:
        fault = error

        def replay(_):
            raise fault
    else:
        replay = lambda _: output
    try:
        with alarm(limits.verify):
            wrong = exercise.judge(case, replay)
    except _TooLong:
        took = f"Yours took more than {limits.verify:.0f} s to compare."
        return Wrong("shape", f"What form should the result have? {took}")
    if wrong is not None and untouched:
        return Wrong("unsolved", "This one is not solved yet.")
    return wrong


def _remote(kernel, check, exercise, case, timeout):
    """Run a case in the sandbox; returns its output, or raises what `Exercise.judge` expects of a call."""
    call = (
        "__import__('labs_sandbox.remote', fromlist=['call']).call(get_ipython().user_ns, "
        f"{list(check.answers)!r}, {exercise.run_source!r}, {exercise.run.__name__!r}, {plain.encode(case.inputs)!r})"
    )
    reply = kernel.execute("", timeout, {"out": call})
    try:
        out = reply["user_expressions"]["out"]
        if out["status"] != "ok":
            raise Stopped(out.get("ename"), out.get("evalue"))
        reply = plain.decode(out["data"][MIME])
        ((kind, body),) = [(k, v) for k, v in reply.items() if k != "untouched"]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise error if isinstance(error, plain.NotPlain) else plain.NotPlain("no result came back") from None
    if kind == "output":
        return body, reply.get("untouched") is True
    if kind == "missing":
        raise Wrong("unsolved", f"{check.answers[0] if body not in check.answers else body} is not defined yet.")
    if kind == "constant":
        raise Wrong("call", f"Is {', '.join(check.answers)} a function? The check calls it itself, on many inputs.")
    if kind == "unsolved":
        raise NotImplementedError(body if type(body) is str else "")
    if kind == "error" and type(body) is list and len(body) == 3:
        raise Stopped(*body)
    raise plain.NotPlain(body if kind == "unreadable" and type(body) is str else "no result came back")


@contextlib.contextmanager
def alarm(seconds):
    """Raise in the middle of what runs too long.

    Only the main thread of a process can be interrupted; elsewhere this does nothing, and the grader's workers, each a
    process that is killed when its notebook takes too long, are the guard.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_):
        raise _TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tidy(text, length=300):
    """One line of printable text, whatever a learner's process has put into a message."""
    text = "".join(c if c.isprintable() else " " for c in text[: 2 * length]).strip()
    return text if len(text) <= length else text[: length - 2] + " …"
