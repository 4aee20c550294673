"""Exercise ddp: hooks that start all-reduces of full buckets during backward, and one place that waits for them."""

from __future__ import annotations

import numpy as np

from labs.distributed_data_parallel import exercises_ddp_words as words
from labs.distributed_data_parallel.exercises_ddp_budget import judge, machine_of, modelled
from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

STEPS, RATE = 2, 0.1


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, kind, uses, matrices=3, part="correct", width=3, limit=150, frozen=(), pieces=1):
        """`uses`: by rank, the matrices in the order of forward; a matrix has 8 * width**2 bytes, a vector 8 * width."""
        size = len(uses)
        inputs = {
            "kind": kind,
            "uses": [list(map(int, own)) for own in uses],
            "start": [np.round(rng.normal(0, 0.6, (width, width + k % 2)), 3) for k in range(matrices)],
            "data": [np.round(rng.normal(0, 1, (STEPS, pieces, 2, width)), 3) for _ in range(size)],
            "limit": limit,
            "frozen": list(frozen),
        }
        return Case(title, inputs, part)

    def cost(title, nodes, layers, elements, seconds, limit):
        inputs = {
            "kind": "cost",
            "nodes": nodes,
            "layers": layers,
            "elements": elements,
            "seconds": seconds,
            "limit": limit,
        }
        return Case(title, inputs, "budget")

    chain = [0, 1, 2]
    return [
        case("one rank's gradients, 2 ranks, 3 matrices", "plain", [chain] * 2),
        case("4 ranks, 6 matrices, three buckets", "plain", [range(6)] * 4, matrices=6),
        case("buckets of one byte: one for each gradient", "plain", [chain] * 3, limit=1),
        case("one large bucket", "plain", [chain] * 3, limit=10**6),
        case("accumulation: two pieces, the first with no_sync", "pieces", [chain] * 2, pieces=2),
        case("a single rank", "plain", [chain], part="edge"),
        case("tied weights: matrix 0 is used twice", "tied", [[0, 1, 0, 2]] * 2, part="edge"),
        case("a frozen matrix", "frozen", [range(4)] * 2, matrices=4, frozen=[1], part="edge"),
        case("all are frozen but one", "frozen", [chain] * 2, frozen=[0, 2], part="edge"),
        case("nobody uses matrix 2", "idle", [[0, 1, 3]] * 3, matrices=4, limit=100, part="edge"),
        case("rank 1 does not use matrix 1", "unused", [range(4), [0, 2, 3]], matrices=4, part="edge"),
        case(
            "rank 1 uses the matrices in another order",
            "order",
            [[0, 1, 2, 3], [3, 2, 1, 0]],
            matrices=4,
            limit=1,
            part="edge",
        ),
        cost("12 layers on 4 GPUs of one node: when are you done?", 0, 12, 20_000, 20e-6, 240_000),
        cost("12 layers on 2 nodes of 4 GPUs", 2, 12, 20_000, 60e-6, 300_000),
    ]


