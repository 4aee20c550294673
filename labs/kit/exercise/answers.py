"""Is what the learner handed to the check an answer at all? Words for the usual slips."""

import dis
import inspect

from labs.kit.exercise.case import Wrong, short
from labs.kit.exercise.explain import clip, unsolved

_NO_OPERATION = {"RESUME", "NOP", "CACHE", "COPY_FREE_VARS"}


def call_problem(exercise, answers):
    """What is wrong with the call ``exercise(*answers)``, or None.

    Returns
    -------
    Wrong or None
        Hint "call" for a slip in the call itself (no answer, a result instead of the function, a constant, too many),
        "unsolved" for an answer that is still ``...``.
    """
    call = f"exercises.{exercise.id}({', '.join(exercise.answers)})"
    if any(answer is ... or getattr(answer, "unsolved", False) is True for answer in answers):
        return unsolved()
    if len(answers) != len(exercise.answers):
        if not answers:
            return Wrong("call", f"Which answer shall be checked? Put its name between the brackets: {call}")
        takes = _count(exercise.answers)
        return Wrong("call", f"Did you mean {call}? This check takes {takes}, but got {len(answers)}.")
    for answer, name in zip(answers, exercise.answers):
        if answer is exercise or type(answer) is type(exercise):
            return Wrong("call", f"Is that the check itself? Hand over your own {name} instead: {call}")
        if not is_answer(answer):
            return Wrong("call", _not_an_answer(answer, name, call))
    return None


def is_answer(answer) -> bool:
    """A function, a class, another callable, or a Source (text and symbol) from a ``%%cpp`` or ``%%cuda`` cell."""
    return callable(answer) or (hasattr(answer, "text") and hasattr(answer, "symbol"))


def unavailable(answer) -> str:
    """Why an answer cannot run on this machine (no compiler for it), or empty text."""
    why = getattr(answer, "unavailable", "")
    return clip(why) if type(why) is str else ""


def untouched(answers) -> bool:
    """Whether one of the answers is a function with an empty body: ``...``, ``pass``, or only a docstring."""
    return any(_is_empty(answer) for answer in answers)


def _is_empty(answer):
    code = getattr(inspect.unwrap(answer) if inspect.isfunction(answer) else answer, "__code__", None)
    if not inspect.iscode(code):
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname not in _NO_OPERATION]
    names = [step.opname for step in steps]
    return names in (["LOAD_CONST", "RETURN_VALUE"], ["RETURN_CONST"]) and steps[0].argval is None


def _count(names):
    return f"{len(names)} answers ({', '.join(names)})" if len(names) > 1 else f"one answer ({names[0]})"


def _not_an_answer(answer, name, call):
    kind = clip(type(answer).__name__, 40)
    if answer is None:
        return f"Did you call {name} inside the brackets? It gave None. Hand over {name} itself: {call}"
    shown = clip(_shown(answer), 60)
    return (
        f"Is {shown} ({kind}) the result of {name}? The check calls your answer itself, on many inputs."
        f" Hand over {name}, without brackets after it: {call}"
    )


def _shown(answer):
    try:
        return short(repr(answer), 50)
    except Exception:
        return "this value"
