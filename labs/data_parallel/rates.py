"""Real training curves: one worker, many workers, and the learner's own learning rate."""

from __future__ import annotations

import functools

PER_WORKER, EPOCHS, MOMENTUM = 16, 8, 0.9


def warm_up(learning_rate):
    """Explore what workers, base rate and warm-up do to a training, run when you move a slider.

    N workers with averaged gradients are one process with the N-fold batch, so that is what is trained here.

    Parameters
    ----------
    learning_rate : callable
        The learner's ``learning_rate(step, base, workers, warmup)``.

    Returns
    -------
    labs.kit.draw.Explorer or None
        None, with a sentence printed, when there is no rate yet.
    """
    from labs.kit.draw import explore

    try:
        if learning_rate(0, 0.1, 2, 4) is None:
            raise NotImplementedError
    except NotImplementedError:
        print("Solve learning_rate first: then this cell trains with your rates.")
        return None

    def picture(workers, base, warm_up_epochs):
        return training_picture(learning_rate, workers, base, warm_up_epochs)

    return explore(
        picture,
        label="Learning rate, batch and warm-up",
        workers=[8, 2, 4, 16],
        base=[0.02, 0.01, 0.05],
        warm_up_epochs=(0, 5, 1, 2),
        frames=[
            {"workers": 4, "warm_up_epochs": 0}, {"workers": 8, "warm_up_epochs": 0},
            {"base": 0.05, "workers": 8, "warm_up_epochs": 0}, {"base": 0.05, "workers": 8, "warm_up_epochs": 5},
            {"base": 0.05, "workers": 16, "warm_up_epochs": 5},
        ],
    )  # fmt: skip


def training_picture(learning_rate, workers, base, warm_up_epochs):
    """Draw the loss after each epoch for one worker, for many at its rate, and for many at the learner's rates.

    Parameters
    ----------
    learning_rate : callable
        ``learning_rate(step, base, workers, warmup)``.
    workers : int
        Each adds 16 images to a batch.
    base : float
        Rate of one worker.
    warm_up_epochs : int

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves

    steps = steps_an_epoch(workers)
    rates = tuple(float(learning_rate(k, base, workers, warm_up_epochs * steps)) for k in range(EPOCHS * steps))
    lines = {
        "1 worker": losses(1, (base,)),
        f"{workers}, same rate": losses(workers, (base,)),
        f"{workers}, your rates": losses(workers, rates),
    }
    epochs = list(range(EPOCHS + 1))
    return curves(
        {label: (epochs, line) for label, line in lines.items()},
        xlabel="epoch (number)", ylabel="loss (number)", logy=True,
        name=f"{workers} workers, base rate {base:g}, {warm_up_epochs} epochs of warm-up",
    )  # fmt: skip


def steps_an_epoch(workers):
    """Whole batches of 16 images a worker in the 1,500 training images."""
    return 1500 // (PER_WORKER * workers)


@functools.lru_cache(maxsize=64)
def losses(workers, rates):
    """Train an MLP on the digits by SGD with momentum 0.9, and return the loss over all of them after each epoch.

    Parameters
    ----------
    workers : int
        The batch is 16 times that.
    rates : tuple of float
        Learning rate of each step; the last one is used for all further steps.

    Returns
    -------
    tuple of float
        Length `EPOCHS` + 1; a loss that is no number, or beyond 100, is given as 100.
    """
    import torch

    from labs.data_parallel import digits, networks, training

    images, labels = digits.training()
    model, batch, steps = networks.mlp(), PER_WORKER * workers, steps_an_epoch(workers)
    optimiser = torch.optim.SGD(model.parameters(), lr=rates[0], momentum=MOMENTUM)
    found = [_loss(model, images, labels)]
    for epoch in range(EPOCHS):
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for k in range(steps):
            optimiser.param_groups[0]["lr"] = rates[min(epoch * steps + k, len(rates) - 1)]
            mine = order[k * batch : (k + 1) * batch]
            training.backward(model, images[mine], labels[mine])
            optimiser.step()
        found.append(_loss(model, images, labels))
    return tuple(found)


def _loss(model, images, labels):
    import torch

    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model(images), labels).item()
    return loss if loss < 100 else 100.0
