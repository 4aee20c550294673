"""A picture of a text file as a strip of bytes, and below it the slab of each rank."""

from __future__ import annotations

WIDTH, LEFT, RIGHT, TITLE, LANE = 504.0, 52.0, 14.0, 20.0, 20.0  # points


def readers(text, slabs):
    """How many ranks read each byte.

    Parameters
    ----------
    text : str
        ASCII.
    slabs : sequence of (int, int)
        First byte, and the byte behind the last one, by rank.

    Returns
    -------
    list of int
    """
    count = [0] * len(text)
    for begin, end in slabs:
        for at in range(max(begin, 0), min(end, len(text))):
            count[at] += 1
    return count


def lines_of(text):
    """Where each line begins, and the byte behind its end."""
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        found.append((start, start + len(line)))
        start += len(line)
    return found


def picture(text, slabs, *, name="A file and its slabs"):
    """Lines of a file, and who reads them: what several ranks read, or none, is framed in red.

    Parameters
    ----------
    text : str
        ASCII, some hundred bytes.
    slabs : sequence of (int, int)
        As for `readers`.
    name : str
        The text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    return Picture(_draw(text, slabs), _words(text, slabs, name))


def _spans(flags):
    """Runs of true values as (begin, end)."""
    found, start = [], None
    for at, flag in enumerate([*flags, False]):
        if flag and start is None:
            start = at
        elif not flag and start is not None:
            found.append((start, at))
            start = None
    return found


def _words(text, slabs, name):
    count = readers(text, slabs)
    parts = [f"{name}: {len(text)} bytes, {len(lines_of(text))} lines"]
    parts += [f"rank {rank}: bytes {begin} to {end}" for rank, (begin, end) in enumerate(slabs[:16])]
    parts += [f"read by nobody: bytes {begin} to {end}" for begin, end in _spans([each == 0 for each in count])]
    parts += [f"read twice: bytes {begin} to {end}" for begin, end in _spans([each > 1 for each in count])]
    return ". ".join(parts) + "."


def _draw(text, slabs):
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import INK, OWNERS, RED, SKY, SMALL, drawing, ink_on, paper, text_width

    size = max(len(text), 1)
    height = TITLE + LANE * (len(slabs) + 1) + 40
    x = lambda byte: LEFT + min(max(byte, 0), size) / size * (WIDTH - LEFT - RIGHT)
    with drawing():
        figure, axes = paper(WIDTH, height)
        axes.text(LEFT, 10, "the lines of the file", va="center_baseline", fontsize=SMALL)
        for number, (begin, end) in enumerate(lines_of(text)):
            box = (x(begin), TITLE, x(end), TITLE + LANE - 5)
            fill = SKY if number % 2 else "none"
            rectangles(axes, [box], facecolor=fill, edgecolor=INK, lw=0.7)
            shown = text[begin:end].rstrip("\r\n")
            if text_width(shown, SMALL) < box[2] - box[0] - 4:
                middle = (box[0] + box[2]) / 2, TITLE + 8
                axes.text(*middle, shown, ha="center", va="center_baseline", fontsize=SMALL, color=ink_on(fill))
        for rank, (begin, end) in enumerate(slabs):
            top = TITLE + LANE * (rank + 1)
            axes.text(LEFT - 6, top + 8, f"rank {rank}", ha="right", va="center_baseline", fontsize=SMALL)
            fill = OWNERS[rank % len(OWNERS)]
            rectangles(
                axes, [(x(begin), top, max(x(end), x(begin)), top + LANE - 5)], facecolor=fill, edgecolor=INK, lw=0.7
            )
        bottom = TITLE + LANE * (len(slabs) + 1) - 2
        for begin, end in _spans([each != 1 for each in readers(text, slabs)]):
            rectangles(
                axes, [(x(begin), TITLE - 3, x(end), bottom)], facecolor="none", edgecolor=RED, lw=1.8, hatch="//"
            )
        axes.plot([LEFT, WIDTH - RIGHT], [bottom + 2, bottom + 2], color=INK, lw=0.8)
        for rank in range(len(slabs) + 1):
            at = size * rank // max(len(slabs), 1)
            axes.plot([x(at), x(at)], [bottom + 2, bottom + 6], color=INK, lw=0.8)
            axes.text(x(at), bottom + 13, f"{at}", ha="center", va="center_baseline", fontsize=SMALL)
        axes.text(LEFT, bottom + 28, "equal shares begin at byte", va="center_baseline", fontsize=SMALL)
    return figure
