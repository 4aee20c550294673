"""A chart with a lane for each contender: bars from zero or points on a logarithmic axis, and the value beside each."""

from __future__ import annotations

import math

WIDTH, RIGHT, TITLE, LANE, BAR, AXIS = 504.0, 84.0, 24.0, 21.0, 14.0, 20.0  # points


def picture(values, unit, *, title, name, ours=(), spread=None, log=False):
    """Positive values side by side.

    Parameters
    ----------
    values : dict of str to float
        By label, in base units (B, s, B/s).
    unit : str
    title : str
        Above the chart: the quantity, with its unit.
    name : str
        The text alternative begins with it.
    ours : sequence of str
        Labels that are drawn in the second colour and look: what this course brings.
    spread : dict of str to (float, float), optional
        Lowest and highest measured value, drawn as a thin line.
    log : bool
        Points on a logarithmic axis instead of bars (a bar has to begin at zero).

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture, quantity

    told = ", ".join(f"{label} {quantity(value, unit)}" for label, value in values.items())
    scale = ", logarithmic axis" if log else ""
    return Picture(_draw(values, unit, title, ours, spread or {}, log), f"{name}. {title}{scale}: {told}.")


def _draw(values, unit, title, ours, spread, log):
    from labs.kit.draw import quantity
    from labs.kit.draw.style import INK, SMALL, drawing, paper, text_width

    spread = {label: spread.get(label, (value, value)) for label, value in values.items()}
    left = max(text_width(label, SMALL) for label in values) + 16
    x, ticks = _axis(spread, left, log)
    bottom = TITLE + len(values) * LANE
    with drawing():
        figure, axes = paper(WIDTH, bottom + 6 + (AXIS if log else 0))
        axes.text(left, 10, title, va="center_baseline", fontsize=SMALL)
        for tick in ticks:
            axes.plot([x(tick), x(tick)], [TITLE, bottom], color=INK, lw=0.4, alpha=0.3)
            axes.text(x(tick), bottom + 11, quantity(tick, unit), ha="center", va="center_baseline", fontsize=SMALL)
        for place, (label, value) in enumerate(values.items()):
            middle, (low, high) = TITLE + place * LANE + LANE / 2, spread[label]
            axes.text(left - 6, middle + 0.5, label, ha="right", va="center_baseline", fontsize=SMALL)
            axes.plot([x(low), x(high)], [middle, middle], color=INK, lw=1.4, zorder=2)
            _mark(axes, left, x(value), middle, label in ours, log)
            end = x(max(value, high)) + 9
            axes.text(end, middle + 0.5, quantity(value, unit), va="center_baseline", fontsize=SMALL)
        axes.plot([left, left], [TITLE, bottom], color=INK, lw=0.8)
    return figure


def _axis(spread, left, log):
    """Where a value stands, and the powers of ten that are marked on a logarithmic axis."""
    room = WIDTH - left - RIGHT
    most = max(high for _, high in spread.values())
    if not log:
        return lambda value: left + value / most * room, []
    first = math.floor(math.log10(min(low for low, _ in spread.values())))
    last = math.ceil(math.log10(most))
    place = lambda value: left + (math.log10(value) - first) / max(last - first, 1) * room
    return place, [10.0**power for power in range(first, last + 1)]


def _mark(axes, left, x, middle, ours, log):
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import BLUE, INK, ORANGE

    if log:
        look = {"color": ORANGE, "marker": "D"} if ours else {"color": BLUE, "marker": "o"}
        axes.plot([x], [middle], ms=7, mec=INK, mew=0.7, zorder=3, **look)
        return
    look = {"facecolor": ORANGE, "hatch": "//"} if ours else {"facecolor": BLUE}
    rectangles(axes, [(left, middle - BAR / 2, x, middle + BAR / 2)], edgecolor=INK, lw=0.6, **look)
