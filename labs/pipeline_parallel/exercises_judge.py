"""What the exercises on schedules share: reading a learner's lists, running them on paper, and the common slips."""

from __future__ import annotations

from labs.kit.exercise import Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

WORDS = {"F": "forward", "B": "backward", "I": "gradient of the input", "W": "gradient of the weights"}


def read(output, kinds="FB", whole=False):
    """The learner's schedule as lists of (kind, micro-batch), or (kind, stage, micro-batch) where `whole`.

    Parameters
    ----------
    output : dict
        ``rows``: by rank, untrusted.
    kinds : str
        The letters that are allowed.
    whole : bool
        Whether an action names its stage.

    Returns
    -------
    list of list of tuple

    Raises
    ------
    Wrong
        For what cannot be read as a list of actions.
    """
    example = '("F", stage, 0)' if whole else '("F", 0)'
    rows = output["rows"]
    for rank, row in enumerate(rows):
        if row is None:
            raise Wrong("nothing_returned", "Your function returned None. Where does the list go at its end?")
        for place, entry in enumerate(row):
            where = f"\nrank {rank}, place {place}: {entry!r}"
            if (
                entry is None
                or entry in ("idle", "", "-", " ")
                or (type(entry) is list and entry[:1] in (["idle"], [None]))
            ):
                raise Wrong(
                    "idle_written",
                    "You wrote a pause into the list. Does a rank have to be told to wait?" + where,
                    then=(
                        "A schedule is an order. A rank waits by itself until what it needs has arrived.",
                        "Leave pauses out: only actions, in their order.",
                    ),
                )
            if type(entry) is list and entry and all(type(each) is list for each in entry):
                raise Wrong(
                    "all_ranks",
                    "You returned lists within a list. Whose schedule was asked for?" + where,
                    then=("The function is called once for each rank, and returns the list of that rank alone.",),
                )
            if (
                type(entry) is not list
                or len(entry) != 2 + whole
                or type(entry[0]) is not str
                or entry[0] not in tuple(kinds)
                or not all(type(number) is int for number in entry[1:])
            ):
                raise Wrong("no_action", f"What is this entry? An action looks like {example}." + where)
    return [[tuple(entry) for entry in row] for row in rows]


def check_complete(rows, p, m, kinds="FB"):
    """Raise `Wrong` unless every rank has every action once, in a possible order."""
    numbers = sorted({micro for row in rows for _, micro in row})
    every = [(kind, k) for kind in kinds for k in range(m)]

    def wrong(hint, question, *then, marks=()):
        raise Wrong(hint, question + evidence(rows), then=then, picture=lambda: listed(rows, marks))

    if numbers == list(range(1, m + 1)) and m > 1:
        wrong(
            "counted_from_one", "Your micro-batches are 1 to m. Which number has the first one?", "0, as in range(m)."
        )
    if p != m and numbers == list(range(p)) and all(len(row) == len(kinds) * p for row in rows):
        wrong(
            "m_is_p",
            f"You have {p} micro-batches because there are {p} stages. How many did the call ask for?",
            "The number of micro-batches is free: it need not be the number of stages.",
            f"range(micro_batches), here {m}.",
        )
    for rank, row in enumerate(rows):
        for place, (kind, micro) in enumerate(row):
            if not 0 <= micro < m:
                wrong(
                    "no_such_micro_batch",
                    f"Rank {rank} wants the {WORDS[kind]} of micro-batch {micro}. How many are there?",
                    f"Here m = {m}, so the last one is {m - 1}. There may be fewer micro-batches than stages.",
                    "No rank can run ahead by more than there is: min(..., micro_batches).",
                    marks=[(rank, place)],
                )
        again = [place for place, action in enumerate(row) if action in row[:place]]
        if again:
            kind, micro = row[again[0]]
            wrong(
                "twice",
                f"Rank {rank} computes the {WORDS[kind]} of micro-batch {micro} twice. Which of them counts?",
                "Every action stands in the list once.",
                marks=[(rank, again[0])],
            )
        missing = [action for action in every if action not in row]
        if missing and kinds == "FB" and all(kind == "B" for kind, _ in missing) and len(missing) == m:
            wrong(
                "no_backward",
                "Your lists hold forwards only. How do the gradients come about?",
                'After the forwards: ("B", k) for every micro-batch.',
            )
        if missing:
            kind, micro = missing[0]
            wrong(
                "missing",
                f"Rank {rank} never computes the {WORDS[kind]} of micro-batch {micro}. "
                + ("What shall the optimiser take instead?" if kind == "W" else "Who waits for it?"),
                f"Count: {len(kinds)} kinds, {m} of each, so {len(kinds) * m} actions on every rank. Yours has {len(row)}.",
                "Look at the end of the list: what is left when the last forward has been done?",
            )
        for kind, before in zip(kinds[1:], kinds):
            for micro in range(m):
                if row.index((kind, micro)) < row.index((before, micro)):
                    wrong(
                        "backward_first" if kind in "BI" else "weights_first",
                        f"Rank {rank} begins the {WORDS[kind]} of micro-batch {micro} before its {WORDS[before]}. What would "
                        "it compute with?",
                        "A backward needs what the forward of the same micro-batch has stored, and the gradient of the "
                        "weights needs what the gradient of the input has found.",
                        "The last rank needs one forward before its first backward; count how many the others need.",
                        marks=[(rank, row.index((kind, micro)))],
                    )


