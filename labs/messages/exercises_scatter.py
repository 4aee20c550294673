"""Exercise: scatter by hand, with sends and receives only."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.messages.exercises_shared import check_collectives, completed_or_picture, not_the_module


def _cases(seed):
    r = np.random.default_rng(seed)

    def inputs(world_size, root, numel, dtype="float64"):
        return {"pieces": r.integers(1, 100, (world_size, numel)).astype(dtype), "root": root}

    return [
        Case("4 ranks, rank 0 has the pieces", inputs(4, 0, 3)),
        Case("4 ranks, rank 2 has the pieces", inputs(4, 2, 3)),
        Case("7 ranks, the last one has the pieces", inputs(7, 6, 2, "float32")),
        Case("a single rank", inputs(1, 0, 3), "edge"),
        Case("2 ranks, rank 1 has the pieces", inputs(2, 1, 1), "edge"),
        Case("pieces without numbers", inputs(3, 0, 0), "edge"),
        Case("8 ranks, 80,000 bytes a piece: how much is sent?", inputs(8, 0, 10_000), "budget"),
    ]


def _run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome, work

    pieces, root = inputs["pieces"], inputs["root"]

    def program(out, mine, root, dist):
        answers[0](out, mine, root, dist)
        # What arrives after the return is not part of the answer. The caller uses `pieces` again, as it may, and a
        # moment later looks once more.
        returned = out.clone()
        for piece in mine or ():
            piece.fill_(-1)
        work(seconds=1e-3)
        return {"out": returned, "later": out.clone()}

    def args(rank):
        out = torch.full_like(torch.from_numpy(pieces[rank].copy()), -7)
        mine = [torch.from_numpy(p.copy()) for p in pieces] if rank == root else None
        return out, mine, root

    found = outcome(program, len(pieces), args=args, timeout=10)
    found["collectives"] = sorted({e[6] for e in found.pop("events", []) if e[1] == "collective"})
    return found


def _verify(case, output):
    pieces, root = case.inputs["pieces"], case.inputs["root"]
    n, nbytes = len(pieces), pieces[0].nbytes
    output = _completed(output, n, root)
    check_collectives(
        output["collectives"],
        "The root sends piece r to every other rank r; every other rank receives once, from the root.",
    )
    results = [r["out"] for r in output["results"]]
    same = [np.array_equal(g, w) for g, w in zip(results, pieces, strict=True)]
    if not all(same):
        _explain_values(pieces, root, output, same)
    sent = output["bytes"]
    if sum(sent) > (n - 1) * nbytes:
        raise Wrong(
            "too_many_bytes",
            f"{sum(sent):,.0f} bytes were sent where {(n - 1) * nbytes:,} would do. Does a rank need the others' pieces?"
            f"\nbytes sent by rank: {short(sent)}",
            then=(
                "Each rank but the root needs one piece, and the root has its own already.",
                f"{n - 1} messages of {nbytes:,} bytes: rank r gets `pieces[r]` and nothing else.",
            ),
        )


def _completed(output, n, root):
    failure = output.get("failure") if isinstance(output, dict) else None
    failure = failure if isinstance(failure, dict) else {}
    text, kind = str(failure.get("text", "")), failure.get("kind")
    if kind in ("error", "deadlock") and root != 0 and _takes_0_for_root(failure, text):
        raise Wrong(
            "root_is_always_0",
            f"Here rank {root} has the pieces. Which rank does your program take for the root?\n{text}",
            then=(
                "The other ranks get `pieces=None`, rank 0 too.",
                "Compare `dist.get_rank()` with `root`, and receive from `root`.",
            ),
        )
    if kind == "error" and f"rank {root} cannot exchange messages with itself" in text:
        raise Wrong(
            "sends_to_itself",
            f"Rank {root} tried to exchange a message with itself. Does its own piece have to travel?\n{text}",
            then=(
                "A rank that waits for its own message waits for ever, so `send` and `recv` refuse it.",
                f"On rank {root}, copy: `out.copy_(pieces[{root}])`, and skip rank {root} in the loop.",
            ),
        )
    if kind == "error" and "NoneType" in text:
        raise Wrong(
            "no_pieces_here",
            f"Rank {failure.get('rank')} looked into `pieces`, which is None there. Who has the pieces?\n{text}",
            then=(
                "Two kinds of rank, two things to do: the root sends, the others receive.",
                "`if dist.get_rank() == root:` send; `else:` `dist.recv(out, src=root)`.",
            ),
        )
    return completed_or_picture(
        output,
        deadlock=(
            "nobody_answers",
            f"Some of the {n} ranks wait for a partner that never comes. Which send belongs to which recv?",
            "Count: the root sends one message to every other rank, and every other rank receives exactly one.",
            f"Here {n} ranks and root {root}: sends to {short([r for r in range(n) if r != root])}; one recv on each of"
            " them. Is the number of ranks fixed in your code?",
        ),
        mismatch=(
            "piece_of_another_kind",
            "What is sent and what is received into differ in size or type. What did you do to the piece?",
            "`out` on rank r has the shape and dtype of `pieces[r]`.",
            "Send `pieces[r]` as it is, and receive straight into `out`.",
        ),
        misuse=not_the_module(failure),
    )


def _takes_0_for_root(failure, text):
    """Whether rank 0 acted as the root, or others waited for it (the failure comes from an untrusted process)."""
    waiting = failure.get("waiting") if isinstance(failure.get("waiting"), list) else []
    if any(isinstance(w, dict) and w.get("peers") == [0] and "recv" in str(w.get("operation")) for w in waiting):
        return True
    return "recv: rank 0 cannot exchange" in text or (failure.get("rank") == 0 and "pieces[0]" in text)


def _explain_values(pieces, root, output, same):
    n = len(pieces)
    bad = same.index(False)
    results = [r["out"] for r in output["results"]]
    evidence = f"\nrank {bad}: expected {short(pieces[bad])}\nrank {bad}: yours    {short(results[bad])}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_picture, pieces, root, results), then=then)

    untouched = [np.array_equal(g, np.full_like(w, -7)) for g, w in zip(results, pieces, strict=True)]
    if bad == root and untouched[root] and sum(same) == n - 1:
        wrong(
            "own_piece_missing",
            f"Everybody has a piece except rank {root}, the root. Who brings it its own?",
            "The root does not send to itself. How else can its piece get into `out`?",
            f"`out.copy_(pieces[{root}])` on rank {root}. (`out = pieces[{root}]` would only rename.)",
        )
    if any(not np.array_equal(r["later"], r["out"]) for r in output["results"]):
        wrong(
            "receive_not_awaited",
            "The piece arrived after your function had returned. What did irecv hand you?",
            "irecv comes back at once with a request. The tensor is filled when the request's wait() has returned.",
            "`request = dist.irecv(out, src=root)`, then `request.wait()`; or simply `dist.recv(out, src=root)`.",
        )
    if n > 1 and not sum(output["messages"]):
        wrong(
            "nothing_sent",
            f"No message was sent, and only rank {root} has the pieces. How does rank {bad} get its own?",
            "Two kinds of rank, two things to do: the root sends, the others receive.",
            f"Rank {root} calls `dist.send(pieces[r], dst=r)` for every other rank r, and each of them one `dist.recv`.",
        )
    if all(t for r, t in enumerate(untouched) if r != root) and n > 1:
        wrong(
            "not_in_place",
            "`out` is still what it was. Did you receive into it, or into a tensor of your own?",
            "`out = something` gives the name to another tensor. The caller's tensor stays as it was.",
            "Receive straight into it: `dist.recv(out, src=root)`.",
        )
    if any(np.array_equal(g, np.full_like(w, -1)) for g, w in zip(results, pieces, strict=True)):
        wrong(
            "send_not_awaited",
            f"The caller wrote -1 into `pieces` after your return, and rank {bad} got that. When was its message gone?",
            "isend only announces a message. Until wait() has returned, the piece belongs to it.",
            "Keep the requests in a list, and call wait() on each of them before you return.",
        )
    if all(np.array_equal(g, w - 7) for g, w in zip(results, pieces, strict=True)):
        wrong(
            "added_to_out",
            "Every number is too small by 7, and -7 was in `out` before. Should you add to it, or fill it?",
            "Whatever is in `out` at the start has to go.",
            "`dist.recv(out, src=root)` overwrites; so does `out.copy_(...)`.",
        )
    wrong(
        "wrong_piece",
        f"Rank {bad} does not hold its own piece. Which piece is meant for rank {bad}?",
        "Does your loop count ranks, or positions in a list from which one rank is missing?",
        f"Piece number {bad} goes to rank {bad}, whoever the root is.",
    )


def _picture(pieces, root, results):
    from labs.kit.draw import holdings

    name = {p.tobytes(): f"piece {r}" for r, p in enumerate(pieces)}
    before = [[f"piece {k}" if r == root else "" for k in range(len(pieces))] for r in range(len(pieces))]
    after = [
        [name.get(np.asarray(g).astype(pieces.dtype).tobytes(), "as before" if np.all(np.equal(g, -7)) else "other")]
        for g in results
    ]
    return holdings(before, after, name="Before, and after your scatter")


def _achieved(outputs):
    _, output = outputs[-1]
    return [
        ("bytes sent", f"{sum(output['bytes']):,.0f}, the least possible"),
        ("messages", f"{sum(output['messages']):.0f} for 8 ranks"),
    ]


scatter = Exercise("scatter", "Scatter by hand", 3, _cases, _run, _verify, achieved=_achieved)
