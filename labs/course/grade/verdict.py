"""One exercise: secret cases go in, outputs come back as plain data, and the verdict is reached here."""

import contextlib
import hashlib
import hmac
import signal
import threading
import time
from dataclasses import dataclass

from labs.course.grade import drawing
from labs.course.grade.kernel import KernelLost
from labs.course.grade.marks import Mark, Part
from labs.course.grade.reasons import HARMLESS
from labs.course.grade.remote import MIME
from labs.course.grade.words import block, tidy
from labs.kit.exercise import Stopped, Wrong, plain
from labs.kit.exercise.case import PARTS
from labs.kit.exercise.scoring import SHARES


@dataclass(frozen=True)
class Limits:
    """How long things may take (s), and how often a kernel is started anew for one notebook.

    Attributes
    ----------
    cell, exercise, total : float
        One cell; all cases of one exercise; one notebook.
    verify : float
        One verdict.
    picture : float
        Drawing one picture.
    grace : float
        What a worker process may take beyond `total` before it is ended from outside.
    starts : int
        Kernels.
    """

    cell: float = 30.0
    exercise: float = 60.0
    total: float = 600.0
    verify: float = 10.0
    picture: float = 20.0
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


def judge(kernel, check, exercise, number, limits, pictures=False):
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
    pictures : bool
        Whether the picture of the first failing case is drawn.

    Returns
    -------
    mark : Mark
    alive : bool
        False when the kernel was lost on the way, or must be replaced; the points of the parts that had passed stand.
    """
    began = time.monotonic()
    until = began + limits.exercise
    outcomes, first, alive, fresh, outputs = {}, None, True, True, []
    cases = exercise.cases(number)
    for part in PARTS:
        for index, case in enumerate(cases):
            if case.part != part or not alive:
                continue
            try:
                wrong, output = _judge_case(kernel, check, exercise, case, until, limits)
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
            if pictures and exercise.achieved:
                outputs.append((case, output))
        if first and first[0].part == "correct":
            break
    fresh = fresh and alive and not kernel.crowded()
    not_reached = Wrong("not_reached", "Not tried.")
    scored = [(case, outcomes.get(i, not_reached)) for i, case in enumerate(cases)]
    told = {"points": exercise.score(scored), "parts": _parts(exercise.points, scored)}
    if first is None:
        told |= {"status": "solved", "achieved": _achieved(exercise, outputs, limits) if pictures else ()}
    else:
        case, wrong = first
        status = (
            "partly" if told["points"] else "unsolved" if wrong.hint == "unsolved" else "wrong" if alive else "lost"
        )
        told |= {"status": status, "hint": wrong.hint, "question": tidy(wrong.question), "case": tidy(case.title)}
        if status != "unsolved":
            told |= {"evidence": block(wrong.evidence), "then": tuple(block(str(text)) for text in wrong.then)}
            told |= {"picture": _picture(exercise, wrong, limits) if pictures else ""}
    seconds = round(time.monotonic() - began, 3)
    mark = Mark(exercise.id, exercise.title, of=exercise.points, core=exercise.core, seconds=seconds, **told)
    return mark, alive and fresh


def _parts(points, scored):
    """What each part gave. Those of a wrong answer give nothing, even when they passed (see `scoring.score`)."""
    present = [part for part in PARTS if any(case.part == part for case, _ in scored)]
    whole, right, parts = sum(SHARES[part] for part in present), True, []
    for part in present:
        hints = [wrong.hint for case, wrong in scored if case.part == part and wrong is not None]
        state = "passed" if not hints else "not reached" if set(hints) == {"not_reached"} else "failed"
        right &= part != "correct" or state == "passed"
        of = round(points * SHARES[part] / whole, 2)
        parts.append(Part(part, of if right and state == "passed" else 0.0, of, state))
    return tuple(parts)


def _picture(exercise, wrong, limits):
    """Drawn here, on the trusted side; but from values that a learner's process sent, so under an alarm."""
    try:
        with alarm(limits.picture):
            return drawing.drawn(wrong.picture, salt=exercise.id)
    except (_TooLong, Exception):
        return drawing.FAILED


def _achieved(exercise, outputs, limits):
    """What a right answer achieved, as its report in the notebook says it."""
    if exercise.achieved is None:
        return ()
    try:
        with alarm(limits.verify):
            told = exercise.achieved(outputs)
            told = [("", told)] if isinstance(told, str) else told
            return tuple((tidy(str(name)), tidy(str(value))) for name, value in told)
    except (_TooLong, Exception):  # a decoration never costs a point
        return ()


def _judge_case(kernel, check, exercise, case, until, limits):
    """The `Wrong` that one case deserves, or None; and the output, where there is one."""
    untouched, output = False, None
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
        return Wrong("shape", f"What form should the result have? {took}"), None
    if wrong is not None and untouched:
        return Wrong("unsolved", "This one is not solved yet."), None
    return wrong, output


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
