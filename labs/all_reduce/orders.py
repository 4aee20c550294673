"""The same ring on the same cluster, with its ranks in two orders."""

from __future__ import annotations


def interleaved(nodes, gpus_per_node):
    """An order of ranks that visits the nodes in turn: neighbours in the ring never share a node.

    Parameters
    ----------
    nodes, gpus_per_node : int

    Returns
    -------
    list of int
        For `labs.kit.hardware.Topology.reorder`.
    """
    return [node * gpus_per_node + gpu for gpu in range(gpus_per_node) for node in range(nodes)]


def order_times(ring, machine, nbytes=4_000_000):
    """Virtual time of `ring` in node order and interleaved.

    Parameters
    ----------
    ring : callable
        ``ring(tensor, dist)``.
    machine : labs.kit.hardware.Topology
        Nodes with equally many GPUs, its ranks node by node.
    nbytes : int
        Bytes on each rank.

    Returns
    -------
    (float, float) or None
        Seconds in node order and interleaved; None, with a sentence printed, when the ring does not run yet.
    """
    import torch

    from labs.kit import ranks

    nodes = len(machine.nodes)
    tensor = torch.zeros(nbytes // 4)
    times = []
    for topology in (machine, machine.reorder(interleaved(nodes, machine.world_size // nodes))):
        try:
            run = ranks.run(ring, machine.world_size, args=(tensor,), topology=topology, trace=False)
        except ranks.RunFailure as failure:
            if getattr(failure, "exception", "") != "NotImplementedError":
                raise
            print("Solve reduce_scatter and all_gather first: then this cell runs your own ring.")
            return None
        times.append(run.time)
    return tuple(times)
