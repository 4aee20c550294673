"""Pictures of schedules: who computes what when, where nobody computes, and how many activations each rank holds."""

from __future__ import annotations

from labs.pipeline_parallel.boxes import Box, held, idle_share, levels, most_held

LEFT, RIGHT, BAND, LIVE, GAP, TITLE, AXIS = 50.0, 92.0, 17.0, 9.0, 7.0, 20.0, 34.0  # points
WIDTH = 504.0
MOST_ROWS, MOST_FRAMES = 16, 12


def schedule(titled, ranks, *, name, until=None, unit="time (1 = one forward)", end=None):
    """Draw one schedule or several, one above the other over one axis.

    Parameters
    ----------
    titled : dict of str to list of Box
        By title.
    ranks : int
        At most 16 rows are drawn.
    name : str
        What is shown; the text alternative begins with it.
    until : float, optional
        Draw only what happened before, and who holds which activations then.
    unit : str
        Label of the axis.
    end : float, optional
        Length of the axis.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    end = end or max((box.end for boxes in titled.values() for box in boxes), default=1.0)
    words = [_words(title, boxes, ranks, until) for title, boxes in titled.items()]
    return Picture(_draw(titled, min(ranks, MOST_ROWS), end, until, unit), f"{name}. {' '.join(words)}")


def lists(rows, wrong=(), *, name):
    """Draw lists of actions as they are written, without time, with faults in red.

    Parameters
    ----------
    rows : list of list of (kind, micro, chunk)
        By rank.
    wrong : collection of (rank, place)
    name : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    boxes = [
        Box(rank, *action, place, place + 1, (rank, place) in set(wrong))
        for rank, row in enumerate(rows)
        for place, action in enumerate(row)
    ]
    marked = ", ".join(f"rank {rank} place {place}" for rank, place in sorted(set(wrong)))
    said = " ".join(
        f"Rank {rank}: {' '.join(f'{kind}{micro}' for kind, micro, _ in row) or 'nothing'}."
        for rank, row in enumerate(rows[:MOST_ROWS])
    )
    picture = _draw({"": boxes}, min(len(rows), MOST_ROWS), max(map(len, rows), default=1), None, "place in the list")
    return Picture(picture, f"{name}. {said}" + (f" In red: {marked}." if marked else ""))


def player(boxes, ranks, *, label, moments=None):
    """Step through a schedule: at each moment what was computed so far, and which activations each rank holds.

    Parameters
    ----------
    boxes : list of Box
    ranks : int
    label : str
    moments : sequence of float, optional
        Up to 12 instants; spread evenly over the ends of actions when left out.

    Returns
    -------
    labs.kit.draw.Player
    """
    from labs.kit import draw

    ends = sorted({box.end for box in boxes})
    if moments is None:
        count = min(MOST_FRAMES, len(ends))
        moments = [ends[round(k * (len(ends) - 1) / max(count - 1, 1))] for k in range(count)]
    frames, said, rows = [], [], []
    before = 0.0
    for moment in moments:
        frames.append(schedule({"": boxes}, ranks, name=label, until=moment, end=ends[-1]))
        now = [b for b in boxes if b.start < moment <= b.end]
        doing = {b.rank: f"{_doing(b)} {b.micro}" for b in now}
        idle = [str(rank) for rank in range(ranks) if rank not in doing]
        holds = ", ".join(f"rank {rank} {len(held(boxes, rank, moment))}" for rank in range(ranks))
        text = "; ".join(f"rank {rank} {what}" for rank, what in sorted(doing.items()))
        said.append(f"Up to time {moment:g}: {text}. Idle: {', '.join(idle) or 'nobody'}. Activations held: {holds}.")
        rows.append(
            [
                {"time": f"{b.end:g}", "rank": b.rank, "finished": f"{b.kind}{b.micro}"}
                for b in sorted(boxes, key=lambda b: (b.end, b.rank))
                if before < b.end <= moment
            ]
        )
        before = moment
    return draw.player(frames, said, rows, label=label)


