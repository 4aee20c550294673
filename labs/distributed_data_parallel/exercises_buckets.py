"""Exercise assign_buckets: which gradients travel together, in the order in which backward finishes them."""

from __future__ import annotations

import numpy as np

from labs.distributed_data_parallel.lanes import lanes
from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, nbytes, limit, part="correct"):
        return Case(title, {"nbytes": [int(each) for each in nbytes], "limit": int(limit)}, part)

    drawn = [int(each) for each in rng.integers(1, 60, 14)]
    return [
        case("sizes 40, 10, 30, 20 and 10, buckets of 50", (40, 10, 30, 20, 10), 50),
        case("7 gradients of 10, buckets of 30: one is left over", [10] * 7, 30),
        case("14 gradients of different sizes, buckets of 100", drawn, 100),
        case("no parameter at all: no bucket", [], 50, "edge"),
        case("a single small parameter", [8], 50, "edge"),
        case("the last bucket is exactly full", [25, 25, 30, 20], 50, "edge"),
        case("a parameter larger than a bucket", [10, 500, 10, 10], 50, "edge"),
        case("every parameter is larger than a bucket", [60, 70, 80], 50, "edge"),
        case("parameters without elements", [0, 20, 0, 40, 0], 50, "edge"),
        case("all fit into one bucket", [1, 2, 3], 1000, "edge"),
        case("300 gradients of 1 MB, buckets of 25 MB: how many all-reduces?", [10**6] * 300, 25 * 10**6, "budget"),
    ]


def run(answers, inputs):
    sizes = list(inputs["nbytes"])
    buckets = answers[0](sizes, inputs["limit"])
    if buckets is None:
        return {"buckets": None}
    return {"buckets": [[int(index) for index in bucket] for bucket in buckets]}


def expected(nbytes, limit):
    """The right buckets, found by prefix sums: bucket ends where its sum first reaches the limit."""
    order = np.arange(len(nbytes))[::-1]
    found, first = [], 0
    while first < len(order):
        reached = np.cumsum(np.asarray(nbytes)[order[first:]]) >= limit
        last = first + (int(np.argmax(reached)) if reached.any() else len(order) - first - 1)
        found.append(order[first : last + 1].tolist())
        first = last + 1
    return found


def verify(case, output):
    nbytes, limit = case.inputs["nbytes"], case.inputs["limit"]
    got, wanted = output["buckets"], expected(nbytes, limit)
    if got == wanted:
        return
    sizes = f"\nbytes: {short(nbytes, 100)}, buckets of {limit}"
    if got is None:
        raise Wrong("nothing_returned", "Your function returned None. Where do the buckets go at its end?" + sizes)

    def wrong(hint, question, *then, picture=None):
        filled = (
            ""
            if len(nbytes) > 20
            else f"\nbytes in yours: {[sum(nbytes[k] for k in b if k < len(nbytes)) for b in got]}"
        )
        raise Wrong(
            hint,
            f"{question}{sizes}\nexpected {short(wanted, 140)}\nyours    {short(got, 140)}{filled}",
            then=then,
            picture=picture,
        )

    flat = [index for bucket in got for index in bucket]
    every = list(range(len(nbytes)))
    if any(not bucket for bucket in got):
        wrong(
            "empty_bucket",
            "One of your buckets is empty. Would you start an all-reduce of nothing?",
            "It is the bucket that you opened after the last full one, or for no parameter at all.",
            "Append what is left only if there is something left.",
        )
    if sorted(set(flat)) != sorted(flat):
        wrong("twice", "A gradient is in two buckets. How often would it travel?", "Begin a new list for a new bucket.")
    if set(flat) - set(every):
        wrong(
            "no_index",
            "Some of these are no numbers of parameters. What shall a bucket hold?",
            "The index of each parameter, from 0 to the number of parameters - 1, not its bytes.",
        )
    missing = [index for index in every if index not in flat]
    if missing:
        wrong(
            "lost",
            f"Parameter {missing[0]} is in no bucket. Who averages its gradient?",
            "Look at the end of your loop: the last bucket is rarely full.",
            "After the loop, append the bucket that is still open, if it holds anything.",
        )
    if flat == every and len(every) > 1:
        wrong(
            "forward_order",
            "Your first bucket begins with the first layer. Which gradient does backward finish first?",
            "Backward begins at the loss, that is at the last layer. A bucket with the first layer in it is full last.",
            "Go through the parameters in reverse: for index in reversed(range(len(nbytes))).",
            picture=lambda: departures(nbytes, got, wanted),
        )
    if flat != every[::-1]:
        inner = all(sorted(mine) == sorted(right) for mine, right in zip(got, wanted)) and len(got) == len(wanted)
        wrong(
            "order_inside" if inner else "shuffled",
            "Right buckets, but another order inside. Which of them arrives first?"
            if inner
            else "The gradients do not come in the order in which backward finishes them. Which order is that?",
            "From the last parameter to the first, across buckets and within each.",
        )
    if all(len(bucket) == 1 for bucket in got) and len(every) > len(wanted):
        wrong(
            "one_each",
            f"{len(got)} buckets for {len(every)} gradients. How many latencies does that cost?",
            "Every all-reduce pays 2(n-1) latencies, whatever it carries.",
            "Keep adding to the open bucket until it holds bucket_bytes.",
            picture=lambda: departures(nbytes, got, wanted),
        )
    if len(got) == 1:
        wrong(
            "one_bucket",
            "Everything is in one bucket. When can its all-reduce begin?",
            "Not before the last gradient is there, and then backward is over.",
            "Close the bucket when it holds bucket_bytes, and open another.",
            picture=lambda: departures(nbytes, got, wanted),
        )
    sums = [sum(nbytes[k] for k in bucket) for bucket in got]
    if all(total <= limit or len(bucket) == 1 for total, bucket in zip(sums, got)):
        wrong(
            "closed_too_early",
            "None of your buckets grows beyond bucket_bytes. That is a rule, too, but does it say so above?",
            "Here a bucket is closed when it has reached bucket_bytes, so it may hold more.",
            "Add first. Then look whether the bucket holds at least bucket_bytes.",
        )
    if [sum(nbytes[k] for k in bucket) > limit for bucket in got[:-1]] == [True] * (len(got) - 1):
        wrong(
            "closed_too_late",
            "A bucket that holds exactly bucket_bytes is full. Why does yours wait for one more?",
            "'At least' includes 'exactly': >= and not >.",
        )
    wrong(
        "count_kept",
        "The first bucket may be right, the others are not. From how many bytes does a new bucket start to count?",
        "From zero.",
    )


def departures(nbytes, yours, right):
    """When each bucket could leave: 1 ms of backward for each gradient; 0.8 ms of latency and 0.5 ms for an average one."""
    count, mean = len(nbytes), max(sum(nbytes) / len(nbytes), 1)

    def spans(buckets):
        network, free = [], 0.0
        for bucket in buckets:
            start = max(free, max(count - index for index in bucket) * 1e-3)
            free = start + 0.8e-3 + 0.5e-3 * sum(nbytes[index] for index in bucket) / mean
            network.append((start, free))
        return [(k * 1e-3, (k + 1) * 1e-3) for k in range(count)], network

    runs = {"With your buckets": spans(yours), "With the buckets that are asked for": spans(right)}
    return lanes(runs, "Backward, and the all-reduces of the buckets")


def achieved(outputs):
    case, output = outputs[-1]
    return [("all-reduces", f"{len(output['buckets'])} instead of {len(case.inputs['nbytes'])}")]


assign_buckets = Exercise("assign_buckets", "Assign buckets", 3, cases, run, verify, achieved=achieved)
