"""Exercise bounded_server: gradients are applied as they come, and nobody runs too far ahead."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong
from labs.parameter_server.exercises_failures import explain_bounded
from labs.parameter_server.exercises_words import numbers, timeline_of

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
SLACK = 1.05  # of the ideal schedule: a gradient takes at least a hundred times as long as a message


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, seconds, bound, part="correct", numel=2):
        seconds = np.asarray(seconds, dtype=float) * 1e-3
        weights = rng.integers(-3, 4, size=numel).astype(float)
        targets = rng.integers(-9, 10, size=(len(seconds), numel)).astype(float)
        return Case(title, {"seconds": seconds, "bound": bound, "weights": weights, "targets": targets}, part)

    workers = int(rng.integers(4, 7))
    some = rng.integers(1, 6, size=(workers, 6)) + np.arange(workers)[:, None]
    return [
        case("a worker that takes 1 ms and one that takes 3.1 ms, bound 2", [[1] * 6, [3.1] * 6], 2),
        case("3 workers, bound 1", [[1] * 7, [2.3] * 7, [4.1] * 7], 1),
        case(f"{workers} workers, bound 1, every round another time", some, 1),
        case("bound 0: in step", [[1] * 4, [2.2] * 4, [3.3] * 4], 0, "edge"),
        case("a bound that nobody reaches", [[1] * 3, [4.3] * 3], 100, "edge"),
        case("1 worker", [[1] * 4], 1, "edge"),
        case("no rounds", np.zeros((2, 0)), 1, "edge"),
        case("8 workers, bound 3, one of them slow", [[1 + k / 10] * 9 for k in range(7)] + [[5.2] * 9], 3, "edge"),
        case("4 workers, 1,000 weights", [[1] * 4, [1.5] * 4, [2.6] * 4, [3.7] * 4], 1, "edge", 1000),
    ]


def run(answers, inputs):
    """The server with workers of ours, on virtual ranks; notes in which order gradients began and were taken."""
    import torch

    from labs.kit.hardware import uniform
    from labs.kit.ranks import outcome, work

    (server,) = answers
    seconds, targets = inputs["seconds"].tolist(), torch.tensor(inputs["targets"])
    start, workers, rounds, rate = torch.tensor(inputs["weights"]), len(seconds), inputs["seconds"].shape[1], 0.25
    log, pushed = [], []

    def program(dist):
        weights, rank = start.clone(), dist.get_rank()
        if rank == 0:
            back = server(weights, rounds, rate, inputs["bound"], dist)
            return back if isinstance(back, torch.Tensor) else None
        for step in range(rounds):
            log.append(["start", rank, weights.tolist()])
            gradient = weights - targets[rank - 1]
            work(seconds=seconds[rank - 1][step], label="gradient")
            dist.send(gradient, dst=0)
            log.append(["pushed", rank, []])
            pushed.append(gradient.tolist())
            dist.recv(weights, src=0)
        return weights

    output = outcome(program, workers + 1, topology=uniform(workers + 1, 1e-6, 50e9), timeout=10)
    total = torch.tensor(pushed, dtype=start.dtype).reshape(-1, start.numel()).sum(dim=0)
    return {**output, "log": log, "applied": (start - rate / workers * total).tolist()}


def ideal(seconds, bound):
    """When each worker is done if messages took no time: it begins a round when its last one is over and nobody is
    more than `bound` rounds behind. Seconds, by worker."""
    workers, rounds = seconds.shape
    ends = np.zeros((workers, rounds + 1))
    for step in range(rounds):
        gate = ends[:, max(0, step - bound)].max()
        ends[:, step + 1] = np.maximum(ends[:, step], gate) + seconds[:, step]
    return ends[:, -1]


def lead(log, workers):
    """The most rounds that a worker was ahead of the slowest when it began one, and who it was."""
    pushed, most, who = [0] * workers, 0, 1
    for kind, rank, _ in log:
        if kind == "pushed":
            pushed[rank - 1] += 1
        elif pushed[rank - 1] - min(pushed) > most:
            most, who = pushed[rank - 1] - min(pushed), rank
    return most, who


def verify(case, output):
    inputs = case.inputs
    seconds, weights = inputs["seconds"], inputs["weights"]
    workers, rounds = seconds.shape
    explain_bounded(case, output)
    result, log, look = output["results"][0], output["log"], timeline_of(output)
    if result is None:
        raise Wrong("nothing_returned", f"What does your server return? Its final weights are due.\n{case.title}")
    applied = np.asarray(output["applied"])
    evidence = f"{case.title}: the server ends with {numbers(result)}; the start minus all steps is {numbers(applied)}"

    def same(left, right):
        return np.shape(left) == np.shape(right) and np.allclose(left, right, rtol=1e-9, atol=1e-9)

    if not same(result, applied):
        steps, mine = weights - applied, weights - np.asarray(result, dtype=float).reshape(-1)[: weights.size]
        factor = float(steps @ mine / (steps @ steps)) if mine.shape == steps.shape and np.any(steps) else 0.0
        whole = same(mine, factor * steps)
        if whole and np.isclose(factor, workers) and workers > 1:
            raise Wrong(
                "sum",
                f"Each step is {workers} times as long as it should be. What is one worker's gradient in the mean of "
                f"{workers}?\n{evidence}",
                look,
                ("A step with the mean, one gradient at a time: learning_rate / workers for each.",),
            )
        if whole and np.isclose(factor, -1):
            raise Wrong("uphill", f"The weights go the wrong way. Which way does a gradient point?\n{evidence}", look,
                        ("weights -= ...",))  # fmt: skip
        if whole and np.isclose(factor, workers / (workers + 1)):
            raise Wrong(
                "server_divides",
                f"Each step is {workers}/{workers + 1} of what it should be. How many ranks compute gradients?\n{evidence}",
                look,
                ("dist.get_world_size() counts the server as well.",),
            )
        raise Wrong(
            "update_lost",
            f"{workers * rounds} gradients were pushed. Is each of them in the weights, once?\n{evidence}",
            look,
            ("Apply a gradient before the next one lands in the same buffer.",
             "After each recv: weights -= learning_rate / workers * buffer."),
        )  # fmt: skip
    _check_bound(case, output, log, look)
    if rounds > 1 and workers > 1 and all(same(w, weights) for kind, _, w in log if kind == "start"):
        raise Wrong("old_weights", f"Every gradient was computed at the weights of the start. What does the server send?\n"
                    f"{evidence}", look, ("The weights as they are now: dist.send(weights, dst=worker).",))  # fmt: skip
    _check_replies(case, output, look)
    _check_time(case, output, log, look)


def _check_bound(case, output, log, look):
    workers, bound = len(case.inputs["seconds"]), case.inputs["bound"]
    most, who = lead(log, workers)
    if most > bound:
        far = f"{case.title}: worker {who} began a round when it was {most} rounds ahead of the slowest"
        if most == bound + 1:
            raise Wrong(
                "one_too_far",
                f"Worker {who} gets one round further ahead than it may. When exactly may it go on?\n{far}",
                look,
                (f"It may go on while done[worker] - slowest <= {bound}.",),
            )
        raise Wrong(
            "bound_ignored",
            f"Who stops worker {who}? The server answers it however far it is ahead.\n{far}",
            look,
            ("Before you send: how many rounds has this worker done, how many the slowest?",
             "done[worker] - min(done of all workers) > bound: do not answer yet; remember who waits."),
        )  # fmt: skip


def _check_replies(case, output, look):
    """The last weights that a worker got contain its own gradient; weights that it starts with are never a mixture."""
    if output["results"][0] is not None and case.inputs["bound"] == 0:
        final = np.asarray(output["results"][0])
        if not all(np.allclose(np.asarray(result), final, rtol=1e-9, atol=1e-9) for result in output["results"][1:]):
            raise Wrong(
                "answer_too_old",
                "Bound 0, and the workers end with different weights. Which weights does a worker get that had to wait?\n"
                f"{case.title}",
                look,
                ("The weights as they are when it is released, not those of the moment when it came.",),
            )


def _check_time(case, output, log, look):
    seconds, bound = case.inputs["seconds"], case.inputs["bound"]
    workers, rounds = seconds.shape
    if not rounds:
        return
    want = ideal(seconds, bound)
    late = [worker for worker in range(workers) if _last_push(output, worker + 1) > SLACK * want[worker]]
    if not late:
        return
    who = late[0] + 1
    evidence = (
        f"{case.title}: worker {who} pushes its last gradient at {_last_push(output, who) * 1e3:.1f} ms; "
        f"{want[late[0]] * 1e3:.1f} ms would do"
    )
    most, _ = lead(log, workers)
    if _waits_to_push(output, workers) > 0.1 * seconds.min():
        raise Wrong(
            "in_turn",
            "The gradients are taken in the same order in every round. What if a quick worker has finished and a slow one "
            f"has not?\n{evidence}",
            look,
            ("recv(buffer) without src takes whoever comes first, and returns who it was.",
             "worker = dist.recv(buffer)"),
        )  # fmt: skip
    if most == 0:
        raise Wrong(
            "too_strict",
            f"Nobody ever gets ahead, and the bound allows {bound}. Whom could you have answered at once?\n{evidence}",
            look,
            ("A worker waits only when it is more than `bound` rounds ahead of the slowest.",),
        )
    if most < bound:
        raise Wrong(
            "one_too_near",
            f"Workers are held back when they are {most + 1} ahead, and the bound is {bound}. May they be exactly {bound} "
            f"ahead?\n{evidence}",
            look,
            (f"done[worker] - slowest <= {bound}: go on.",),
        )
    raise Wrong(
        "released_late",
        f"Worker {who} is held longer than it must be. After which events could it be released?\n{evidence}",
        look,
        ("Each gradient of the slowest worker can release others: look at all who wait, after every gradient.",),
    )


def _waits_to_push(output, workers):
    """The longest time (s) from the end of a gradient to the moment at which the server took it."""
    ready, longest = [0.0] * (workers + 1), 0.0
    for rank, kind, _, _, start, end, _ in sorted(output["events"], key=lambda event: event[4]):
        if kind == "work":
            ready[rank] = end
        elif kind == "send" and rank:
            longest = max(longest, start - ready[rank])
    return longest


def _last_push(output, rank):
    """Virtual time at which a worker's last gradient had arrived."""
    return max((end for r, kind, _, _, _, end, _ in output["events"] if r == rank and kind == "send"), default=0.0)


def achieved(outcomes):
    """How far ahead the quickest got, and what that saved."""
    told = []
    for case, output in outcomes[:2]:
        seconds = case.inputs["seconds"]
        most, _ = lead(output["log"], len(seconds))
        in_step = ideal(seconds, 0)[0]
        told.append(
            (case.title, f"at most {most} ahead; worker 1 has pushed all after {_last_push(output, 1) * 1e3:.1f} ms "
             f"(in step: {in_step * 1e3:.1f} ms)")
        )  # fmt: skip
    return told


bounded_server = Exercise(
    "bounded_server", "Asynchronous, with a bound", 3, cases, run, verify, core=False,
    achieved=achieved,
)  # fmt: skip
