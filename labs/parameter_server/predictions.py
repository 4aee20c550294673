"""The two numbers that a learner commits to before the lesson begins to count, and the answers."""

from __future__ import annotations

CASE = {"workers": 8, "nbytes": 100e6, "latency": 0.0, "bandwidth": 12.5e9}


def predict_one_server():
    """Ask how long push and pull take with one server; shows a slider with a number box."""
    from labs.kit.exercise import predict

    return predict(
        "One server, 8 workers: all push 100 MB, then all pull 100 MB. How long until everybody has the new weights?",
        "ms", low=0, high=200, step=1, name="parameter_server.one_server",
    )  # fmt: skip


def predict_many_servers():
    """Ask for the shortest time with as many servers as one likes; shows a slider with a number box."""
    from labs.kit.exercise import predict

    return predict(
        "As many servers as you like, and weights may flow out while gradients flow in. How short can it get?",
        "ms", low=0, high=40, step=0.5, name="parameter_server.many_servers",
    )  # fmt: skip


def reveal(one, many):
    """Put both predictions beside what the lesson's formulas say, with the reasons.

    Parameters
    ----------
    one, many : labs.kit.exercise.Prediction
        From `predict_one_server` and `predict_many_servers`.
    """
    from labs.kit.hardware import costs

    one.reveal(
        costs.parameter_server(**CASE) * 1e3,
        "8 x 100 MB must come in through the server's one link, then 8 x 100 MB must go out: two phases of 64 ms. "
        "Where weights flow out while gradients still flow in, one phase is enough.",
        accept=[costs.parameter_server(**CASE, overlapped=True) * 1e3],
    )
    ring = costs.ring_all_reduce(8, CASE["nbytes"], 0.0, CASE["bandwidth"])
    many.reveal(
        costs.parameter_server(**CASE, servers=8, overlapped=True) * 1e3,
        "With 8 servers or more a worker's own link decides: 100 MB out and, at the same time, 100 MB in. All-reduce "
        f"takes {ring * 1e3:.0f} ms: on the workers alone, fewer bytes are impossible. Servers are extra machines.",
    )
