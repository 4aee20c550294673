"""Exercise: pass a tensor on to the right neighbour, all ranks at once, without a deadlock."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.messages.exercises_exchange_failures import completed_exchange
from labs.messages.exercises_shared import check_collectives


def _cases(seed):
    r = np.random.default_rng(seed)

    def inputs(world_size, numel, dtype="float64", late=None):
        values = (r.permutation(900)[:world_size, None] + np.arange(numel) / 8).astype(dtype)
        return {"values": values, "late": late}

    return [
        Case("4 ranks, one number each", inputs(4, 1)),
        Case("4 ranks, 10 numbers each", inputs(4, 10)),
        Case("5 ranks: an odd ring", inputs(5, 3, "float32")),
        Case("4 ranks, and rank 2 comes late", inputs(4, 3, late=2)),
        Case("2 ranks, each the other's neighbour on both sides", inputs(2, 2), "edge"),
        Case("a single rank is its own neighbour", inputs(1, 2), "edge"),
        Case("whole numbers (int64)", inputs(3, 4, "int64"), "edge"),
        Case("no numbers at all", inputs(3, 0), "edge"),
        Case("8 ranks, 80,000 bytes each: how long?", inputs(8, 10_000), "budget"),
    ]


def _run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome, work

    def copied(value):
        return value.clone() if isinstance(value, torch.Tensor) else value

    def program(mine, dist):
        kept = mine.clone()
        if dist.get_rank() == inputs["late"]:
            work(seconds=50e-6)
        theirs = answers[0](mine, dist)
        # Copied at once: what arrives after the return is not part of the answer. Then the caller uses `mine` again,
        # as it may, and a moment later looks once more.
        facts = {"returned": copied(theirs), "kept_mine": torch.equal(mine, kept)}
        facts["is_mine"] = isinstance(theirs, torch.Tensor) and theirs.data_ptr() == mine.data_ptr()
        mine.fill_(-1)
        work(seconds=1e-3, label="the caller goes on")
        return facts | {"later": copied(theirs)}

    values = inputs["values"]
    found = outcome(program, len(values), args=lambda rank: (torch.from_numpy(values[rank].copy()),), timeout=10)
    # Summaries only: the collectives that were called and when the last rank returned, not the whole trace.
    events = found.pop("events", [])
    found["collectives"] = sorted({e[6] for e in events if e[1] == "collective"})
    found["returned_at"] = max((e[4] for e in events if e[6] == "the caller goes on"), default=0.0)
    return found


def _verify(case, output):
    values = case.inputs["values"]
    n, nbytes = len(values), values[0].nbytes
    output = completed_exchange(output, n)
    results = [r["returned"] for r in output["results"]]
    want = [values[(r - 1) % n] for r in range(n)]
    check_collectives(output["collectives"], "Rank 0: isend to rank 1, recv from the last rank, then wait.")
    same = [_equal(g, w) for g, w in zip(results, want, strict=True)]
    if not all(same):
        _explain_values(values, want, output, same)
    if not all(r["kept_mine"] for r in output["results"]):
        raise Wrong(
            "mine_changed",
            "The right numbers, but `mine` has changed. Who else may still need it?",
            then=(
                "The caller gave you `mine` to read. It did not ask you to write to it.",
                "Return the tensor that you received into, and leave `mine` as it was.",
            ),
        )
    _verify_budget(case, output, n, nbytes)


def _equal(got, want):
    return isinstance(got, np.ndarray) and np.shape(got) == np.shape(want) and np.array_equal(got, want)


def _explain_values(values, want, output, same):
    n = len(values)
    bad = same.index(False)
    results = [r["returned"] for r in output["results"]]
    later = [r["later"] for r in output["results"]]
    got = [g if isinstance(g, np.ndarray) else np.asarray(np.nan) for g in results]
    evidence = f"\nrank {bad}: expected {short(want[bad])}\nrank {bad}: yours    {short(results[bad])}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_picture, values, got), then=then)

    def all_equal(expected):
        return all(_equal(g, e) for g, e in zip(results, expected, strict=True))

    if n == 1:
        wrong(
            "one_rank_empty",
            "A single rank is its own left neighbour. Whose numbers should it return?",
            "Nothing has to be sent, but something has to be returned.",
            "If `dist.get_world_size() == 1`, return a copy of `mine`.",
        )
    if all(r is None for r in results):
        wrong(
            "nothing_returned",
            "Every rank returned None. Where did you leave what arrived?",
            "recv fills a tensor that you made; the function still has to return it.",
            "End with `return theirs`.",
        )
    if all(isinstance(r, int) for r in results):
        wrong(
            "returned_the_receipt",
            f"Rank {bad} returned {short(results[bad])}. Is that what arrived, or what recv or wait() told you?",
            "recv answers with the sender's rank, wait() with True. The numbers are in the tensor that you gave them.",
            "`dist.recv(theirs, src=left)` on a line of its own, then `return theirs`.",
        )
    if any(isinstance(r, (list, int, float)) for r in results):
        wrong(
            "not_a_tensor",
            f"Rank {bad} returned {_kind(results[bad])}. What should the caller get?",
            "The caller gave a tensor and expects one: the tensor that you received into.",
            "`return theirs`, and nothing beside it.",
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
    if same[1:] == [True] * (n - 1) and output["messages"][n - 1] == 0:
        wrong(
            "ring_left_open",
            f"Rank {n - 1} sent nothing, and rank 0 received nothing. Who is to the right of the last rank?",
            "A line has two ends. A ring has none.",
            f"Rank {n - 1} sends to rank 0: `(rank + 1) % size` does it without an `if`.",
        )
    if n > 2 and all(r["is_mine"] for r in output["results"]):
        wrong(
            "overwritten_before_sent",
            "A rank passed on numbers that it had just received. Is one tensor both sent and received into?",
            "Until wait() returns, the tensor you send still belongs to the message.",
            "Receive into a second tensor, `torch.empty_like(mine)`.",
        )
    if any(_equal(g, np.full_like(w, -1)) for g, w in zip(results, want, strict=True)) and values.size:
        wrong(
            "send_not_awaited",
            f"The caller wrote -1 into `mine` after your return, and rank {bad} got that. When was the message gone?",
            "Until wait() has returned, the tensor that you send belongs to the message.",
            "Keep the request, `request = dist.isend(mine, dst=right)`, and call `request.wait()` before you return.",
        )
    if isinstance(later[bad], np.ndarray) and not np.array_equal(later[bad], results[bad], equal_nan=True):
        wrong(
            "no_wait",
            "The numbers arrived after you had returned. What do isend and irecv hand you?",
            "irecv only says where the data shall go. It returns a request at once. Time alone is no promise, either.",
            "`request = dist.irecv(theirs, src=left)`, and before you use `theirs`: `request.wait()`.",
        )
    wrong(
        "other_values",
        f"Rank {bad} did not return the numbers of rank {(bad - 1) % n}. What did it receive, and from whom?",
        "Draw the ring: each rank one arrow to the right.",
        f"Rank {bad} has rank {(bad - 1) % n} on its left.",
    )


def _kind(value):
    if isinstance(value, list):
        return "several things" if any(isinstance(v, (list, np.ndarray)) for v in value) else "a list"
    return "a plain number"


def _verify_budget(case, output, n, nbytes):
    sent = output["bytes"]
    if n > 1 and nbytes and max(sent) > nbytes:
        raise Wrong(
            "too_many_bytes",
            f"A rank sent {max(sent):,.0f} bytes, but its tensor has {nbytes:,}. Who needs the rest?"
            f"\nbytes sent by rank: {short(sent)}",
            then=("Each rank has one neighbour to its right.", "One message per rank, with `mine` in it."),
        )
    if n > 1 and nbytes and max(output["messages"]) > 1:
        raise Wrong(
            "many_messages",
            f"A rank sent {max(output['messages']):,.0f} messages. How few would do?",
            then=(
                "Each message costs its latency (here 5 µs) before its first byte moves.",
                "Send `mine` as a whole: one message per rank.",
            ),
        )
    if case.part == "budget":
        one = 5e-6 + nbytes / 50e9  # the standard virtual network: 5 µs and 50 GB/s
        took = output["returned_at"]
        if took > 3.5 * one:
            raise Wrong(
                "one_after_the_other",
                f"Right, but it took as long as {took / one:.0f} messages in a row. Do all ranks really wait for their turn?"
                f"\nvirtual time {took * 1e6:.1f} µs; one message takes {one * 1e6:.1f} µs",
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
        (
            "virtual time on 8 ranks",
            f"{output['returned_at'] * 1e6:.1f} µs; one message alone takes {one * 1e6:.1f} µs",
        ),
    ]


exchange = Exercise("exchange", "Pass it on to the right", 3, _cases, _run, _verify, achieved=_achieved)
