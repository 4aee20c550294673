"""Whole parameters on several servers: in turn against the learner's assignment, in bytes and in virtual time."""

from __future__ import annotations


def transformer_sizes(layers=4, width=64, vocabulary=2000):
    """Sizes (B) of a small transformer's float32 tensors in order of registration: the embedding, then the layers."""
    w = width
    layer = [w, w, 3 * w * w, 3 * w, w * w, w, w, w, 4 * w * w, 4 * w, 4 * w * w, w]
    return [4 * size for size in [vocabulary * w, 256 * w, *layers * layer, w, w]]


def balance(shard, servers=4, workers=4):
    """Compare round-robin with `shard`: draw the bytes on each server, and print the time of one push and pull.

    Parameters
    ----------
    shard : callable
        The learner's ``shard_by_size(sizes, servers)``.
    servers, workers : int

    Returns
    -------
    labs.kit.draw.Picture or None
        None, with a sentence printed, when the answer is missing or assigns parameters to no server.
    """
    from labs.parameter_server.loads import bars
    from labs.parameter_server.sharded import exchange_seconds

    sizes = transformer_sizes()
    try:
        owners = {"in turn": [i % servers for i in range(len(sizes))], "yours": list(shard(list(sizes), servers))}
        loads = {name: [0] * servers for name in owners}
        for name, owner in owners.items():
            for size, server in zip(sizes, owner, strict=True):
                loads[name][server] += size
    except NotImplementedError:
        print("Solve shard_by_size first: then this cell compares it with taking turns.")
        return None
    except (TypeError, ValueError, IndexError) as error:
        print(f"Your shard_by_size does not name a server for each parameter yet ({error}).")
        return None
    for name, owner in owners.items():
        seconds = exchange_seconds(sizes, owner, servers, workers)
        print(f"{name:8}: fullest server {max(loads[name]) / 1e3:6.0f} kB, push and pull {seconds * 1e6:6.0f} us")
    return bars(loads, name="Bytes on each server")
