"""The two numbers that a learner commits to before the lesson begins to build, and the answers."""

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


def reveal(collector, best):
    """Put both predictions beside what the lesson's formulas say, with the reasons.

    Parameters
    ----------
    collector, best : labs.kit.exercise.Prediction
        From `predict_collector` and `predict_best`.
    """
    from labs.kit.hardware import costs

    case = {"world_size": 4, "nbytes": 100e6, "latency": 0.0, "bandwidth": 50e9}
    collector.reveal(
        costs.collector_all_reduce(**case) * 1e3,
        "3 x 100 MB must come in through the collector's one link, and 3 x 100 MB must go out: two phases of 6 ms. "
        "Where sums flow out while gradients still flow in, one phase is enough.",
        accept=[costs.collector_all_reduce(**case, overlapped=True) * 1e3],
    )
    best.reveal(
        costs.lower_bound_all_reduce(**case) * 1e3,
        "Each number needs 3 transmissions to be added up and 3 to be handed out: 6 x 100 MB in all. Four GPUs send at "
        "once, so each has to send 150 MB. Fewer bytes are impossible as long as the GPUs do the adding.",
    )
