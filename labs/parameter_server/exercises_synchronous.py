"""Exercise synchronous: a server and its workers that train as one process on the whole batch would."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong
from labs.parameter_server.exercises_failures import explain_synchronous
from labs.parameter_server.exercises_words import amount, numbers, timeline_of

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def some(title, workers, numel, rounds=3, images=2, part="correct", dtype="float64"):
        shape = (workers, images, numel)
        data = {"x": rng.integers(-3, 4, size=shape).astype(float), "y": rng.integers(-9, 10, size=shape[:2]) * 1.0}
        data["weights"] = rng.integers(-2, 3, size=numel).astype(float)
        return Case(title, {**data, "rounds": rounds, "rate": 0.125, "dtype": dtype}, part)

    first = {
        "x": np.ones((2, 1, 1)), "y": np.array([[1.0], [7.0]]), "weights": np.zeros(1), "rounds": 1, "rate": 1.0,
        "dtype": "float64",
    }  # fmt: skip
    again = {**first, "y": np.array([[1.0], [10.0]]), "rounds": 3, "rate": 0.5}
    workers = int(rng.integers(4, 7))
    return [
        Case("2 workers with gradients -1 and -7, one round", first),
        Case("2 workers, three rounds", again),
        some("3 workers, 4 weights, three rounds", 3, 4),
        some(f"{workers} workers, 5 weights, four rounds", workers, 5, rounds=4),
        some("1 worker", 1, 3, part="edge"),
        some("3 workers, a single weight", 3, 1, part="edge"),
        some("2 workers, no weights at all", 2, 0, part="edge"),
        some("no rounds", 2, 3, rounds=0, part="edge"),
        some("2 workers, float32", 2, 3, part="edge", dtype="float32"),
        some("4 workers, 1,000 weights: bytes and messages", 4, 1000, images=3, rounds=3, part="budget"),
    ]


def run(answers, inputs):
    """Server and workers on virtual ranks; notes the weights at which each worker asked for its gradient."""
    import torch

    from labs.kit.hardware import uniform
    from labs.kit.ranks import outcome

    server, worker = answers
    dtype, rounds, rate = getattr(torch, inputs["dtype"]), inputs["rounds"], inputs["rate"]
    xs, ys = (torch.tensor(inputs[name], dtype=dtype) for name in ("x", "y"))
    start = torch.tensor(inputs["weights"], dtype=dtype)
    asked = [[] for _ in xs]

    def program(dist):
        weights, rank = start.clone(), dist.get_rank()

        def gradient(weights):
            x, y = xs[rank - 1], ys[rank - 1]
            asked[rank - 1].append(weights.tolist() if start.numel() <= 64 else [])
            return x.T @ (x @ weights - y) / len(y)

        back = server(weights, rounds, rate, dist) if rank == 0 else worker(weights, gradient, rounds, dist)
        return back if isinstance(back, torch.Tensor) else None

    output = outcome(program, len(xs) + 1, topology=uniform(len(xs) + 1, 5e-6, 50e9), timeout=10)
    return {**output, "asked": asked}


def whole_batch(inputs, scale=1.0, only=None):
    """Weights before each round and at the end: one process on the whole batch, in float64.

    `scale` multiplies every step, `only` keeps one worker's examples: what some mistakes amount to.
    """
    x, y, weights = inputs["x"], inputs["y"], inputs["weights"]
    if only is not None:
        x, y = x[only : only + 1], y[only : only + 1]
    x, y = x.reshape(y.size, x.shape[-1]), y.reshape(-1)
    path = [weights]
    for _ in range(inputs["rounds"]):
        weights = weights - scale * inputs["rate"] * x.T @ (x @ weights - y) / len(y)
        path.append(weights)
    return path


def verify(case, output):
    inputs = case.inputs
    explain_synchronous(case, output)
    collective = next((event[6] for event in output["events"] if event[1] == "collective"), None)
    if collective and collective != "barrier":
        raise Wrong(
            "library",
            f"Who did the adding? dist.{collective} did. Can you write the server with send and receive alone?\n"
            f"{case.title}: a server that only takes part in a collective serves nobody who comes late",
            then=("A push is one send to rank 0, a pull one recv from it.",),
        )
    path, results = whole_batch(inputs), output["results"]
    tolerance = 1e-12 if inputs["dtype"] == "float64" else 1e-5
    size = max(1.0, max(float(np.abs(w).max(initial=0)) for w in path))

    def same(left, right):
        left = np.asarray(left)
        return left.shape == np.shape(right) and np.allclose(left, right, rtol=0, atol=tolerance * size)

    missing = [rank for rank, result in enumerate(results) if result is None]
    if missing:
        who = "server" if missing[0] == 0 else "worker"
        raise Wrong(
            "nothing_returned",
            f"What does your {who} return? The check needs its final weights.\n{case.title}: rank {missing[0]} returned "
            "no tensor",
            then=("End with `return weights`.",),
        )
    if not all(same(result, path[-1]) for result in results):
        raise _explain(case, output, path, same)
    _budget(case, output)


def _explain(case, output, path, same):
    """The misconception that wrong weights show."""
    inputs, results, asked = case.inputs, output["results"], output["asked"]
    workers, rounds = len(inputs["x"]), inputs["rounds"]
    evidence = f"{case.title}: the server ends with {numbers(results[0])}, one process on the whole batch with "
    evidence += numbers(path[-1])
    if workers > 1:
        evidence += "".join(f"\nworker {r} ends with {numbers(results[r])}" for r in range(1, min(workers, 3) + 1))
    look = timeline_of(output)

    def ends(scale=1.0, only=None):
        return same(results[0], whole_batch(inputs, scale, only)[-1])

    if rounds > 1 and all(len(a) > 1 and np.array_equal(a[0], a[-1]) for a in asked if a):
        return Wrong(
            "stale_weights",
            f"Round 2: at which weights do the workers compute their gradient? Still at {numbers(asked[0][1])}.\n"
            + evidence,
            look,
            ("The weights that came back must be those that the next gradient(weights) sees.",
             "dist.recv(weights, src=0) writes into the worker's own weights; gradient(weights) then uses them."),
        )  # fmt: skip
    if same(results[0], path[0]) and rounds:
        return Wrong(
            "no_step", f"The gradients have arrived. Who changes the weights?\n{evidence}", look,
            ("weights -= learning_rate * mean, in place, on the server.",),
        )  # fmt: skip
    if workers > 1 and rounds:
        if ends(scale=workers):
            return Wrong(
                "sum",
                f"{workers} workers, and the step is {workers} times as long as it should be. Is the sum of the "
                f"gradients the gradient of the mean loss?\n{evidence}",
                look,
                ("Each gradient is already the mean over that worker's examples. What is the mean over all of them?",
                 f"Divide by {workers} once, before the step."),
            )  # fmt: skip
        if ends(scale=workers / (workers + 1)):
            return Wrong(
                "server_counted",
                f"The step is {workers}/{workers + 1} of what it should be. How many ranks computed a gradient?\n"
                + evidence,
                look,
                ("dist.get_world_size() counts the server as well.", f"Here: {workers + 1} ranks, {workers} workers."),
            )  # fmt: skip
        if ends(scale=1 / workers):
            return Wrong(
                "divided_twice", f"The step is too short by a factor of {workers}. Who divides, and who divides again?\n"
                + evidence, look, ("Either the server divides by the number of workers, or the workers do. Not both.",),
            )  # fmt: skip
        if ends(scale=1 / workers, only=0) or ends(only=0):
            return Wrong(
                "first_only",
                f"Whose gradients are in the server's weights? Only those of worker 1.\n{evidence}",
                look,
                ("The server has to receive from every worker before it steps.",
                 "for worker in range(1, dist.get_world_size()): one recv, one addition."),
            )  # fmt: skip
        if ends(only=workers - 1) or ends(scale=1 / workers, only=workers - 1):
            return Wrong(
                "last_only",
                f"Whose gradients are in the server's weights? Only those of the last worker, worker {workers}. What "
                f"became of the others?\n{evidence}",
                look,
                ("Receiving overwrites what was in the buffer.", "Receive into a buffer, then total += buffer."),
            )  # fmt: skip
    if ends(scale=-1.0):
        return Wrong(
            "uphill", f"The weights go the wrong way. Which way does a gradient point?\n{evidence}", look,
            ("A gradient points uphill; the step goes against it: weights -= ...",),
        )  # fmt: skip
    if same(results[0], path[-1]):
        return _worker_wrong(case, output, path, same, evidence, look)
    if workers > 1 and len({tuple(np.round(a[1], 12)) for a in asked if len(a) > 1}) > 1:
        return _early(evidence, look)
    return Wrong(
        "weights", f"Which gradients have gone into these weights, and how often each?\n{evidence}", look,
        ("Work the first round out by hand: mean of the gradients, times the learning rate, subtracted.",
         f"After round 1 the weights are {numbers(path[min(1, rounds)])}."),
    )  # fmt: skip


def _early(evidence, look):
    return Wrong(
        "replies_early",
        "The workers have different weights after the same round. What had the server not yet received when it replied?\n"
        + evidence,
        look,
        ("A synchronous server answers nobody before everybody has pushed.",
         "Two loops, one after the other: receive from all workers; step; send to all workers."),
    )  # fmt: skip


def _worker_wrong(case, output, path, same, evidence, look):
    """The server is right and a worker is not."""
    results, rounds = output["results"], case.inputs["rounds"]
    if rounds and all(same(result, path[-2]) for result in results[1:]):
        return Wrong(
            "last_pull_unused",
            f"The workers end one round behind the server. What happened to the last weights that came?\n{evidence}",
            look,
            ("Return what the last recv brought.",),
        )
    if rounds and all(same(result, path[0]) for result in results[1:]):
        return Wrong(
            "pull_unused", f"The workers return the weights that they began with. Where did the pulls land?\n{evidence}",
            look, ("recv writes into the tensor that it is given.", "dist.recv(weights, src=0); return weights"),
        )  # fmt: skip
    if len({tuple(np.round(result, 9)) for result in results[1:]}) > 1:
        return _early(evidence, look)
    return Wrong(
        "worker_weights", f"The server ends right, the workers do not. What does the server send them?\n{evidence}", look,
        ("Workers need the new weights; then all ranks hold the same.",),
    )  # fmt: skip


def _budget(case, output):
    """Every round a worker sends one gradient and gets one set of weights: no less, no more."""
    inputs = case.inputs
    workers, rounds = len(inputs["x"]), inputs["rounds"]
    whole = inputs["weights"].size * (8 if inputs["dtype"] == "float64" else 4)
    most = max(output["bytes"][1:])
    if case.part == "budget" and most > rounds * whole:
        raise Wrong(
            "too_many_bytes",
            f"The weights are right, but a worker sent {amount(most)}. What else than its gradients did it send?\n"
            f"{case.title}: {rounds} gradients of {amount(whole)} are {amount(rounds * whole)}",
            timeline_of(output),
            ("One gradient a round is all that the server needs.",),
        )
    if case.part == "budget" and output["bytes"][0] > workers * rounds * whole:
        raise Wrong(
            "server_sends_more",
            f"The weights are right, but the server sent {amount(output['bytes'][0])}. Which message could it save?\n"
            f"{case.title}: {rounds} times the new weights to {workers} workers are "
            f"{amount(workers * rounds * whole)}; everybody knows the weights at the start",
            timeline_of(output),
            ("One set of weights for each worker and round.",),
        )
    if case.part == "budget" and max(output["messages"][1:]) > rounds:
        raise Wrong(
            "too_many_messages",
            f"Right weights and few bytes, but {max(output['messages'][1:])} messages from a worker. What does each "
            f"message cost before its first byte?\n{case.title}: {rounds} would do, one a round",
            timeline_of(output),
            ("Send the whole gradient in one message.",),
        )


def achieved(outcomes):
    """Bytes that the busiest link carries, beside those of a worker."""
    case, output = outcomes[-1]
    return [
        ("a worker sent", f"{amount(output['bytes'][1])} in {output['messages'][1]} messages"),
        ("the server sent", f"{amount(output['bytes'][0])}: {len(case.inputs['x'])} times as much"),
        ("virtual time", f"{output['time'] * 1e6:.1f} us for {case.inputs['rounds']} rounds"),
    ]


synchronous = Exercise(
    "synchronous", "A server and its workers, in step", 3, cases, run, verify,
    achieved=achieved, answers=("server", "worker"),
)  # fmt: skip
