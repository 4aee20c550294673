"""The lesson's pictures of whole schedules: the learner's own, several side by side, and one to read."""

from __future__ import annotations

from labs.pipeline_parallel import pictures
from labs.pipeline_parallel.actions import BadSchedule, schedule_from
from labs.pipeline_parallel.boxes import boxes_of, idle_share, unreached
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.simulation import simulate


def schedule_of(answer, stages, micro_batches, solve=""):
    """The whole schedule from a learner's function for one rank.

    Parameters
    ----------
    answer : callable
        ``answer(rank, stages, micro_batches)``.
    stages, micro_batches : int
    solve : str
        Name of the exercise, for the sentence that is printed when there is no usable answer yet.

    Returns
    -------
    tuple of tuple of Action or None
    """
    try:
        found = schedule_from([answer(rank, stages, micro_batches) for rank in range(stages)])
    except (NotImplementedError, BadSchedule, TypeError):
        found = None
    if found is None or simulate(found).stuck:
        name = solve or getattr(answer, "__name__", "the exercise")
        print(f"Solve {name} first: then this cell shows your own schedule.")
        return None
    return found


def show(rows, name="A schedule"):
    """Draw any schedule that is written down as lists of tuples, also one that gets stuck.

    Parameters
    ----------
    rows : list of list of tuple
        By rank: ``("F", micro_batch)`` where rank r computes stage r, or ``("F", stage, micro_batch)``.
    name : str

    Returns
    -------
    labs.kit.draw.Picture
    """
    timeline = simulate(schedule_from(rows))
    boxes = boxes_of(timeline.spans)
    title = _told(boxes, len(rows))
    if timeline.stuck:
        title = f"stuck: ranks {', '.join(map(str, timeline.stuck))} wait for ever"
        boxes = boxes + unreached(rows, timeline)
    return pictures.schedule({title: boxes}, len(rows), name=name)


def play(answer, stages=4, micro_batches=4):
    """Step through the learner's schedule.

    Parameters
    ----------
    answer : callable
    stages, micro_batches : int

    Returns
    -------
    labs.kit.draw.Player or None
        None, with a sentence printed, when there is no answer yet.
    """
    found = schedule_of(answer, stages, micro_batches)
    if found is None:
        return None
    boxes = boxes_of(simulate(found).spans)
    return pictures.player(
        boxes, stages, label=f"Your {answer.__name__}, {stages} stages, {micro_batches} micro-batches"
    )


def compare(answers, stages=4, micro_batches=8):
    """Draw the learner's schedules one above the other.

    Parameters
    ----------
    answers : dict of str to callable
        By title.
    stages, micro_batches : int

    Returns
    -------
    labs.kit.draw.Picture or None
    """
    found = {title: schedule_of(answer, stages, micro_batches) for title, answer in answers.items()}
    if None in found.values():
        return None
    titled = {title: boxes_of(simulate(plan).spans) for title, plan in found.items()}
    name = f"{stages} stages, {micro_batches} micro-batches"
    return pictures.schedule(
        {f"{title}: {_told(boxes, stages)}": boxes for title, boxes in titled.items()}, stages, name=name
    )


def unsplit(stages=4):
    """Draw a batch that goes through the stages in one piece, as lesson 11 left it."""
    from labs.pipeline_parallel.schedules import gpipe

    boxes = boxes_of(simulate(gpipe(stages, 1)).spans)
    return pictures.schedule(
        {f"One batch in one piece: {_told(boxes, stages)}": boxes}, stages, name="Without micro-batches"
    )


def thin_stages(ranks=4, micro_batches=4, per_rank=(1, 2, 4)):
    """Draw interleaved schedules: the same work in one, two and four thinner stages on each rank.

    Parameters
    ----------
    ranks, micro_batches : int
    per_rank : sequence of int

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.pipeline_parallel.interleaving import interleaved
    from labs.pipeline_parallel.schedules import one_f_one_b

    titled = {}
    for v in per_rank:
        plan = interleaved(v, ranks, micro_batches) if v > 1 else one_f_one_b(ranks, micro_batches)
        boxes = boxes_of(simulate(plan, Durations().scaled(1 / v)).spans)
        one = "1 stage" if v == 1 else f"{v} stages"
        titled[f"{one} on each rank: {idle_share(boxes, ranks):.0%} idle"] = boxes
    return pictures.schedule(
        titled, ranks, name=f"Interleaving on {ranks} ranks", unit="time (1 = a thick stage's forward)"
    )


def to_read(stages=4, micro_batches=4):
    """Draw the schedule that the learner reads: ZB-H1 of Qi and others."""
    from labs.pipeline_parallel.zero_bubble import zb_h1

    boxes = boxes_of(simulate(zb_h1(stages, micro_batches)).spans)
    return pictures.schedule({"": boxes}, stages, name=f"ZB-H1, {stages} stages, {micro_batches} micro-batches")


def _told(boxes, ranks):
    end = max(box.end for box in boxes)
    return f"done after {end:g}, {idle_share(boxes, ranks):.0%} idle"
