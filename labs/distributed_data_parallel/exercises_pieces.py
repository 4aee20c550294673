"""Exercise in_pieces: accumulate over several pieces, and let the ranks talk once, at the last."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, gradients, part="correct"):
        """`gradients`: by rank, the gradient of each piece."""
        return Case(title, {"gradients": [[float(each) for each in own] for own in gradients]}, part)

    def drawn(size, pieces):  # distinct enough that no slip gives the right values by chance
        return 10 * rng.integers(1, 9, (size, pieces)) + np.arange(size * pieces).reshape(size, pieces) ** 2

    return [
        case("two ranks, two pieces: gradients 1 and 2, 3 and 5", [[1, 2], [3, 5]]),
        case("3 ranks, 4 pieces", drawn(3, 4)),
        case("one piece: the ranks talk at once", [[3], [8]], "edge"),
        case("no piece: nothing to do", [[], []], "edge"),
        case("a single rank", [[2, 5, 9]], "edge"),
        case("8 pieces on each of 4 ranks: how often do they talk?", drawn(4, 8), "budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    width = 100

    class AtHome:
        def __init__(self, model):
            self.model = model

        def __enter__(self):
            self.before, self.model.syncing = self.model.syncing, False

        def __exit__(self, *error):
            self.model.syncing = self.before

    class Model:
        """As DDP: whether the ranks talk is decided in forward, and `backward` does it."""

        def __init__(self, dist):
            self.weight = torch.zeros(width, dtype=torch.float64, requires_grad=True)
            self.dist, self.syncing, self.averaging = dist, True, True
            self.passes, self.late = 0, 0

        def __call__(self, piece):
            self.averaging = self.syncing
            return piece * self.weight

        def no_sync(self):
            return AtHome(self)

        def backward(self, loss):
            loss.backward()
            self.passes += 1
            self.late += self.averaging and not self.syncing
            if self.averaging:
                self.dist.all_reduce(self.weight.grad)
                self.weight.grad /= self.dist.get_world_size()

    def program(pieces, dist):
        model = Model(dist)
        answers[0](model, pieces, lambda output: output.sum())
        gradient = model.weight.grad
        return {"gradient": 0.0 if gradient is None else gradient[0].item(), "passes": model.passes, "late": model.late}

    pieces = inputs["gradients"]
    found = outcome(
        program,
        len(pieces),
        args=lambda rank: ([torch.tensor(piece, dtype=torch.float64) for piece in pieces[rank]],),
        timeout=10,
    )
    calls = [event[6] for event in found.pop("events", []) if event[0] == 0 and event[1] == "collective"]
    return found if "failure" in found else {**found, "calls": calls}


def verify(case, output):
    gradients = case.inputs["gradients"]
    size, pieces = len(gradients), len(gradients[0])
    output = completed(
        output,
        misuse="Something waits inside backward. Is it ddp.backward(loss) that you call, from outside?",
    )
    got = [result["gradient"] for result in output["results"]]
    wanted = float(np.sum(gradients)) / size
    evidence = (
        f"\ngradients of the pieces: {'; '.join(', '.join(f'{each:g}' for each in own) for own in gradients[:4])}"
        f"\nexpected {wanted:g} on every rank\nyours    {', '.join(f'{each:.6g}' for each in got)}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if not np.allclose(got, wanted, rtol=1e-12):
        own, means = np.sum(gradients, axis=1), np.mean(gradients, axis=0)
        last = np.array([row[-1] if row else 0.0 for row in gradients])
        first_synced = (means[0] if pieces else 0.0) + own - np.array([row[0] if row else 0.0 for row in gradients])
        but_last = means[:-1].sum() + last if pieces else 0.0
        if size == 2 and pieces == 2 and np.allclose(got, first_synced):
            wrong(
                "off_by_one",
                f"{got[0]:.1f} on one rank and {got[1]:.1f} on the other: the replicas go different ways. After which of the two "
                "backward passes did they talk?",
                "They averaged after the first piece. Each added its own second piece on top, and nobody told the others.",
                "All pieces but the last under no_sync; the last one without it.",
            )
        if np.allclose(got, first_synced) or np.allclose(got, but_last):
            wrong(
                "off_by_one",
                "The ranks talked, but not after the last piece. Who hears of that one?",
                "Count: with n pieces, piece n - 1 is the last.",
            )
        if np.allclose(got, own):
            wrong(
                "never_synced",
                "Each rank has the sum of its own pieces. After which piece should they talk?",
                "no_sync skips the averaging, it does not postpone it. One backward has to run without it.",
                "The last piece runs outside no_sync.",
            )
        if np.allclose(got, wanted / max(pieces, 1)):
            wrong(
                "divided_by_pieces",
                "You have averaged over the pieces. What was asked for?",
                "The sum over the pieces, averaged over the ranks. (A mean over pieces is a factor that you may "
                "put into loss.)",
            )
        if all(result["passes"] < pieces for result in output["results"]):
            wrong("piece_left_out", "A piece had no backward. Which one?", "One ddp.backward for each piece.")
        wrong(
            "other_values",
            "Neither the sum over the pieces nor a near miss. What happens to each piece, exactly once?",
            "loss(ddp(piece)), then ddp.backward of it.",
        )
    if len(output["calls"]) > min(pieces, 1):
        if any(result["late"] for result in output["results"]):
            raise Wrong(
                "forward_outside",
                "backward ran under no_sync, and still the ranks talked. What did you leave outside?" + evidence,
                then=(
                    "PyTorch's DDP decides in forward whether the coming backward will talk. Yours does so as well.",
                    "with ddp.no_sync(): ddp.backward(loss(ddp(piece))): both passes inside.",
                ),
            )
        if case.part == "budget" or pieces > 1:
            raise Wrong(
                "talks_every_time" if len(output["calls"]) >= pieces else "talks_too_often",
                f"The values are right, but the ranks talked {len(output['calls'])} times. How often must they?"
                + evidence,
                then=(
                    "Sums can be added up at home. Only their total has to travel.",
                    "with ddp.no_sync(): ddp.backward(loss(ddp(piece))), for all pieces but the last.",
                ),
            )


def achieved(outputs):
    case, output = outputs[-1]
    return [("all-reduces", f"{len(output['calls'])} for {len(case.inputs['gradients'][0])} pieces")]


in_pieces = Exercise("in_pieces", "Many pieces, one conversation", 1, cases, run, verify, achieved=achieved)
