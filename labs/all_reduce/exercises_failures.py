"""Runs of a ring or a tree that did not end: from the failure to the misconception behind it."""

from __future__ import annotations

import re

from labs.kit.exercise import completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

_WORKED = (
    "Rank 0, round 1: work = dist.isend(chunk, dst=1); dist.recv(buffer, src=3); work.wait(). The isend only starts the "
    "message, so every rank gets to its recv."
)


def explain_failure(case, output, tree=False):
    """Raise Wrong when the run failed: with a hint of this lesson where one fits, else with the general one.

    Parameters
    ----------
    case : Case
        With the ranks' tensors in ``inputs["values"]``.
    output : dict
        As `labs.all_reduce.watched.run` gives it.
    tree : bool
        Whether partners are a tree's instead of the ring's neighbours.
    """
    failure = output.get("failure") if isinstance(output, dict) else None
    if not isinstance(failure, dict):
        completed(output)
        return
    size, numel = case.inputs["values"].shape
    questions = {"deadlock": _tree_deadlock(failure, size) if tree else _deadlock(failure, size)}
    questions["mismatch"] = _mismatch(failure, size, numel)
    questions["error"] = _error(failure, size, tree)
    completed(output, **{kind: question for kind, question in questions.items() if question})


def _waits(failure):
    """(rank, first word of the operation, its peer or None) of every waiting rank."""
    found = []
    for entry in failure.get("waiting") or ():
        peers = entry.get("peers") or [None]
        found.append((entry.get("rank"), str(entry.get("operation", "")).split(" ")[0], peers[0]))
    return found


def _deadlock(failure, size):
    waits = _waits(failure)
    receives = [(rank, peer) for rank, operation, peer in waits if "recv" in operation]
    if size > 2 and receives and all(peer == (rank + 1) % size for rank, peer in receives):
        rank, peer = receives[0]
        return (
            "wrong_neighbour",
            f"Rank {rank} waits for a message from rank {peer}, its right neighbour. To whom does rank {peer} send?",
            "Everybody sends to the right. So from which side does everybody's message come?",
            f"right = (rank + 1) % {size}; left = (rank - 1) % {size}; send to right, receive from left.",
        )
    if waits and all("send" in operation for _, operation, _ in waits):
        ring = " → ".join(str(rank) for rank in [*range(size), 0]) if size <= 8 else f"0 → 1 → ... → {size - 1} → 0"
        line = _line(failure)
        return (
            "deadlock",
            f"All {size} ranks wait in send{f' ({line})' if line else ''}: {ring}. Who is receiving?",
            "A send ends only when its receiver is there. Can a rank start one without waiting for it?",
            _WORKED,
        )
    if waits and all("recv" in operation for _, operation, _ in waits):
        return (
            "all_receive",
            "Every rank waits in recv, and no message is on its way. Who sends first?",
            "If all start by receiving, nobody ever gets to send. isend starts a message and goes on.",
            _WORKED,
        )
    return None


def _tree_deadlock(failure, size):
    if size & (size - 1):
        return (
            "power_of_two",
            f"{size} ranks, and some wait for a partner that never comes. Which round goes wrong?",
            "With a power of two everyone has a partner in every round. Draw the rounds for this number of ranks.",
            f"A partner that would be rank {size} or more does not exist: skip it, and do not wait for it.",
        )
    return None


def _mismatch(failure, size, numel):
    text = str(failure.get("text", ""))
    if len(set(re.findall(r"\b(?:float(?:16|32|64)|bfloat16|int(?:8|16|32|64))\b", text))) > 1:
        return (
            "dtype",
            "Sender and receiver use different dtypes. Which one has the buffer that you made?",
            "torch.zeros(3) and torch.empty(3) give float32, whatever the tensor holds.",
            "torch.empty_like(tensor[start:end]) has the right length and dtype.",
        )
    if numel % size:
        return (
            "buffer_length",
            f"{numel} numbers on {size} ranks: not every chunk has the same length. Which chunk is it that arrives?",
            "The buffer must be as long as the chunk that comes in, not as the one that goes out.",
            "Take start and end of the chunk that you will add to, and make the buffer like tensor[start:end].",
        )
    return (
        "buffer_length",
        "Sender and receiver do not mean the same number of values. Which chunk does each of them have in mind?",
        "Write down for round 1: rank 0 sends which chunk, rank 1 receives into which.",
    )


def _error(failure, size, tree):
    kind, message = str(failure.get("exception", "")), str(failure.get("message", ""))
    rank = failure.get("rank")
    absent = re.search(r"no rank (-?\d+)", message)
    if absent and tree:
        return (
            "power_of_two",
            f"Rank {rank} has rank {absent[1]} as its partner, and the ranks go from 0 to {size - 1}. Who has a free round?",
            "With a power of two everyone has a partner in every round. Draw the rounds for this number of ranks.",
            f"A partner that would be rank {size} or more does not exist: skip it, and do not wait for it.",
        )
    if absent:
        beyond = absent[1]
        return (
            "no_wrap",
            f"Rank {rank} talks to a rank {beyond}, and the ranks go from 0 to {size - 1}. Who is its neighbour?",
            "In a ring the last rank's right neighbour is rank 0.",
            f"(rank + 1) % {size} is 0 for rank {size - 1}; (rank - 1) % {size} is {size - 1} for rank 0.",
        )
    if "process group" in message:
        return (
            "other_dist",
            "Your function used torch.distributed itself. Which `dist` was it given?",
            "The argument `dist` is the virtual one here and the real one on real ranks: the same names, without import.",
        )
    if kind == "IndexError":
        return (
            "chunk_number",
            f"Rank {rank} asks for a chunk that does not exist. Between which numbers do chunks lie?",
            "Chunk numbers go around like ranks: (rank - 1 - step) % size.",
        )
    return None


def _line(failure):
    """The line at which the first rank waits: "line 7 of your cell"."""
    place = next((str(entry.get("place", "")) for entry in failure.get("waiting") or ()), "")
    return place.split(",")[0].split(": ")[0]
