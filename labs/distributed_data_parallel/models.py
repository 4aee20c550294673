"""Networks that a careless DDP gets wrong, and the training that compares ranks with one process."""

from __future__ import annotations


def tied(seed=0):
    """Two layers that share one matrix, and a head: 64 pixels in, 10 scores out, float64."""
    import torch
    from torch import nn

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.head = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)
            self.second.weight = self.first.weight

        def forward(self, images):
            return self.head(torch.tanh(self.second(torch.tanh(self.first(images)))))

    return _seeded(Tied, seed)


def frozen(seed=0):
    """An MLP whose first layer is not trained."""
    from labs.data_parallel import networks

    model = networks.mlp(seed, hidden=32)
    model[0].requires_grad_(False)
    return model


def unused(seed=0):
    """A network with a layer that its forward never calls, so that its parameters get no gradient."""
    import torch
    from torch import nn

    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.spare, self.head = nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)

        def forward(self, images):
            return self.head(torch.tanh(self.first(images)))

    return _seeded(Unused, seed)


def _seeded(make, seed):
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make().double()


def train(make, module, images, labels, batches, pieces, dist):
    """Rank program: SGD on equal shards, each in `pieces` pieces of which only the last one is averaged.

    Parameters
    ----------
    make : callable
        ``make(module, dist)``: the learner's DDP.
    module : torch.nn.Module
    images, labels : torch.Tensor
    batches : list of list of int
        Rank r takes every n-th sample from the r-th on; their number must be a multiple of n times `pieces`.
    pieces : int
    dist : torch.distributed or its virtual twin

    Returns
    -------
    torch.Tensor
        All parameters, in one dimension.
    """
    import torch

    from labs.data_parallel import training

    rank, size = dist.get_rank(), dist.get_world_size()
    ddp = make(module, dist)
    optimiser = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=0.1)
    for batch in batches:
        optimiser.zero_grad()
        mine = list(batch)[rank::size]
        parts = [mine[k::pieces] for k in range(pieces)]
        for part in parts[:-1]:
            with ddp.no_sync():
                ddp.backward(_loss(ddp, images, labels, part) / pieces)
        ddp.backward(_loss(ddp, images, labels, parts[-1]) / pieces)
        optimiser.step()
    return training.flat(module)


def alone(module, images, labels, batches):
    """The yardstick: one process, plain SGD on whole batches, no rank, no bucket and no piece."""
    import torch

    from labs.data_parallel import training

    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for batch in batches:
        loss = _loss(module, images, labels, list(batch))
        gradients = torch.autograd.grad(loss, trained, allow_unused=True)
        with torch.no_grad():
            for parameter, gradient in zip(trained, gradients):
                if gradient is not None:
                    parameter -= 0.1 * gradient
    return training.flat(module)


def _loss(model, images, labels, samples):
    import torch

    return torch.nn.functional.cross_entropy(model(images[samples]), labels[samples])


def torch_ddp(module, dist):
    """PyTorch's DDP with the two methods of yours, so that one program trains both. Real ranks only."""
    import torch

    class WithBackward(torch.nn.parallel.DistributedDataParallel):
        def backward(self, loss):
            loss.backward()

    return WithBackward(module, find_unused_parameters=True)
