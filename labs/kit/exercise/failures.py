"""From the failure of a run on virtual ranks, or of kernels, to a question for the learner: `completed`."""

from labs.kit.exercise.case import Wrong
from labs.kit.exercise.explain import clip, unsolved

_MOST_LINES, _MOST_TEXT = 40, 4000


def completed(output, deadlock=None, mismatch=None, **questions):
    """Pass on the output of an `outcome` (of labs.kit.ranks or labs.kit.gpu), or raise the `Wrong` it deserves.

    The first line of most `verify` functions.

    Parameters
    ----------
    output : dict
        What ``outcome`` gave in the learner's process: untrusted, so nothing in it is taken for granted.
    deadlock, mismatch, **questions : str or (hint, question, *then), optional
        For one kind of failure ("deadlock", "mismatch", "unreceived", "error", "timeout", "died", "misuse"; of
        kernels "race", "uninitialised", "out_of_bounds", "divergent_barrier", "time_limit", ...), what to
        ask instead of the general question. A tuple also names the misconception and gives the further hints.

    Returns
    -------
    dict
        `output`, when the run completed.

    Raises
    ------
    Wrong
        With the hint of the failure's kind, a question, and as evidence who waited where. "unsolved" when a rank
        stopped with NotImplementedError; "shape" when this is no output of a run at all.
    """
    if type(output) is not dict:
        raise Wrong("shape", f"What did your program give back? A run's outcome was due, not {clip(output, 80)}.")
    if "failure" not in output:
        return output
    failure = output["failure"] if type(output["failure"]) is dict else {}
    kind = _text(failure, "kind") or "error"
    if kind == "error" and _exception(failure) == "NotImplementedError":
        raise unsolved()
    own = {"deadlock": deadlock, "mismatch": mismatch, **questions}.get(kind)
    hint, question, *then = (kind, own) if isinstance(own, str) else own if own else (kind, *_question(kind, failure))
    evidence = _evidence(failure)
    raise Wrong(hint if hint.isidentifier() else "error", question + ("\n" + evidence if evidence else ""), then=then)


def _question(kind, failure):
    """The general question for a kind of failure, and further hints."""
    if kind in _OF_KERNELS:
        return _OF_KERNELS[kind]
    make = {
        "deadlock": _deadlock,
        "mismatch": _mismatch,
        "error": _error,
        "unreceived": _unreceived,
        "timeout": _timeout,
        "died": _died,
        "misuse": _misuse,
    }.get(kind, _error)
    return make(failure)


_OF_KERNELS = {
    "race": (
        "Two threads touch the same element, one of them writes, and nothing says who comes first. What should?",
        "Name the two accesses. Must every thread of the block have done the first before anyone does the second?",
    ),
    "uninitialised": (
        "A thread reads an element that nobody has written. Which thread should have written it, and when?",
        "Work out by hand which elements are written before that line, for the first and the last thread.",
    ),
    "unsynchronised": (
        "The host looks at a result that the device is still working on. What should it wait for first?",
        "A launch, and a copy in a stream, only queue work. Which call waits for it?",
    ),
    "out_of_bounds": (
        "A thread reaches beyond the end of an array. Which threads have nothing to do on this line?",
        "Work out the index of the last thread of the last block by hand, and compare it with the length.",
    ),
    "misaligned": (
        "A wide element starts at an address that is no multiple of its size. Where does the array begin?",
        "Count the bytes from the start of the allocation to the first element that is read.",
    ),
    "divergent_barrier": (
        "Some threads wait at a barrier that others never reach. Which `if` or `return` keeps them away?",
        "Every thread of the block must come to the same barrier. What else could the `if` enclose?",
    ),
    "division_by_zero": (
        "A thread divides a whole number by zero, which a GPU does not report. Which thread, and why?",
        "Write down the divisor for threads 0 and 1.",
    ),
    "time_limit": (
        "Your kernel did not come to an end in time. Which loop never ends, or does far too much?",
        "Follow the variable in the loop's condition for one thread: does it change in every turn?",
    ),
    "launch": (
        "This launch is impossible as it stands. What does the explanation below ask for?",
        "Write down grid, block and arguments for the smallest case.",
    ),
    "type": (
        "A value has a type that this operation does not take. What is it on this line?",
        "Name the type of every value in that line: an index is a whole number, an operand a single number.",
    ),
    "unsupported": ("A kernel cannot say this. What does the explanation below offer instead?",),
}


def _deadlock(failure):
    cycle = next(iter(_rank_lists(failure.get("cycles"))), None)
    if cycle:
        ring = " → ".join(map(str, [*cycle, cycle[0]]))
        return (
            f"Ranks {ring}: each waits for the next. Which of them could move first?",
            "An operation that waits for a partner ends only when that partner comes. Look at what each waiting rank"
            " would have to do next, and whether it can get there.",
        )
    return (
        "A rank waits for something that nobody will do any more. Who should have answered it?",
        "Go through the ranks one by one: for every send there must be one recv, and a collective needs every rank.",
    )


def _mismatch(failure):
    return (
        "The ranks do not agree about an operation. Do all call the same one, in the same order, with the same sizes?",
        "Write down, for each rank, the list of operations that it calls. The lists must fit together line by line.",
    )


def _error(failure):
    rank, kind, message = failure.get("rank"), _exception(failure), _text(failure, "message").partition("\n")[0]
    who = f"Rank {rank}" if type(rank) is int else "Your kernel" if "kernel" in failure else "A rank"
    here = "" if "kernel" in failure else " on this rank"
    what = clip(f"{kind}: {message}" if message else kind, 300)
    if not failure.get("lines"):  # it failed before a line of the answer ran: a parameter too few, say
        return (
            f"{who} could not even start: {_sentence(what)} Does your function take the parameters that the task"
            " names?",
            "Compare the first line of your function, `def ...`, with the one that you were given.",
        )
    return (
        f"{who} stopped with {_sentence(what)} What did that line get{here} that it did not expect?",
        f"Work out the values of the variables in that line by hand, for {'this rank' if here else 'one thread'}.",
    )


def _sentence(text):
    """`text` with one mark at its end."""
    return text if text.endswith((".", "?", "!")) else text + "."


def _unreceived(failure):
    return (
        "A message was sent, and nobody received it. Which rank should have, and when?",
        "Count the sends and the receives between each pair of ranks.",
    )


def _timeout(failure):
    return (
        "Your program did not come to an end in time. Which loop never ends, or does far too much?",
        "See at which line each rank was when time ran out. What would have to change for it to get past that line?",
    )


def _died(failure):
    return ("A rank was gone before its work was done. What ended it?",)


def _misuse(failure):
    return ("This operation cannot be used like that here. What does the explanation below ask for instead?",)


def _exception(failure):
    """Name of the exception's type."""
    return clip(_text(failure, "exception").rpartition(".")[2] or "an exception", 60)


def _evidence(failure):
    lines = _text(failure, "text", _MOST_TEXT).strip("\n").splitlines()
    own = failure.get("lines")
    if type(own) is list and own and all(type(line) is str for line in own):
        lines = [f"at {clip(line, 300)}" for line in own]  # the question already names rank and exception
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"… and {len(lines) - _MOST_LINES + 1} more lines"]
    return "\n".join(lines)


def _text(failure, name, length=400):
    value = failure.get(name)
    return clip(value, length) if type(value) is str else ""


def _rank_lists(value):
    """The lists of ranks in what should be a list of such lists."""
    for ranks in value if type(value) is list else ():
        if type(ranks) is list and 0 < len(ranks) <= 16 and all(type(rank) is int for rank in ranks):
            yield ranks
