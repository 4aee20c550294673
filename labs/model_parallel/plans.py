"""Plans side by side: what each device would hold and compute, with its limit."""

from __future__ import annotations

from labs.model_parallel.sums import sums

LEFT, RIGHT, TOP, ROW, GAP = 62.0, 10.0, 18.0, 17.0, 10.0  # points
WIDTH, HOLE = 504.0, 22.0
MOST_DEVICES = 16


def plan_picture(plans, names, nbytes, seconds, limits, name="Plans", unit="B", time="s"):
    """Draw plans one above the other: bytes of each device to the left, its seconds to the right.

    Parameters
    ----------
    plans : dict of str to list of int
        By title: how many layers each device takes.
    names : sequence of str
    nbytes, seconds : sequence of float
        By layer.
    limits : sequence of float
        By device.
    name : str
        The text alternative begins with it.
    unit, time : str
        Units of `nbytes` and `seconds`.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    return Picture(
        _draw(plans, names, nbytes, seconds, limits, unit, time),
        _words(plans, nbytes, seconds, limits, name, unit, time),
    )


def _words(plans, nbytes, seconds, limits, name, unit, time):
    from labs.kit.draw import quantity

    parts = []
    for title, counts in plans.items():
        held, busy = sums(nbytes, counts), sums(seconds, counts)
        over = [k for k, (own, limit) in enumerate(zip(held, limits)) if own > limit]
        fits = f"does not fit on device {over[0]}" if over else "fits"
        parts.append(
            f"{title}: {', '.join(map(str, counts))} layers, {fits}; fullest {quantity(max(held), unit)} of "
            f"{quantity(max(limits), unit)}, slowest {_value(max(busy), time)}"
        )
    return f"{name}. {'. '.join(parts)}."


def _draw(plans, names, nbytes, seconds, limits, unit, time):
    from labs.kit.draw.shapes import polylines, rectangles
    from labs.kit.draw.style import INK, PAPER, RED, SKY, SMALL, drawing, ink_on, paper, text_width
    from labs.kit.draw.units import quantity

    devices = len(limits[:MOST_DEVICES])
    block = TOP + devices * ROW + GAP
    half = (WIDTH - LEFT - RIGHT - HOLE) / 2
    most = max([max(limits), *(max(sums(nbytes, counts)) for counts in plans.values())])
    longest = max(max(sums(seconds, counts)) for counts in plans.values()) or 1
    with drawing():
        figure, axes = paper(WIDTH, len(plans) * block + 18)
        for index, (title, counts) in enumerate(plans.items()):
            top = index * block + TOP
            axes.text(LEFT, top - 9, f"{title}", size=SMALL + 1, va="center", weight="bold")
            slow = max(sums(seconds, counts))
            axes.text(WIDTH - RIGHT, top - 9, f"slowest: {_value(slow, time)}", size=SMALL, va="center", ha="right")
            first = 0
            for device, count in enumerate(counts[:MOST_DEVICES]):
                y = top + device * ROW
                axes.text(LEFT - 6, y + ROW / 2, f"device {device}", ha="right", va="center", size=SMALL)
                layers = range(first, first + count)
                first += count
                for values, left, scale in ((nbytes, LEFT, half / most), (seconds, LEFT + half + HOLE, half / longest)):
                    limit = limits[device] if values is nbytes else float("inf")
                    x, total = left, 0.0
                    for layer in layers:
                        total += values[layer]
                        end = left + total * scale
                        fill = RED if total > limit else SKY
                        rectangles(
                            axes,
                            [(x, y + 1.5, end, y + ROW - 1.5)],
                            fc=fill,
                            ec=PAPER,
                            lw=0.9,
                            hatch="//" * (fill == RED),
                        )
                        if text_width(names[layer], SMALL - 1) + 4 < end - x and fill != RED:
                            axes.text(
                                (x + end) / 2, y + ROW / 2, names[layer], ha="center", va="center", size=SMALL - 1,
                                color=ink_on(fill),
                            )  # fmt: skip
                        x = end
                    if values is nbytes:
                        at = left + limits[device] * scale
                        polylines(axes, [[(at, y), (at, y + ROW)]], ec=INK, lw=1.6)
        bottom = len(plans) * block + 8
        note = f"memory (line: limit, {quantity(max(limits), unit)}; red and hatched: too much)"
        axes.text(LEFT - 40, bottom, note, size=SMALL, va="center")
        axes.text(LEFT + half + HOLE, bottom, "time of a step", size=SMALL, va="center")
    return figure


def _value(value, time):
    from labs.kit.draw.units import number, quantity

    return quantity(value, "s") if time == "s" and value < 0.5 else number(value)
