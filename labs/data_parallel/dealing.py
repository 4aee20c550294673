"""A picture of who trains on which digits in which epoch, dealt by the learner's own function."""

from __future__ import annotations

CELL, GAP, LEFT, TOP = 27.0, 3.0, 52.0, 8.0  # points


def deal(shard_indices, count=13):
    """Explore the shards that the learner's function deals, epoch by epoch.

    Parameters
    ----------
    shard_indices : callable
        ``shard_indices(count, rank, size, epoch, pad)``.
    count : int
        Samples, the first of the digits.

    Returns
    -------
    labs.kit.draw.Explorer or None
        None, with a sentence printed, when the answer does not deal yet.
    """
    from labs.kit.draw import explore

    try:
        if shard_indices(count, 0, 4, 0, True) is None:
            raise NotImplementedError
    except NotImplementedError:
        print("Solve shard_indices first: then this cell shows who gets which digits.")
        return None

    def picture(epoch, size, pad):
        shards = [[int(k) for k in shard_indices(count, rank, size, epoch, pad == "yes")] for rank in range(size)]
        return shards_picture(shards, f"Epoch {epoch}")

    return explore(
        picture,
        label="Who gets which digits?",
        epoch=(0, 9, 1, 0),
        size=(1, 6, 1, 4),
        pad=["yes", "no"],
        frames=[
            {"epoch": 0, "pad": "no"}, {"epoch": 0, "pad": "yes"}, {"epoch": 1, "pad": "yes"},
            {"epoch": 2, "pad": "yes"}, {"epoch": 2, "pad": "yes", "size": 6},
        ],
    )  # fmt: skip


def shards_picture(shards, name):
    """Draw every rank's digits in their order, with the numbers of the samples; a repeated one has a thick frame.

    Parameters
    ----------
    shards : list of list of int
        By rank, the samples.
    name : str
        The text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    return Picture(_draw(shards), _words(shards, name))


def _words(shards, name):
    seen, parts = set(), []
    for rank, shard in enumerate(shards):
        parts.append(f"Rank {rank}: {', '.join(map(str, shard)) or 'nothing'}")
    again = []
    for place in range(max(map(len, shards), default=0)):
        for shard in shards:
            if place < len(shard):
                again += [shard[place]] if shard[place] in seen else []
                seen.add(shard[place])
    told = f" Repeated: {', '.join(map(str, again))}." if again else " No sample is repeated."
    return f"{name}: the samples of each rank, in order. {'. '.join(parts)}.{told}"


def _draw(shards):
    from labs.data_parallel import digits
    from labs.kit.draw.style import INK, ORANGE, SMALL, drawing, paper

    images = digits.training()[0].reshape(-1, 8, 8).numpy()
    longest = max(map(len, shards), default=0)
    width = max(LEFT + longest * (CELL + GAP) + 8, 220)
    height = TOP + len(shards) * (CELL + 14) + 4
    with drawing():
        figure, axes = paper(width, height)
        seen = set()
        for place in range(longest):  # as padding is dealt: what comes again, comes in the last places
            for rank, shard in enumerate(shards):
                if place >= len(shard):
                    continue
                sample, x, y = shard[place], LEFT + place * (CELL + GAP), TOP + rank * (CELL + 14)
                axes.imshow(images[sample % len(images)], cmap="gray_r", extent=(x, x + CELL, y + CELL, y), zorder=2)
                _frame(axes, x, y, ORANGE if sample in seen else INK, 2.4 if sample in seen else 0.5)
                axes.text(x + CELL / 2, y + CELL + 5.5, str(sample), ha="center", va="center", size=SMALL - 1)
                seen.add(sample)
        for rank in range(len(shards)):
            axes.text(4, TOP + rank * (CELL + 14) + CELL / 2, f"rank {rank}", va="center", size=SMALL)
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        axes.set_aspect("auto")
    return figure


def _frame(axes, x, y, colour, line):
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), CELL, CELL, fill=False, ec=colour, lw=line, zorder=3))
