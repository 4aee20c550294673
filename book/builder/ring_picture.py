"""The moving picture of a ring all-reduce: one inline SVG that CSS animates, with a pause button and the words for it.

Every position in time is a share of the run's virtual time, so the picture shows that run and no other. Without
JavaScript it moves; where the reader's system asks for less motion it stands still, until the reader presses Play.
"""

from __future__ import annotations

import html
import json
from pathlib import Path

from .ring_run import MEGABYTES, RANKS, RingRun

WIDTH, HEIGHT = 450, 372  # of the picture, in its own units: on a phone a unit is 0.8 px
CELL, CELL_HEIGHT, GAP = 38, 30, 3
CARD = RANKS * (CELL + GAP) - GAP
# Rank 0 on top, then clockwise: the left end of its row of chunks, and the top.
PLACES = (((WIDTH - CARD) / 2, 30), (WIDTH - CARD, 178), ((WIDTH - CARD) / 2, 326), (0, 178))
ARROWS = (  # from each rank to its right neighbour
    "M314 45 Q370 45 370 142",
    "M370 216 Q370 341 320 341",
    "M136 341 Q80 341 80 222",
    "M80 148 Q80 45 130 45",
)
LEAD, ROUND, HOLD = 1.2, 1.5, 3.0  # seconds on the reader's clock: before, for each round, and with the result
FLIGHT = 0.8  # share of a message's time in which its token moves; then it rests, so that the sum can be read
SHADES = ("#d6e6f4", "#8fc1e3", "#3787c0", "#009E73")  # a cell by how many ranks' numbers it holds
TEXTS = ("#08306b", "#08306b", "#ffffff", "#00150f")

STYLE, SCRIPT = Path(__file__).with_name("ring.css"), Path(__file__).with_name("ring.js")


def moving_picture(run: RingRun) -> str:
    """The figure of the front page, as HTML that needs nothing else.

    Parameters
    ----------
    run : RingRun

    Returns
    -------
    str
        A <figure> with its style sheet and its script.
    """
    clock = _Clock(run)
    rules, shapes = [], []
    shapes += [f'<path class="ring-way" d="{way}" marker-end="url(#ring-head)"/>' for way in ARROWS]
    for rank, (left, top) in enumerate(PLACES):
        shapes.append(f'<text class="ring-name" x="{left + CARD / 2:g}" y="{top - 8:g}">rank {rank}</text>')
        for chunk in range(RANKS):
            shapes += _cell(run, clock, rank, chunk, rules)
    shapes += _middle(run, clock, rules)
    shapes += [_token(message, clock, rules) for message in run.messages]
    return (
        f"<style>{STYLE.read_text(encoding='utf-8')}{''.join(dict.fromkeys(rules))}</style>"
        f'<figure class="ring" style="--ring-time:{clock.seconds:g}s;--ring-still:-{clock.wall(run.time * 0.24):.2f}s" '
        f"data-steps='{html.escape(json.dumps(_steps(run, clock)), quote=True)}'>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(describe(run))}">'
        '<defs><marker id="ring-head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(shapes)}</svg>"
        '<div class="ring-bar" hidden><button type="button" data-do="play">Pause</button>'
        '<button type="button" data-do="step">Next round</button>'
        '<span class="ring-say" role="status" aria-live="polite"></span></div></figure>'
        f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>"
    )


def describe(run: RingRun) -> str:
    """The picture in words.

    Parameters
    ----------
    run : RingRun

    Returns
    -------
    str
    """
    adding = sum(1 for number in range(1, run.rounds + 1) if _adds(run, number))
    starts = ", ".join(str(row[0]) for row in run.before)
    return (
        f"Moving picture of a ring all-reduce. {len(run.before)} ranks stand in a circle, each with {RANKS} chunks. "
        f"They start with {starts} in every chunk. In each of {run.rounds} rounds every rank passes one chunk to its "
        f"right neighbour. In the first {adding} rounds what arrives is added; in the last {run.rounds - adding} "
        f"finished sums are handed out. In the end every rank has {run.after[0][0]} in every chunk, after "
        f"{run.time * 1e3:.2f} milliseconds on the virtual clock for {MEGABYTES} MB on each rank."
    )


class _Clock:
    """From virtual seconds to shares of the animation."""

    def __init__(self, run: RingRun):
        self._stretch = run.rounds * ROUND / run.time
        self.seconds = LEAD + run.rounds * ROUND + HOLD

    def wall(self, virtual: float) -> float:
        """Seconds of the animation at which a virtual moment is shown."""
        return LEAD + virtual * self._stretch

    def share(self, virtual: float) -> float:
        """The same in per cent of the animation."""
        return 100 * self.wall(virtual) / self.seconds


