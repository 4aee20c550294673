"""What to ask about an exchange that did not come to an end: which misconception does the failure show?"""

from labs.kit.exercise import Wrong
from labs.messages.exercises_shared import completed_or_picture, not_the_module


def completed_exchange(output, n):
    """The output of a run of `exchange` on `n` ranks that completed; else raises the `Wrong` that its failure deserves."""
    failure = output.get("failure") if isinstance(output, dict) else None
    failure = failure if isinstance(failure, dict) else {}
    text = str(failure.get("text", ""))
    if n == 1 and failure and failure.get("kind") not in ("deadlock", "timeout"):
        raise Wrong(
            "one_rank",
            f"With a single rank the right neighbour is the rank itself. Does anything have to move?\n{text}",
            then=(
                "`send` refuses a rank that sends to itself, and here it need not.",
                "If `dist.get_world_size() == 1`, return a copy of `mine`.",
            ),
        )
    if f"rank {n}" in text and failure.get("kind") != "deadlock":
        raise Wrong(
            "no_wrap_around",
            f"Rank {n - 1} has no rank {n} to talk to. Who is its right neighbour on a ring?\n{text}",
            then=(
                "After the last rank comes rank 0. Which operator makes a number start over?",
                f"`(rank + 1) % size`: for rank {n - 1} of {n} that is 0.",
            ),
        )
    mismatch = (
        "buffer_of_another_kind",
        "What is sent and what is received into differ in size or type. How did you make the tensor to receive into?",
        "It needs as many numbers as `mine`, of the same dtype. `torch.empty(n)` makes float32 whatever `mine` is.",
        "`theirs = torch.empty_like(mine)`.",
    )
    return completed_or_picture(
        output, deadlock=_deadlock(failure, n), mismatch=mismatch, misuse=not_the_module(failure)
    )


def _deadlock(failure, n):
    """Hint, question and further hints for a deadlock (its facts come from an untrusted process)."""
    waiting = failure.get("waiting") if isinstance(failure.get("waiting"), list) else []
    waiting = [w for w in waiting if isinstance(w, dict)]
    receiving = ["recv from" in str(w.get("operation")) for w in waiting]
    leftward = [w.get("peers") == [(w.get("rank", 0) - 1) % n] for w in waiting]
    if "tag" in str(failure.get("text", "")):
        return (
            "tags_differ",
            "Every message is sent, and every rank waits for one. Do sender and receiver give the same tag?",
            "A receive takes only a message with its own tag. Whose rank is in yours: the sender's or the receiver's?",
            "Leave `tag` out: one message between two ranks needs none.",
        )
    if receiving and all(receiving) and not failure.get("unreceived"):
        return (
            "all_receive_first",
            "Every rank waits in recv. Who is sending?",
            "A recv waits until something arrives. Start your own send before you wait.",
            "isend to the right, then recv from the left, then wait for the isend.",
        )
    if waiting and not any(receiving) and all(leftward) and n > 2:
        return (
            "sends_to_the_left",
            "Every rank waits until its left neighbour takes a message. Who receives from the right?",
            "The ring has one direction: to the right. What should the left neighbour do with your numbers?",
            "One isend per rank, to `right`, and one recv, from `left`.",
        )
    if len(waiting) == n and not any(receiving):
        return (
            "all_send_first",
            "Every rank waits for its send to end. Who is receiving?",
            "A send waits until its receiver is there. Can a rank start one without waiting for it?",
            f"Rank 0: `request = dist.isend(mine, dst={1 % n})`, then `dist.recv(theirs, src={n - 1})`, then"
            " `request.wait()`.",
        )
    return (
        "nobody_answers",
        f"Some of the {n} ranks wait for a message that nobody sends them. To whom does each rank send?",
        f"Write it down for all {n} ranks. Is the number of ranks fixed somewhere in your code?",
        f"Here rank {n - 1} sends to rank 0, and rank 0 receives from rank {n - 1}: ask `dist.get_world_size()`.",
    )
