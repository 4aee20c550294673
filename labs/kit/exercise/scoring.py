"""Points for a list of outcomes."""

from labs.kit.exercise.case import PARTS

SHARES = {"correct": 0.50, "edge": 0.25, "budget": 0.25}
"""Share of an exercise's points for each part; renormalised over the parts that its cases have."""


def score(points, outcomes) -> float:
    """Points earned.

    A part is earned when all its cases pass; "edge" and "budget" count only once all "correct" cases pass, because a
    wrong answer is easily cheap. An answer that passes one more case never scores less.

    Parameters
    ----------
    points : float
        What the exercise is worth.
    outcomes : iterable of (Case, Wrong or None)
        One for **every** case; a case that was never reached counts as failed.

    Returns
    -------
    float
        Between 0 and `points`, rounded to 2 decimals.
    """
    failed = dict.fromkeys(PARTS, 0)
    present = set()
    for case, wrong, *_ in outcomes:
        present.add(case.part)
        failed[case.part] += wrong is not None
    if not present or failed["correct"]:
        return 0.0
    earned = sum(SHARES[part] for part in PARTS if part in present and not failed[part])
    return round(points * earned / sum(SHARES[part] for part in present), 2)
