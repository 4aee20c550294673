"""What the learner commits to: the idle share of a pipeline, and what 1F1B changes about it."""

from __future__ import annotations

STAGES, MICRO_BATCHES = 4, 4


def predict_idle():
    """What share of the step does a GPU idle?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        f"{STAGES} stages, the batch in {MICRO_BATCHES} micro-batches: which share of a step does a GPU idle?",
        "%",
        low=0,
        high=100,
        step=1,
        start=0,
        name="pipeline_parallel.idle",
    )


def reveal_idle(guess):
    """Put the prediction beside the formula.

    Parameters
    ----------
    guess : labs.kit.exercise.Prediction
    """
    p, m = STAGES, MICRO_BATCHES
    guess.reveal(
        100 * (p - 1) / (m + p - 1),
        f"A micro-batch keeps a GPU busy for one slot. The last GPU gets its first one {p - 1} slots late, and then "
        f"has {m} of them: {m} busy slots of {m + p - 1}, and backward is the same the other way round. "
        f"({p - 1}/{p} = {(p - 1) / p:.0%} was the share without micro-batches.)",
    )


def predict_after_1f1b():
    """What becomes of the idle share when GPipe is replaced by 1F1B?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "4 stages, 8 micro-batches, GPipe: 27 % idle. With every backward as early as possible, it will be",
        "%",
        low=0,
        high=60,
        step=1,
        start=0,
        name="pipeline_parallel.after_1f1b",
    )


def reveal_after_1f1b(guess):
    """Put the prediction beside what 1F1B does.

    Parameters
    ----------
    guess : labs.kit.exercise.Prediction
    """
    from labs.pipeline_parallel.schedules import one_f_one_b
    from labs.pipeline_parallel.simulation import simulate

    guess.reveal(
        100 * simulate(one_f_one_b(4, 8)).share,
        "The pipeline still fills once and empties once: three slots of forward and of backward in which somebody has "
        "nothing. No order of the same work changes that. What changes is below the bars.",
    )
