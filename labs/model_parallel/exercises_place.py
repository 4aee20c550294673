"""Exercise place: layers on devices, in order, under a limit of memory each, the slowest as quick as can be."""

from __future__ import annotations

import itertools
import re

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short
from labs.model_parallel.placement import fill
from labs.model_parallel.sums import equal_counts, sums

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, nbytes, seconds, limits, part="correct", kind="layer"):
        inputs = {
            "names": [f"{kind}{k}" for k in range(len(nbytes))],
            "nbytes": [int(each) for each in nbytes],
            "seconds": [int(each) for each in seconds],
            "limits": [int(each) for each in limits],
        }
        return Case(title, inputs, part)

    while True:  # drawn layers that fit, but only just
        nbytes, limits = rng.integers(5, 40, 8), rng.integers(60, 90, 3)
        counts, reached = fill(list(nbytes), [0] * 8, list(limits), 1)
        if reached == 8 and counts != equal_counts(8, 3):
            break
    ramp, wide = rng.integers(20, 30, 12), rng.integers(3, 30, 24)
    return [
        case("4 layers on 2 devices", (30, 30, 20, 20), (1, 1, 1, 1), (60, 60)),
        case("the large layers come first", (50, 40, 10, 10, 10, 10), (2,) * 6, (60, 60, 60)),
        case("8 drawn layers on 3 devices", nbytes, rng.integers(1, 9, 8), limits),
        case("a layer that is too large for any device", (10, 10, 75, 10), (1,) * 4, (60, 60), kind="block"),
        case("together they would fit, cut they do not", (40, 40, 40), (1,) * 3, (60, 60), kind="block"),
        case("exactly full", (25, 35, 40, 20), (1,) * 4, (60, 60), "edge"),
        case("one byte too many", (25, 35, 40, 21), (1,) * 4, (60, 60), "edge"),
        case("a single device, and it is enough", (10, 20, 30), (1,) * 3, (60,), "edge"),
        case("more devices than layers", (30, 30), (1, 1), (60, 60, 60, 60), "edge"),
        case("a small device in the middle holds nothing", (50, 50, 50), (1,) * 3, (110, 40, 60), "edge"),
        case("no layer at all", (), (), (60, 60), "edge"),
        case("plenty of memory: the slowest device counts", (1,) * 6, (8, 1, 1, 1, 1, 4), (100,) * 3, "budget"),
        case("large layers are quick here, small ones slow", (30, 30, 30, 5, 5, 5), (1, 1, 1, 9, 9, 9), (95, 95, 95),
             "budget"),
        case("the best balance does not fit", (40, 40, 10, 10, 10, 10), (1, 1, 6, 1, 1, 1), (70, 70), "budget"),
        case("12 layers on 4 devices", ramp, rng.integers(1, 20, 12), (120,) * 4, "budget"),
        case("24 layers on 8 devices", wide, rng.integers(1, 20, 24), (90,) * 8, "budget"),
    ]  # fmt: skip


def run(answers, inputs):
    try:
        counts = answers[0](*(list(inputs[name]) for name in ("names", "nbytes", "seconds", "limits")))
    except ValueError as refused:
        return {"refused": str(refused)[:400]}
    return {"counts": None if counts is None else [int(count) for count in counts]}


def best(nbytes, seconds, limits):
    """Seconds of the slowest device in the best placement, by dynamic programming; None when there is none."""
    ends = np.concatenate([[0], np.cumsum(nbytes)]), np.concatenate([[0], np.cumsum(seconds)])
    layers, slowest = len(nbytes), {0: 0}
    for limit in limits:
        now = {}
        for start, so_far in slowest.items():
            for end in range(start, layers + 1):
                if ends[0][end] - ends[0][start] > limit:
                    break
                worst = max(so_far, int(ends[1][end] - ends[1][start]))
                now[end] = min(now.get(end, worst), worst)
        slowest = now
    return slowest.get(layers)


