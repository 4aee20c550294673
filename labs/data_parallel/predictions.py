"""What the learner commits to before the broken program is opened."""

from __future__ import annotations


def predict_step():
    """How long is a step of a program that sums and scales?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "Sum the gradients of 4 ranks, and multiply the learning rate by 4: how many times as long is the first step?",
        "times", low=1, high=32, step=1, start=4, name="data_parallel.step",
    )  # fmt: skip


def reveal_step(step, model, ranks=4):
    """Put the prediction beside two first steps on the digits, taken here and now.

    Parameters
    ----------
    step : labs.kit.exercise.Prediction
    model : torch.nn.Module
        It is left as it was.
    ranks : int
    """
    step.reveal(
        step_ratio(model, ranks),
        f"The sum of {ranks} gradients is {ranks} averages long, and a rate {ranks} times as large makes the step "
        f"{ranks} times as long again. Each would be a choice; both together are a mistake.",
    )


def step_ratio(model, ranks=4):
    """Length of a first SGD step with summed gradients and scaled rate, over that of one process on the whole batch.

    Parameters
    ----------
    model : torch.nn.Module
    ranks : int

    Returns
    -------
    float
        Measured as the distance that the weights move; `ranks` squared, but for rounding.
    """
    import copy

    from labs.data_parallel import digits, training

    images, labels = digits.training()
    batch, start = list(range(16 * ranks)), training.flat(model)
    one = training.alone(copy.deepcopy(model), images, labels, [batch], 0.01)["weights"]
    summed = start.clone()
    for rank in range(ranks):
        part = training.alone(copy.deepcopy(model), images, labels, [batch[rank::ranks]], 0.01 * ranks)["weights"]
        summed += part - start
    return ((summed - start).norm() / (one - start).norm()).item()
