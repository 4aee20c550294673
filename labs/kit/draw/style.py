"""Colours, sizes and fonts that every picture shares.

The palette is Okabe and Ito's (2008), which stays distinct for colour-blind readers; it never stands alone: kinds also
differ by hatch, markers or words. Red means "wrong" and nothing else.
INK and PAPER stand for the page's own text colour and background (see `svg`), so pictures follow light and dark pages.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

INK, PAPER = "#010203", "#030201"
BLUE, ORANGE, SKY, GREEN, PINK, YELLOW, RED = (
    "#0072B2",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#CC79A7",
    "#F0E442",
    "#D55E00",
)
# Lines have no border that helps them, so these keep a contrast of 3:1 with white and with near-black pages alike
# (WCAG 1.4.11); the orange is darker than the palette's for that reason. Each line also has its own dash and marker.
LINES = (
    (BLUE, "-", "o"),
    ("#B87A00", (0, (5, 2)), "s"),
    (GREEN, (0, (1.5, 1.5)), "^"),
    ("#B55F8E", (0, (6, 2, 1.5, 2)), "D"),
    ("#7A7A7A", (0, (3, 1, 1, 1, 1, 1)), "v"),
    ("#3D85A8", (0, (9, 3)), "P"),
)
# What a rank does: colour, hatch. A waiting rank does nothing and is therefore only hatched.
KINDS = {
    "work": (BLUE, ""),
    "collective": (GREEN, "\\\\"),
    "send": (ORANGE, ""),
    "recv": (SKY, ""),
    "wait": (PAPER, "////"),
}
# Whose data a piece is: fill, one a rank, used again from the ninth rank on (the piece also carries its name).
OWNERS = (SKY, ORANGE, GREEN, PINK, YELLOW, "#9AA5B1", BLUE, "#C9B18A")
# How much of a sum is there: one hue from light to dark.
RAMP = ("#f7fbff", "#d6e6f4", "#abd0e6", "#6aaed6", "#3787c0", "#105ba4", "#08306b")

FONT = 10.0  # points; every other size follows from it
SMALL = 9.0
LARGEST = 1.39  # CSS pixels a point at most: 504 points wide becomes 700 px
SMALLEST = 1.1  # CSS pixels a point at least; a narrower page scrolls the picture sideways

RC = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "figure.dpi": 72,
    "hatch.color": INK,
    "hatch.linewidth": 0.7,
    "svg.fonttype": "none",
    "svg.hashsalt": "warp-to-cluster",
    "path.simplify": True,
}


def drawing():
    """A context in which matplotlib uses this course's settings; the learner's own come back after it."""
    import matplotlib

    defaults = {key: value for key, value in matplotlib.rcParamsDefault.items() if key != "backend"}
    return matplotlib.rc_context({**defaults, **RC})


def drawn(function: Callable) -> Callable:
    """Decorator: run `function` inside `drawing`. In a figure that it returns nothing is cut off at the axes."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with drawing():
            result = function(*args, **kwargs)
        for axes in getattr(result, "axes", ()):
            for artist in (*axes.patches, *axes.lines, *axes.texts, *axes.collections):
                artist.set_clip_on(False)
        return result

    return wrapper


def canvas(width: float, height: float, left=0.0, right=0.0, bottom=0.0, top=0.0):
    """A figure with one set of axes, measured in points.

    Parameters
    ----------
    width, height : float
        The whole figure, in points (a page shows 504 points as 700 px).
    left, right, bottom, top : float
        Margins around the axes, in points.

    Returns
    -------
    figure, axes : matplotlib.figure.Figure, matplotlib.axes.Axes
        Made without pyplot, so neither the learner's figures nor their backend are touched.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    axes = figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
    )
    axes.tick_params(length=3)
    return figure, axes


def paper(width: float, height: float):
    """A figure whose axes are a plain sheet: x to the right and y downwards, in points from the top left corner."""
    figure, axes = canvas(width, height)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    return figure, axes


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", 0 to 1 (WCAG 2.2)."""

    def linear(channel: float) -> float:
        return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(fill: str) -> str:
    """Black or white, whichever reads better on `fill`; the page's own ink where there is no fill."""
    if fill in ("none", PAPER):
        return INK
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, fill))


@functools.cache
def text_width(text: str, size: float = FONT, weight: str = "normal") -> float:
    """Width of `text` in points, in DejaVu Sans, which is wider than most fonts a page will use."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text.strip():
        return 0.0
    return float(
        TextPath((0, 0), text, size=size, prop=FontProperties(family="DejaVu Sans", weight=weight)).get_extents().width
    )
