"""Step through a run: which messages arrive in each step, as arrows between the ranks and on the timeline."""

from __future__ import annotations

import math

from .events import Message, read
from .events import messages as found_messages
from .picture import Picture
from .player import MOST_FRAMES, Player, player
from .style import BLUE, INK, PAPER, SMALL, drawn, ink_on, paper
from .timeline import timeline
from .units import count, number, quantity, scale

MOST_ROWS = 120  # of the table, in all steps together
MOST_AROUND = 16  # ranks that are drawn in a circle; of more, only the timeline is shown


def messages(events_or_run, *, world_size=None, name="Run", frames=9, label=None) -> Player:
    """A player that steps through a run, message by message or, in a long run, a few moments at a time.

    Parameters
    ----------
    events_or_run : Run or iterable of events
        See `labs.kit.draw.events`.
    world_size : int, optional
        Number of ranks, where the events do not show all of them.
    name : str
        What ran.
    frames : int
        The most steps to show, 2 to 12. Messages that arrive at one moment always share a step.
    label : str, optional
        The player's accessible name.

    Raises
    ------
    ValueError
        If nothing happened in the run, so that there is no step to show.
    """
    spans, ranks, last = read(events_or_run, world_size)
    everything = found_messages(spans)
    cuts = _moments(everything, spans, last, min(max(2, frames), MOST_FRAMES) - 1)
    pictures, captions, tables = [], [], []
    before = -math.inf
    for step, cut in enumerate(cuts):
        arrived = [message for message in everything if before < message.end <= cut]
        so_far = sum(message.end <= cut for message in everything)
        # The first step stands in the middle of the first messages: an empty picture would show nothing.
        shown = arrived or [message for message in everything if message.start < cut < message.end]
        late = timeline(
            spans, until=cut, world_size=ranks, name=name, end=last, width=340 if ranks <= MOST_AROUND else 504
        )
        pictures.append([between(shown, ranks, name=f"{name}, step {step}"), late] if ranks <= MOST_AROUND else [late])
        captions.append(_caption(cut, arrived, len(shown), so_far, len(everything)))
        tables.append(_rows(arrived, last, max(8, MOST_ROWS // len(cuts))))
        before = cut
    return player(pictures, captions, tables if everything else None, label=label or f"{name}, step by step")


def _moments(everything, spans, last: float, most: int) -> list[float]:
    """The instants to show: within the first message, then the arrivals, thinned evenly to at most `most`."""
    if everything:
        ends, first = [message.end for message in everything], min(message.start for message in everything)
    else:
        ends, first = [span.end for span in spans], 0.0
    distinct: list[float] = []
    for end in sorted(ends):  # arrivals that differ by rounding only are one moment
        if distinct and end - distinct[-1] <= 1e-9 * last:
            distinct[-1] = end
        else:
            distinct.append(end)
    if not distinct or distinct[-1] <= 0:
        raise ValueError("Nothing happened in this run, so there is no step to show.")
    groups = min(most, len(distinct))
    return [
        min((first + distinct[0]) / 2, distinct[0]),
        *(distinct[(i + 1) * len(distinct) // groups - 1] for i in range(groups)),
    ]


def _caption(cut: float, arrived: list[Message], under_way: int, so_far: int, total: int) -> str:
    when = f"At {quantity(cut, 's', 4)}"
    if not total:
        return f"{when}. No rank sends a message."
    if not arrived:
        verb = "is" if under_way == 1 else "are"
        return f"{when}: {count(under_way, 'message')} {verb} on the way, none has arrived yet."
    ways = [f"{message.source} → {message.target} ({quantity(message.bytes, 'B')})" for message in arrived[:8]]
    more = f" and {len(arrived) - 8} more" if len(arrived) > 8 else ""
    verb = "arrives" if len(arrived) == 1 else "arrive"
    return f"{when}: {count(len(arrived), 'message')} {verb}, {', '.join(ways)}{more}. {so_far} of {total} so far."


def _rows(arrived: list[Message], last: float, most: int) -> list[dict]:
    factor, unit = scale(last, "s")
    rows = []
    for message in arrived[:most]:
        row = {"from": f"rank {message.source}", "to": f"rank {message.target}", "size": quantity(message.bytes, "B")}
        row |= {f"start ({unit})": number(message.start * factor, 4), f"end ({unit})": number(message.end * factor, 4)}
        rows.append(row)
    if len(arrived) > most:
        rows.append({"from": f"and {len(arrived) - most} more"})
    return rows


def between(found: list[Message], ranks: int, name: str = "Messages") -> Picture:
    """Ranks in a circle and an arrow for each message, with its size where there is room.

    Parameters
    ----------
    found : list of Message or of (source, target, bytes)
        Messages from one rank to another; several between the same two share an arrow.
    ranks : int
        Number of ranks.
    name : str
        Begins the text alternative.
    """
    ways: dict[tuple[int, int], list[int]] = {}
    for source, target, size, *_ in found:
        ways.setdefault((source, target), []).append(size)
    told = [f"rank {a} to rank {b}: {_sizes(sizes)}" for (a, b), sizes in ways.items()]
    alt = f"{name}: {count(ranks, 'rank')} in a circle. " + ("; ".join(told) + "." if told else "No message arrives.")
    return Picture(_draw(ways, ranks), alt)


def _sizes(sizes: list[int]) -> str:
    if len(set(sizes)) == 1:
        return ("" if len(sizes) == 1 else f"{len(sizes)} × ") + quantity(sizes[0], "B")
    return f"{len(sizes)} messages, {quantity(sum(sizes), 'B')}"


@drawn
def _draw(ways, ranks: int):
    from matplotlib.patches import FancyArrowPatch

    side = 176.0
    same = len({tuple(sizes) for sizes in ways.values()}) == 1
    labelled = not same and len(ways) <= 4
    note = "" if labelled or not ways else _note(ways, same)
    radius, node, head = (52.0, 15.0, 6) if ranks <= 4 else (64.0, 11.5, 5) if ranks <= 9 else (72.0, 8.5, 4)
    height = (70.0 if ranks == 2 else 2 * (radius + node) + 8) + 16
    figure, axes = paper(side, height)
    turn = -math.pi if ranks == 2 else -math.pi / 2  # two ranks stand side by side, more begin at the top
    angles = [turn + 2 * math.pi * rank / ranks for rank in range(ranks)]
    middle = (height - 16) / 2
    spot = [(side / 2 + radius * math.cos(angle), middle + radius * math.sin(angle)) for angle in angles]
    axes.plot(*zip(*spot), "o", ms=2 * node, mfc=BLUE, mec=INK, mew=0.8, zorder=3)
    for rank, (x, y) in enumerate(spot):
        axes.text(
            x, y + 0.5, str(rank), ha="center", va="center_baseline", color=ink_on(BLUE),
            fontsize=SMALL if ranks <= 9 else SMALL - 1, zorder=4,
        )  # fmt: skip
    bend = 0.22
    for (source, target), sizes in ways.items():
        if source == target:
            continue
        (x0, y0), (x1, y1) = spot[source], spot[target]
        axes.add_artist(
            FancyArrowPatch(
                (x0, y0), (x1, y1), connectionstyle=f"arc3,rad={-bend}", shrinkA=node + 1, shrinkB=node + 1,
                arrowstyle=f"-|>,head_length={head},head_width={head / 2}", lw=1.6 if head > 4 else 1.1, color=INK,
                zorder=2,
            )
        )  # fmt: skip
        if labelled:  # on the curve, nearer to the sender, where arrows of both directions are apart
            t = 0.3
            cx, cy = (x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0)
            x = (1 - t) ** 2 * x0 + 2 * t * (1 - t) * cx + t**2 * x1
            y = (1 - t) ** 2 * y0 + 2 * t * (1 - t) * cy + t**2 * y1
            box = {"boxstyle": "square,pad=.15", "facecolor": PAPER, "edgecolor": "none"}
            axes.text(x, y, _sizes(sizes), ha="center", va="center", fontsize=SMALL - 1, bbox=box, zorder=5)
    if note:
        axes.text(side / 2, height - 7, note, ha="center", va="center_baseline", fontsize=SMALL)
    return figure


def _note(ways, same: bool) -> str:
    """What the arrows carry, in a line below the circle."""
    if same:
        text = _sizes(next(iter(ways.values())))
        return text if len(ways) == 1 else f"{text} each"
    totals = [sum(sizes) for sizes in ways.values()]
    return f"{quantity(min(totals), 'B')} to {quantity(max(totals), 'B')} each"
