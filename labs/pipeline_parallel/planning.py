"""Time of a step over the number of micro-batches, with what fits into memory and the learner's own choice."""

from __future__ import annotations

STAGES, SAMPLES, SAMPLE_MB, EACH_US = 8, 256, 10, 100


def plan(choose_m):
    """Explore the best number of micro-batches over the memory limit and the fixed cost of a micro-batch.

    Parameters
    ----------
    choose_m : callable
        The learner's ``choose_m(stages, samples, sample_bytes, limit_bytes, fixed, each)``.

    Returns
    -------
    labs.kit.draw.Explorer or None
        None, with a sentence printed, when there is no answer yet.
    """
    from labs.kit.draw import explore

    try:
        if choose_m(2, 4, 1, 100, 1, 1) is None:
            raise NotImplementedError
    except NotImplementedError:
        print("Solve choose_m first: then this cell shows your choice.")
        return None

    def picture(memory_MB, fixed_us, stages):
        return plan_picture(choose_m, memory_MB, fixed_us, stages)

    return explore(
        picture,
        label="How many micro-batches?",
        memory_MB=(100, 3000, 100, 600),
        fixed_us=[400, 50, 100, 200, 800, 1600],
        stages=[8, 2, 4, 16],
        frames=[
            {},
            {"memory_MB": 3000},
            {"memory_MB": 200},
            {"fixed_us": 50},
            {"fixed_us": 1600, "memory_MB": 3000},
            {"stages": 16},
        ],
    )


def plan_picture(choose_m, memory_MB, fixed_us, stages):
    """Draw one setting of `plan`: 256 samples of 10 MB, 100 us of forward a sample.

    Parameters
    ----------
    choose_m : callable
    memory_MB, fixed_us : float
    stages : int

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.pipeline_parallel.exercises_choose import picture

    inputs = {
        "stages": stages,
        "samples": SAMPLES,
        "sample_bytes": SAMPLE_MB * 10**6,
        "limit_bytes": memory_MB * 10**6,
        "fixed": fixed_us,
        "each": EACH_US,
    }
    return picture(inputs, choose_m(stages, SAMPLES, SAMPLE_MB * 10**6, memory_MB * 10**6, fixed_us, EACH_US))
