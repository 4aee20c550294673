"""A calculator to turn: bubble and memory of four schedules, the formula beside the simulated value, and who fits."""

from __future__ import annotations

from typing import NamedTuple

BATCH_BYTES = 32e9  # activations of the whole batch on one thick stage, B


class Row(NamedTuple):
    """What one schedule costs.

    Attributes
    ----------
    title : str
    simulated : float
        The bubble's share of the step.
    formula : float or None
        The same by the formula; None where it does not hold.
    nbytes : float
        Activations that the fullest rank holds, B.
    """

    title: str
    simulated: float
    formula: float | None
    nbytes: float


def rows(stages, micro_batches, per_rank):
    """Cost of GPipe, 1F1B, interleaved 1F1B and ZB-H1 on the same model and batch.

    Parameters
    ----------
    stages : int
        Ranks, with one thick stage each, or `per_rank` thin ones.
    micro_batches, per_rank : int

    Returns
    -------
    list of Row
    """
    from labs.pipeline_parallel import formulas
    from labs.pipeline_parallel.durations import Durations
    from labs.pipeline_parallel.named import named
    from labs.pipeline_parallel.simulation import simulate

    titles = {"interleaved": f"interleaved, {per_rank} a rank", "ZB-H1": "zero bubble (ZB-H1)"}
    useful, found = 3.0 * micro_batches, []  # F, I and W of one unit each, whole or in thinner pieces
    for name in formulas.NAMES:
        thin = per_rank if name == "interleaved" else 1
        timeline = simulate(named(name, stages, micro_batches, thin), Durations().scaled(1 / thin))
        formula = None
        if formulas.holds(name, stages, micro_batches):
            idle = formulas.bubble_time(name, stages, stages_per_rank=thin)
            formula = idle / (useful + idle)
        nbytes = max(timeline.peaks) / thin * BATCH_BYTES / micro_batches
        found.append(Row(titles.get(name, name), timeline.share, formula, nbytes))
    return found


def calculator():
    """Explore bubble and memory over stages, micro-batches, stages on each rank and the memory limit.

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import explore

    return explore(
        picture,
        label="What do a schedule and m cost?",
        stages=(2, 16, 1, 4),
        micro_batches=(1, 64, 1, 4),
        per_rank=[2, 3, 4, 8],
        memory_GB=(1, 40, 1, 20),
        frames=[
            {},
            {"micro_batches": 8},
            {"micro_batches": 16},
            {"micro_batches": 32},
            {"stages": 8, "micro_batches": 32, "memory_GB": 10},
            {"stages": 8, "micro_batches": 32, "per_rank": 4, "memory_GB": 10},
            {"stages": 16, "micro_batches": 64, "memory_GB": 10},
            {"stages": 8, "micro_batches": 4},
        ],
    )


def picture(stages, micro_batches, per_rank, memory_GB):
    """Draw one setting of `calculator`.

    Parameters
    ----------
    stages, micro_batches, per_rank : int
    memory_GB : float
        Limit for activations on each rank.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture, quantity

    found, limit = rows(stages, micro_batches, per_rank), memory_GB * 1e9
    words = []
    for row in found:
        formula = "no formula for these numbers" if row.formula is None else f"formula {row.formula:.1%}"
        fits = "fits" if row.nbytes <= limit else "does not fit"
        words.append(f"{row.title}: {row.simulated:.1%} idle ({formula}), {quantity(row.nbytes, 'B')}, {fits}")
    name = (
        f"{stages} ranks, {micro_batches} micro-batches, activations of the whole batch {quantity(BATCH_BYTES, 'B')} "
        f"on each rank, limit {memory_GB:g} GB"
    )
    return Picture(_draw(found, limit), f"{name}. {'. '.join(words)}.")


def _draw(found, limit):
    from labs.kit.draw import quantity
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import INK, ORANGE, PAPER, RED, SKY, SMALL, drawing, paper

    left, wide, gap, height, top = 112.0, 120.0, 76.0, 26.0, 34.0
    most = max(limit, *(row.nbytes for row in found)) * 1.05
    second = left + wide + gap
    with drawing():
        figure, axes = paper(504, top + height * len(found) + 26)
        axes.text(left, 10, "bubble's share of the step", size=SMALL, weight="bold", va="center")
        axes.text(left, 22, "simulated; | formula", size=SMALL, va="center")
        axes.text(second, 10, "activations on the fullest rank", size=SMALL, weight="bold", va="center")
        axes.text(second, 22, "the line is the limit", size=SMALL, va="center")
        for k, row in enumerate(found):
            y = top + k * height
            middle = y + height / 2 - 2
            axes.text(left - 6, middle, row.title, size=SMALL, ha="right", va="center")
            rectangles(axes, [(left, y + 3, left + wide * row.simulated, y + height - 7)], fc=ORANGE, ec=PAPER, lw=0.5)
            text = f"{row.simulated:.1%}"
            if row.formula is not None:
                at = left + wide * row.formula
                axes.plot([at, at], [y, y + height - 4], color=INK, lw=1.6)
                text += f" | {row.formula:.1%}"
            axes.text(left + wide * max(row.simulated, row.formula or 0) + 5, middle, text, size=SMALL, va="center")
            over = row.nbytes > limit
            bar = (second, y + 3, second + wide * row.nbytes / most, y + height - 7)
            rectangles(
                axes, [bar], fc=SKY, ec=RED if over else PAPER, lw=2 if over else 0.5, hatch="xxx" if over else ""
            )
            told = f"{quantity(row.nbytes, 'B')}{', too much' if over else ''}"
            axes.text(second + wide * max(row.nbytes, limit) / most + 5, middle, told, size=SMALL, va="center")
        bottom = top + height * len(found)
        x = second + wide * limit / most
        axes.plot([x, x], [top - 3, bottom], color=INK, lw=1.6, ls=(0, (3, 2)))
        axes.text(x, bottom + 9, f"limit {quantity(limit, 'B')}", size=SMALL, ha="center", va="center")
        for share in (0, 0.5, 1):
            axes.text(left + wide * share, bottom + 9, f"{share:.0%}", size=SMALL, ha="center", va="center")
    return figure
