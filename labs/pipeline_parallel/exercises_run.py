"""Exercise run_schedule: do one rank's actions, with messages, and leave the gradients of one process."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

WIDTH = 3


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, kind, stages, sizes, part="correct"):
        """`sizes`: samples in each micro-batch."""
        from labs.pipeline_parallel import schedules

        plan = {"GPipe": schedules.gpipe, "1F1B": schedules.one_f_one_b}[kind](stages, len(sizes))
        inputs = {
            "actions": [[[action.kind, action.micro_batch] for action in row] for row in plan],
            "weights": np.round(rng.normal(0, 0.7, (stages, WIDTH, WIDTH)), 3),
            "data": [np.round(rng.normal(0, 1, (size, WIDTH)), 3) for size in sizes],
            "targets": [np.round(rng.normal(0, 1, (size, WIDTH)), 3) for size in sizes],
        }
        return Case(title, inputs, part)

    return [
        case("GPipe on 2 ranks, 3 micro-batches of 2", "GPipe", 2, (2, 2, 2)),
        case("1F1B on 3 ranks, 5 micro-batches of 2", "1F1B", 3, (2,) * 5),
        case("1F1B on 4 ranks, 4 micro-batches of 1", "1F1B", 4, (1,) * 4),
        case("the last micro-batch is smaller", "1F1B", 2, (4, 4, 1), "edge"),
        case("one micro-batch", "1F1B", 3, (4,), "edge"),
        case("fewer micro-batches than ranks", "1F1B", 4, (2, 2), "edge"),
        case("one rank: nobody to send to", "GPipe", 1, (2, 2, 2), "edge"),
    ]


def run(answers, inputs):
    import torch

    from labs.kit.ranks import outcome

    size = len(inputs["actions"])

    class Stage(torch.nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(weight.copy()))

        def forward(self, x):
            return torch.tanh(x @ self.weight)

    def program(actions, stage, batches, targets, dist):
        answers[0](actions, stage, batches, targets, torch.nn.functional.mse_loss, dist)
        gradient = stage.weight.grad
        return {"gradient": torch.zeros_like(stage.weight) if gradient is None else gradient}

    def arguments(rank):
        data = [torch.from_numpy(each.copy()) for each in inputs["data"]]
        batches = data if rank == 0 else [torch.zeros_like(each) for each in data]
        actions = [(kind, k) for kind, k in inputs["actions"][rank]]
        return actions, Stage(inputs["weights"][rank]), batches, [torch.from_numpy(t.copy()) for t in inputs["targets"]]

    found = outcome(program, size, args=arguments, timeout=20)
    found.pop("events", None)
    return found


def gradients(inputs, crossed=False):
    """By micro-batch and stage, the gradient of the mean loss over that micro-batch, by one process.

    With `crossed`, outputs meet the targets in the opposite order: a slip to recognise.

    Returns
    -------
    numpy.ndarray
        (micro-batches, stages, width, width).
    """
    import torch

    weights = torch.tensor(inputs["weights"], requires_grad=True)
    found, batches = [], inputs["data"][:: -1 if crossed else 1]
    for data, target in zip(batches, inputs["targets"]):
        x = torch.tensor(data)
        for weight in weights:
            x = torch.tanh(x @ weight)
        (own,) = torch.autograd.grad(((x - torch.tensor(target)) ** 2).mean(), weights)
        found.append(own.numpy())
    return np.stack(found)


def verify(case, output):
    inputs = case.inputs
    size = len(inputs["actions"])
    text = str(output.get("failure", {}).get("text", "")) if type(output.get("failure")) is dict else ""
    error = (
        (
            "no_gradient_to_send",
            "There is no gradient of the input to send back. Which tensor did not know that it would need one?",
            "What arrives by recv is a plain tensor: autograd keeps no gradient for it.",
            "x.requires_grad_() after recv and before stage(x). Then x.grad is there after backward.",
        )
        if "NoneType" in text or "does not require grad" in text or "no attribute" in text
        else None
    )
    questions = {"error": error} if error else {}
    output = completed(
        output,
        deadlock=(
            "sends_block",
            "Two neighbours send to each other, one an activation, the other a gradient, and both wait. Which call could go "
            "on without waiting?",
            "A send waits for its receiver. In 1F1B rank r sends an activation forward while rank r + 1 sends a gradient back.",
            "isend for both kinds of messages; keep what it returns and the tensor, and wait at the very end.",
        ),
        **questions,
    )
    by_micro, sizes = gradients(inputs), np.array([len(each) for each in inputs["data"]], dtype=float)
    wanted = np.tensordot(sizes / sizes.sum(), by_micro, 1)
    got = np.stack([np.asarray(result["gradient"], dtype=float) for result in output["results"]])
    if got.shape == wanted.shape and np.allclose(got, wanted, rtol=1e-9, atol=1e-12):
        return
    m = len(sizes)
    told = (
        f"\n{size} ranks, micro-batches of {', '.join(f'{each:g}' for each in sizes)} samples"
        f"\nnorm of all gradients: yours {np.linalg.norm(got):.4f}, one process {np.linalg.norm(wanted):.4f}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + told, then=then, picture=lambda: picture(got, wanted))

    def is_it(value):
        return got.shape == value.shape and np.allclose(got, value, rtol=1e-7, atol=1e-10)

    if not got.any():
        wrong(
            "no_gradient",
            "No rank has a gradient. Where does backward begin?",
            "On the last rank: loss(...).backward().",
        )
    if m > 1 and is_it(by_micro.sum(0)):
        wrong(
            "summed",
            f"Your gradients are {m} times too long. You added the means of {m} micro-batches: what was asked for?",
            "The gradient of the mean over the whole batch.",
            "Each micro-batch counts by its share of the samples: loss * len(target) / samples.",
        )
    if is_it(np.tensordot(sizes, by_micro, 1)):
        wrong(
            "sum_of_samples",
            "You added up the losses of all samples. What was asked for: their sum or their mean?",
            "Divide once by the number of samples in the whole batch.",
        )
    if m > 1 and is_it(by_micro.mean(0)):
        wrong(
            "mean_of_means",
            "The mean of the micro-batches' means. Do micro-batches of different sizes count alike?",
            "A sample in the small micro-batch counts more than one in the others.",
            "Weight each by len(target) / samples, not by 1 / m.",
        )
    shrunk = np.zeros_like(wanted)
    for own in by_micro:
        shrunk = (shrunk + own) / m
    if m > 1 and is_it(shrunk):
        wrong(
            "rescaled_each_time",
            "You divide the gradients after every backward. How often is that of micro-batch 0 divided?",
            "grad holds the sum so far. Dividing it divides the old ones again: the first micro-batch counts least.",
            "Scale the loss, once for each micro-batch, before backward.",
        )
    last = [row[-1][1] for row in inputs["actions"]]
    only = np.stack([by_micro[k, rank] for rank, k in enumerate(last)])
    shares = np.array([sizes[k] / sizes.sum() for k in last])[:, None, None]
    if m > 1 and (is_it(only) or is_it(only * shares) or is_it(only / m)):
        wrong(
            "only_the_last",
            f"Only micro-batch {last[0]} is in your gradients. Where are the others?",
            "backward adds to grad. Something empties it in between, or only the last loss was used.",
        )
    each_stage = np.stack([wanted[rank] / m ** (size - 1 - rank) for rank in range(size)])
    if m > 1 and size > 1 and is_it(each_stage):
        wrong(
            "scaled_at_every_stage",
            "The last rank is right, and each one before is m times smaller still. Who divides there again?",
            "The gradient that arrives has been scaled already, where the loss was.",
            "Scale the loss on the last rank, and nowhere else.",
        )
    even = len(set(sizes)) == 1
    swapped = np.tensordot(sizes / sizes.sum(), gradients(inputs, crossed=True), 1)[-1] if even else wanted[-1]
    if (np.allclose(got[-1], wanted[-1], rtol=1e-9, atol=1e-12) and size > 1) or np.allclose(got[-1], swapped):
        wrong(
            "wrong_pair",
            "Gradients have met outputs of other micro-batches. Which gradient belongs to which output?",
            "Several micro-batches are under way at once: the gradient of micro-batch k needs the output of micro-batch k.",
            "Keep them by number: stored[k] = x, y, and then x, y = stored.pop(k).",
        )
    wrong(
        "other_gradients",
        "These are not the gradients of one process. What does the last rank begin backward with?",
        "loss(y, targets[k]) * len(targets[k]) / samples; and each rank hands back x.grad, not y.grad.",
    )


def picture(got, wanted):
    """Draw the length of each stage's gradient beside that of one process."""
    from labs.kit.draw import curves

    ranks = list(range(len(wanted)))
    return curves(
        {
            "one process": (ranks, [float(np.linalg.norm(each)) for each in wanted]),
            "yours": (ranks, [float(np.linalg.norm(each)) for each in got]),
        },
        xlabel="stage",
        ylabel="length of the gradient",
        points=("one process", "yours"),
        name="Gradients by stage",
    )


def achieved(outputs):
    case, output = outputs[1]
    return [
        ("gradients of one process", "to 1e-9, on every rank"),
        (case.title, f"{sum(output['messages'])} messages, and nobody waited in a circle"),
    ]


run_schedule = Exercise(
    "run_schedule", "Run a schedule on ranks", 1.5, cases, run, verify, core=False, achieved=achieved
)
