"""Exercise bytes_needed: what training keeps when some layers are frozen; the oracle runs the network and counts."""

from __future__ import annotations

import itertools

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, widths, trained, batch=8, part="correct"):
        """A stack of layers, each Linear and GELU, in float64."""
        widths = [int(width) for width in widths]
        pairs = list(itertools.pairwise(widths))
        inputs = {
            "widths": widths,
            "batch": batch,
            "weights": [8 * (a * b + b) for a, b in pairs],
            "for_weights": [8 * batch * a for a, _ in pairs],
            "for_inputs": [8 * batch * b for _, b in pairs],
            "trained": [bool(each) for each in trained],
        }
        return Case(title, inputs, part)

    drawn = rng.integers(4, 40, 7)
    return [
        case("4 equal layers, all trained", [16] * 5, (1, 1, 1, 1)),
        case("the first 2 of 4 are frozen", [16] * 5, (0, 0, 1, 1)),
        case("the last 2 of 4 are frozen", [16] * 5, (1, 1, 0, 0)),
        case("only the first of 4 is trained", (10, 20, 30, 20, 10), (1, 0, 0, 0)),
        case("only the head is trained", drawn, (0, 0, 0, 0, 0, 1)),
        case("trained, frozen and trained again", drawn, (0, 1, 0, 1, 0, 1), batch=5),
        case("a single layer, trained", (12, 6), (1,), part="edge"),
        case("a single layer, frozen", (12, 6), (0,), part="edge"),
        case("nothing is trained", [16] * 4, (0, 0, 0), part="edge"),
        case("only the last layer is frozen", [16] * 4, (1, 1, 0), part="edge"),
        case("a batch of 4096", (16, 16, 16), (0, 1), batch=4096, part="edge"),
    ]


def run(answers, inputs):
    found = answers[0](*(list(inputs[name]) for name in ("weights", "for_weights", "for_inputs", "trained")))
    return {"bytes": None if found is None else float(found)}


def counted(inputs):
    """Bytes by running the network with torch: what autograd stores, and what Adam holds after a step."""
    import torch

    from labs.model_parallel.memory import saved_bytes

    network = torch.nn.Sequential()
    for (a, b), trained in zip(itertools.pairwise(inputs["widths"]), inputs["trained"]):
        network.append(torch.nn.Linear(a, b).requires_grad_(trained))
        network.append(torch.nn.GELU())
    network.double()
    kept, output = saved_bytes(network, torch.ones(inputs["batch"], inputs["widths"][0], dtype=torch.float64))
    parameters = list(network.parameters())
    found = kept + sum(parameter.nbytes for parameter in parameters)
    learning = [parameter for parameter in parameters if parameter.requires_grad]
    if learning:
        adam = torch.optim.Adam(learning)
        output.sum().backward()
        adam.step()
        found += sum(parameter.grad.nbytes for parameter in learning)
        found += sum(adam.state[p][name].nbytes for p in learning for name in ("exp_avg", "exp_avg_sq"))
    return found


def verify(case, output):
    inputs, got = case.inputs, output["bytes"]
    weights, for_weights, for_inputs, trained = (
        np.asarray(inputs[name]) for name in ("weights", "for_weights", "for_inputs", "trained")
    )
    wanted = counted(inputs)
    if got == wanted:
        return
    first = int(np.argmax(trained)) if trained.any() else len(trained)
    inside = np.arange(len(trained)) >= first
    kept = for_weights @ (trained & inside) + for_inputs @ inside
    for_training = 3 * (weights @ trained)
    evidence = "".join(
        f"\n{name:12}{short(values.tolist(), 90)}"
        for name, values in (
            ("weights", weights), ("for_weights", for_weights), ("for_inputs", for_inputs), ("trained", trained),
        )
    )  # fmt: skip
    evidence += f"\ncounted by running it: {wanted:,} bytes\n" + ("" if got is None else f"yours: {got:,.0f} bytes")

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    if got is None:
        wrong("nothing_returned", "Your function returned None. Where does the sum go at its end?")

    def like(value):
        return got == value

    if like(weights.sum() + for_training + for_weights @ trained + for_inputs @ trained):
        wrong(
            "late_freezing_saves",
            "You store activations for trained layers only. How does the gradient get through a frozen one to a trained one "
            "before it?",
            "Backward walks from the loss to the first trained layer. It passes every layer in between, frozen or not.",
            "From the first trained layer on, every layer stores for_inputs.",
        )
    if like(weights.sum() + for_training + (for_weights + for_inputs) @ inside):
        wrong(
            "input_of_frozen_layer",
            "A frozen linear layer passes the gradient on. Does it need its *input* for that?",
            "The gradient of the input is the gradient of the output times the weights. The layer's input appears only in the "
            "gradient of its weights.",
            "for_weights counts for trained layers; for_inputs for all from the first trained one on.",
        )
    if like(weights.sum() + for_training + for_weights.sum() + for_inputs.sum()):
        wrong(
            "prefix_still_stored",
            "You count activations of all layers. Where does backward stop, when the first layers are frozen?",
            "Nobody before the first trained layer needs a gradient, so nothing is stored for one.",
            "Layers before the first trained one store nothing.",
        )
    if trained.sum() < len(trained) and like(4 * weights.sum() + kept):
        wrong(
            "gradients_of_frozen",
            "A frozen weight has no gradient. What does Adam remember of it?",
            "Nothing: gradients and Adam's two averages exist for trained weights only.",
        )
    if like(weights.sum() + weights @ trained + kept) or like(weights.sum() + kept):
        wrong(
            "optimiser_left_out",
            "Beside each trained weight lie its gradient and what Adam remembers. How many numbers is that?",
            "Adam keeps two averages: of the gradient and of its square.",
            "A trained weight takes 4 times its bytes: itself, its gradient, two averages.",
        )
    if like(weights @ trained + for_training + kept):
        wrong("frozen_weights_gone", "Forward passes through the frozen layers, too. Where are their weights?",
              "All weights stay in memory, frozen or not.")  # fmt: skip
    if not trained.any():
        wrong(
            "nothing_is_trained",
            "Nothing is trained here. What does backward need then?",
            "No gradient, nothing stored.",
        )
    if like(weights.sum() + for_training + kept - for_inputs[first] - for_weights[first]):
        wrong(
            "first_trained_layer",
            "You begin behind the first trained layer. What does its own gradient need?",
            "Its input, and what its nonlinearity stores.",
        )
    wrong(
        "other_sum",
        "Another sum. Take the layers one by one: what lies in memory when backward begins?",
        "All weights. For trained layers: a gradient and two averages of Adam, and for_weights. From the first trained layer "
        "on: for_inputs.",
    )


def achieved(outputs):
    all_trained, frozen = (output["bytes"] for _, output in outputs[:2])
    return [("half of 4 layers frozen, at the beginning", f"{1 - frozen / all_trained:.0%} less memory")]


bytes_needed = Exercise(
    "bytes_needed", "Freeze, and predict the saving", 1.5, cases, run, verify, core=False, achieved=achieved
)
