"""The learner's DDP on the virtual clock: overlap drawn, and the size of buckets as a knob."""

from __future__ import annotations

from labs.distributed_data_parallel import backward, lanes
from labs.distributed_data_parallel.cost_model import buckets_of, predicted

LAYERS, MEGABYTE = 12, 250_000  # layers; float32 elements of one MB


class AfterBackward:
    """What DDP would be without overlap: the same buckets, each averaged once backward is over."""

    def __init__(self, module, dist, bucket_bytes):
        self.module, self.dist, self.bucket_bytes = module, dist, bucket_bytes

    def __call__(self, *inputs):
        return self.module(*inputs)

    def backward(self, loss):
        """Backward, and then an all_reduce for each bucket."""
        import torch

        loss.backward()
        parameters, first = list(self.module.parameters())[::-1], 0
        for _, arrived in buckets_of([p.nbytes for p in parameters[::-1]], self.bucket_bytes):
            flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters[first:arrived]])
            self.dist.all_reduce(flat)
            flat /= self.dist.get_world_size()
            first = arrived


def unsolved(make):
    """Whether a DDP cannot run yet; then a sentence is printed that says so."""
    from labs.kit import ranks

    try:
        ranks.run(
            backward.one_backward, 2, args=(lambda module, dist: make(module, dist, 100), backward.chain([4], 0.0))
        )
    except (ranks.RunFailure, NotImplementedError):
        print("Solve assign_buckets and DDP first: then this cell shows your own.")
        return True
    return False


def overlap(ddp, bucket_bytes=2e6, topology=None):
    """Draw one backward pass of 12 layers of 1 MB with the learner's DDP, and one without overlap.

    Parameters
    ----------
    ddp : callable
        ``ddp(module, dist, bucket_bytes)``.
    bucket_bytes : float
    topology : labs.kit.hardware.Topology, optional
        Four ranks on the ideal switch when left out.

    Returns
    -------
    labs.kit.draw.Picture or None
        None, with a sentence printed, when there is no DDP yet.
    """
    if unsolved(ddp):
        return None
    runs = {
        "Averaged after backward": spans_of(AfterBackward, bucket_bytes, topology),
        "Your DDP": spans_of(ddp, bucket_bytes, topology),
    }
    return lanes.lanes(runs, "One backward pass on rank 0")


def spans_of(ddp, bucket_bytes, topology=None, layers=LAYERS, elements=MEGABYTE, seconds=100e-6):
    """Spans of computing and of all-reduces on rank 0 in a simulated backward pass (see `backward.spans`)."""
    from labs.kit import ranks
    from labs.kit.hardware import uniform

    topology = topology or uniform(4)
    module = backward.chain([elements] * layers, seconds)
    run = ranks.run(
        backward.one_backward,
        topology.world_size,
        args=(lambda module, dist: ddp(module, dist, bucket_bytes), module),
        topology=topology,
    )
    return backward.spans(run)


def bucket_size(ddp):
    """Explore how long backward and averaging take over the size of a bucket: the model, and the learner's own DDP.

    Parameters
    ----------
    ddp : callable
        ``ddp(module, dist, bucket_bytes)``.

    Returns
    -------
    labs.kit.draw.Explorer or None
        None, with a sentence printed, when there is no DDP yet.
    """
    from labs.kit.draw import explore

    if unsolved(ddp):
        return None

    def picture(latency_us, bandwidth_GBps, world_size):
        return bucket_picture(ddp, latency_us * 1e-6, bandwidth_GBps * 1e9, world_size)

    return explore(
        picture,
        label="How large should a bucket be?",
        latency_us=[5, 1, 2, 10, 20],
        bandwidth_GBps=[50, 12.5, 200],
        world_size=[4, 2, 8],
        frames=[
            {},
            {"latency_us": 1},
            {"latency_us": 20},
            {"bandwidth_GBps": 12.5},
            {"world_size": 8, "latency_us": 10},
        ],
    )


def bucket_picture(ddp, latency, bandwidth, world_size, layers=48, elements=25_000, seconds=20e-6):
    """Draw time over the size of a bucket: 48 layers with gradients of 0.1 MB, 20 us of backward each.

    Parameters
    ----------
    ddp : callable
        ``ddp(module, dist, bucket_bytes)``.
    latency : float
        In s.
    bandwidth : float
        B/s.
    world_size, layers, elements : int
    seconds : float
        Backward of a layer.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves, quantity
    from labs.kit.hardware import uniform

    machine = uniform(world_size, latency=latency, bandwidth=bandwidth)
    whole = 4.0 * elements * layers
    sizes = [whole * k / layers for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)]
    times = [model(size, latency, bandwidth, world_size, layers, elements, seconds) for size in sizes]
    late = [model(size, latency, bandwidth, world_size, layers, elements, seconds, overlap=False) for size in sizes]
    tried = sizes[::3]
    found = [lanes.last(*spans_of(ddp, size, machine, layers, elements, seconds)) for size in tried]
    best = sizes[min(range(len(sizes)), key=times.__getitem__)]
    return curves(
        {"without overlap": (sizes, late), "with overlap": (sizes, times), "your DDP": (tried, found)},
        xlabel="size of a bucket (B)",
        ylabel="time (s)",
        logx=True,
        points=("your DDP",),
        marks=[(best, f"best: {quantity(best, 'B')}")],
        name=f"Backward and averaging on {world_size} ranks",
    )


def model(size, latency, bandwidth, world_size, layers, elements, seconds, overlap=True):
    """`model.predicted` for equal layers and a ring on an ideal switch."""
    from labs.kit.hardware import costs

    def ring(nbytes):
        return costs.ring_all_reduce(world_size, nbytes, latency, bandwidth)

    return predicted([4 * elements] * layers, seconds, size, ring, overlap)


def done(ddp, topology, bucket_bytes=2e6):
    """Seconds from the beginning of backward to the last average: 12 layers of 1 MB, 100 us each, simulated."""
    return lanes.last(*spans_of(ddp, bucket_bytes, topology))


def modelled_saving(topology, bucket_bytes=2e6):
    """Seconds that overlap saves in the case of `done`, by the model.

    A ring is as slow as its slowest hop.

    Parameters
    ----------
    topology : labs.kit.hardware.Topology
    bucket_bytes : float
    """
    from labs.kit.hardware import costs

    n = topology.world_size
    hops = [topology.route(rank, (rank + 1) % n) for rank in range(n)]
    latency, bandwidth = max(hop.latency for hop in hops), min(hop.bandwidth for hop in hops)

    def ring(nbytes):
        return costs.ring_all_reduce(n, nbytes, latency, bandwidth)

    case = [4 * MEGABYTE] * LAYERS, 100e-6, bucket_bytes, ring
    return predicted(*case, overlap=False) - predicted(*case)