def verify(case, output):
    names, nbytes, seconds, limits = (case.inputs[name] for name in ("names", "nbytes", "seconds", "limits"))
    quickest = best(nbytes, seconds, limits)
    given = f"\nbytes {short(nbytes, 100)}, limits {short(limits, 60)}\nseconds {short(seconds, 100)}"
    if "refused" in output:
        judge_refusal(output["refused"], quickest, given, names, nbytes, limits)
        return
    counts = output["counts"]

    def wrong(hint, question, *then, picture=True):
        own = f"\nyours: {short(counts, 80)}"
        if picture:
            own += f", bytes {short(sums(nbytes, counts), 80)}, seconds {short(sums(seconds, counts), 80)}"
        show = (lambda: drawn(case.inputs, counts)) if picture else None
        raise Wrong(hint, question + given + own, then=then, picture=show)

    if counts is None:
        wrong("nothing_returned", "Your function returned None. Where does the list go at its end?", picture=False)
    if len(counts) != len(limits):
        wrong(
            "other_length",
            f"{len(limits)} devices, and {len(counts)} counts. How many layers does each device take?",
            "One number for each device, 0 where it takes none.",
            picture=False,
        )
    if min(counts, default=0) < 0:
        wrong("negative", "A device takes -1 layers? Count from 0 up.", picture=False)
    if sum(counts) > len(nbytes):
        wrong("layer_twice", f"You place {sum(counts)} layers, and there are {len(nbytes)}. Which one is there twice?",
              picture=False)  # fmt: skip
    if sum(counts) < len(nbytes) and quickest is None:
        wrong(
            "not_refused",
            "Your plan leaves layers out and says nothing. Who computes them?",
            "A layer without a place is an error, and the plan must not pass for one.",
            "After filling: if layers are left, raise ValueError with the name and the bytes of the first of them.",
        )
    if sum(counts) < len(nbytes):
        wrong(
            "layer_lost",
            f"There are {len(nbytes)} layers, and your plan holds {sum(counts)}. Where are the others?",
            "They do fit. See how many layers each device takes, and whether one is skipped when a device is full.",
        )
    held = sums(nbytes, counts)
    over = next((k for k, (own, limit) in enumerate(zip(held, limits)) if own > limit), None)
    if over is not None:
        equal = counts == equal_counts(len(nbytes), len(limits))
        if equal:
            wrong(
                "equal_counts",
                "As many layers on each device as on any other. Is a layer like any other?",
                f"Device {over} would hold {held[over]} bytes; its limit is {limits[over]}.",
                "Add up bytes, not layers: a device takes the next layer only if it still fits.",
            )
        wrong(
            "limit_ignored",
            f"Device {over} would hold {held[over]} bytes; its limit is {limits[over]}. When does it stop taking layers?",
            "Before it takes a layer, look whether the sum with that layer is still at most the limit.",
        )
    slowest = max(sums(seconds, counts), default=0)
    if slowest == (quickest or 0) or case.part != "budget":
        return
    told = f" Your slowest device takes {slowest}, and {quickest} is possible."
    if counts == fill(nbytes, seconds, limits, float("inf"))[0]:
        wrong(
            "filled_first",
            "Your first devices are full, and the last ones have little to do." + told + " Who waits for whom?",
            "Filling is right, but below a second limit: a ceiling on seconds.",
            "Try ceilings from the smallest sum of consecutive seconds up; the first with which all layers find a place is "
            "the best one.",
        )
    if counts == by_bytes(nbytes, limits):
        wrong(
            "balanced_bytes",
            "You balance bytes. Do the devices wait for bytes?" + told,
            "Bytes only have to fit. What the slowest device holds up is a matter of seconds.",
            "Balance seconds, with the bytes as a limit.",
        )
    if slowest == by_average(nbytes, seconds, limits):
        wrong(
            "cut_at_average",
            "You close a device when it has its average share of the seconds." + told + " What does the rest do?",
            "A layer that does not quite fit below the average may still be best where it is.",
            "Try ceilings from small to large until all layers find a place.",
        )
    wrong(
        "not_best",
        "It fits, but it could be quicker." + told + " Which ceiling on seconds could all devices keep?",
        "The slowest device of a plan takes the sum of some consecutive layers. There are not many such sums.",
        "Try them in rising order: fill the devices below limit and ceiling; the first success is the best plan.",
    )


