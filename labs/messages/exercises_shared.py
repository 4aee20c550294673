"""What the exercises of lesson 01 share: only sends and receives, only through the `dist` they are given."""

from functools import partial

from labs.kit.exercise import Wrong, completed


def check_collectives(called, step):
    """Raise `Wrong` if a collective was called where sends and receives are asked for.

    Parameters
    ----------
    called : list of str
        Names of the collectives that any rank called. Untrusted.
    step : str
        The worked step: which messages would do.
    """
    if "barrier" in called:
        raise Wrong(
            "barrier",
            "You called a barrier. Does it wait for messages, or for ranks?",
            then=(
                "After a barrier you know that all ranks have come so far. It says nothing about their messages.",
                "Leave the barrier out. What tells you that a message has arrived is `recv`, or a request's `wait()`.",
            ),
        )
    if called:
        raise Wrong(
            "library_call",
            f"You called the collective {called[0]}. Which sends and receives does it make inside?",
            then=("Use `send`, `recv`, `isend`, `irecv` and `wait`, and nothing else from `dist`.", step),
        )


def not_the_module(failure):
    """What to ask somebody who called torch.distributed itself; None for other misuse."""
    if "uses torch.distributed itself" not in str((failure or {}).get("text", "")):
        return None
    return (
        "module_not_argument",
        "You called torch.distributed itself. Which `dist` was your function given?",
        "The argument `dist` has the same functions, and it works on every kind of rank.",
        "Remove the import inside your function: then `dist` is the argument again.",
    )


def completed_or_picture(output, **questions):
    """As `labs.kit.exercise.completed`, with a picture of who waits for whom where the run ended in a deadlock."""
    try:
        return completed(output, **questions)
    except Wrong as wrong:
        failure = output.get("failure") if isinstance(output, dict) else None
        waits = waits_of(failure)
        if waits and failure.get("kind") == "deadlock":
            wrong.picture = partial(_endless, waits)
        raise


def waits_of(failure):
    """The waiting ranks of a deadlock as (rank, operation); few and short, for the facts are untrusted."""
    waiting = failure.get("waiting") if isinstance(failure, dict) else None
    waits = [w for w in waiting if isinstance(w, dict)] if isinstance(waiting, list) else []
    waits = [(w.get("rank"), str(w.get("operation"))[:60]) for w in waits[:16]]
    return [(rank, operation) for rank, operation in waits if type(rank) is int and 0 <= rank < 16]


def _endless(waits):
    from labs.messages.figures import endless

    return endless(waits)
