"""Exercise learning_rate: the linear rule with a gradual warm-up."""

from __future__ import annotations

import math

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(base, workers, warmup, part="correct"):
        title = f"base {base:g}, {workers} worker{'s' * (workers != 1)}, {warmup} step{'s' * (warmup != 1)} of warm-up"
        return Case(title, {"base": base, "workers": workers, "warmup": warmup, "steps": warmup + 4}, part)

    return [
        case(0.1, 4, 5),
        case(0.05, 9, 10),
        case(float(rng.integers(1, 50)) / 100, int(rng.integers(5, 40)), int(rng.integers(3, 30))),
        case(0.1, 4, 0, "edge"),
        case(0.1, 4, 1, "edge"),
        case(0.1, 1, 5, "edge"),
        case(0.1, 1, 0, "edge"),
    ]


def run(answers, inputs):
    try:
        return [
            answers[0](step, inputs["base"], inputs["workers"], inputs["warmup"]) for step in range(inputs["steps"])
        ]
    except ZeroDivisionError:
        return "ZeroDivisionError"


def on_the_line(base, workers, warmup, step):
    """The rate by interpolation between the two points that the rule names."""
    if step >= warmup:
        return base * workers
    return float(np.interp(step, [0, warmup], [base, base * workers]))


def verify(case, output):
    base, workers, warmup = (case.inputs[name] for name in ("base", "workers", "warmup"))
    if output == "ZeroDivisionError":
        raise Wrong(
            "no_warm_up_steps",
            f"{case.title}: your function divides by zero. What is the rate when there is no warm-up?",
            then=("From step 0 on the full rate, base * workers.", "Ask `if step >= warmup` before you divide."),
        )
    if any(type(rate) not in (int, float) or not math.isfinite(rate) for rate in output):
        raise Wrong("not_a_number", f"{case.title}: which number is the rate? Your function returned {output[0]!r}.")
    steps = range(len(output))
    wanted = [on_the_line(base, workers, warmup, step) for step in steps]
    if _close(output, wanted):
        return
    step = next(k for k in steps if not _close(output[k : k + 1], wanted[k : k + 1]))
    evidence = f"{case.title}\nstep {step}: expected {wanted[step]:.6g}, yours {output[step]:.6g}"
    for hint, slip, question, *then in _slips(base, workers, warmup):
        if _close(output, [slip(step) for step in steps]):
            raise Wrong(hint, f"{question}\n{evidence}", picture=_picture(output, wanted), then=then)
    raise Wrong(
        "other_rate",
        f"The rate leaves its line at step {step}. Which two points does the line join, and what comes after?\n{evidence}",
        picture=_picture(output, wanted),
        then=(
            "At step 0 the rate is base. At step warmup, and from there on, it is base * workers.",
            "base * (1 + (workers - 1) * step / warmup) while step < warmup.",
        ),
    )


def _close(found, wanted):
    return np.allclose(found, wanted, rtol=1e-9, atol=1e-12)


def _slips(base, workers, warmup):
    """Misconceptions: name, rate at a step, question, further hints."""
    top, long = base * workers, max(warmup, 1)
    ramp = lambda share: base * (1 + (workers - 1) * share)
    return [
        (
            "no_warm_up",
            lambda step: top,
            "The full rate from the first step on. What did the first, random weights do to deserve such long steps?",
            "Start at base and grow in a straight line; be at base * workers when the warm-up is over.",
        ),
        (
            "not_scaled",
            lambda step: base,
            "The rate of one worker all the time. Your batch is larger: how many steps are left in an epoch?",
            "The linear rule: the rate grows by the same factor as the batch.",
        ),
        (
            "from_zero",
            lambda step: top * min(step / long, 1),
            "Your first step has rate 0 and does nothing. From which rate does the ramp begin?",
            "Goyal and others begin with the rate of one worker: base, not 0.",
        ),
        (
            "counted_from_one",
            lambda step: top * min((step + 1) / long, 1),
            "Your ramp is a share of base * workers. Where does it stand at step 0?",
            "It begins at base, and not at a part of the goal.",
        ),
        (
            "one_step_early",
            lambda step: ramp(min((step + 1) / long, 1)),
            "You reach the full rate one step early. What is the number of the first step?",
            "Steps count from 0: after none of them the ramp has not moved.",
        ),
        (
            "one_step_late",
            lambda step: ramp(min(step / (warmup + 1), 1)),
            "At the end of the warm-up your rate is still below its goal. How many steps is the ramp long?",
            "From step 0 to step warmup it climbs warmup times.",
        ),
        (
            "never_stops",
            lambda step: ramp(step / long),
            "Your rate goes on climbing after the warm-up. Where should it stay?",
            "From step warmup on it is base * workers: min(step / warmup, 1).",
        ),
        (
            "falls_back",
            lambda step: ramp(step / long) if step < warmup else base,
            "After the warm-up your rate falls back to base. What was the warm-up for?",
            "It leads up to base * workers, and there the rate stays.",
        ),
        (
            "square_root",
            lambda step: base * (1 + (math.sqrt(workers) - 1) * min(step / long, 1)),
            "Your goal is base times the square root of the number of workers. Which rule is that?",
            "A square root is discussed for Adam. For SGD the linear rule is asked: base * workers.",
        ),
        (
            "scaled_twice",
            lambda step: base * (1 + (workers**2 - 1) * min(step / long, 1)),
            "You scale by the square of the number of workers. Where does the second factor come from?",
            "base * workers is the goal; the ramp leads from 1 to workers.",
        ),
        (
            "geometric",
            lambda step: base * workers ** min(step / long, 1),
            "Your rate grows by the same factor at each step. Which line joins its two ends with equal steps?",
            "Gradual warm-up adds the same amount at each step.",
        ),
    ]


def _picture(output, wanted):
    def draw():
        from labs.kit.draw import curves

        steps = list(range(len(output)))
        return curves(
            {"expected": (steps, wanted), "yours": (steps, output)},
            xlabel="step (number)",
            ylabel="learning rate (number)",
            name="Learning rate",
        )

    return draw


learning_rate = Exercise("learning_rate", "The linear rule, with a warm-up", 1, cases, run, verify)
