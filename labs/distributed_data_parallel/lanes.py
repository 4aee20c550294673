"""A picture with two lanes for each run: what the GPU computes, and below it what its network carries meanwhile."""

from __future__ import annotations

LEFT, RIGHT, LANE, GAP, TITLE, AXIS = 66.0, 14.0, 17.0, 3.0, 17.0, 34.0  # points
WIDTH = 504.0


def lanes(runs, name):
    """Draw runs one above the other over one axis of time.

    Parameters
    ----------
    runs : dict of str to (list, list)
        By title: spans of computing and of talking, each (begin, end) in s, from 0.
    name : str
        The text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    return Picture(_draw(runs), _words(runs, name))


def hidden(computing, talking):
    """Seconds of talking during which the GPU computes, for spans that do not overlap among themselves."""
    return sum(max(0.0, min(end, stop) - max(begin, start)) for begin, end in talking for start, stop in computing)


def last(computing, talking):
    """End of the last span."""
    return max((end for _, end in [*computing, *talking]), default=0.0)


def _words(runs, name):
    from labs.kit.draw import quantity

    parts = []
    for title, (computing, talking) in runs.items():
        total = sum(end - begin for begin, end in talking)
        parts.append(
            f"{title}: done after {quantity(last(computing, talking), 's')}; {len(talking)} all-reduces take "
            f"{quantity(total, 's')}, of which {quantity(hidden(computing, talking), 's')} lie under the computing"
        )
    return f"{name}. {'. '.join(parts)}."


def _draw(runs):
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import BLUE, INK, PAPER, SMALL, drawing, paper
    from labs.kit.draw.style import KINDS as LOOKS
    from labs.kit.draw.units import quantity, scale

    end = max(last(*spans) for spans in runs.values()) or 1.0
    block = TITLE + 2 * LANE + GAP + 8
    height = len(runs) * block + AXIS
    factor, unit = scale(end, "s")
    with drawing():
        figure, axes = paper(WIDTH, height)

        def x(seconds):
            return LEFT + seconds / end * (WIDTH - LEFT - RIGHT)

        for row, (title, (computing, talking)) in enumerate(runs.items()):
            top = row * block + TITLE
            axes.text(LEFT, top - 6, f"{title}: {quantity(last(computing, talking), 's')}", size=SMALL + 1, va="center")
            looks = ("computes", computing, BLUE, ""), ("network", talking, *LOOKS["collective"])
            for lane, (label, spans, colour, hatch) in enumerate(looks):
                y = top + lane * (LANE + GAP)
                axes.text(LEFT - 6, y + LANE / 2, label, ha="right", va="center", size=SMALL)
                boxes = [(x(begin), y, max(x(stop), x(begin) + 0.6), y + LANE) for begin, stop in spans]
                rectangles(axes, boxes, fc=colour, ec=PAPER, lw=0.8, hatch=hatch)
        bottom = len(runs) * block + 2
        axes.plot([LEFT, WIDTH - RIGHT], [bottom, bottom], color=INK, lw=0.8)
        for place in _ticks(end * factor):
            at = x(place / factor)
            axes.plot([at, at], [bottom, bottom + 3], color=INK, lw=0.8)
            axes.text(at, bottom + 10, f"{place:g}", ha="center", va="center", size=SMALL)
        axes.text((LEFT + WIDTH - RIGHT) / 2, bottom + 23, f"time ({unit})", ha="center", va="center", size=SMALL)
    return figure


def _ticks(end):
    """About five round numbers from 0 to `end`."""
    power = 10.0 ** len(str(int(end)))
    steps = [power * share for share in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)]
    step = next((step for step in steps if end / step >= 4), steps[-1])
    return [k * step for k in range(int(end / step) + 1)]
