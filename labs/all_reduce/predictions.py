"""The two numbers that a learner commits to before the lesson begins to build."""

from __future__ import annotations


def predict_collector():
    """Ask how long one collector takes; shows a slider with a number box."""
    from labs.kit.exercise import predict

    return predict(
        "One GPU collects all four gradients, adds them up and sends the sum back. How long does that take?",
        "ms", low=0, high=20, step=0.5, name="all_reduce.collector",
    )  # fmt: skip


def predict_best():
    """Ask for the shortest time that any algorithm can reach; shows a slider with a number box."""
    from labs.kit.exercise import predict

    return predict(
        "What does the best possible algorithm take, if every GPU sends and receives at full speed?",
        "ms", low=0, high=20, step=0.5, name="all_reduce.best",
    )  # fmt: skip
