"""The roofline: what a kernel can reach at most, given how many operations it does for each byte it moves."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .curves import Axis, _ticks, spread
from .picture import Picture
from .style import INK, LINES, PAPER, SMALL, canvas, drawn, text_width
from .units import number, quantity


def roofline(
    points: Mapping[str, tuple[float, float | None]],
    *,
    flops: float | Mapping[str, float],
    bandwidth: float | Mapping[str, float],
    name: str = "Roofline",
    width: float = 504,
    height: float = 310,
) -> Picture:
    """Kernels under the roofs of a device.

    Parameters
    ----------
    points : {label: (intensity, rate)}
        Floating-point operations per byte moved, and FLOP/s reached; None as the rate puts the point on the roof, where
        it could be at best.
    flops : float or {label: float}
        FLOP/s of the device, or of each of its units ("float32", "tensor cores").
    bandwidth : float or {label: float}
        B/s of its memory, or of each level.
    name : str
        The device; the text alternative begins with it.

    Raises
    ------
    ValueError
        For a roof or a point that is not positive, or more points than can be told apart.

    Sources
    -------
    S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
    architectures", Communications of the ACM 52 (2009).
    """
    flat = dict(flops) if isinstance(flops, Mapping) else {"peak": flops}
    slopes = dict(bandwidth) if isinstance(bandwidth, Mapping) else {"memory": bandwidth}
    for label, value in (*flat.items(), *slopes.items()):
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"The roof {label!r} must be a positive number; got {value!r}.")
    if len(points) > len(LINES):
        raise ValueError(f"{len(points)} kernels cannot be told apart; draw at most {len(LINES)} in one picture.")
    reach = max(slopes.values()), max(flat.values())
    placed = {}
    for label, (intensity, rate) in points.items():
        if not (intensity > 0 and math.isfinite(intensity)) or (rate is not None and not rate > 0):
            raise ValueError(f"{label}: intensity and rate must be positive; got ({intensity!r}, {rate!r}).")
        roof = min(intensity * reach[0], reach[1])
        placed[label] = (float(intensity), float(roof if rate is None else rate), rate is None)
    return Picture(_draw(placed, flat, slopes, width, height), _describe(placed, flat, slopes, reach, name))


def _describe(points, flat, slopes, reach, name) -> str:
    roofs = [f"{label} {quantity(value, 'B/s')}" for label, value in slopes.items()]
    roofs += [f"{label} {quantity(value, 'FLOP/s')}" for label, value in flat.items()]
    ridge = reach[1] / reach[0]
    parts = [f"{name}: roofline, both axes logarithmic, with roofs {', '.join(roofs)}"]
    parts.append(f"Highest roof: bandwidth-bound below {number(ridge)} FLOP/B")
    for label, (intensity, rate, best) in points.items():
        roof = min(intensity * reach[0], reach[1])
        bound = "bandwidth" if intensity < ridge else "compute"
        reached = "at best" if best else "reaches"
        share = "" if best else f", {number(100 * rate / roof, 2)}% of its roof"
        told = f"{label}: {number(intensity)} FLOP/B, {reached} {quantity(rate, 'FLOP/s')}{share}, {bound}-bound"
        parts.append(told)
    return ". ".join(parts) + "."


@drawn
def _draw(points, flat, slopes, width, height):
    right = max([text_width(label, SMALL) for label in points] or [0]) + 30
    right = min(max(right, 20.0), 190.0)
    left, bottom, top = 84.0, 42.0, 16.0
    figure, axes = canvas(width, height, left, right, bottom, top)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ridges = [peak / slope for peak in flat.values() for slope in slopes.values()]
    xs = [*ridges, *(intensity for intensity, _, _ in points.values())]
    low, high = min(xs) / 6, max(xs) * 6
    rates = [rate for _, rate, _ in points.values()]
    floor = min([low * min(slopes.values()), *(rate / 2 for rate in rates)])
    ceiling = max([*flat.values(), *rates]) * 2.2
    axes.set_xlim(low, high)
    axes.set_ylim(floor, ceiling)
    axes.grid(True, which="major", color=INK, lw=0.4, alpha=0.2)
    _roofs(axes, flat, slopes, low, high)
    for (intensity, rate, best), (colour, _, marker) in zip(points.values(), LINES):
        roof = min(intensity * max(slopes.values()), max(flat.values()))
        if rate < roof * 0.97:
            axes.plot([intensity] * 2, [rate, roof], color=colour, lw=1, ls=(0, (2, 2)), zorder=3)
        axes.plot(
            [intensity], [rate], marker=marker, ms=8, color=colour, mec=colour if best else PAPER, zorder=5, ls="none",
            mfc="none" if best else colour, mew=1.6 if best else 0.8,
        )  # fmt: skip
    axes.set_xlabel(_ticks(axes.xaxis, Axis("intensity", "FLOP/B", True), (low, high), []), labelpad=3)
    axes.set_ylabel(_ticks(axes.yaxis, Axis("rate", "FLOP/s", True), (floor, ceiling), []), labelpad=4)
    axes.set_xlim(low, high)
    axes.set_ylim(floor, ceiling)
    _names(axes, points, height - bottom - top)
    return figure


def _roofs(axes, flat, slopes, low, high) -> None:
    """The highest roof solid, lower ones thinner; each with its name along it."""
    best, peak = max(slopes.values()), max(flat.values())
    box = axes.get_window_extent()
    decades = math.log10(high / low), math.log10(axes.get_ylim()[1] / axes.get_ylim()[0])
    angle = math.degrees(math.atan2(box.height / decades[1], box.width / decades[0]))
    for label, value in slopes.items():
        end = peak / value
        axes.plot([low, end], [low * value, peak], color=INK, lw=2 if value == best else 1.2, zorder=2)
        x = max(low, axes.get_ylim()[0] / value) * (high / low) ** 0.03
        axes.annotate(
            f"{label} {quantity(value, 'B/s')}", (x, x * value), xytext=(-4, 7), textcoords="offset points",
            rotation=angle, rotation_mode="anchor", ha="left", va="bottom", fontsize=SMALL,
        )  # fmt: skip
    for label, value in flat.items():
        start = value / best
        axes.plot([start, high], [value, value], color=INK, lw=2 if value == peak else 1.2, zorder=2)
        axes.annotate(
            f"{label} {quantity(value, 'FLOP/s')}", (high, value), xytext=(-4, 4), textcoords="offset points",
            ha="right", va="bottom", fontsize=SMALL,
        )  # fmt: skip


def _names(axes, points, height: float) -> None:
    """Each kernel's name to the right of the axes, joined to its point."""
    box = axes.get_window_extent()
    wanted = []
    for (label, (intensity, rate, _)), (colour, _, marker) in zip(points.items(), LINES):
        x, y = axes.transData.transform((intensity, rate))
        wanted.append((y - box.y0, x - box.x0, label, colour, marker))
    wanted.sort(key=lambda item: item[0])
    spots = spread([item[0] for item in wanted], 14.0, 4.0, height - 16.0)
    for (y, x, label, colour, marker), spot in zip(wanted, spots):
        axes.plot(
            [x / box.width, 1 + 6 / box.width], [y / height, spot / height], transform=axes.transAxes, color=colour,
            lw=0.7, clip_on=False, zorder=1,
        )  # fmt: skip
        axes.plot(
            [1 + 11 / box.width], [spot / height], transform=axes.transAxes, color=colour, marker=marker, ms=5.5,
            clip_on=False,
        )  # fmt: skip
        axes.text(
            1 + 19 / box.width, spot / height, label, transform=axes.transAxes, fontsize=SMALL, ha="left",
            va="center_baseline",
        )  # fmt: skip
