"""Exercise serve_stream: requests pass through the stages one behind the other, without waiting for answers."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, count, seconds, width=4, part="correct", layers=None):
        matrices = [np.round(rng.normal(0, 0.7, (width, width)), 3) for _ in seconds]
        inputs = {
            "requests": [np.round(rng.normal(0, 1, (1, width)), 3) for _ in range(count)],
            "matrices": [matrix if layers is None or layers[k] else None for k, matrix in enumerate(matrices)],
            "seconds": [float(each) for each in seconds],
        }
        return Case(title, inputs, part)

    return [
        case("3 requests, 2 ranks", 3, [1e-3] * 2),
        case("6 requests, 4 ranks", 6, [1e-3] * 4),
        case("5 requests, 3 ranks of different speed", 5, [1e-3, 3e-3, 2e-3]),
        case("a single rank", 4, [1e-3], part="edge"),
        case("a single request", 1, [1e-3] * 3, part="edge"),
        case("no request", 0, [1e-3] * 3, part="edge"),
        case("rank 1 has no layer, it hands on what it gets", 4, [1e-3, 0, 1e-3], part="edge", layers=(1, 0, 1)),
        case("the last rank has no layer", 3, [1e-3, 1e-3, 0], part="edge", layers=(1, 1, 0)),
        case("24 requests, 4 ranks: when are all answered?", 24, [1e-3] * 4, part="budget"),
        case("24 requests, the second of 3 ranks is slow", 24, [1e-3, 4e-3, 1e-3], part="budget"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome, work

    class Stage(torch.nn.Module):
        def __init__(self, matrix, seconds):
            super().__init__()
            self.weight = None if matrix is None else torch.nn.Parameter(torch.from_numpy(matrix.copy()))
            self.seconds, self.graphs, self.sizes = seconds, 0, []

        def forward(self, x):
            self.graphs += torch.is_grad_enabled()
            self.sizes.append(len(x))
            if self.seconds:
                work(seconds=self.seconds * len(x), label="forward")
            return x if self.weight is None else torch.tanh(x @ self.weight)

    def program(matrix, seconds, requests, dist):
        rank, last = dist.get_rank(), dist.get_world_size() - 1
        stage = Stage(matrix, seconds)
        given = [torch.from_numpy(request.copy()) for request in requests] if rank == 0 else None
        answers_ = answers[0](stage, given, len(requests), (1, width), dist)
        kept = None if answers_ is None else [each.detach().clone() for each in answers_]
        return {"answers": kept if rank == last or kept else None, "graphs": stage.graphs, "sizes": stage.sizes}

    width = len(inputs["matrices"][0])
    size = len(inputs["matrices"])
    return outcome(
        program,
        size,
        args=lambda rank: (inputs["matrices"][rank], inputs["seconds"][rank], inputs["requests"]),
        timeout=20,
    )


def expected(inputs):
    """Answers by one process with NumPy."""
    found = []
    for x in inputs["requests"]:
        for matrix in inputs["matrices"]:
            x = x if matrix is None else np.tanh(x @ matrix)
        found.append(x)
    return found


def times(inputs, latency=5e-6):
    """(time with a pipeline, time when each request waits for the answer before): by recurrence, blocking sends."""
    seconds, count = inputs["seconds"], len(inputs["requests"])
    hops = 2 * latency * len(seconds)
    one = sum(seconds) + hops
    return one + max(count - 1, 0) * (max(seconds) + 4 * latency), count * one


def verify(case, output):
    inputs = case.inputs
    output = completed(output, **_questions(inputs, output))
    size, count = len(inputs["matrices"]), len(inputs["requests"])
    right = expected(inputs)

    def wrong(hint, question, *then, evidence=""):
        raise Wrong(hint, question + evidence, then=then, picture=lambda: _picture(output))

    results = output["results"]
    got = results[-1]["answers"]
    if got is None:
        wrong(
            "answers_not_returned",
            "The last rank returns None. Where do the answers go?",
            "Only the last rank knows them. It returns a list, in the order of the requests.",
        )
    if len(got) != count:
        wrong("lost", f"{count} requests, {len(got)} answers. Who is still waiting?", "Each rank passes on all of them.",
              evidence="")  # fmt: skip
    if any(result["answers"] for result in results[:-1]):
        wrong("answers_everywhere", "A rank in the middle returns answers. Are these the network's, or its own stage's?",
              "Only the last rank returns a list, the others None.")  # fmt: skip
    for k, (mine, due) in enumerate(zip(got, right)):
        if mine.shape != due.shape or not np.allclose(mine, due, rtol=1e-10, atol=1e-13):
            _explain_answer(k, got, right, wrong)
    if any(result["graphs"] for result in results):
        wrong(
            "graph_kept",
            "The answers are right, and autograd noted all that backward would need. Who will ever call backward here?",
            "Serving stores no activations: that is most of what a stage had to hold in training.",
            "with torch.no_grad(): around the stage.",
        )
    if any(size_ != 1 for result in results for size_ in result["sizes"]):
        wrong(
            "waits_for_all",
            "You pass all requests on as one batch. When does the first of them get its answer?",
            "Here each request travels alone, and the next one follows at once.",
        )
    due = [count if rank < size - 1 else 0 for rank in range(size)]
    pipelined, in_turn = times(inputs)
    if size > 1 and count > 1 and output["time"] > max(pipelined * 1.02, in_turn * 0.9):
        wrong(
            "one_at_a_time",
            "While one device computes, the others wait. What keeps the first one from starting the next request?",
            "It must not wait for the answer. Its stage is free as soon as it has sent its activations on.",
            "Each rank loops over the requests: recv, compute, send. No rank waits for a later one.",
            evidence=f"\nyours {output['time'] * 1e3:.1f} ms; one behind the other {pipelined * 1e3:.1f} ms; "
            f"each alone {in_turn * 1e3:.1f} ms",
        )
    if output["messages"] != due:
        wrong(
            "too_many_messages",
            "Each rank but the last sends a message for each request, and nothing else. What else do you send?",
            "Nobody waits for a receipt: the next recv is receipt enough.",
            evidence=f"\nmessages by rank: {output['messages']}, needed: {due}",
        )
    if case.part == "budget" and output["time"] > pipelined * 1.02:
        wrong(
            "stages_in_step",
            "The stages work at the same time, but not as closely as they could. Who waits for whom?",
            "A stage needs its own input, and nothing else: no barrier, no signal from others.",
            evidence=f"\nyours {output['time'] * 1e3:.1f} ms, possible {pipelined * 1e3:.1f} ms",
        )


def _explain_answer(k, got, right, wrong):
    evidence = f"\nrequest {k}: expected {short(np.round(right[k], 4), 60)}\n           yours    {short(np.round(got[k], 4), 60)}"

    def like(values):
        return len(values) == len(got) and all(
            mine.shape == due.shape and np.allclose(mine, due, rtol=1e-10, atol=1e-13) for mine, due in zip(got, values)
        )

    if like(right[::-1]):
        wrong(
            "order_reversed", "The answers come in reverse. Who asked first?", "First in, first out.", evidence=evidence
        )
    if like([right[-1]] * len(right)):
        wrong(
            "same_buffer",
            "All answers are that of the last request. How many tensors do they live in?",
            "A stage may return the very tensor that it got. The next recv then overwrites an answer.",
            "A fresh torch.empty(shape) for each request, or a clone of the answer.",
            evidence=evidence,
        )
    wrong("other_answers", "Another answer than one process gives. Which stages did this request pass, and in which order?",
          "Every rank applies its own stage once.", evidence=evidence)  # fmt: skip


def _questions(inputs, output):
    """What to ask when a run failed: arguments for `labs.kit.exercise.completed`."""
    if len(inputs["matrices"]) == 1:
        return {
            "error": (
                "one_rank",
                "With one rank there is nobody to send to: it is the first and the last. Which of your branches does it "
                "take?",
                "Ask twice: is there a rank before me? Is there one after me?",
            )
        }
    not_received = (
        "not_received",
        "A request was sent on, and nobody took it. How many does each rank receive?",
        "`count`, on every rank but the first.",
    )
    waits = (
        "waits_for_an_answer",
        "Ranks wait for one another. Does somebody wait for an answer that nobody sends?",
        "Messages go one way here: from rank r to r + 1.",
    )
    failure = output.get("failure") if type(output) is dict else None
    waiting = failure.get("waiting") if type(failure) is dict else None
    sending = type(waiting) is list and all(
        type(each) is dict and str(each.get("operation")).startswith("send") for each in waiting
    )
    return {"deadlock": not_received if sending else waits, "unreceived": not_received}


def _picture(output):
    from labs.kit.draw import timeline

    return timeline(output["events"], world_size=len(output["results"]), name="Your stream")


def achieved(outputs):
    case, output = next((case, output) for case, output in outputs if case.part == "budget")
    _, in_turn = times(case.inputs)
    return [("24 requests on 4 ranks", f"{output['time'] * 1e3:.1f} ms (each alone: {in_turn * 1e3:.1f} ms)")]


serve_stream = Exercise(
    "serve_stream", "Serve a stream of requests", 1.5, cases, run, verify, core=False, achieved=achieved
)
