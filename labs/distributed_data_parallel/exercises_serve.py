"""Exercise serve: one queue, several replicas, batches of what is waiting."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, arrivals, replicas, most, fixed=4, each=1, part="correct"):
        """Times in ms, as whole numbers, so that ties are ties."""
        inputs = {
            "arrivals": [int(t) for t in arrivals],
            "replicas": replicas,
            "most": most,
            "fixed": fixed,
            "each": each,
        }
        return Case(title, inputs, part)

    drawn = np.cumsum(rng.integers(0, 4, 30))
    return [
        case("one replica, batches of up to 4", (0, 1, 2, 3, 4, 5, 20), 1, 4),
        case("two replicas, no batching", (0, 1, 2, 3, 4), 2, 1),
        case("the second replica is free before the first", (0, 0, 0, 0, 1, 6, 6), 2, 4),
        case("30 requests on 3 replicas, batches of up to 4", drawn, 3, 4),
        case("30 requests on 2 replicas, batches of up to 8", drawn, 2, 8),
        case("no request", (), 2, 4, part="edge"),
        case("a single request", (7,), 3, 4, part="edge"),
        case("all arrive at once", [5] * 10, 2, 4, part="edge"),
        case("a request arrives just when a replica becomes free", (0, 5, 10, 10), 1, 4, part="edge"),
        case("more replicas than requests", (0, 0, 1), 8, 4, part="edge"),
    ]


def run(answers, inputs):
    fixed, each = inputs["fixed"], inputs["each"]
    asked = []

    def seconds(count):
        asked.append(int(count))
        return fixed + each * count

    done = answers[0](list(inputs["arrivals"]), inputs["replicas"], inputs["most"], seconds)
    return {"done": None if done is None else [float(t) for t in done], "batches": asked}


def expected(inputs, longest=None, everything=True):
    """When each request is done, millisecond by millisecond: no clever jumps, so another way than a learner's.

    `longest` and `everything` change the rule, to recognise slips: another size of batch; False: wait for full batches.
    """
    arrivals, most = inputs["arrivals"], longest or inputs["most"]
    done, waiting, free = [0.0] * len(arrivals), [], [0] * inputs["replicas"]
    now, last = 0, len(arrivals)
    taken = 0
    while taken < last:
        waiting += [k for k, at in enumerate(arrivals) if at == now]
        for replica, at in enumerate(free):
            to_come = any(t > now for t in arrivals)
            if at <= now and waiting and (everything or len(waiting) >= most or not to_come):
                batch, waiting = waiting[:most], waiting[most:]
                free[replica] = now + inputs["fixed"] + inputs["each"] * len(batch)
                for k in batch:
                    done[k] = float(free[replica])
                taken += len(batch)
        now += 1
    return done


def in_turns(inputs):
    """When requests are done if the replicas take turns, free or not: a slip to recognise."""
    arrivals, free, done, turn = inputs["arrivals"], [0] * inputs["replicas"], [], 0
    while len(done) < len(arrivals):
        replica, first = turn % len(free), len(done)
        start = max(free[replica], arrivals[first])
        size = sum(at <= start for at in arrivals[first : first + inputs["most"]])
        free[replica] = start + inputs["fixed"] + inputs["each"] * size
        done += [float(free[replica])] * size
        turn += 1
    return done


def verify(case, output):
    inputs = case.inputs
    got, wanted = output["done"], expected(inputs)
    if got is not None and len(got) == len(wanted) and np.allclose(got, wanted, rtol=0, atol=1e-9):
        return
    evidence = (
        f"\narrivals {short(inputs['arrivals'], 100)}; {inputs['replicas']} replicas, batches of up to {inputs['most']}, "
        f"{inputs['fixed']} + {inputs['each']} ms for each request of a batch"
        f"\nexpected {short(wanted, 120)}\nyours    {short(got, 120)}"
    )

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, then=then)

    def is_done(times):
        return len(got) == len(times) and np.allclose(got, times, rtol=0, atol=1e-9)

    if got is None:
        wrong("nothing_returned", "Your function returned None. Where does the list go at its end?")
    if len(got) != len(wanted):
        wrong(
            "lost",
            f"{len(wanted)} requests came, {len(got)} answers went out. Who is still waiting?",
            "Return one time for each request, in the order of the arrivals.",
        )
    if any(size > inputs["most"] for size in output["batches"]):
        wrong(
            "batch_too_large",
            "A batch is larger than allowed. What limits it in practice?",
            "Memory, and the patience of the first one in it. Take at most max_batch.",
        )
    if is_done([end - at for end, at in zip(wanted, inputs["arrivals"])]):
        wrong(
            "latency",
            "These are waiting times. What was asked for?",
            "The time at which each request is done; its latency is that minus its arrival.",
        )
    if inputs["replicas"] > 1 and is_done(expected({**inputs, "replicas": 1})):
        wrong(
            "one_replica",
            "Only one replica ever works. Who takes the next batch?",
            "The one that is free first: keep a list of times at which each replica becomes free.",
        )
    if inputs["replicas"] > 1 and is_done(in_turns(inputs)):
        wrong(
            "in_turns",
            "Your replicas take turns. Why does a batch wait for a busy one while another is free?",
            "Batches differ in size, so the replica that began first need not be free first.",
            "The next batch goes to the replica with the smallest time in the list: free.index(min(free)).",
        )
    if inputs["most"] > 1 and is_done(expected(inputs, everything=False)):
        wrong(
            "waits_for_a_full_batch",
            "Your replica waits until its batch is full, while requests are there and it has nothing to do. For whom?",
            "At night one request comes in an hour. When would it be answered?",
            "A free replica takes what is waiting now.",
        )
    if inputs["most"] > 1 and is_done(expected(inputs, longest=1)):
        wrong(
            "no_batching",
            "Every request is served alone. What does a batch save?",
            "The fixed part is paid once for the batch. Take all that have arrived, up to max_batch.",
        )
    if any(end - at < inputs["fixed"] + inputs["each"] for end, at in zip(got, inputs["arrivals"])):
        wrong(
            "before_it_came",
            "A request is done sooner than possible. Had it arrived when its batch began?",
            "A batch holds only what has arrived by the time at which it begins.",
            "start = max(time at which the replica is free, arrival of the first one waiting); then all arrived <= start.",
        )
    wrong(
        "other_times",
        "Other times than these. Who is served when, by hand, for the first three requests?",
        "The replica that is free first begins when it is free and somebody waits.",
    )


def achieved(outputs):
    case, output = outputs[4]
    waits = [end - at for end, at in zip(output["done"], case.inputs["arrivals"])]
    return [("30 requests, 2 replicas", f"{len(output['batches'])} batches; mean latency {np.mean(waits):.1f} ms")]


serve = Exercise("serve", "Serve with replicas", 1.5, cases, run, verify, core=False, achieved=achieved)