def timed(rows):
    """Run a learner's lists on paper: a forward takes 1, a backward 2 (each half 1), messages no time.

    Parameters
    ----------
    rows : list of list of tuple
        (kind, micro-batch) with rank r computing stage r, or (kind, stage, micro-batch).

    Returns
    -------
    labs.pipeline_parallel.timeline.Timeline
        ``stuck`` says where ranks wait for ever.
    """
    from labs.pipeline_parallel.actions import schedule_from
    from labs.pipeline_parallel.simulation import simulate

    return simulate(schedule_from(rows))


def check_runs(rows, mirrored=None):
    """Raise `Wrong` when ranks wait for one another for ever; the circle is told and drawn.

    Parameters
    ----------
    rows : list of list of tuple
    mirrored : tuple, optional
        (hint, question, *then) for ranks that run ahead the further, the later they stand in the pipeline.
    """
    from labs.pipeline_parallel.actions import schedule_from
    from labs.pipeline_parallel.checking import check

    stuck = timed(rows).stuck
    if not stuck:
        return
    told = []
    for finding in check(schedule_from(rows)):
        if finding.kind == "deadlock":
            rank, (other, place) = finding.rank, finding.waits_for
            text = f"rank {rank} stands before {label(rows[rank][finding.position])}: it needs {label(rows[other][place])} of "
            text += f"rank {other}" + (
                f", which stands before {label(rows[other][stuck[other]])}" if other in stuck else ""
            )
            told.append(text)
    ahead = [runs_ahead(row) for row in rows]
    hint, question, *then = (
        "deadlock",
        "Your ranks wait for one another in a circle. Which of them should do something else first?",
        "A forward needs the forward of the stage before, a backward needs the backward of the stage after.",
    )
    if mirrored and ahead != sorted(ahead, reverse=True):
        hint, question, *then = mirrored
    lines = "\n".join(told[:4])
    raise Wrong(hint, f"{question}\n{lines}{evidence(rows)}", then=then, picture=lambda: drawn(rows, "Your schedule"))


def runs_ahead(row):
    """Forwards before the first backward."""
    return next((place for place, action in enumerate(row) if action[0] == "B"), len(row))


def label(action):
    """F0 for ("F", 0), and F4.0 for the forward of stage 4, micro-batch 0."""
    return action[0] + ".".join(map(str, action[1:]))


def evidence(rows, most=6):
    """The lists as text."""
    lines = ["\n(F4.0: forward of stage 4, micro-batch 0)"] if any(len(action) > 2 for action in rows[0][:1]) else []
    for rank, row in enumerate(rows[:most]):
        text = " ".join(map(label, row))
        lines.append(f"\nrank {rank}: {text if len(text) <= 100 else text[:98] + ' …'}")
    return "".join(lines) + ("\n…" if len(rows) > most else "")


def listed(rows, marks=()):
    """Draw the lists as they stand, with faults in red."""
    from labs.pipeline_parallel import pictures

    return pictures.lists([[(a[0], a[-1], 0) for a in row] for row in rows], marks, name="Your lists")


def drawn(rows, name, marks=()):
    """Draw the learner's schedule over time; what is never reached is drawn as an outline, the culprit in red.

    Parameters
    ----------
    rows : list of list of tuple
    name : str
    marks : collection of (rank, kind, micro)
        Actions with a red edge.
    """
    from labs.pipeline_parallel.boxes import boxes_of, unreached
    from labs.pipeline_parallel.pictures import schedule

    timeline = timed(rows)
    red = {tuple(mark) for mark in marks}
    boxes = [box._replace(wrong=(box.rank, box.kind, box.micro) in red) for box in boxes_of(timeline.spans)]
    if timeline.stuck:
        boxes += unreached(rows, timeline)
    return schedule({"": boxes}, len(rows), name=name)
