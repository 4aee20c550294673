"""Runs of a server and its workers that did not end: from the failure to the misconception behind it."""

from __future__ import annotations

from labs.kit.exercise import completed
from labs.parameter_server.exercises_words import failed_rank, waits

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def explain_synchronous(case, output):
    """Raise Wrong for a run that did not end, with this lesson's question where one fits."""
    failure = output.get("failure") if isinstance(output, dict) else None
    if not isinstance(failure, dict):
        completed(output)
        return
    waiting = waits(failure)
    server = next((op for rank, op, _ in waiting if rank == 0), None)
    workers = [(rank, op) for rank, op, _ in waiting if rank]
    questions = {}
    if server == "recv" and workers and all(op == "recv" for _, op in workers):
        questions["deadlock"] = (
            "all_receive",
            "The server waits for a gradient, and the workers wait for weights. Who begins?",
            "Everybody has the weights at the start, so a round begins with a push.",
            "Worker: send the gradient, then receive. Server: receive from all, then send to all.",
        )
    elif server == "send" and workers and all(op == "send" for _, op in workers):
        questions["deadlock"] = (
            "all_send",
            "The server sends weights, and the workers send gradients: everybody waits in send. Who is receiving?",
            "A send ends only when its receiver is there. Which of the two comes first in a round?",
            "Worker: send the gradient, then receive. Server: receive from all, then send to all.",
        )
    elif server == "recv" and not workers:
        questions["deadlock"] = (
            "server_loops_on",
            "The workers have gone home, and the server waits for one more gradient. How many are there in all?",
            "Count for each worker: pushes in the worker, receives in the server.",
            f"range({case.inputs['rounds']}), and in each round one receive from each of {len(case.inputs['x'])} workers.",
        )
    elif server == "recv" or (server is None and any(op == "recv" for _, op in workers)):
        questions["deadlock"] = (
            "answer_missing",
            "Some workers wait for weights, and the server does not send any. Whom has it not answered?",
            "In every round the server sends to each worker that has pushed.",
            "for worker in range(1, dist.get_world_size()): dist.send(weights, dst=worker)",
        )
    elif server == "send" and not workers:
        questions["deadlock"] = (
            "last_pull_missing",
            "The server wants to hand out weights, and the workers have gone home. What do they need before they stop?",
            "Each push is followed by a pull, also in the last round.",
            "for each round: send the gradient, receive the weights.",
        )
    elif server is None and workers:
        questions["deadlock"] = (
            "server_gone",
            "The server has gone home, and workers still wait. How many rounds does each of them play?",
            "All ranks play the same number of rounds.",
            f"Here {case.inputs['rounds']}: range(rounds) on both sides.",
        )
    if failure.get("kind") == "mismatch":
        questions["mismatch"] = (
            "buffer",
            "Sender and receiver do not agree on length or dtype. Which buffer did you make, and like what?",
            "torch.zeros(3) is float32, whatever the weights are.",
            "torch.empty_like(weights) has the right length and dtype.",
        )
    if "itself" in str(failure.get("message", "")):
        questions["error"] = (
            "server_is_no_worker",
            f"Rank {failed_rank(failure)} sends a message to itself. Which ranks are workers?",
            "Rank 0 serves; workers are the ranks from 1 on.",
            "range(1, dist.get_world_size())",
        )
    completed(output, **questions)


def explain_bounded(case, output):
    """The same for the asynchronous server with a bound."""
    failure = output.get("failure") if isinstance(output, dict) else None
    if not isinstance(failure, dict):
        completed(output)
        return
    waiting, questions = waits(failure), {}
    log = output.get("log") or []
    workers, rounds = case.inputs["seconds"].shape
    pushed = [sum(1 for kind, rank, _ in log if kind == "pushed" and rank == w) for w in range(1, workers + 1)]
    server = next((op for rank, op, _ in waiting if rank == 0), None)
    stuck = [rank for rank, op, _ in waiting if rank and op == "recv"]
    if failure.get("kind") == "deadlock" and server == "recv" and len(stuck) == workers and len(set(pushed)) == 1:
        questions["deadlock"] = (
            "all_held",
            f"All workers have done {pushed[0]} round{'s' * (pushed[0] != 1)}, and all are held back. Who is the slowest?",
            "The slowest worker may always go on. Whose rounds are in your minimum?",
            "The server computes no gradients: it must not count as the slowest.",
        )
    elif failure.get("kind") == "deadlock" and stuck and server in ("recv", None):
        questions["deadlock"] = (
            "never_released",
            f"Worker {stuck[0]} was held back, and nobody has come back to it. When could it have gone on?",
            "When the slowest worker pushes, others may be released: not only the one that has just pushed.",
            "Keep a list of those who wait; after each gradient answer everyone in it who may go on.",
        )
    elif failure.get("kind") == "deadlock" and server == "recv" and not stuck:
        questions["deadlock"] = (
            "server_loops_on",
            "The workers have gone home, and the server waits for one more gradient. How many are there in all?",
            f"{workers} workers, {rounds} rounds each.",
        )
    elif failure.get("kind") == "deadlock" and server == "send":
        questions["deadlock"] = (
            "answered_twice",
            "The server sends weights to a worker that has already got its answer. Who is still in your list?",
            "Each gradient gets one answer. Take a worker off the list when you answer it.",
        )
    elif failure.get("kind") == "mismatch":
        questions["mismatch"] = (
            "buffer",
            "Sender and receiver do not agree on length or dtype. Which buffer did you make, and like what?",
            "torch.empty_like(weights) has the right length and dtype.",
        )
    completed(output, **questions)
