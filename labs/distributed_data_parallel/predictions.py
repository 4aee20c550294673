"""What the learner commits to before the first bucket is filled."""

from __future__ import annotations

GRADIENTS, NBYTES, RANKS, LATENCY, BANDWIDTH = 150, 4e5, 64, 5e-6, 50e9


def predict_each():
    """How much slower is one all-reduce for each gradient?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        f"{GRADIENTS} all-reduces of {NBYTES / 1e6:g} MB on {RANKS} GPUs: how many times as long as one of "
        f"{GRADIENTS * NBYTES / 1e6:g} MB?",
        "times",
        low=1,
        high=100,
        step=1,
        start=1,
        name="distributed_data_parallel.each",
    )


def reveal_each(guess):
    """Put the prediction beside what the formula of the ring says.

    Parameters
    ----------
    guess : labs.kit.exercise.Prediction
    """
    each, together = each_and_together()
    guess.reveal(
        each / together,
        f"One by one: {each * 1e3:.1f} ms. All in one: {together * 1e3:.1f} ms. The bytes are the same. But a ring of "
        f"{RANKS} pays {2 * (RANKS - 1)} latencies for every all-reduce, however little it carries.",
    )


def each_and_together():
    """Seconds for an all-reduce of each gradient, and for one of all of them."""
    from labs.kit.hardware import costs

    each = GRADIENTS * costs.ring_all_reduce(RANKS, NBYTES, LATENCY, BANDWIDTH)
    return each, costs.ring_all_reduce(RANKS, GRADIENTS * NBYTES, LATENCY, BANDWIDTH)
