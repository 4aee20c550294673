"""Three published gradient bugs, side by side with the right sum: same loss, other gradients."""

from __future__ import annotations

HOLDS_ANSWERS = True  # the right scale of the loss is in here

VARIANTS = ("right", "summed", "rescaled each time", "only the last")


def step(variant, model, inputs, targets, micro_batches):
    """Accumulate the gradients of a batch in micro-batches of equal size, rightly or with one of the bugs.

    Parameters
    ----------
    variant : {"right", "summed", "rescaled each time", "only the last"}
    model : torch.nn.Module
        Its gradients are left in its parameters.
    inputs, targets : torch.Tensor
    micro_batches : int

    Returns
    -------
    float
        The loss as a training loop would log it: the mean over the micro-batches.
    """
    import torch

    model.zero_grad()
    logged = 0.0
    for x, y in zip(inputs.chunk(micro_batches), targets.chunk(micro_batches)):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        logged += loss.item() / micro_batches
        if variant == "only the last":
            model.zero_grad()
        (loss / micro_batches if variant in ("right", "only the last") else loss).backward()
        if variant == "rescaled each time":
            for parameter in model.parameters():
                parameter.grad /= micro_batches
    return logged


def norm(model):
    """The length of all gradients, taken as one vector."""
    import torch

    return torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]).norm().item()


def train(variant, optimiser, steps=30, micro_batches=8, batch=64):
    """Train lesson 07's network on the digits with one of the variants.

    Parameters
    ----------
    variant : str
    optimiser : callable
        ``optimiser(parameters)``.
    steps, micro_batches, batch : int

    Returns
    -------
    losses, norms : list of float
        By step.
    """
    from labs.data_parallel import digits, networks, training

    images, labels = digits.training()
    model = networks.mlp()
    chosen, losses, norms = optimiser(model.parameters()), [], []
    for samples in training.batches_of(len(images), batch, number=steps):
        losses.append(step(variant, model, images[samples], labels[samples], micro_batches))
        norms.append(norm(model))
        chosen.step()
    return losses, norms


def curves(steps=30):
    """Draw loss and gradient norm over the steps of training with Adam, for the right sum and the three bugs.

    Parameters
    ----------
    steps : int

    Returns
    -------
    labs.kit.draw.Player
    """
    import torch

    from labs.kit import draw

    runs = {variant: train(variant, lambda p: torch.optim.Adam(p, lr=0.01), steps) for variant in VARIANTS}
    xs = list(range(1, steps + 1))
    frames, words = [], ("loss", "gradient norm")
    for k, what in enumerate(words):
        series = {variant: (xs, found[k]) for variant, found in runs.items()}
        frames.append(
            draw.curves(
                series, xlabel="step", ylabel=what, logy=True, name=f"Training with Adam, 8 micro-batches: {what}"
            )
        )
    said = [f"The {what}. {frame.alt}" for what, frame in zip(words, frames)]
    return draw.player(frames, said, label="Loss and gradient norm of three bugs")
