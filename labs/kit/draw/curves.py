"""Lines and points over axes with units, each told apart by dash and marker and named at its end."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .picture import Picture
from .style import INK, LINES, PAPER, SMALL, canvas, drawn, text_width
from .units import PREFIXED, number, quantity, scale

_UNIT = re.compile(r"^(.*?)(?: in | \()([^() ]+)\)?$")


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
        For an empty series, one whose parts differ in length, or more series than can be told apart.
    """
    data, dropped = _checked(series, logx, logy)
    marks = [(float(x), str(text)) for x, text in marks]
    (xname, xunit), (yname, yunit) = _split(xlabel), _split(ylabel)
    axes = Axis(xname, xunit, logx), Axis(yname, yunit, logy)
    figure = _draw(data, axes, marks, set(points), width, height)
    return Picture(figure, _describe(data, axes, name, marks, dropped))


class Axis(NamedTuple):
    """What an axis shows: "time", in "s", logarithmic or not."""

    name: str
    unit: str
    logarithmic: bool


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
            raise ValueError(
                f"Series {label!r} has no value that can be drawn (on a logarithmic axis: no positive one)."
            )
        data[label] = [list(column) for column in zip(*rows)]
    return data, dropped


def _split(label: str) -> tuple[str, str]:
    """Name and unit of an axis label; the unit is "" where it is a plain number."""
    found = _UNIT.match(label)
    if not found:
        return label, ""
    return found[1], "" if found[2] == "number" else found[2]


def _told(value: float, unit: str) -> str:
    """A value in words; one without a prefix (1024 ranks) is not rounded to three digits."""
    return quantity(value, unit, 3 if unit in PREFIXED else 6)


def _describe(data, axes, name, marks, dropped) -> str:
    units = axes[0].unit, axes[1].unit
    scales = {(True, True): "both axes", (True, False): "x axis", (False, True): "y axis"}.get(
        tuple(a.logarithmic for a in axes)
    )
    parts = [f"{name}: {axes[1].name} over {axes[0].name}" + (f", {scales} logarithmic" if scales else "")]
    for label, (xs, ys, *band) in data.items():
        low, high = min(range(len(ys)), key=ys.__getitem__), max(range(len(ys)), key=ys.__getitem__)
        at = lambda i, xs=xs, ys=ys: f"{_told(ys[i], units[1])} at {_told(xs[i], units[0])}"
        text = f"{label}: {at(0)}" + (f" to {at(len(ys) - 1)}" if len(ys) > 1 else "")
        inside = [f"{word} {at(i)}" for word, i in (("lowest", low), ("highest", high)) if i not in (0, len(ys) - 1)]
        if band:
            inside.append("with its spread")
        parts.append(", ".join([text, *inside]))
    for x, text in marks:
        parts.append(f"Marked: {text} at {_told(x, units[0])}")
    if dropped:
        parts.append(f"{dropped} values cannot be drawn and are left out")
    return ". ".join(parts) + "."