def run(answers, inputs):
    import torch

    from labs.kit import hardware
    from labs.kit.ranks import outcome, work

    class Used(torch.nn.Module):
        def __init__(self, matrices, frozen, rank):
            super().__init__()
            given = [torch.from_numpy(matrix.copy()) + rank for matrix in matrices]
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(matrix, requires_grad=k not in frozen) for k, matrix in enumerate(given)
            )

        def forward(self, x, uses):
            for k in uses:
                weight = self.weights[k]
                x = torch.tanh(x @ weight)[:, : weight.shape[0]]
            return x.sum()

    class Costly(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.shape = weight.shape
            return x + weight.sum()

        @staticmethod
        def backward(ctx, gradient):
            work(seconds=inputs["seconds"], label="backward")
            return gradient, gradient.expand(ctx.shape).contiguous()

    class Chain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            count = inputs["layers"]
            self.weights = torch.nn.ParameterList(torch.zeros(inputs["elements"]) for _ in range(count))

        def forward(self, x):
            for weight in self.weights:
                x = Costly.apply(x, weight)
            return x

    def costs_program(dist):
        ddp = answers[0](Chain(), dist, inputs["limit"])
        ddp.backward(ddp(torch.zeros(())))
        return [ddp.module.weights[0].grad[0].item(), ddp.module.weights[-1].grad[-1].item()]

    def program(data, uses, dist):
        module = Used(inputs["start"], inputs["frozen"], dist.get_rank())
        ddp = answers[0](module, dist, inputs["limit"])
        first = []
        for step in data:
            for weight in module.weights:
                weight.grad = None
            for piece in step[:-1]:
                with ddp.no_sync():
                    ddp.backward(ddp(piece, uses))
            ddp.backward(ddp(step[-1], uses))
            grads = [torch.zeros_like(w) if w.grad is None else w.grad for w in module.weights]
            first = first or [gradient.clone() for gradient in grads]
            with torch.no_grad():
                for weight, gradient in zip(module.weights, grads):
                    if gradient.shape == weight.shape:
                        weight -= 0.1 * gradient
        return {"gradients": first, "weights": [w.detach().clone() for w in module.weights]}

    if inputs["kind"] == "cost":
        nodes = inputs["nodes"]
        machine = hardware.cluster(nodes, gpus_per_node=4) if nodes else hardware.uniform(4)
        size = machine.world_size
        found = outcome(costs_program, size, topology=machine, timeout=20)
    else:
        size = len(inputs["uses"])
        data = [torch.from_numpy(own.copy()) for own in inputs["data"]]
        found = outcome(program, size, args=lambda rank: (data[rank], inputs["uses"][rank]), timeout=20)
    events = [event for event in found.pop("events", []) if event[0] == 0]
    begun = min((event[4] for event in events if event[1] == "work"), default=0.0)
    reduced = [event for event in events if event[1] == "collective" and event[6] != "broadcast" and event[4] >= begun]
    found["collectives"] = [[event[6], event[3], event[4] - begun, event[5] - begun] for event in reduced]
    if inputs["kind"] == "cost" and "failure" not in found:
        found["computing"] = max((event[5] for event in events if event[1] == "work"), default=0.0) - begun
        found["done"] = found["time"] - begun
    return found


def verify(case, output):
    inputs = case.inputs
    kind = inputs["kind"]
    output = completed(output, **words.questions(kind, output))
    if kind == "cost":
        judge(inputs, output)
        return
    gradients, weights, alone = one_process(inputs)
    size = len(inputs["uses"])
    for rank, result in enumerate(output["results"]):
        for k, (got, wanted) in enumerate(zip(result["gradients"], gradients)):
            if not _close(got, wanted):
                own = [own[k] for own in alone]
                words.explain(kind, rank, k, np.asarray(got), wanted, own, size, output["collectives"])
        for k, (got, wanted) in enumerate(zip(result["weights"], weights)):
            if not _close(got, wanted):
                raise Wrong(
                    "second_step",
                    f"The first step is right on rank {rank}, matrix {k} is wrong after the second. What is left over from "
                    "the first backward?",
                    then=("begin() empties arrived and started before each backward. Do you keep anything else?",),
                )


def one_process(inputs):
    """Gradients of the first step and weights after all, by one process that knows nothing of buckets.

    Returns
    -------
    gradients, weights : list of np.ndarray
    alone : list of list of np.ndarray
        By rank, the gradients of its own data in the first step.
    """
    import torch

    weights = [torch.tensor(matrix) for matrix in inputs["start"]]
    size, first, alone = len(inputs["uses"]), None, None
    for step in range(STEPS):
        per_rank = []
        for rank, uses in enumerate(inputs["uses"]):
            leaves = [weight.clone().requires_grad_() for weight in weights]
            total = 0.0
            for piece in inputs["data"][rank][step]:
                x = torch.tensor(piece)
                for k in uses:
                    x = torch.tanh(x @ leaves[k])[:, : leaves[k].shape[0]]
                total = total + x.sum()
            found = torch.autograd.grad(total, leaves, allow_unused=True)
            per_rank.append([torch.zeros_like(w) if g is None else g for w, g in zip(weights, found)])
        mean = [sum(own[k] for own in per_rank) / size for k in range(len(weights))]
        mean = [torch.zeros_like(g) if k in inputs["frozen"] else g for k, g in enumerate(mean)]
        first = first or [gradient.numpy() for gradient in mean]
        alone = alone or [[gradient.numpy() for gradient in own] for own in per_rank]
        weights = [weight - RATE * gradient for weight, gradient in zip(weights, mean)]
    return first, [weight.numpy() for weight in weights], alone


def _close(got, wanted):
    got = np.asarray(got)
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol=1e-10, atol=1e-12)


def achieved(outputs):
    told = []
    for case, output in outputs:
        if case.inputs["kind"] == "cost":
            early, late, _ = modelled(case.inputs)
            told.append(
                (
                    f"{case.inputs['layers']} layers on {machine_of(case.inputs).world_size} GPUs",
                    f"{output['done'] * 1e6:.0f} us (model: {early * 1e6:.0f} us; without overlap {late * 1e6:.0f} us)",
                )
            )
    return told


ddp = Exercise("ddp", "A DDP of your own", 3, cases, run, verify, achieved=achieved, answers=("DDP",))