def judge_refusal(text, quickest, given, names, nbytes, limits):
    """Was it right to refuse, and does the message help?"""
    given += f"\nyour message: {short(text, 160)}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + given, then=then)

    if quickest is not None:
        strict = best(nbytes, [0] * len(nbytes), [limit - 1 for limit in limits]) is None
        if not nbytes:
            wrong(
                "nothing_refused", "No layer at all, and you refuse. What does each device take then?", "0 layers each."
            )
        if 0 in _a_plan(nbytes, limits) or len(limits) > len(nbytes):
            wrong(
                "no_empty_device",
                "You refuse a network that fits, if one device stays empty. May it?",
                "A device that takes no layer hands on what it gets. Its count is 0.",
            )
        if strict:
            wrong(
                "exact_fit_refused",
                "Here a device is exactly full. Is that too much?",
                "A limit of 60 bytes holds 60 bytes: <=, and not <.",
            )
        wrong("refused_wrongly", "You refuse a network that does fit. Which layer had no place, and why?",
              "Fill device after device; only when the last is full, and layers are left, there is no plan.")  # fmt: skip
    first = fill(nbytes, [0] * len(nbytes), limits, 1)[1]
    found = [name for name in names if re.search(rf"\b{name}\b", text)]
    if not found:
        wrong(
            "layer_not_named",
            "Somebody reads this message at night. Which layer should they make smaller?",
            "Name the first layer that found no place, with its bytes.",
            'raise ValueError(f"{names[layer]} needs {nbytes[layer]} bytes ...")',
        )
    if names[first] not in found:
        wrong(
            "other_layer_named",
            f"You name {found[0]}. Is that the first one for which no device is left?",
            "Fill device after device. The layer at which you stop is the one.",
        )
    if str(nbytes[first]) not in re.findall(r"\d+", text.replace(",", "").replace("_", "").replace(names[first], "")):
        wrong(
            "bytes_not_named",
            f"The message names {names[first]}, but not how many bytes it needs. How far off is it?",
            "Put its bytes into the text as well.",
        )


def _a_plan(nbytes, limits):
    return fill(nbytes, [0] * len(nbytes), limits, 1)[0]


def by_bytes(nbytes, limits):
    """The plan whose fullest device is least full: what somebody gets who balances bytes."""
    runs = {sum(nbytes[i:j]) for i, j in itertools.combinations(range(len(nbytes) + 1), 2)}
    for ceiling in sorted(runs):
        counts, reached = fill(nbytes, nbytes, limits, ceiling)
        if reached == len(nbytes):
            return counts
    return None


def by_average(nbytes, seconds, limits):
    """Seconds of the slowest device when each is closed at its average share; None where that does not fit."""
    share, last = sum(seconds) / len(limits), len(limits) - 1
    counts, first = [], 0
    for device, limit in enumerate(limits):
        end = first
        while (
            end < len(nbytes)
            and sum(nbytes[first : end + 1]) <= limit
            and (device == last or end == first or sum(seconds[first : end + 1]) <= share)
        ):
            end += 1
        counts.append(end - first)
        first = end
    return max(sums(seconds, counts)) if first == len(nbytes) else None


def drawn(inputs, counts):
    """The learner's plan as a picture."""
    from labs.model_parallel.plans import plan_picture

    return plan_picture({"Your plan": counts}, inputs["names"], inputs["nbytes"], inputs["seconds"], inputs["limits"])


def achieved(outputs):
    case, output = outputs[-1]
    slowest = max(sums(case.inputs["seconds"], output["counts"]))
    equal = max(sums(case.inputs["seconds"], equal_counts(24, 8)))
    return [("24 layers on 8 devices", f"slowest device {slowest} (an equal number of layers each: {equal})")]


place = Exercise("place", "Place the layers", 3, cases, run, verify, achieved=achieved)
