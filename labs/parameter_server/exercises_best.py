"""Exercise best_servers: how many servers until one more no longer helps."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)
    n, own, theirs = (int(rng.integers(9, 40)), int(rng.choice([11, 13, 17, 19])) * 10**9, 7 * 10**9)
    n += n % 7 == 0  # never a whole number of servers

    def case(workers, own=12_500_000_000, theirs=12_500_000_000, part="correct"):
        title = f"{workers} worker{'s' * (workers > 1)} with {own / 1e9:g} GB/s, servers with {theirs / 1e9:g} GB/s"
        return Case(title, {"workers": workers, "worker_bandwidth": own, "server_bandwidth": theirs}, part)

    return [
        case(8, 12_500_000_000, 5_000_000_000),
        case(5, 10_000_000_000, 3_000_000_000),
        case(n, own, theirs),
        case(8),
        case(6, 12_500_000_000, 25_000_000_000, "edge"),
        case(4, 1_000_000_000, 400_000_000_000, "edge"),
        case(1, part="edge"),
        case(7, 3_125_000_000, 25_000_000_000, "edge"),
    ]


def run(answers, inputs):
    answer = answers[0](inputs["workers"], inputs["worker_bandwidth"], inputs["server_bandwidth"])
    return answer.item() if hasattr(answer, "item") else answer


def phase(servers, workers, own, theirs):
    """Seconds a byte of one push (or one pull): the busier of a worker's and a server's link. Exact for Fractions."""
    return max(Fraction(1, own), Fraction(workers, servers * theirs))


def fewest(workers, own, theirs):
    """Count up until one more server changes nothing: no formula."""
    servers = 1
    while phase(servers + 1, workers, own, theirs) < phase(servers, workers, own, theirs):
        servers += 1
    return servers


def verify(case, output):
    workers, own, theirs = (case.inputs[name] for name in ("workers", "worker_bandwidth", "server_bandwidth"))
    if type(output) is float and output.is_integer():
        output = int(output)
    if type(output) not in (int, float) or not math.isfinite(output):
        raise Wrong("not_a_number", f"How many servers? Your function returned {short(repr(output))}.")
    want = fewest(workers, own, theirs)
    if output == want:
        return
    ratio = workers * own / theirs
    evidence = f"{case.title}\nyours: {output:g}"
    if type(output) is int and output > 0:
        here, best = (float(phase(k, workers, own, theirs)) for k in (output, want))
        evidence += f"; one push of 100 MB takes {here * 1e11:.3g} ms with them, and {best * 1e11:.3g} ms at best"
    slips = (
        ("not_whole", ratio if ratio != int(ratio) else None,
         f"{output:g} servers: can you rent a part of one?",
         "The next whole number up; the one below leaves the servers' links the busier ones."),
        ("none_at_all", 0, "No server at all? Who adds up the gradients?",
         "One server is the least, however quick its link is.", "Round up, not down."),
        ("upside_down", math.ceil(workers * theirs / own),
         "With quicker servers you ask for more of them. Should it be fewer?",
         "A server's link has n S/k bytes to carry at its own bandwidth. Which bandwidth comes below the line?"),
        ("as_many_as_workers", workers,
         "As many servers as workers, whatever their links can do? When is that right?",
         "When all links are equally quick. Set a worker's time equal to a server's: S/b = n S/(k B).",
         f"k = n b / B = {ratio:.3g} here."),
        ("both_ways", math.ceil(2 * ratio),
         "Twice as many: for push and for pull? Do the two use the same direction of a link?",
         "Links are full duplex, and a worker's time doubles as well as a server's."),
        ("one_too_few", math.floor(ratio),
         "With that many, whose link is the busiest, a worker's or a server's?",
         "Still a server's. Then one more does help: round up."),
        ("one_too_few", round(ratio),
         "With that many, whose link is the busiest, a worker's or a server's?",
         "Still a server's. Then one more does help: round up."),
        ("one_too_many", want + 1,
         "Does the last of your servers make it any quicker?",
         "Where n b / B is a whole number, that number is enough.", "math.ceil, or -(-a // b)."),
        ("other_workers", math.ceil((workers - 1) * own / theirs),
         "Whose gradients come over a server's link? It has no worker of its own here.",
         "n - 1 is for workers that serve: a worker's own share needs no network. These servers stand apart."),
        ("one_worker", math.ceil(own / theirs),
         "That many would do for a single worker. How many workers push at once?",
         "All n of them: each server gets S/k from each."),
    )  # fmt: skip
    for hint, value, question, *then in slips:
        if value is not None and math.isclose(output, value, rel_tol=1e-9):
            raise Wrong(hint, f"{question}\n{evidence}", _curve(case, output, want), then)
    raise Wrong(
        "not_the_fewest",
        f"From how many servers on is a worker's link the busiest one?\n{evidence}",
        _curve(case, output, want),
        ("In one push a worker sends S over its link, a server receives n S/k over its own. Set the two times equal.",
         f"S/{own / 1e9:g} = {workers} S/(k {theirs / 1e9:g}): k = {ratio:.3g}, rounded up."),
    )  # fmt: skip


def _curve(case, yours, want):
    def draw():
        from labs.kit.draw import curves

        workers, own, theirs = (case.inputs[name] for name in ("workers", "worker_bandwidth", "server_bandwidth"))
        counts = range(1, max(4, 2 * want, math.ceil(min(yours, 4 * want))) + 1)
        times = [float(phase(k, workers, own, theirs)) * 1e8 for k in counts]
        return curves(
            {"one push of 100 MB": (counts, times)}, xlabel="servers (number)", ylabel="time (s)",
            name="Does one more server help?", marks=[(yours, "yours")] if 0 < yours <= counts[-1] else [],
        )  # fmt: skip

    return draw


def achieved(outcomes):
    """The fewest servers of the public cases."""
    return [(case.title, f"{output:g} servers") for case, output in outcomes[:3]]


best_servers = Exercise(
    "best_servers", "The best number of servers", 1, cases, run, verify,
    achieved=achieved,
)  # fmt: skip
