"""Who did what when: a row a rank, bars for what it does, arrows for messages."""

from __future__ import annotations

import math

from .events import KINDS, Message, Span, messages, read
from .picture import Picture
from .shapes import polygons, polylines, rectangles
from .style import INK, PAPER, SMALL, canvas, drawn, ink_on, text_width
from .style import KINDS as LOOKS
from .units import count, quantity, scale

WORDS = {"work": "work", "collective": "collective", "send": "sends", "recv": "receives", "wait": "waits"}
# Where a bar lies in its rank's row: sends above receives, as both may go on at once.
LANES = {
    "work": (-0.32, 0.32),
    "collective": (-0.32, 0.32),
    "wait": (-0.32, 0.32),
    "send": (-0.32, 0.0),
    "recv": (0.0, 0.32),
}
MOST_ROWS = 64
MOST_ARROWS = 240
MOST_BARS = 600  # beyond, bars that touch are drawn as one


def timeline(events_or_run, *, until=None, world_size=None, name="Run", width=504, end=None) -> Picture:
    """What every rank did over time.

    Parameters
    ----------
    events_or_run : Run or iterable of events
        See `labs.kit.draw.events`.
    until : float, optional
        Draw only what happened before this instant (seconds); the axis keeps its length, so frames can be compared.
    world_size : int, optional
        Number of ranks, where the events do not show all of them. Of more than 64, 64 are drawn, and the words say so.
    name : str
        What ran; the text alternative begins with it.
    width : float
        In points.
    end : float, optional
        Length of the axis in seconds, to compare runs of different length.
    """
    spans, ranks, last = read(events_or_run, world_size)
    last = max(end or 0.0, last)
    return Picture(_draw(spans, ranks, last, until, width), describe(spans, ranks, last, until, name))


def describe(spans: list[Span], ranks: int, last: float, until: float | None, name: str) -> str:
    """The timeline in words: length, time by kind, messages, and who waits longest."""
    cut = math.inf if until is None else until
    parts = [f"{name}: timeline of {count(ranks, 'rank')} over {quantity(last, 's')}"]
    if until is not None:
        parts[0] += f", drawn up to {quantity(until, 's')}"
    seen = [span for span in spans if span.start < cut]
    total = {kind: sum(min(span.end, cut) - span.start for span in seen if span.kind == kind) for kind in KINDS}
    busy = [f"{WORDS[kind]} {quantity(total[kind], 's')}" for kind in KINDS if any(span.kind == kind for span in seen)]
    if busy:
        parts.append("Summed over the ranks: " + ", ".join(busy))
    sent = [message for message in messages(spans) if message.end <= cut]
    carried = quantity(sum(message.bytes for message in sent), "B")
    parts.append(f"{count(len(sent), 'message')} arrived, {carried} in all" if sent else "No message arrived")
    waiting = {}
    for span in seen:
        if span.kind == "wait":
            waiting[span.rank] = waiting.get(span.rank, 0.0) + min(span.end, cut) - span.start
    if waiting:
        longest = max(waiting, key=lambda rank: (waiting[rank], -rank))
        parts.append(f"Rank {longest} waits longest, {quantity(waiting[longest], 's')}")
    if len(sent) > MOST_ARROWS:
        parts.append("They are too many to draw an arrow for each")
    if ranks > MOST_ROWS:
        parts.append(f"{MOST_ROWS} of the {ranks:,} ranks are drawn")
    return ". ".join(parts) + "."


@drawn
def _draw(spans: list[Span], ranks: int, last: float, until: float | None, width: float):
    from matplotlib.patches import Rectangle

    rows = list(range(ranks)) if ranks <= MOST_ROWS else [i * ranks // MOST_ROWS for i in range(MOST_ROWS)]
    row_of = {rank: row for row, rank in enumerate(rows)}
    row_height = 25.0 if len(rows) <= 12 else max(7.0, 320 / len(rows))
    left = 8 + text_width(f"rank {rows[-1]}", SMALL) + 4
    top, bottom, right = 26.0, 34.0, 14.0
    height = top + bottom + row_height * len(rows)
    figure, axes = canvas(width, height, left, right, bottom, top)
    factor, unit = scale(last, "s")
    longest = last * factor or 1.0
    axes.set_xlim(0, longest)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    points = (width - left - right) / longest  # points for one unit of time
    cut = math.inf if until is None else until

    for row in range(len(rows)):
        axes.plot([0, longest], [row, row], color=INK, lw=0.4, alpha=0.35, zorder=0)
    for kind in ("wait", "collective", "work", "send", "recv"):
        low, high = LANES[kind]
        boxes = [
            (span.start * factor, row_of[span.rank] + low, min(span.end, cut) * factor, row_of[span.rank] + high)
            for span in spans
            if span.kind == kind and span.rank in row_of and span.start < cut and span.end > span.start
        ]
        if len(spans) > MOST_BARS:
            boxes = _merged(boxes, 0.75 / points)
        fill, hatch = LOOKS[kind]
        rectangles(
            axes,
            boxes,
            zorder=2,
            facecolor=fill,
            hatch=hatch,
            edgecolor=INK,
            lw=0.6 if len(spans) <= MOST_BARS else 0.2,
        )
    if row_height > 18:
        _names(axes, spans, row_of, factor, cut, points)
    shown = [
        message
        for message in messages(spans)
        if message.start < cut and message.source in row_of and message.target in row_of
    ]
    if len(shown) <= MOST_ARROWS:
        _arrows(axes, shown, row_of, factor, cut, points, row_height)
    if until is not None and until < last:
        axes.plot([until * factor] * 2, [-0.5, len(rows) - 0.5], color=INK, lw=1.2, ls=(0, (4, 3)), zorder=6)

    every = next(step for step in (1, 2, 4, 8, 16) if step * row_height >= 12)
    ticks = list(range(0, len(rows), every))
    axes.set_yticks(ticks, [f"rank {rows[row]}" for row in ticks])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"time in {unit}", labelpad=2)
    kinds = [kind for kind in KINDS if any(span.kind == kind for span in spans)]
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=LOOKS[kind][0], edgecolor=INK, lw=0.6, hatch=LOOKS[kind][1]) for kind in kinds
    ]
    if handles:
        inside = width - left - right
        axes.legend(
            handles, [WORDS[kind] for kind in kinds], loc="lower left", ncols=len(kinds), frameon=False,
            bbox_to_anchor=(-left / inside if width < 400 else 0, 1.0), handlelength=1.3, handleheight=0.9,
            handletextpad=0.6, borderpad=0.1, columnspacing=0.9 if width < 400 else 1.4, borderaxespad=0.3,
        )  # fmt: skip
    return figure


