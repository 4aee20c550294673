"""Exercise: pass a tensor on to the right neighbour, all ranks at once, without a deadlock."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short


def _cases(seed):
    r = np.random.default_rng(seed)

    def values(world_size, numel, dtype="float64"):
        return (r.permutation(900)[:world_size, None] + np.arange(numel) / 8).astype(dtype)

    return [
        Case("4 ranks, one number each", {"values": values(4, 1)}),
        Case("4 ranks, 10 numbers each", {"values": values(4, 10)}),
        Case("5 ranks: an odd ring", {"values": values(5, 3, "float32")}),
        Case("2 ranks, each the other's neighbour on both sides", {"values": values(2, 2)}, "edge"),
        Case("a single rank is its own neighbour", {"values": values(1, 2)}, "edge"),
        Case("whole numbers (int64)", {"values": values(3, 4, "int64")}, "edge"),
        Case("no numbers at all", {"values": values(3, 0)}, "edge"),
        Case("8 ranks, 80,000 bytes each: how long?", {"values": values(8, 10_000)}, "budget"),
    ]


def _run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    def program(mine, dist):
        theirs = answers[0](mine, dist)
        # Copied at once: what arrives after the return is not part of the answer.
        return theirs.clone() if isinstance(theirs, torch.Tensor) else theirs

    values = inputs["values"]
    found = outcome(program, len(values), args=lambda rank: (torch.from_numpy(values[rank].copy()),))
    # Summaries only: whether a collective was called, not the whole trace.
    found["collective"] = next((e[6] for e in found.pop("events", []) if e[1] == "collective"), "")
    return found


def _verify(case, output):
    values = case.inputs["values"]
    n, nbytes = len(values), values[0].nbytes
    output = _completed(output, n)
    results = output["results"]
    want = [values[(r - 1) % n] for r in range(n)]
    got = [g if isinstance(g, np.ndarray) else np.asarray(np.nan) for g in results]
    same = [np.shape(g) == np.shape(w) and np.array_equal(g, w) for g, w in zip(got, want, strict=True)]
    if output.get("collective"):
        raise Wrong(
            "library_call",
            f"You called the collective {output['collective']}. Can you do it with one send and one receive per rank?",
            then=(
                "A collective moves more than this needs, and every rank of the group has to take part.",
                "Rank 0: isend to rank 1, recv from the last rank, then wait.",
            ),
        )
    if not all(same):
        _explain_values(values, want, got, same, results)
    _verify_budget(case, output, n, nbytes)


def _completed(output, n):
    failure = output.get("failure") if isinstance(output, dict) else None
    text = str(failure.get("text", "")) if isinstance(failure, dict) else ""
    if n == 1 and failure and failure.get("kind") not in ("deadlock", "timeout"):
        raise Wrong(
            "one_rank",
            f"With a single rank the right neighbour is the rank itself. Can a rank send to itself?\n{text}",
            then=(
                "It cannot, and it need not: nothing has to move.",
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
    if _all_receive(failure):
        deadlock = (
            "all_receive_first",
            "Every rank waits in recv. Who is sending?",
            "A recv waits until something arrives. Start your own send before you wait.",
            "isend to the right, then recv from the left, then wait for the isend.",
        )
    else:
        deadlock = (
            "all_send_first",
            "Every rank waits in send. Who is receiving?",
            "A send waits until its receiver is there. Can a rank start one without waiting for it?",
            "Rank 0: `request = dist.isend(mine, dst=1)`, then `dist.recv(theirs, src=3)`, then `request.wait()`.",
        )
    return completed(output, deadlock=deadlock)


def _all_receive(failure):
    """Whether every waiting rank of a deadlock waits in recv (the failure comes from an untrusted process)."""
    waiting = failure.get("waiting") if isinstance(failure, dict) else None
    operations = [str(w.get("operation")) for w in waiting if isinstance(w, dict)] if isinstance(waiting, list) else []
    return bool(operations) and all(operation.startswith("recv") for operation in operations)


def _explain_values(values, want, got, same, results):
    n = len(values)
    bad = same.index(False)
    evidence = f"\nrank {bad}: expected {short(want[bad])}\nrank {bad}: yours    {short(results[bad])}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_picture, values, got), then=then)

    def all_equal(expected):
        return all(np.shape(g) == np.shape(e) and np.array_equal(g, e) for g, e in zip(got, expected, strict=True))

    if all(r is None for r in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Where did you leave what arrived?",
            "recv fills a tensor that you made; the function still has to return it.",
            "End with `return theirs`.",
        )
    if n > 2 and all_equal([values[(r + 1) % n] for r in range(n)]):
        wrong(
            "wrong_direction",
            "Each rank holds its right neighbour's numbers. To which side did you send?",
            "To the right means to the next higher rank. What arrives then comes from the next lower one.",
            "Rank 1 sends to rank 2 and receives from rank 0.",
        )
    if all_equal(list(values)):
        wrong(
            "own_values",
            "Each rank returned its own numbers. Into which tensor did you receive?",
            "What you send and what you receive are two tensors.",
            "`theirs = torch.empty_like(mine)`, receive into it, return it.",
        )
    if all(np.shape(g) == np.shape(w) for g, w in zip(got, want, strict=True)):
        sent = {v.tobytes() for v in values}
        if n > 2 and all(np.asarray(g).astype(values.dtype).tobytes() in sent for g in got):
            wrong(
                "overwritten_before_sent",
                "A rank passed on numbers that it had just received. Is one tensor both sent and received into?",
                "Until wait() returns, the tensor you send still belongs to the message.",
                "Receive into a second tensor, `torch.empty_like(mine)`.",
            )
        wrong(
            "no_wait",
            "The numbers had not arrived when you returned. What do isend and irecv hand you?",
            "irecv only says where the data shall go. It returns a request at once.",
            "`request = dist.irecv(theirs, src=left)`, and before you use `theirs`: `request.wait()`.",
        )
    wrong(
        "other_values",
        f"Rank {bad} did not return the numbers of rank {(bad - 1) % n}. What did it receive, and from whom?",
        "Draw the ring: each rank one arrow to the right.",
        f"Rank {bad} has rank {(bad - 1) % n} on its left.",
    )


def _verify_budget(case, output, n, nbytes):
    sent = output["bytes"]
    if n > 1 and nbytes and max(sent) > nbytes:
        raise Wrong(
            "too_many_bytes",
            f"A rank sent {max(sent):,.0f} bytes, but its tensor has {nbytes:,}. Who needs the rest?"
            f"\nbytes sent by rank: {short(sent)}",
            then=("Each rank has one neighbour to its right.", "One message per rank, with `mine` in it."),
        )
    if case.part == "budget":
        one = 5e-6 + nbytes / 50e9  # the standard virtual network: 5 µs and 50 GB/s
        if output["time"] > 3.5 * one:
            raise Wrong(
                "one_after_the_other",
                f"Right, but it took as long as {output['time'] / one:.0f} messages in a row. Do all ranks really wait for their turn?"
                f"\nvirtual time {output['time'] * 1e6:.1f} µs; one message takes {one * 1e6:.1f} µs",
                then=(
                    "If one rank receives first and the others send first, the ring unwinds rank by rank.",
                    "With isend every rank starts at once, and all messages travel at the same time.",
                ),
            )


def _picture(values, got):
    from labs.kit.draw import holdings

    n = len(values)
    name = {v.tobytes(): f"rank {r}'s" for r, v in enumerate(values)}
    after = [[name.get(np.asarray(g).astype(values.dtype).tobytes(), "other")] for g in got]
    return holdings([[f"rank {r}'s"] for r in range(n)], after, name="Before, and after your exchange")


def _achieved(outputs):
    case, output = outputs[-1]
    one = 5e-6 + case.inputs["values"][0].nbytes / 50e9
    return [
        ("messages per rank", "1"),
        ("virtual time on 8 ranks", f"{output['time'] * 1e6:.1f} µs; one message alone takes {one * 1e6:.1f} µs"),
    ]


exchange = Exercise("exchange", "Pass it on to the right", 3, _cases, _run, _verify, achieved=_achieved)
