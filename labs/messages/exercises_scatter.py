"""Exercise: scatter by hand, with sends and receives only."""

from functools import partial

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short


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

    from labs.kit.ranks import outcome

    pieces, root = inputs["pieces"], inputs["root"]

    def program(out, mine, root, dist):
        answers[0](out, mine, root, dist)
        return out.clone()

    def args(rank):
        out = torch.zeros_like(torch.from_numpy(pieces[rank]))
        mine = [torch.from_numpy(p.copy()) for p in pieces] if rank == root else None
        return out, mine, root

    found = outcome(program, len(pieces), args=args)
    found["collective"] = next((e[6] for e in found.pop("events", []) if e[1] == "collective"), "")
    return found


def _verify(case, output):
    pieces, root = case.inputs["pieces"], case.inputs["root"]
    n, nbytes = len(pieces), pieces[0].nbytes
    output = _completed(output, root)
    if output.get("collective"):
        raise Wrong(
            "library_call",
            f"You called the collective {output['collective']}. What does it do inside?",
            then=(
                "Here you build it from `send` and `recv` (or `isend` and `irecv`).",
                "The root sends piece r to every other rank r; every other rank receives once, from the root.",
            ),
        )
    results = output["results"]
    same = [np.array_equal(g, w) for g, w in zip(results, pieces, strict=True)]
    if not all(same):
        _explain_values(pieces, root, results, same)
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


def _completed(output, root):
    failure = output.get("failure") if isinstance(output, dict) else None
    if isinstance(failure, dict):
        text = str(failure.get("text", ""))
        if (
            failure.get("kind") in ("misuse", "error") and "itself" in text
        ) or f"rank {root} cannot send to rank {root}" in text:
            raise Wrong(
                "sends_to_itself",
                f"Rank {root} tried to send a piece to itself. Does that piece have to travel?\n{text}",
                then=(
                    "A rank cannot send to itself: nobody would be there to receive.",
                    f"On rank {root}, copy: `out.copy_(pieces[{root}])`, and skip rank {root} in the loop.",
                ),
            )
        if root != 0 and failure.get("kind") != "timeout" and "NotImplementedError" not in text:
            raise Wrong(
                "root_is_always_0",
                f"Here rank {root} has the pieces. Which rank does your program take for the root?\n{text}",
                then=(
                    "The other ranks get `pieces=None`, rank 0 too.",
                    "Compare `dist.get_rank()` with `root`, and receive from `root`.",
                ),
            )
    return completed(
        output,
        deadlock=(
            "nobody_answers",
            "Some ranks wait for a partner that never comes. Which send belongs to which recv?",
            "Count: the root sends one message to every other rank, and every other rank receives exactly one.",
            "With 4 ranks and root 0: sends to 1, 2 and 3; one recv on each of them.",
        ),
    )


def _explain_values(pieces, root, results, same):
    n = len(pieces)
    bad = same.index(False)
    evidence = f"\nrank {bad}: expected {short(pieces[bad])}\nrank {bad}: yours    {short(results[bad])}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=partial(_picture, pieces, root, results), then=then)

    zero = [isinstance(g, np.ndarray) and not g.any() for g in results]
    if bad == root and zero[root] and sum(same) == n - 1:
        wrong(
            "own_piece_missing",
            f"Everybody has a piece except rank {root}, the root. Who brings it its own?",
            "The root does not send to itself. How else can its piece get into `out`?",
            f"`out.copy_(pieces[{root}])` on rank {root}.",
        )
    if all(z for r, z in enumerate(zero) if r != root) and n > 1:
        wrong(
            "not_in_place",
            "`out` is still empty. Did you receive into it, or into a tensor of your own?",
            "`out = something` gives the name to another tensor. The caller's tensor stays as it was.",
            "Receive straight into it: `dist.recv(out, src=root)`.",
        )
    wrong(
        "wrong_piece",
        f"Rank {bad} holds another rank's piece. Which piece is meant for rank {bad}?",
        "Does your loop count ranks, or positions in a list from which one rank is missing?",
        f"Piece number {bad} goes to rank {bad}, whoever the root is.",
    )


def _picture(pieces, root, results):
    from labs.kit.draw import holdings

    name = {p.tobytes(): f"piece {r}" for r, p in enumerate(pieces)}
    before = [[f"piece {k}" if r == root else "" for k in range(len(pieces))] for r in range(len(pieces))]
    after = [
        [name.get(np.asarray(g).astype(pieces.dtype).tobytes(), "empty" if not np.any(g) else "other")] for g in results
    ]
    return holdings(before, after, name="Before, and after your scatter")


def _achieved(outputs):
    _, output = outputs[-1]
    return [
        ("bytes sent", f"{sum(output['bytes']):,.0f}, the least possible"),
        ("messages", f"{sum(output['messages']):.0f} for 8 ranks"),
    ]


scatter = Exercise("scatter", "Scatter by hand", 3, _cases, _run, _verify, achieved=_achieved)
