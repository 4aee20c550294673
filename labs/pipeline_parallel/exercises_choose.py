"""Exercise choose_m: the number of micro-batches with the shortest step among those that fit into memory."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, stages, samples, sample_mb, limit_mb, fixed_us, each_us, part="correct"):
        """Whole numbers, so that ties are ties."""
        inputs = {
            "stages": int(stages),
            "samples": int(samples),
            "sample_bytes": int(sample_mb) * 10**6,
            "limit_bytes": int(limit_mb) * 10**6,
            "fixed": int(fixed_us),
            "each": int(each_us),
        }
        return Case(title, inputs, part)

    stages, each = rng.integers(5, 9), rng.integers(80, 130)
    return [
        case("4 stages, 64 samples of 10 MB, a limit of 400 MB", 4, 64, 10, 400, 400, 100),
        case("8 stages, 256 samples of 10 MB, a limit of 600 MB", 8, 256, 10, 600, 400, 100),
        case(f"{stages} stages, 96 samples of 10 MB, a limit of 500 MB", stages, 96, 10, 500, 5 * each, each),
        case("memory for everything: only time counts", 4, 64, 10, 10_000, 200, 100, "edge"),
        case("fewer micro-batches than stages are best", 8, 16, 1, 20, 1000, 100, "edge"),
        case("100 samples do not divide: the largest micro-batch counts", 2, 100, 10, 260, 50, 100, "edge"),
        case("only single samples fit", 4, 32, 100, 450, 400, 100, "edge"),
        case("nothing fits: None", 4, 32, 100, 390, 400, 100, "edge"),
        case("one sample", 4, 1, 100, 100, 400, 100, "edge"),
        case("one stage: nobody waits for anybody", 1, 64, 10, 320, 400, 100, "edge"),
    ]


def run(answers, inputs):
    names = ("stages", "samples", "sample_bytes", "limit_bytes", "fixed", "each")
    chosen = answers[0](*(inputs[name] for name in names))
    return {"m": None if chosen is None else float(chosen)}


def table(inputs, held=None, rounded=None):
    """For each number of micro-batches: samples in the largest, bytes held by rank 0, and the step's time in us.

    Parameters
    ----------
    inputs : dict
        Of a case.
    held, rounded : callable, optional
        ``held(p, m)`` micro-batches that are held, and ``rounded(samples, m)`` samples in one, to recognise slips.

    Returns
    -------
    list of (int, int, int, int)
        m, samples, bytes, us.
    """
    p, samples = inputs["stages"], inputs["samples"]
    held = held or min
    rounded = rounded or (lambda total, m: -(-total // m))
    found = []
    for m in range(1, samples + 1):
        size = rounded(samples, m)
        time = 3 * (m + p - 1) * (inputs["fixed"] + size * inputs["each"])
        found.append((m, size, held(p, m) * size * inputs["sample_bytes"], time))
    return found


def best(inputs, rows=None):
    """The right number of micro-batches, or None; `rows` as from `table`."""
    fitting = [(time, m) for m, _, nbytes, time in rows or table(inputs) if nbytes <= inputs["limit_bytes"]]
    return min(fitting)[1] if fitting else None


def verify(case, output):
    inputs = case.inputs
    got, right = output["m"], best(inputs)
    if got == right:
        return
    p, samples, limit = inputs["stages"], inputs["samples"], inputs["limit_bytes"]
    rows = {m: (size, nbytes, time) for m, size, nbytes, time in table(inputs)}

    def told(m):
        if m is None:
            return "None"
        if m not in rows:
            return f"m = {m:g}"
        size, nbytes, time = rows[m]
        return (
            f"m = {m:g}: micro-batches of up to {size}, rank 0 holds {min(p, m):g} of them, {nbytes / 1e6:g} MB; "
            f"{time / 1e3:g} ms"
        )

    evidence = (
        f"\n{p} stages, {samples} samples of {inputs['sample_bytes'] / 1e6:g} MB, limit {limit / 1e6:g} MB, "
        f"{inputs['fixed']} us + {inputs['each']} us a sample\nbest   {told(right)}\nyours  {told(got)}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then, picture=lambda: picture(inputs, got))

    if got is not None and got not in rows:
        wrong(
            "no_such_m",
            f"{got:g} micro-batches of {samples} samples: is that possible?",
            "A whole number, at least one, and at most one for each sample: range(1, samples + 1).",
        )
    if right is None:
        wrong(
            "none_fits",
            "No number of micro-batches fits here. What does your function return then?",
            "Even single samples are too large: then there is no plan, and None says so.",
        )
    if got == rows[right][0] and got != 1:
        wrong(
            "size_not_m",
            "That is how large a micro-batch should be. How many of them are there?",
            "Return m, not the samples in a micro-batch.",
        )
    if got is not None and rows[got][1] > limit:
        if got == best(inputs, table(inputs, rounded=lambda total, m: total // m)):
            wrong(
                "rounded_down",
                f"{samples} samples in {got:g} micro-batches: how large is the largest of them?",
                "What does not divide makes some of them larger by one, and those must fit, too.",
                "math.ceil(samples / m), or -(-samples // m).",
            )
        if got == p:
            wrong(
                "m_is_p",
                "You took as many micro-batches as stages. Who said that m must equal p?",
                "m is free. Only memory, the batch and the time decide.",
            )
        wrong(
            "does_not_fit",
            "That is quick, but it does not fit. When is the memory of rank 0 fullest?",
            "Just before its first backward it holds min(p, m) micro-batches.",
            "Go through all m from 1 to samples; skip those with min(p, m) * b * sample_bytes > limit_bytes.",
        )
    slips = {
        "gpipe_memory": table(inputs, held=lambda p, m: m),
        "p_at_least": table(inputs, held=lambda p, m: p),
    }
    if got == best(inputs, slips["gpipe_memory"]):  # GPipe holds the whole batch, so None, unless all of it fits
        wrong(
            "gpipe_memory",
            "You say that nothing fits. How many micro-batches does rank 0 hold with 1F1B: all m, as with GPipe?",
            "As many as it runs ahead: at most p, and never more than there are.",
            "min(stages, m) micro-batches of b samples each, for every m from 1 to samples.",
        )
    if got == best(inputs, slips["p_at_least"]):
        wrong(
            "p_at_least",
            "You count p micro-batches even where there are fewer. How many can rank 0 hold then?",
            "With m < p it holds all m, and no more.",
            "min(stages, m).",
        )
    if got is None:
        wrong(
            "gave_up",
            "You say that nothing fits, but something does. Which m did you not try?",
            "Every m from 1 to samples is allowed, also those that do not divide the batch.",
        )
    if got == p:
        wrong(
            "m_is_p",
            "You took as many micro-batches as stages. Who said that m must equal p?",
            "m is free. Only memory, the batch and the time decide.",
        )
    if got == min(m for m in rows if rows[m][1] <= limit):
        wrong(
            "first_that_fits",
            "The fewest micro-batches that fit: is the step shortest there?",
            "Few micro-batches mean a large bubble.",
            "Compare (m + p - 1) * (fixed + each * b) for all m that fit.",
        )
    if got == samples:
        wrong(
            "smallest_bubble",
            "The smallest bubble, but is it the shortest step? What does each micro-batch pay, however small it is?",
            "fixed, in every forward and backward, m times over.",
            "Compare (m + p - 1) * (fixed + each * b) for all m that fit, not the share of the bubble.",
        )
    if rows[got][2] == rows[right][2]:
        wrong(
            "tie",
            "Two numbers of micro-batches take equally long. Which of them was asked for?",
            "The smaller one.",
        )
    if samples % got or samples % right:
        wrong(
            "only_divisors",
            "The best m does not divide the batch here. Did you leave it out, or round?",
            "Every m is allowed. The largest micro-batch has samples / m samples, rounded up, and sets the pace.",
        )
    wrong(
        "other_m",
        "It fits, but another one is quicker. Which time did you minimise?",
        "(m + p - 1) * (fixed + each * b), with b = samples / m, rounded up. The factor 3 does not matter.",
    )


def picture(inputs, chosen):
    """Draw the time of a step over m, where it fits and where it does not, with the learner's choice."""
    from labs.kit.draw import curves

    rows = table(inputs)
    inside = [(m, time * 1e-6) for m, _, nbytes, time in rows if nbytes <= inputs["limit_bytes"]]
    outside = [(m, time * 1e-6) for m, _, nbytes, time in rows if nbytes > inputs["limit_bytes"]]
    series = {}
    if inside:
        series["fits"] = tuple(zip(*inside))
    if outside:
        series["too large"] = tuple(zip(*outside))
    marks = [(best(inputs), "best")] if inside else []
    if chosen is not None and 1 <= chosen <= inputs["samples"]:
        marks.append((chosen, "yours"))
    return curves(
        series,
        xlabel="micro-batches m",
        ylabel="time of a step (s)",
        logx=len(rows) > 1,
        points=tuple(series) if len(rows) <= 40 else (),  # so many markers would hide one another
        marks=marks,
        name=f"1F1B on {inputs['stages']} stages, {inputs['samples']} samples",
    )


def achieved(outputs):
    case, output = outputs[0]
    _, size, nbytes, time = table(case.inputs)[int(output["m"]) - 1]
    return [
        (
            case.title,
            f"m = {output['m']:g}, micro-batches of up to {size}, {nbytes / 1e6:g} MB on rank 0, {time / 1e3:g} ms",
        )
    ]


choose_m = Exercise("choose_m", "Choose m under a memory limit", 1, cases, run, verify, achieved=achieved)
