"""Is a network in stages still the same network? Train both ways, and compare weights, losses and gradient norms."""

from __future__ import annotations


def mean_loss(scores, labels):
    """Cross entropy of scores (..., classes), the mean over all places."""
    import torch

    return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), labels.reshape(-1))


def sum_loss(scores, labels):
    """As `mean_loss`, but the sum, divided by 100 so that a step with the same rate stays small."""
    import torch

    return torch.nn.functional.cross_entropy(
        scores.reshape(-1, scores.shape[-1]), labels.reshape(-1), reduction="sum"
    ).div(100)


def tasks(samples=24):
    """Networks of three kinds, each with data: a convolutional one, a recurrent one, a transformer.

    Parameters
    ----------
    samples : int

    Returns
    -------
    dict of str to (torch.nn.Sequential, torch.Tensor, torch.Tensor)
        Network, inputs, labels.
    """
    import torch

    from labs.data_parallel import digits
    from labs.model_parallel import networks, shapes

    images, labels = digits.training()
    generator = torch.Generator().manual_seed(0)
    frames = torch.randn(samples, shapes.LENGTH, shapes.WIDTH, generator=generator, dtype=torch.float64)
    tokens = torch.randint(shapes.SYMBOLS, (samples, shapes.LENGTH + 1), generator=generator)
    return {
        "convolutions": (networks.vision(), images[:samples], labels[:samples]),
        "recurrent": (shapes.recurrent(classify=True), frames, labels[:samples]),
        "transformer": (shapes.transformer(causal=True), tokens[:, :-1], tokens[:, 1:]),
    }


def apart(step, network, inputs, labels, counts, loss=mean_loss, batches=None, on="virtual"):
    """How far training in stages is from one process: the largest difference in weights, losses and norms.

    Parameters
    ----------
    step : callable
        ``step(stage, optimiser, loss, images, labels, shape, dist)``.
    network : torch.nn.Sequential
    inputs, labels : torch.Tensor
    counts : sequence of int
        Layers of each rank.
    loss : callable
    batches : sequence of sequences of int, optional
        Two, the second one smaller, if left out.
    on : {"virtual", "gloo"}

    Returns
    -------
    dict of str to float
        ``weights``, ``losses``, ``norms``.
    """
    import copy

    import torch

    from labs.kit import ranks
    from labs.model_parallel import stages

    batches = batches or [list(range(16)), list(range(16, len(inputs)))]
    one = stages.alone(copy.deepcopy(network), inputs, labels, batches, loss)
    parts = stages.split(network, counts)
    coming = [None if shape is None else shape[1:] for shape in stages.shapes(parts, inputs[:1])]
    results = ranks.run(
        stages.train,
        len(counts),
        args=lambda rank: (step, parts[rank], inputs, labels, batches, loss, coming[rank]),
        on=on,
    ).results
    weights = torch.cat([result["weights"] for result in results])
    norms = [norm for result in results for norm in map(abs, _differences(result["norms"], one["norms"]))]
    return {
        "weights": (weights - one["weights"]).abs().max().item(),
        "losses": max(map(abs, _differences(results[-1]["losses"], one["losses"]))),
        "norms": max(norms),
    }


def _differences(got, wanted):
    if len(got) != len(wanted):
        return [float("inf")]
    return [a - b for a, b in zip(got, wanted)]
