"""Exercise train_step: one step of a network in stages, by sending activations forward and gradients back."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, completed
from labs.model_parallel import exercises_step_words as words

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

RATE = 0.5


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, widths, batches=(4, 4), loss="mean", part="correct", kind="plain", **more):
        """`widths`: by rank, the widths of its layers; a layer is a matrix and tanh."""
        wide, matrices = widths[0][0], []
        for own in widths:
            matrices.append([])
            for width in own[1:] if own is widths[0] else own:
                matrices[-1].append(np.round(rng.normal(0, 0.7, (wide, width)), 3))
                wide = width
        inputs = {
            "kind": kind,
            "loss": loss,
            "matrices": matrices,
            "images": [np.round(rng.normal(0, 1, (size, widths[0][0])), 3) for size in batches],
            "labels": [np.round(rng.normal(0, 1, (size, wide)), 3) for size in batches],
            "seconds": [[0.0, 0.0, 0.0]] * len(widths),
        }
        return Case(title, inputs | more, part)

    clock = [[1e-3, 2e-3, 3e-3]] * 4
    uneven = [[1e-3, 2e-3, 1e-3], [2e-3, 4e-3, 1e-3], [1e-3, 1e-3, 1e-3]]
    return [
        case("2 ranks, a layer each, mean loss", [(3, 4), (2,)]),
        case("3 ranks, sum loss", [(3, 4), (5,), (2,)], loss="sum"),
        case("4 ranks with 2, 1, 3 and 1 layers", [(3, 4, 5), (4,), (3, 5, 4), (2,)]),
        case("the second batch is smaller", [(3, 4), (4,), (2,)], batches=(5, 3)),
        case("a single rank has it all", [(3, 4, 2)], part="edge"),
        case("a batch of one", [(3, 4), (2,)], batches=(1, 1), part="edge"),
        case("rank 1 has no layer", [(3, 4), (), (2,)], part="edge", kind="empty"),
        case("what leaves a stage is not contiguous", [(3, 4), (4,), (2,)], part="edge", kind="transposed"),
        case("6 ranks", [(3, 4), (4,), (4,), (4,), (4,), (2,)], part="edge"),
        case("4 ranks: bytes, messages, and when it is over", [(64, 64), (64,), (64,), (64,)], batches=(32,),
             part="budget", seconds=clock),
        case("3 uneven ranks", [(32, 64), (16,), (8,)], batches=(32,), part="budget", seconds=uneven),
    ]  # fmt: skip


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome, work

    class Declared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, seconds):
            ctx.seconds = seconds
            work(seconds=seconds[0], label="forward")
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            work(seconds=ctx.seconds[1], label="backward")
            return gradient, None

    class Stage(torch.nn.Module):
        def __init__(self, matrices, seconds, transposed):
            super().__init__()
            self.layers = torch.nn.ParameterList(torch.from_numpy(matrix.copy()) for matrix in matrices)
            self.seconds, self.transposed, self.calls = seconds, transposed, 0

        def forward(self, x):
            self.calls += 1
            for layer in self.layers:
                x = torch.tanh(x @ layer)
            if any(self.seconds):
                x = Declared.apply(x, self.seconds)
            return x.t().contiguous().t() if self.transposed else x

    class Optimiser(torch.optim.SGD):
        def step(self, closure=None):
            self.seen.append(
                [[None if p.grad is None else p.grad.clone() for p in g["params"]] for g in self.param_groups]
            )
            work(seconds=self.seconds, label="optimiser")
            return super().step(closure)

    def loss(output, labels):
        if labels is None:
            raise TypeError("the labels are on the last rank only")
        squares = (output - labels).square().sum()
        return squares / len(labels) if inputs["loss"] == "mean" else squares

    def program(matrices, seconds, dist):
        rank, last = dist.get_rank(), dist.get_world_size() - 1
        stage = Stage(matrices, seconds, inputs["kind"] == "transposed" and rank < last)
        spare = torch.zeros(1, requires_grad=True)  # an optimiser wants a parameter
        optimiser = Optimiser([*stage.parameters()] or [spare], lr=0.5)
        optimiser.seen, optimiser.seconds, losses = [], seconds[2], []
        for images, labels in zip(inputs["images"], inputs["labels"]):
            value = answers[0](
                stage,
                optimiser,
                loss,
                torch.from_numpy(images.copy()) if rank == 0 else None,
                torch.from_numpy(labels.copy()) if rank == last else None,
                (len(images), widths[rank]) if rank > 0 else None,
                dist,
            )
            losses.append(None if value is None else float(value))
        gradients = [[g for g in step[0] if g is not None] if matrices else [] for step in optimiser.seen]
        return {
            "weights": [layer.detach() for layer in stage.layers],
            "gradients": gradients,
            "losses": losses,
            "calls": stage.calls,
        }

    widths, wide = [], inputs["images"][0].shape[1]
    for own in inputs["matrices"]:
        widths.append(wide)
        wide = own[-1].shape[1] if own else wide
    size = len(inputs["matrices"])
    return outcome(program, size, args=lambda rank: (inputs["matrices"][rank], inputs["seconds"][rank]), timeout=20)


def one_process(inputs):
    """What one process computes that holds all matrices, and what each stage would compute with a wrong gradient.

    Returns
    -------
    list of dict, one for each batch
        ``loss``; ``weights``, ``gradients``: by rank, a list of arrays; ``ones``, ``activations``: the gradients if a
        stage gets ones, or its own output, in place of the gradient of its output.
    """
    import torch

    weights = [[torch.tensor(matrix) for matrix in own] for own in inputs["matrices"]]
    found = []
    for images, labels in zip(inputs["images"], inputs["labels"]):
        leaves = [[weight.clone().requires_grad_() for weight in own] for own in weights]
        x, borders = torch.tensor(images), []
        for own in leaves:
            for leaf in own:
                x = torch.tanh(x @ leaf)
            borders.append(x)
        squares = (x - torch.tensor(labels)).square().sum()
        value = squares / len(labels) if inputs["loss"] == "mean" else squares
        flat = [leaf for own in leaves for leaf in own]
        gradients = _by_rank(torch.autograd.grad(value, flat, retain_graph=True), leaves)
        wrong = {"ones": [], "activations": []}
        for own, border in zip(leaves, borders):
            for name, given in (("ones", torch.ones_like(border)), ("activations", border.detach())):
                made = torch.autograd.grad(border, own, given, retain_graph=True) if own else []
                wrong[name].append([gradient.numpy() for gradient in made])
        weights = [
            [weight - RATE * torch.tensor(gradient) for weight, gradient in zip(own, steps)]
            for own, steps in zip(weights, gradients)
        ]
        after = [[weight.numpy() for weight in own] for own in weights]
        found.append({"loss": value.item(), "weights": after, "gradients": gradients, **wrong})
    return found


def _by_rank(flat, leaves):
    flat = iter(flat)
    return [[next(flat).numpy() for _ in own] for own in leaves]


def verify(case, output):
    inputs = case.inputs
    output = completed(output, **words.questions(inputs, output))
    steps = one_process(inputs)
    for rank, result in enumerate(output["results"]):
        words.explain_values(inputs, rank, result, steps, output)
    words.explain_costs(case, output)


def achieved(outputs):
    case, output = next((case, output) for case, output in outputs if case.part == "budget")
    took, due = output["time"] * 1e3, words.due_time(case.inputs) * 1e3
    return [
        ("4 ranks, one step", f"{took:.2f} ms (possible: {due:.2f} ms)"),
        ("sent", f"{sum(output['messages'])} messages, {sum(output['bytes'])} B: each border crossed twice"),
    ]


train_step = Exercise("train_step", "Forward and backward across stages", 3, cases, run, verify, achieved=achieved)
