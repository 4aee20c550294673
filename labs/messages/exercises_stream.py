"""Exercise: a buffer that is filled again before its message has left."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.messages.exercises_shared import completed_or_picture, not_the_module


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
    import numpy as np
    import torch

    from labs.kit.ranks import outcome, work

    def program(chunks, dist):
        kept = [c.clone() for c in chunks]
        received = answers[0](chunks, dist)
        work(seconds=1e-3, label="the caller goes on")
        found = {"form": type(received).__name__, "changed": any(not torch.equal(a, b) for a, b in zip(chunks, kept))}
        if received is not None and found["form"] in ("list", "tuple", "Tensor", "generator"):
            received = list(received)
            tensors = [r for r in received if isinstance(r, torch.Tensor) and r.numel()]
            found["distinct"] = len({t.data_ptr() for t in tensors}) == len(tensors)
            found["received"] = [r.clone() if isinstance(r, torch.Tensor) else r for r in received]
        return found

    chunks = inputs["chunks"]

    def args(rank):  # rank 1 knows how many chunks come and of which shape, not what is in them
        return ([torch.from_numpy(c.copy() if rank == 0 else np.zeros_like(c)) for c in chunks],)

    found = outcome(program, 2, args=args, timeout=10)
    events = found.pop("events", [])
    left = [e[4] for e in events if e[0] == 0 and e[6] == "the caller goes on"]
    arrived = [e[5] for e in events if e[0] == 0 and e[1] == "send"]
    found["sends"] = len(arrived)
    found["under_way"] = sum(end > left[0] for end in arrived) if left else 0
    return found


def _verify(case, output):
    chunks = case.inputs["chunks"]
    output = _completed(output)
    sender, receiver = output["results"]
    want = [2 * c for c in chunks]
    if receiver["form"] == "NoneType":
        raise Wrong(
            "nothing_returned",
            "Rank 1 returned None. Who hands over what it received?",
            then=(
                "Rank 1 returns the list of tensors, in order.",
                "`return received` on rank 1; rank 0 returns nothing.",
            ),
        )
    received = receiver.get("received")
    if received is None or (
        len(chunks) and any(not isinstance(r, np.ndarray) or r.shape != want[0].shape for r in received)
    ):
        raise Wrong(
            "not_a_list_of_chunks",
            f"Rank 1 returned something else than a list of chunks ({receiver['form']}). What does the caller expect?",
            then=(
                "One tensor for each chunk, in order, all of them in one list.",
                "Make the list before the loop, receive into each of its tensors, return the list.",
            ),
        )
    if sender["changed"]:
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
        _explain(chunks, want, received, output)
    if output["under_way"]:
        raise Wrong(
            "left_too_early",
            f"Rank 0 returned while {output['under_way']:.0f} of its messages had not arrived. Who looks after them now?",
            then=(
                "On gloo a request that is thrown away takes its message with it: rank 1 would wait for ever.",
                "Call wait() on every request before rank 0 returns, on the last one, too.",
            ),
        )
    _verify_messages(sum(output["messages"]), output["sends"], len(chunks))


def _verify_messages(messages, sends, count):
    if messages < count and count > 1:
        raise Wrong(
            "one_big_message",
            f"{count} chunks arrived in {messages:.0f} message. When can rank 1 begin to work?",
            then=(
                "The point of chunks: rank 1 works on the first while the second travels.",
                "One message per chunk, and a buffer that is free again before you fill it.",
            ),
        )
    if sends > count:
        raise Wrong(
            "many_messages",
            f"{count} chunks took {sends:.0f} messages. What does a message cost before its first byte moves?",
            then=("Its latency: here 5 µs each time.", "One message per chunk, however long the chunk is."),
        )


def _completed(output):
    failure = output.get("failure") if isinstance(output, dict) else None
    return completed_or_picture(
        output,
        deadlock=(
            "count_differs",
            "One rank waits for a chunk that the other does not send or take. How many chunks does each of them count?",
            "Both loop over the same `chunks`: as many sends on rank 0 as receives on rank 1.",
            "`for chunk in chunks:` on both ranks, and one message in each turn.",
        ),
        mismatch=(
            "chunk_of_another_kind",
            "What is sent and what is received into differ in size or type. What did the doubling do to the chunk?",
            "`2.0 * chunk` makes floats of whole numbers; `torch.empty(n)` is float32 whatever the chunk is.",
            "`torch.mul(chunk, 2, out=buffer)` with `buffer = torch.empty_like(chunk)` keeps shape and dtype.",
        ),
        misuse=not_the_module(failure),
    )


def _explain(chunks, want, received, output):
    evidence = f"\nexpected {short([short(w, 24) for w in want], 200)}\nyours    {short([short(g, 24) for g in received], 200)}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_picture, chunks, received), then=then)

    if not sum(output["messages"]) and len(want):
        wrong(
            "nothing_sent",
            "No message was sent. From where should rank 1 have the chunks?",
            "On rank 1 `chunks` holds zeros: it says how many chunks come, and of which shape.",
            "Rank 0 sends each doubled chunk; rank 1 receives into tensors of its own.",
        )
    if len(received) != len(want):
        wrong(
            "wrong_count",
            f"Rank 1 returned {len(received)} chunks, and {len(want)} were to be sent. Where does your loop end?",
            "Both ranks loop over the same chunks.",
            "`for chunk in chunks` on rank 0, and as many receives on rank 1.",
        )
    if not output["results"][1]["distinct"]:
        wrong(
            "received_into_one",
            "All entries of your list are one and the same tensor. Into what did each recv write?",
            "A list holds tensors, not copies of them: the next recv overwrites what you have put into it.",
            "`torch.empty_like(chunk)` for each chunk, and receive into that.",
        )
    if sorted(g.tobytes() for g in received) == sorted(w.tobytes() for w in want):
        wrong(
            "wrong_order",
            "All chunks are there, in another order. In which order does each side go through them?",
            "Messages between two ranks arrive in the order in which they were sent.",
            "`for chunk in chunks` on both ranks, from the first to the last.",
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


def _picture(chunks, received):
    """Rank 0's chunks and rank 1's list, as they should be and as they are."""
    from labs.kit.draw import holdings

    if not len(chunks):
        return holdings([[None], [None]], [[None], ["something"]], name="Rank 1's list", titles=("should be", "yours"))
    names = {c.tobytes(): f"{k}" for k, c in enumerate(chunks)}
    names |= {(2 * c).tobytes(): f"2 × {k}" for k, c in enumerate(chunks)}
    own = [f"{k}" for k in range(len(chunks))]
    got = [names.get(np.asarray(g).tobytes(), "other") for g in received[: len(chunks)]]
    got += [None] * (len(chunks) - len(got))
    due = [own, [f"2 × {k}" for k in own]]
    return holdings(due, [own, got], name="The chunks on both ranks", titles=("should be", "yours"))


stream = Exercise("stream", "The buffer that was filled too early", 1.5, _cases, _run, _verify, core=False)
