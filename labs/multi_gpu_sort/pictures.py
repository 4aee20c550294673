"""Keys as bars: which rank holds which, where each belongs, and which changed sides."""

from __future__ import annotations

import numpy as np


def bars(chunks, *, moved=(), wrong=(), arrows=(), homes=None, name="Keys", rows="rank"):
    """Every rank's keys as bars, coloured by the rank on which they belong in the end.

    Parameters
    ----------
    chunks : list of sequences of numbers
        By rank; 2 to 8 ranks, up to some 64 keys in all.
    moved, wrong : iterable of (rank, place)
        Keys that have just arrived (hatched), and keys in the wrong place (framed in red).
    arrows : iterable of (source, target, count)
        How many keys go from rank to rank, drawn below the ranks' names.
    homes : dict, optional
        The rank to which each key belongs; by equal shares of the sorted keys when left out.
    name : str
    rows : str
        "rank" or "GPU".

    Returns
    -------
    labs.kit.draw.Picture
    """
    from matplotlib.patches import Rectangle

    from labs.kit.draw import Picture
    from labs.kit.draw.style import FONT, INK, OWNERS, RED, SMALL, drawing, paper

    heights, belongs = _ranks_of(chunks)
    homes = belongs if homes is None else [[homes[key] for key in chunk] for chunk in chunks]
    names = [f"{rows} {k}" for k in range(len(chunks))]
    arrows = [arrow for arrow in arrows if arrow[2]]
    width, high, below = 504, 104, 18 + 17 * len(arrows)
    step = (width - 12 * (len(chunks) - 1)) / max(sum(map(len, chunks)), 1)
    step = min(step, 26)
    with drawing():
        figure, axes = paper(width, high + 22 + below)
        left, centres, moved, wrong = 0.0, [], set(moved), set(wrong)
        tallest = max((h for row in heights for h in row), default=1) + 1
        for rank, row in enumerate(heights):
            start = left
            for place, height in enumerate(row):
                tall = 10 + (high - 26) * (height + 1) / tallest
                bad, new = (rank, place) in wrong, (rank, place) in moved
                axes.add_artist(
                    Rectangle(
                        (left + 0.08 * step, high - tall), 0.84 * step, tall,
                        facecolor=OWNERS[homes[rank][place] % len(OWNERS)], edgecolor=RED if bad else "#000000",
                        hatch="////" if new else "", lw=2.4 if bad else 0.6,
                    )
                )  # fmt: skip
                if step >= 15:
                    text = f"{chunks[rank][place]:g}"
                    axes.text(
                        left + step / 2,
                        high - tall - 3,
                        text,
                        ha="center",
                        va="bottom",
                        size=SMALL if len(text) < 4 else 7,
                    )
                left += step
            left = max(left, start + 44)
            centres.append((start + left) / 2)
            axes.plot([start, left], [high + 1, high + 1], color=INK, lw=1)
            axes.text(centres[-1], high + 14, names[rank], ha="center", va="center", size=FONT)
            left += 12
        for line, (source, target, count) in enumerate(arrows):
            y = high + 34 + 17 * line
            style = {"arrowstyle": "->", "color": INK, "lw": 1.2}
            axes.annotate("", xy=(centres[target], y), xytext=(centres[source], y), arrowprops=style)
            axes.text((centres[source] + centres[target]) / 2, y - 2, f"{count}", ha="center", va="bottom", size=SMALL)
    return Picture(figure, _told(chunks, homes, moved, wrong, arrows, name, rows))


def _ranks_of(chunks):
    """Each key's place among the different keys (its height), and the rank on which it belongs."""
    lengths = [len(chunk) for chunk in chunks]
    keys = np.concatenate([np.asarray(chunk, float) for chunk in chunks]) if chunks else np.zeros(0)
    heights = np.unique(keys, return_inverse=True)[1]
    places = np.empty(len(keys), int)
    places[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    homes = np.searchsorted(np.cumsum(lengths), places, "right")
    cuts = np.cumsum(lengths)[:-1]
    return [list(map(int, part)) for part in np.split(heights, cuts)], [
        list(map(int, p)) for p in np.split(homes, cuts)
    ]


def _told(chunks, homes, moved, wrong, arrows, name, rows):
    sentences = [f"{name}."]
    for rank, chunk in enumerate(chunks):
        sentences.append(f"{rows.capitalize()} {rank}: {' '.join(f'{key:g}' for key in chunk) or 'nothing'}.")
    away = sum(home != rank for rank, row in enumerate(homes) for home in row)
    sentences.append(f"{away} of {sum(map(len, chunks))} keys are not where they belong.")
    if moved:
        sentences.append(f"{len(moved)} have just arrived.")
    if wrong:
        sentences.append(f"{len(wrong)} are marked as wrong.")
    sentences += [f"{count} keys go from {rows} {source} to {rows} {target}." for source, target, count in arrows]
    return " ".join(sentences)


def swap(a, b, pivot, name):
    """Two sorted halves after the last `pivot` keys of `a` and the first of `b` changed sides; what is wrong in red.

    Parameters
    ----------
    a, b : sequence of numbers
        Sorted.
    pivot : int
    name : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    cut = len(a) - pivot
    lower, upper = [*a[:cut], *b[:pivot]], [*a[cut:], *b[pivot:]]
    moved = [(0, place) for place in range(cut, len(a))] + [(1, place) for place in range(pivot)]
    smallest, largest = min(upper, default=np.inf), max(lower, default=-np.inf)
    wrong = [(0, place) for place, key in enumerate(lower) if key > smallest]
    wrong += [(1, place) for place, key in enumerate(upper) if key < largest]
    return bars([lower, upper], moved=moved, wrong=wrong, name=name)


def halves(keys, parts, name):
    """What two ranks returned, with the keys in red that belong to the other one or stand out of order."""
    whole = np.sort(np.asarray(keys), axis=None)
    right = np.split(whole, len(keys))
    wrong = [
        (rank, place)
        for rank, part in enumerate(parts)
        for place, key in enumerate(part)
        if place >= len(right[rank]) or key != right[rank][place]
    ]
    return bars([list(part) for part in parts], wrong=wrong, name=name)


def shares(counts, name, rows="rank"):
    """How many keys each rank holds, as bars beside the equal share.

    Parameters
    ----------
    counts : sequence of int
    name, rows : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture
    from labs.kit.draw.style import BLUE, INK, canvas, drawing

    with drawing():
        figure, axes = canvas(504, 170, left=54, bottom=38, top=12, right=6)
        axes.bar(range(len(counts)), counts, color=BLUE, width=0.7)
        equal = sum(counts) / len(counts)
        axes.axhline(equal, color=INK, lw=1.2, ls="--")
        axes.text(len(counts) - 0.5, equal, "equal share", ha="right", va="bottom")
        axes.set_xticks(range(len(counts)))
        axes.set_xlabel(rows)
        axes.set_ylabel("keys")
    told = ", ".join(f"{rows} {k} {count:,}" for k, count in enumerate(counts))
    return Picture(figure, f"{name}. {told}; an equal share would be {equal:,.0f}.")
