"""Exercise: a buffer that is filled again before its message has left."""

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short


def _cases(seed):
    r = np.random.default_rng(seed)

    def chunks(count, numel, dtype="float64"):
        return {"chunks": r.integers(1, 1000, (count, numel)).astype(dtype)}

    return [
        Case("4 chunks of 3 numbers", chunks(4, 3)),
        Case("2 chunks of 1,000 numbers", chunks(2, 1000, "float32")),
        Case("one chunk", chunks(1, 5), "edge"),
        Case("no chunks", chunks(0, 5), "edge"),
        Case("whole numbers (int64)", chunks(3, 4, "int64"), "edge"),
        Case("5 chunks: how many messages?", chunks(5, 100), "budget"),
    ]


def _run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    def program(chunks, dist):
        kept = [c.clone() for c in chunks]
        received = answers[0](chunks, dist)
        changed = any(not torch.equal(a, b) for a, b in zip(chunks, kept))
        return {"received": None if received is None else [r.clone() for r in received], "changed": changed}

    found = outcome(program, 2, args=lambda rank: ([torch.from_numpy(c.copy()) for c in inputs["chunks"]],))
    found.pop("events", None)
    return found


def _verify(case, output):
    chunks = case.inputs["chunks"]
    output = completed(output)
    received = output["results"][1]["received"]
    want = [2 * c for c in chunks]
    if received is None:
        raise Wrong(
            "nothing_returned",
            "Rank 1 returned None. Who hands over what it received?",
            then=(
                "Rank 1 returns the list of tensors, in order.",
                "`return received` on rank 1; rank 0 returns nothing.",
            ),
        )
    if output["results"][0]["changed"]:
        raise Wrong(
            "input_changed",
            "The chunks on rank 0 have changed. May you double them where they lie?",
            then=(
                "The caller still needs them.",
                "Write the doubled chunk into another tensor: `torch.mul(chunk, 2, out=buffer)`.",
            ),
        )
    same = [np.array_equal(g, w) for g, w in zip(received, want)]
    if len(received) != len(want) or not all(same):
        _explain(chunks, want, received, same)
    messages = sum(output["messages"])
    if messages < len(chunks) and len(chunks) > 1:
        raise Wrong(
            "one_big_message",
            f"{len(chunks)} chunks arrived in {messages:.0f} message. When can rank 1 begin to work?",
            then=(
                "The point of chunks: rank 1 works on the first while the second travels.",
                "One message per chunk, and a buffer that is free again before you fill it.",
            ),
        )


def _explain(chunks, want, received, same):
    evidence = f"\nexpected {short([short(w, 24) for w in want], 200)}\nyours    {short([short(g, 24) for g in received], 200)}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if len(received) != len(want):
        wrong(
            "wrong_count",
            f"{len(received)} chunks arrived, {len(want)} were to be sent. Where does your loop end?",
            "Both ranks loop over the same chunks.",
            "`for chunk in chunks` on rank 0, and as many receives on rank 1.",
        )
    if len(want) > 1 and any(
        np.array_equal(received[i], want[j]) for i in range(len(want)) for j in range(i + 1, len(want))
    ):
        wrong(
            "filled_too_early",
            "Rank 1 got a later chunk in place of an earlier one. When may you fill the buffer again?",
            "isend only announces the message. Until wait() returns, the buffer belongs to it.",
            "Keep the request of the last isend, and call its wait() before you write to the same buffer.",
        )
    if all(np.array_equal(g, c) for g, c in zip(received, chunks)):
        wrong(
            "not_doubled",
            "These are the chunks as they were. Where is the factor 2?",
            "Rank 0 prepares each chunk before it sends it.",
            "`torch.mul(chunk, 2, out=buffer)`, then send the buffer.",
        )
    wrong(
        "other_values",
        "Rank 1 holds other numbers. What was in the buffer when each message left?",
        "Print the buffer just before each send.",
        f"The first message has to carry {short(want[0], 40)}.",
    )


stream = Exercise("stream", "The buffer that was filled too early", 1.5, _cases, _run, _verify, core=False)