def _merged(boxes, gap: float):
    """The same bars, those of one row that lie at most `gap` apart joined."""
    joined: dict[tuple, list] = {}
    for x0, y0, x1, y1 in sorted(boxes, key=lambda box: (box[1], box[0])):
        row = joined.setdefault((y0, y1), [])
        if row and x0 - row[-1][1] <= gap:
            row[-1][1] = max(row[-1][1], x1)
        else:
            row.append([x0, x1])
    return [(x0, y0, x1, y1) for (y0, y1), row in joined.items() for x0, x1 in row]


def _names(axes, spans, row_of, factor, cut, points) -> None:
    """What a piece of work or a collective is called, inside its bar where it fits."""
    for span in spans:
        if span.kind not in ("work", "collective") or span.rank not in row_of or span.start >= cut:
            continue
        if not span.label or span.label == span.kind:
            continue
        stop = min(span.end, cut) * factor
        room = (stop - span.start * factor) * points
        if text_width(span.label, SMALL - 1) + 8 > room:
            continue
        fill = LOOKS[span.kind][0]
        box = {"boxstyle": "square,pad=.15", "facecolor": fill, "edgecolor": "none"} if LOOKS[span.kind][1] else None
        axes.text(
            (span.start * factor + stop) / 2, row_of[span.rank], span.label, ha="center", va="center_baseline",
            fontsize=SMALL - 1, color=ink_on(fill), bbox=box, zorder=3,
        )  # fmt: skip


def _arrows(axes, shown: list[Message], row_of, factor, cut, points, row_height) -> None:
    """Messages as arrows from the sender's row to the receiver's; one that is still under way ends at the cut."""
    if not shown:
        return
    crowded = len(shown) > 120
    head, half = (3.5, 1.7) if crowded else (6.0, 2.8)  # points
    lines, heads, dots = [], [], []
    for message in shown:
        x0, y0 = message.start * factor, row_of[message.source] + sum(LANES["send"]) / 2
        x1, y1 = message.end * factor, row_of[message.target] + sum(LANES["recv"]) / 2
        dots.append((x0, y0))
        if message.end > cut:
            share = (cut - message.start) / (message.end - message.start)
            lines.append([(x0, y0), (x0 + share * (x1 - x0), y0 + share * (y1 - y0))])
            continue
        dx, dy = (x1 - x0) * points, (y1 - y0) * row_height  # the arrow in points, to shape its head
        length = math.hypot(dx, dy) or 1.0
        ux, uy = dx / length, dy / length
        base = (dx - head * ux, dy - head * uy)
        to_data = lambda x, y, x0=x0, y0=y0: (x0 + x / points, y0 + y / row_height)
        heads.append(
            [
                (x1, y1),
                to_data(base[0] - half * uy, base[1] + half * ux),
                to_data(base[0] + half * uy, base[1] - half * ux),
            ]
        )
        lines.append([(x0, y0), to_data(*base)])
    width = 0.7 if crowded else 1.3
    if not crowded:  # a rim in the page's colour lifts an arrow off the bars
        polylines(axes, lines, edgecolor=PAPER, lw=width + 2, zorder=4)
    polylines(axes, lines, edgecolor=INK, lw=width, zorder=5)
    polygons(axes, heads, facecolor=INK, edgecolor=PAPER, lw=0.4, zorder=5)
    if not crowded:  # a dot where each message leaves: a line without length and with round ends
        short = 0.02 / points
        polylines(axes, [[(x, y), (x + short, y)] for x, y in dots], edgecolor=INK, lw=3.2, capstyle="round", zorder=5)