def _cell(run, clock, rank, chunk, rules):
    """A chunk of a rank: one drawing for each value that it ever holds, each shown for its time."""
    left, top = PLACES[rank][0] + chunk * (CELL + GAP), PLACES[rank][1]
    arrivals = [message for message in run.messages if (message.receiver, message.chunk) == (rank, chunk)]
    values = [(0.0, run.before[rank][chunk])]
    for message in arrivals:
        if message.result != values[-1][1]:
            values.append((clock.share(message.end), message.result))
    ends = [start for start, _ in values[1:]] + [100.0]
    for (start, value), end in zip(values, ends, strict=True):
        shade = str(value).count("1") - 1
        look = _shown(start, end, rules)
        yield (
            f'<g{look}><rect x="{left:g}" y="{top:g}" width="{CELL}" height="{CELL_HEIGHT}" rx="4" '
            f'fill="{SHADES[shade]}"/>{_number(left, top, value, TEXTS[shade])}</g>'
        )
    for message in arrivals:
        name = f"ring-in{message.round}"
        at = clock.share(message.end)
        rules.append(
            f"@keyframes {name}{{0%,{at:.2f}%{{opacity:0}}{at + 0.01:.2f}%{{opacity:1}}{at + 5:.2f}%,to{{opacity:0}}}}"
        )
        yield (
            f'<rect class="ring-in" style="--moves:{name}" x="{left - 1:g}" y="{top - 1:g}" width="{CELL + 2}" '
            f'height="{CELL_HEIGHT + 2}" rx="5"/>'
        )


def _middle(run, clock, rules):
    """What happens now, and the virtual clock."""
    x, y = WIDTH / 2, HEIGHT / 2
    moments = [(0.0, "each has its own", 0.0)]
    for number in range(1, run.rounds + 1):
        start, end = _span(run, number)
        # A moment later, so that whoever steps to the end of a round still reads that round's time.
        begins = clock.share(start) + 100 * 0.1 / clock.seconds
        moments.append((begins, "adding up" if _adds(run, number) else "handing out", end))
    moments.append((clock.share(run.time) + 4, "all have the sum", run.time))
    ends = [start for start, _, _ in moments[1:]] + [100.0]
    for (start, words, time), end in zip(moments, ends, strict=True):
        look = _shown(start, end, rules)
        yield (
            f'<g{look}><text class="ring-clock" x="{x:g}" y="{y + 4:g}">{time * 1e3:.1f} ms</text>'
            f'<text class="ring-words" x="{x:g}" y="{y + 24:g}">{words}</text></g>'
        )


def _token(message, clock, rules):
    """A message in flight, from a chunk's place on one rank to the same chunk's place on the next."""
    (from_x, from_y), (to_x, to_y) = PLACES[message.sender], PLACES[message.receiver]
    name = f"ring-m{message.round}"
    start, end = clock.share(message.start), clock.share(message.end)
    landed = start + FLIGHT * (end - start)
    rules.append(
        f"@keyframes {name}{{0%,{start:.2f}%{{opacity:0;transform:none}}"
        f"{start + 0.01:.2f}%{{opacity:1;transform:none;animation-timing-function:cubic-bezier(.45,0,.25,1)}}"
        f"{landed:.2f}%,{end:.2f}%{{opacity:1;transform:translate(var(--x),var(--y))}}"
        f"{end + 0.01:.2f}%,to{{opacity:0;transform:translate(var(--x),var(--y))}}}}"
    )
    left, top = from_x + message.chunk * (CELL + GAP), from_y
    shade = str(message.value).count("1") - 1
    return (
        f'<g class="ring-token" style="--moves:{name};--x:{to_x - from_x:g}px;--y:{to_y - from_y:g}px">'
        f'<rect x="{left:g}" y="{top:g}" width="{CELL}" height="{CELL_HEIGHT}" rx="9" fill="{SHADES[shade]}"/>'
        f"{_number(left, top, message.value, TEXTS[shade])}</g>"
    )


def _number(left, top, value, colour):
    x, y = left + CELL / 2, top + CELL_HEIGHT / 2 + 4.5
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{value}</text>'


def _shown(start: float, end: float, rules) -> str:
    """Class and style of something that is seen from one moment (per cent) to another."""
    if start <= 0 and end >= 100:
        return ""
    name = f"ring-{start:.0f}-{end:.0f}"
    keys = [f"0%{{opacity:{1 if start <= 0 else 0}}}"]
    keys += [f"{start:.2f}%{{opacity:1}}"] if start > 0 else []
    keys += [f"{end:.2f}%,to{{opacity:0}}"] if end < 100 else ["to{opacity:1}"]
    rules.append(f"@keyframes {name}{{{''.join(keys)}}}")
    return f' class="ring-state" style="--moves:{name}"'


def _steps(run, clock):
    """For the button: the moments to stop at (s), and what to say there."""
    steps = [[0.0, "At the start each rank has only its own numbers."]]
    for number in range(1, run.rounds + 1):
        _, end = _span(run, number)
        passed = [m for m in run.messages if m.round == number]
        if _adds(run, number):
            say = ", ".join(f"rank {m.receiver} now has {m.result} in chunk {m.chunk}" for m in passed)
        else:
            say = ", ".join(f"rank {m.receiver} gets chunk {m.chunk}" for m in passed)
        steps.append([round(clock.wall(end) + 0.05, 2), f"Round {number} of {run.rounds}: {say}."])
    steps[-1][1] += f" Every rank has every sum, after {run.time * 1e3:.2f} ms."
    return steps


def _span(run, number):
    chosen = [message for message in run.messages if message.round == number]
    return min(message.start for message in chosen), max(message.end for message in chosen)


def _adds(run, number):
    """Whether what arrives in a round is added to what is there."""
    return any(message.result != message.value for message in run.messages if message.round == number)
