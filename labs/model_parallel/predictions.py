"""What the learner commits to before anything is cut."""

from __future__ import annotations

PARAMETERS = 1e9


def predict_faster():
    """How many times as fast is a step on four devices?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "A network fits on one GPU. You cut it into four equal stages on four such GPUs. How many times as fast is a "
        "training step, one batch at a time?",
        "times",
        low=0.25,
        high=4,
        step=0.05,
        start=0.25,
        name="model_parallel.faster",
    )


def predict_memory():
    """How many bytes does training keep for a billion parameters?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "A billion parameters in float32, that is 4 GB of weights. How much does training with Adam keep, activations "
        "not counted?",
        "GB",
        low=4,
        high=40,
        step=1,
        start=4,
        name="model_parallel.memory",
    )


def reveal(faster, memory):
    """Put both predictions beside what one step on the virtual clock, and a count of PyTorch's tensors, say.

    Parameters
    ----------
    faster, memory : labs.kit.exercise.Prediction
    """
    from labs.model_parallel.timelines import step_run

    one = step_run(None, [4e-3], [8e-3]).time
    four = step_run(None, [1e-3] * 4, [2e-3] * 4).time
    faster.reveal(
        one / four,
        f"{one * 1e3:.2f} ms on one, {four * 1e3:.2f} ms on four. While a stage computes, the others wait for it, and "
        "the messages come on top. The picture below shows it.",
    )
    bytes_each = adam_bytes()
    memory.reveal(
        bytes_each * PARAMETERS / 1e9,
        f"{bytes_each} bytes a parameter: the weight, its gradient, and two averages that Adam keeps, 4 bytes each.",
    )


def adam_bytes():
    """Bytes that one float32 parameter takes, counted after a step of PyTorch's Adam (its step counter left out)."""
    import torch

    weight = torch.zeros(1000, requires_grad=True)
    adam = torch.optim.Adam([weight])
    weight.sum().backward()
    adam.step()
    state = [each for each in adam.state[weight].values() if each.numel() == weight.numel()]
    return (weight.nbytes + weight.grad.nbytes + sum(each.nbytes for each in state)) // weight.numel()