@drawn
def _draw(data, kinds, marks, points, width, height):
    longest = max(text_width(label, SMALL) for label in data)
    inline = longest <= 150
    right = longest + 26 if inline else 14.0
    top = (20.0 if marks else 10.0) + (0 if inline else 15.0 * len(data))
    left, bottom = 58.0, 40.0
    figure, axes = canvas(width, height, left, right, bottom, top)
    axes.grid(True, which="major", color=INK, lw=0.4, alpha=0.2)
    axes.set_xscale("log" if kinds[0].logarithmic else "linear")
    axes.set_yscale("log" if kinds[1].logarithmic else "linear")
    for (label, (xs, ys, *band)), (colour, dashes, marker) in zip(data.items(), LINES):
        if band:
            axes.fill_between(xs, band[0], band[1], color=colour, alpha=0.22, lw=0, zorder=2)
        axes.plot(
            xs, ys, color=colour, ls="none" if label in points else dashes, lw=2, marker=marker,
            markevery=1 if label in points else max(1, len(xs) // 12), ms=5.5, mfc=colour, mec=PAPER, mew=0.8,
            zorder=3, clip_on=False,
        )  # fmt: skip
    axes.margins(x=0.03, y=0.08)
    lowest = min(min(band[0] if band else ys) for _, ys, *band in data.values())
    if not kinds[1].logarithmic and lowest >= 0:
        axes.set_ylim(bottom=0)
    axes.autoscale_view()
    limits = axes.get_xlim(), axes.get_ylim()
    for x, _ in marks:
        if limits[0][0] <= x <= limits[0][1]:
            axes.axvline(x, color=INK, lw=1, ls=(0, (3, 3)), zorder=1)
    _name_marks(axes, [mark for mark in marks if limits[0][0] <= mark[0] <= limits[0][1]])
    xs = [x for xs, *_ in data.values() for x in xs]
    axes.set_xlabel(_ticks(axes.xaxis, kinds[0], limits[0], xs), labelpad=3)
    axes.set_ylabel(_ticks(axes.yaxis, kinds[1], limits[1], []), labelpad=4)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])
    (_label_ends if inline else _label_above)(axes, data, height - bottom - top)
    return figure


def _name_marks(axes, marks) -> None:
    """What each vertical line means, above it; texts that would overlap stand to the right and left of their lines."""
    width = axes.get_window_extent().width
    taken = -math.inf
    for x, text in sorted(marks):
        at = axes.transData.transform((x, axes.get_ylim()[0]))[0] - axes.get_window_extent().x0
        half = text_width(text, SMALL) / 2
        middle = min(max(at, half - 40, taken + half + 6), width + 10 - half)
        taken = middle + half
        axes.text(
            middle / width, 1, text, transform=axes.transAxes, ha="center", va="bottom", fontsize=SMALL,
        )  # fmt: skip


def _ticks(axis, kind: Axis, limits, values) -> str:
    """Set an axis's ticks and return its label.

    On a logarithmic axis the prefix stands at each number (1 kB, 1 MB), so that no power of ten has to be read; on a
    linear one it stands once, in the label. Powers of two (numbers of ranks) are ticked where they are.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    plain = FuncFormatter(lambda value, _: number(value, 6))
    if not kind.logarithmic:
        factor, unit = scale(max(abs(limit) for limit in limits), kind.unit)
        whole = bool(values) and not kind.unit and all(value == int(value) for value in values)
        locator = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], integer=whole)
        axis.set_major_locator(
            FixedLocator([tick / factor for tick in locator.tick_values(*(x * factor for x in limits))])
        )
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value * factor, 6)))
        return f"{kind.name} in {unit}" if unit else kind.name
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    powers = sorted(set(values))
    if powers and kind.unit not in PREFIXED and all(math.log2(value).is_integer() for value in powers):
        axis.set_major_locator(FixedLocator(powers[:: -(-len(powers) // 11)]))
    elif math.log10(limits[1] / limits[0]) < 2.5:  # else one or two labels would be all
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        axis.set_major_locator(LogLocator(numticks=9))
    if kind.unit in PREFIXED:
        axis.set_major_formatter(FuncFormatter(lambda value, _: quantity(value, kind.unit)))
        return kind.name
    axis.set_major_formatter(plain)
    return f"{kind.name} in {kind.unit}" if kind.unit else kind.name


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
        axes.plot(
            [1 + 9 / total],
            [spot / height],
            transform=axes.transAxes,
            color=colour,
            marker=marker,
            ms=5.5,
            clip_on=False,
        )
        axes.text(
            1 + 17 / total,
            spot / height,
            label,
            transform=axes.transAxes,
            fontsize=SMALL,
            ha="left",
            va="center_baseline",
        )


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
        axes.plot(
            [0.0, 0.04, 0.08], [y, y, y], transform=axes.transAxes, color=colour, ls=dashes, lw=2, marker=marker,
            ms=5.5, markevery=[1], mec=PAPER, mew=0.8, clip_on=False,
        )  # fmt: skip
        axes.text(0.1, y, label, transform=axes.transAxes, fontsize=SMALL, va="center_baseline")
