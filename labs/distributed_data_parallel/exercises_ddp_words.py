"""What the exercise ddp says to a wrong gradient or a run that did not end."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def questions(kind, output):
    """What to ask when a run failed, by the kind of case and its output: arguments for `labs.kit.exercise.completed`."""
    failure = output.get("failure") if type(output) is dict else None
    nothing = type(failure) is dict and "NoneType" in str(failure.get("message")) and kind in ("idle", "unused")
    skipped = (
        "unused_left_out",
        "The ranks bring buckets of different lengths, or not equally many. What does a rank bring for a parameter that it "
        "has not used?",
        "The others need it in every all-reduce, and every bucket has the same length everywhere.",
        "If parameter.grad is None after backward, make it zeros.",
    )
    unordered = (
        "started_as_they_fill",
        "The ranks start their buckets in different orders. Whose first bucket meets whose?",
        "Collectives are matched by order, not by content. On another rank the gradients may arrive in another order.",
        "Start bucket k only when buckets 0 to k - 1 are started: while the *next* one is complete, start it.",
    )
    meeting = unordered if kind == "order" else skipped
    none = (
        "none_in_bucket",
        "A parameter that took no part has no gradient: its grad is None. What do you bring for it?",
        "Nothing was added up, so what it adds to the average is zero.",
        "if parameter.grad is None: parameter.grad = torch.zeros_like(parameter)",
    )
    asked = {"error": none} if nothing else {}
    if kind in ("order", "unused", "idle", "tied", "frozen"):
        asked |= {"deadlock": meeting, "mismatch": meeting}
    if type(failure) is dict and "inside backward" in str(failure.get("text")):
        asked["misuse"] = (
            "waits_in_hook",
            "You wait inside the hook. What could backward do in the meantime?",
            "In the hook nothing may wait: neither wait(), nor an all_reduce without async_op=True.",
            "Start it with async_op=True, keep the handle in self.started, and call wait() in finish.",
        )
    return asked


def explain(kind, rank, index, got, wanted, own, size, collectives):
    """Raise the Wrong that a gradient deserves.

    Parameters
    ----------
    kind : str
        Of the case.
    rank, index : int
        Where: the first rank, and its first matrix, that is wrong.
    got, wanted : np.ndarray
    own : list of np.ndarray
        By rank, the gradient of its own data.
    size : int
        Number of ranks.
    collectives : list
        Of rank 0: label, bytes, begin, end.
    """
    evidence = f"\nmatrix {index} on rank {rank}, {size} ranks" + "".join(
        f"\n{name} {short(np.round(values.reshape(-1)[:4], 4).tolist())}"
        for name, values in (("expected", wanted), ("yours   ", got), ("its own ", own[rank]))
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    def like(values):
        return got.shape == values.shape and np.allclose(got, values, rtol=1e-10, atol=1e-12)

    if got.shape != wanted.shape:
        wrong(
            "shape_lost",
            "This gradient has another shape than its parameter. How do you cut it out of the bucket?",
            "flat[start:start + gradient.numel()].view_as(gradient)",
        )
    if like(sum(own)) and size > 1:
        wrong(
            "sum_not_mean",
            f"These are sums over {size} ranks. How much longer is the step?",
            "DDP averages: divide by dist.get_world_size().",
        )
    if like(sum(own) / size**2) and size > 1:
        wrong(
            "divided_twice",
            "Everything is too small by the number of ranks. Where do you divide a second time?",
            "Once, before the all_reduce or after it.",
        )
    if like(own[rank] / size) and size > 1:
        wrong(
            "never_waited",
            "You have divided this rank's own gradient. Was the sum there already when you read it?",
            "all_reduce(..., async_op=True) returns at once. The sum is in the tensor only after handle.wait().",
            "In finish: handle.wait() first, then divide and copy back.",
        )
    if like(own[rank]):
        if kind in ("idle", "unused", "frozen", "tied"):
            wrong(
                "never_started",
                "This gradient was never averaged. What becomes of a bucket that one parameter never joins?",
                "A parameter without a gradient calls no hook, so its bucket is never full.",
                "In finish, after backward: start the buckets that are still waiting, with zeros for what is missing.",
            )
        if not collectives:
            wrong(
                "nothing_sent",
                "Every rank kept its own gradient, and nobody sent anything. When is a bucket full?",
                "When every index in it has arrived.",
            )
        wrong(
            "not_copied_back",
            "An all-reduce was made, but the gradient is as before. Which tensor holds the average?",
            "torch.cat makes a new tensor. The optimiser looks at parameter.grad.",
            "After wait(): copy each part of the flat tensor back into its gradient.",
        )
    if kind == "order":
        wrong(
            "started_as_they_fill",
            "The ranks start their buckets in different orders. Whose first bucket meets whose?",
            "Collectives are matched by order, not by content.",
            "Start bucket k only when buckets 0 to k - 1 are started.",
        )
    if kind == "pieces":
        wrong(
            "last_piece_only",
            "With two pieces the gradient of both counts. Which gradients did you put into the bucket?",
            "parameter.grad holds the sum over all pieces.",
        )
    wrong(
        "other_values",
        "This is neither the average nor the rank's own gradient. Which part of the flat tensor did you copy here?",
        "In finish, go through the bucket in the same order as in start, and move on by numel() each time.",
    )