def _doing(box):
    return {"F": "forward", "B": "backward", "I": "gradient of the input", "W": "gradient of the weights"}[box.kind]


def _words(title, boxes, ranks, until):
    end = max((box.end for box in boxes if box.reached), default=0.0)
    head = f"{title}: " if title else ""
    if until is not None:
        holds = ", ".join(f"rank {rank}: {len(held(boxes, rank, until))}" for rank in range(min(ranks, MOST_ROWS)))
        return f"{head}up to time {until:g}; activations held by {holds}."
    stuck = sorted({box.rank for box in boxes if not box.reached})
    red = ", ".join(f"{_label(box)} of rank {box.rank}" for box in boxes if box.wrong)
    marked = f" In red: {red}." if red else ""
    order = " ".join(f"Rank {rank}: {' '.join(map(_label, _row(boxes, rank)))}." for rank in range(min(ranks, 4)))
    if stuck:
        return f"{head}stuck, ranks {', '.join(map(str, stuck))} never get on. {order}{marked}"
    most = ", ".join(str(most_held(boxes, rank)) for rank in range(min(ranks, MOST_ROWS)))
    told = f"done after {end:g}, {idle_share(boxes, ranks):.0%} idle"
    head = f"{title}; " if told in title else f"{head}{told}; "
    return f"{head}activations held at most, by rank: {most}. {order}{marked}"


def _label(box):
    """F0 on a rank's first stage, F0' on its second."""
    return f"{box.kind}{box.micro}" + "'" * box.chunk


def _row(boxes, rank):
    return sorted((box for box in boxes if box.rank == rank), key=lambda box: box.start)


def colour(kind, chunk=0):
    """Fill of an action: blue for forward, orange for backward, green for weight gradients, darker for later chunks."""
    from labs.kit.draw.style import BLUE, GREEN, ORANGE, SKY

    orange = (ORANGE, "#9C6B00", "#664600")
    shades = {"F": (SKY, BLUE, "#004A73"), "B": orange, "I": orange, "W": (GREEN, "#006B4E", "#00402F")}
    return shades[kind][min(chunk, 2)]


def _draw(titled, rows, end, until, unit):
    from labs.kit.draw.style import INK, SMALL, drawing, paper

    listed = unit.startswith("place")
    row_height = BAND + (0 if listed else LIVE) + GAP
    heads = [TITLE if title else 6.0 for title in titled]
    height = sum(heads) + len(titled) * rows * row_height + AXIS
    with drawing():
        figure, axes = paper(WIDTH, height)
        right = 14.0 if listed else RIGHT

        def x(at):
            return LEFT + at / end * (WIDTH - LEFT - right)

        y = 0.0
        for (title, boxes), head in zip(titled.items(), heads):
            if title:
                axes.text(LEFT, y + head / 2 + 1, title, size=SMALL + 1, va="center", weight="bold")
            y += head
            for rank in range(rows):
                _draw_row(axes, x, y, boxes, rank, end, until, listed)
                y += row_height
        bottom = y
        axes.plot([LEFT, WIDTH - right], [bottom, bottom], color=INK, lw=0.8)
        every = [box for boxes in titled.values() for box in boxes]
        stuck_at = None
        if not all(box.reached for box in every):  # what comes after has no time
            stuck_at = max((box.end for box in every if box.reached), default=0.0)
            axes.text((x(stuck_at) + x(end)) / 2, bottom + 10, "never", ha="center", va="center", size=SMALL)
        for place in (tick for tick in _ticks(end) if stuck_at is None or tick <= stuck_at):
            axes.plot([x(place)] * 2, [bottom, bottom + 3], color=INK, lw=0.8)
            axes.text(x(place), bottom + 10, f"{place:g}", ha="center", va="center", size=SMALL)
        axes.text((LEFT + WIDTH - right) / 2, bottom + 23, unit, ha="center", va="center", size=SMALL)
    return figure


