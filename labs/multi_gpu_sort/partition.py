"""The radix partition as a picture: whose keys each rank holds before, how many go where, and what it holds after."""

from __future__ import annotations

import numpy as np


def partition(chunks, buckets=16):
    """A player in four frames: the keys, the counts by bucket, the exchange, the sorted parts.

    Parameters
    ----------
    chunks : list of sequences of int
        Keys by rank; some 32 in all, each from 0 to ``buckets * 16 - 1`` (so a bucket is the key over 16).
    buckets : int

    Returns
    -------
    labs.kit.draw.Player
    """
    from labs.kit.draw import player
    from labs.multi_gpu_sort.pictures import bars

    world_size, total = len(chunks), sum(map(len, chunks))
    counts = np.bincount(np.concatenate([np.asarray(chunk, int) for chunk in chunks]) // 16, minlength=buckets)
    owner = (np.cumsum(counts) - counts) * world_size // max(total, 1)
    parts = [[[key for key in chunk if owner[key // 16] == rank] for chunk in chunks] for rank in range(world_size)]
    received = [[key for piece in pieces for key in piece] for pieces in parts]
    moves = [
        (source, target, len(parts[target][source]))
        for source in range(world_size)
        for target in range(world_size)
        if source != target and parts[target][source]
    ]
    arrived, place = [], 0
    for target, pieces in enumerate(parts):
        place = 0
        for source, piece in enumerate(pieces):
            arrived += [(target, place + k) for k in range(len(piece)) if source != target]
            place += len(piece)
    homes = {key: rank for rank, keys in enumerate(received) for key in keys}
    frames = [
        bars(chunks, homes=homes, name="The keys", rows="GPU"),
        histogram(counts, owner, "Keys in each bucket, over all GPUs"),
        bars(received, homes=homes, moved=arrived, arrows=moves, name="After the all-to-all", rows="GPU"),
        bars([sorted(keys) for keys in received], homes=homes, name="Each GPU has sorted its part", rows="GPU"),
    ]
    sizes = ", ".join(f"GPU {rank} has {len(keys)}" for rank, keys in enumerate(received))
    captions = [
        "The keys, coloured by the GPU to which their bucket goes.",
        "All GPUs count, and add up. Lower buckets go to lower GPUs, so that each gets about an equal share.",
        f"One exchange: {sum(count for *_, count in moves)} of {total} keys change their GPU, hatched.",
        f"Each GPU sorts what it holds. {sizes}.",
    ]
    events = [[], [], [{"from GPU": a, "to GPU": b, "keys": count} for a, b, count in moves], []]
    return player(frames, captions, events, label="Radix partition over several GPUs")


def histogram(counts, owner, name):
    """How many keys lie in each bucket, as bars in the colour of the rank to which it goes.

    Parameters
    ----------
    counts, owner : sequence of int
        By bucket: its number of keys, and its rank.
    name : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture
    from labs.kit.draw.style import OWNERS, SMALL, canvas, drawing

    with drawing():
        figure, axes = canvas(504, 150, left=44, bottom=38, top=14, right=6)
        for bucket, (count, rank) in enumerate(zip(counts, owner)):
            axes.bar(bucket, count, width=0.84, color=OWNERS[rank % len(OWNERS)], edgecolor="#000000", lw=0.6)
            if count:
                axes.text(bucket, count, f"{rank}", ha="center", va="bottom", size=SMALL)
        axes.set_xticks(range(0, len(counts), max(len(counts) // 8, 1)))
        axes.set_xlabel("bucket; above each bar: the GPU to which it goes")
        axes.set_ylabel("keys")
        axes.set_ylim(0, max(max(counts, default=0), 1) * 1.2)
    told = ", ".join(
        f"bucket {k}: {count} to GPU {rank}" for k, (count, rank) in enumerate(zip(counts, owner)) if count
    )
    return Picture(figure, f"{name}. {told}.")
