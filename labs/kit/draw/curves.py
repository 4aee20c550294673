"""Lines and points over axes with units, each told apart by dash and marker and named at its end."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from .picture import Picture
from .style import INK, LINES, PAPER, SMALL, canvas, drawn, text_width
from .units import PREFIXED, number, quantity

_UNIT = re.compile(r"(?: in |\()([^() ]+)\)?$")


def curves(
    series: Mapping[str, Sequence],
    *,
    xlabel: str,
    ylabel: str,
    logx: bool = False,
    logy: bool = False,
    name: str,
    marks: Iterable[tuple[float, str]] = (),
    points: Iterable[str] = (),
    width: float = 504,
    height: float = 300,
) -> Picture:
    """Quantities over a quantity.

    Parameters
    ----------
    series : {label: (xs, ys)} or {label: (xs, ys, lows, highs)}
        A line each; `lows` and `highs` give a band around it (the spread of a measurement).
    xlabel, ylabel : str
        With their units at the end: "message size (B)" or "time in s". Numbers in base units (B, s, B/s, FLOP/s) get
        prefixes on the axis: give bytes and seconds as they are.
    logx, logy : bool
        Logarithmic axes. A value that is not positive is left out there, and the words say so.
    name : str
        What is compared; the text alternative begins with it.
    marks : iterable of (x, text)
        Vertical lines that point at something.
    points : iterable of str
        Labels of the series that are drawn as points without a line.

    Raises
    ------
    ValueError
        For an empty series, one whose parts differ in length, more series than can be told apart, or no unit in a label.
    """
    data, dropped = _checked(series, logx, logy)
    marks = [(float(x), str(text)) for x, text in marks]
    units = _unit(xlabel), _unit(ylabel)
    figure = _draw(data, xlabel, ylabel, units, logx, logy, marks, set(points), width, height)
    return Picture(figure, _describe(data, xlabel, ylabel, units, logx, logy, name, marks, dropped))


def _checked(series, logx, logy):
    if not series:
        raise ValueError("Pass at least one series: {label: (xs, ys)}.")
    if len(series) > len(LINES):
        raise ValueError(f"{len(series)} lines cannot be told apart; draw at most {len(LINES)} in one picture.")
    data, dropped = {}, 0
    for label, parts in series.items():
        columns = [[float(value) for value in part] for part in parts]
        if len(columns) not in (2, 4) or len({len(column) for column in columns}) != 1:
            raise ValueError(
                f"Series {label!r} must be (xs, ys) or (xs, ys, lows, highs), all of one length; "
                f"got {len(columns)} parts of lengths {[len(column) for column in columns]}."
            )
        rows = [
            row
            for row in zip(*columns)
            if all(map(math.isfinite, row)) and (not logx or row[0] > 0) and (not logy or min(row[1:]) > 0)
        ]
        dropped += len(columns[0]) - len(rows)
        if not rows:
            raise ValueError(f"Series {label!r} has no value that can be drawn (on a logarithmic axis: no positive one).")
        data[label] = [list(column) for column in zip(*rows)]
    return data, dropped


def _unit(label: str) -> str:
    """The unit at the end of an axis label, "" where it is a plain number."""
    found = _UNIT.search(label)
    return found[1] if found else ""


def _describe(data, xlabel, ylabel, units, logx, logy, name, marks, dropped) -> str:
    scales = {(True, True): "both axes", (True, False): "x axis", (False, True): "y axis"}.get((logx, logy))
    parts = [f"{name}: {ylabel} over {xlabel}" + (f", {scales} logarithmic" if scales else "")]
    for label, (xs, ys, *band) in data.items():
        low, high = min(range(len(ys)), key=ys.__getitem__), max(range(len(ys)), key=ys.__getitem__)
        at = lambda i, xs=xs, ys=ys: f"{quantity(ys[i], units[1])} at {quantity(xs[i], units[0])}"
        text = f"{label}: {at(0)}" + (f" to {at(len(ys) - 1)}" if len(ys) > 1 else "")
        inside = [f"{word} {at(i)}" for word, i in (("lowest", low), ("highest", high)) if i not in (0, len(ys) - 1)]
        if band:
            inside.append("with its spread")
        parts.append(", ".join([text, *inside]))
    for x, text in marks:
        parts.append(f"Marked: {text} at {quantity(x, units[0])}")
    if dropped:
        parts.append(f"{dropped} values cannot be drawn and are left out")
    return ". ".join(parts) + "."


@drawn
def _draw(data, xlabel, ylabel, units, logx, logy, marks, points, width, height):
    longest = max(text_width(label, SMALL) for label in data)
    inline = longest <= 150
    right = longest + 26 if inline else 14.0
    top = (20.0 if marks else 10.0) + (0 if inline else 15.0 * len(data))
    left, bottom = 58.0, 40.0
    figure, axes = canvas(width, height, left, right, bottom, top)
    axes.grid(True, which="major", color=INK, lw=0.4, alpha=0.2)
    axes.set_xscale("log" if logx else "linear")
    axes.set_yscale("log" if logy else "linear")
    for (label, (xs, ys, *band)), (colour, dashes, marker) in zip(data.items(), LINES):
        every = max(1, len(xs) // 12)
        if band:
            axes.fill_between(xs, band[0], band[1], color=colour, alpha=0.22, lw=0, zorder=2)
        axes.plot(
            xs, ys, color=colour, ls="none" if label in points else dashes, lw=2, marker=marker,
            markevery=1 if label in points else every, ms=5.5, mfc=colour, mec=PAPER, mew=0.8, zorder=3, clip_on=False,
        )  # fmt: skip
    axes.margins(x=0.03, y=0.08)
    if not logy and min(min(ys) for _, ys, *_ in data.values()) >= 0:
        axes.set_ylim(bottom=0)
    axes.autoscale_view()
    limits = axes.get_xlim(), axes.get_ylim()
    for x, text in marks:
        if limits[0][0] <= x <= limits[0][1]:
            axes.axvline(x, color=INK, lw=1, ls=(0, (3, 3)), zorder=1)
            axes.annotate(
                text, (x, 1), xycoords=("data", "axes fraction"), xytext=(0, 5), textcoords="offset points",
                ha="center", va="bottom", fontsize=SMALL, annotation_clip=False,
            )  # fmt: skip
    _ticks(axes.xaxis, units[0], logx, limits[0])
    _ticks(axes.yaxis, units[1], logy, limits[1])
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    axes.set_xlabel(xlabel, labelpad=3)
    axes.set_ylabel(ylabel, labelpad=4)
    (_label_ends if inline else _label_above)(axes, data, height - bottom - top)
    return figure


def _ticks(axis, unit: str, logarithmic: bool, limits) -> None:
    """Ticks such as 1 kB, 10 kB: the prefix stands at the number, so no power of ten has to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    if logarithmic:
        decades = math.log10(limits[1] / limits[0])
        if decades < 1.3:
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        else:
            axis.set_major_locator(LogLocator(numticks=9))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    show = (lambda value, _: quantity(value, unit)) if unit in PREFIXED else (lambda value, _: number(value, 6))
    axis.set_major_formatter(FuncFormatter(show))