def _draw_row(axes, x, y, boxes, rank, end, until, listed):
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import INK, PAPER, RED, SMALL, ink_on

    cut = float("inf") if until is None else until
    mine = [box for box in _row(boxes, rank) if box.start < cut]
    axes.text(LEFT - 6, y + BAND / 2, f"rank {rank}", ha="right", va="center", size=SMALL)
    if not listed:
        own_end = max((box.end for box in boxes if box.reached), default=0.0)
        rectangles(axes, _idle(mine, x, y, min(own_end, cut)), fc=PAPER, ec=INK, lw=0.3, hatch="////")
    for box in mine:
        left, stop = x(box.start), x(min(box.end, cut))
        fill = colour(box.kind, box.chunk) if box.reached else "none"
        edge = RED if box.wrong else PAPER if box.reached else INK
        width = 2.2 if box.wrong else 0.8
        label = _label(box)
        room = stop - left - 1
        size = next((s for s in (8.0, 7.0, 6.0) if _width(label, s) <= room), None)
        hatch = "////" if size is None and box.kind in "BI" and box.reached else ""
        rectangles(axes, [(left, y, stop, y + BAND)], fc=fill, ec=edge, lw=width, hatch=hatch)
        if size:
            ink = INK if fill == "none" else ink_on(fill)
            axes.text((left + stop) / 2, y + BAND / 2 + 0.3, label, ha="center", va="center", size=size, color=ink)
    if not listed:
        _draw_live(axes, x, y + BAND + 1.5, boxes, rank, end, until)


def _draw_live(axes, x, y, boxes, rank, end, until):
    """A thin step line of the activations that the rank holds, and in words how many."""
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import SMALL

    last = max((box.end for box in boxes if box.reached), default=end)
    cut = last if until is None else until
    steps = [(at, count) for at, count in levels(boxes, rank) if at < cut]
    top = max((most_held(boxes, each) for each in {box.rank for box in boxes}), default=1) or 1
    bars = [
        (x(at), y + LIVE - LIVE * count / top, x(min(after, cut)), y + LIVE)
        for (at, count), (after, _) in zip(steps, [*steps[1:], (cut, 0)])
        if count > 0 and after > at
    ]
    rectangles(axes, bars, fc="#8A8A8A", ec="none", lw=0)
    stuck = not all(box.reached for box in boxes)
    if until is None:
        text = "" if stuck else f"holds up to {most_held(boxes, rank)}"
    else:
        now = [f"F{micro}" + "'" * chunk for micro, chunk in held(boxes, rank, until)]
        text = "holds " + (
            " ".join(now) if 0 < len(now) < 5 else f"{len(now)}: {now[0]} to {now[-1]}" if now else "none"
        )
    axes.text(WIDTH - RIGHT + 6, y - BAND / 2 - 1, text, ha="left", va="center", size=SMALL)


def _idle(mine, x, y, end):
    """Rectangles of the time in which a rank does nothing, up to `end`."""
    found, free = [], 0.0
    for box in mine:
        if box.reached and box.start > free + 1e-9:
            found.append((x(free), y + 2, x(box.start), y + BAND - 2))
        free = max(free, box.end)
    if free < end - 1e-9 and all(box.reached for box in mine):
        found.append((x(free), y + 2, x(end), y + BAND - 2))
    return found


def _width(text, size):
    from labs.kit.draw.style import text_width

    return text_width(text, size)


def _ticks(end):
    """At most about ten round numbers from 0 to `end`."""
    for step in (1, 2, 3, 5, 6, 10, 12, 20, 30, 50, 60, 100, 200, 300, 500, 1000, 2000, 5000, 10_000):
        if end / step <= 12:
            return [k * step for k in range(int(end / step + 1e-9) + 1)]
    return [0, end]