def _label_ends(axes, data, height) -> None:
    """Each line's name to the right of its last point, moved apart where they would overlap."""
    wanted = []
    for (label, (xs, ys, *_)), look in zip(data.items(), LINES):
        last = max(range(len(xs)), key=xs.__getitem__)
        x, y = axes.transData.transform((xs[last], ys[last]))
        box = axes.get_window_extent()
        wanted.append((y - box.y0, x - box.x0, label, look))
    wanted.sort(key=lambda item: item[0])
    spots = spread([item[0] for item in wanted], 13.0, 2.0, height - 2.0)
    total = axes.get_window_extent().width
    for (y, x, label, (colour, _, marker)), spot in zip(wanted, spots):
        if abs(spot - y) > 3 or total - x > 12:
            axes.plot(
                [x / total, 1 + 5 / total], [y / height, spot / height], transform=axes.transAxes, color=colour, lw=0.7,
                clip_on=False, zorder=1,
            )  # fmt: skip
        axes.plot([1 + 9 / total], [spot / height], transform=axes.transAxes, color=colour, marker=marker, ms=5.5, clip_on=False)
        axes.text(1 + 17 / total, spot / height, label, transform=axes.transAxes, fontsize=SMALL, ha="left", va="center_baseline")


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending positions near the wanted ones, at least `gap` apart and within [low, high] where there is room."""
    spots = list(wanted)
    for _ in range(3):
        for i, spot in enumerate(spots):
            spots[i] = max(spot, low if i == 0 else spots[i - 1] + gap)
        for i in range(len(spots) - 1, -1, -1):
            spots[i] = min(spots[i], high if i == len(spots) - 1 else spots[i + 1] - gap)
    return spots


def _label_above(axes, data, height) -> None:
    """A legend above the axes, for names too long for the margin."""
    for i, (label, (colour, dashes, marker)) in enumerate(zip(data, LINES)):
        y = 1 + (15.0 * (len(data) - i) - 4) / height
        axes.plot([0.01, 0.07], [y, y], transform=axes.transAxes, color=colour, ls=dashes, lw=2, marker=marker, ms=5.5, markevery=2, clip_on=False)
        axes.text(0.085, y, label, transform=axes.transAxes, fontsize=SMALL, va="center_baseline")
