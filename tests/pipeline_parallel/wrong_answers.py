"""Wrong answers to the exercises of lesson 12: what learners really write, by the hint that each must get."""

import runpy
from pathlib import Path

_right = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))  # test folders are no packages
GPIPE, ONE_F_ONE_B, CHOOSE = _right["GPIPE"], _right["ONE_F_ONE_B"], _right["CHOOSE"]
ZERO_BUBBLE, RUN_SCHEDULE, INTERLEAVE = _right["ZERO_BUBBLE"], _right["RUN_SCHEDULE"], _right["INTERLEAVE"]


def changed(source, *pairs):
    """`source` with each (old, new) replaced; fails when `old` is not there, so that no wrong answer is a right one."""
    for old, new in pairs:
        assert old in source, f"{old!r} is not in the source"
        source = source.replace(old, new)
    return source


ONE_BY_ONE = """
def NAME(rank, stages, micro_batches):
    return [action for k in range(micro_batches) for action in (("F", k), ("B", k))]
"""
IN_ROUNDS = """
def one_f_one_b(rank, stages, micro_batches):
    actions = []
    for first in range(0, micro_batches, stages):
        some = range(first, min(first + stages, micro_batches))
        actions += [("F", k) for k in some] + [("B", k) for k in some]
    return actions
"""

WRONG = {
    "gpipe": {
        "one_by_one": changed(ONE_BY_ONE, ("NAME", "gpipe")),
        "early_backward": changed(ONE_F_ONE_B, ("one_f_one_b", "gpipe")),
        "m_is_p": changed(GPIPE, ("range(micro_batches)", "range(stages)")),
        "no_backward": changed(GPIPE, (' + [("B", k) for k in range(micro_batches)]', "")),
        "missing": changed(
            GPIPE, ('("B", k) for k in range(micro_batches)', '("B", k) for k in range(micro_batches - 1)')
        ),
        "counted_from_one": changed(GPIPE, ("range(micro_batches)", "range(1, micro_batches + 1)")),
        "backward_first": changed(GPIPE, ('"F"', '"X"'), ('"B"', '"F"'), ('"X"', '"B"')),
        "order_differs": """
def gpipe(rank, stages, micro_batches):
    order = list(range(micro_batches))[:: -1 if rank % 2 else 1]
    return [("F", k) for k in order] + [("B", k) for k in order]
""",
        "idle_written": changed(GPIPE, ("return [", 'return [("idle",)] * rank + [')),
        "all_ranks": changed(
            GPIPE, ("return ", "return stages * ["), ("range(micro_batches)]\n", "range(micro_batches)]]\n")
        ),
        "no_action": changed(GPIPE, ('("F", k)', '("F", rank, k)')),
        "nothing_returned": changed(GPIPE, ("return ", "actions = ")),
        "twice": changed(
            GPIPE, ('("B", k) for k in range(micro_batches)', '("B", k) for k in range(micro_batches) for _ in "ab"')
        ),
        "deadlock": """
def gpipe(rank, stages, micro_batches):
    order = list(range(micro_batches))[:: -1 if rank % 2 else 1]
    return [action for k in order for action in (("F", k), ("B", k))]
""",
    },
    "one_f_one_b": {
        "gpipe_again": changed(GPIPE, ("gpipe", "one_f_one_b")),
        "one_by_one": changed(ONE_BY_ONE, ("NAME", "one_f_one_b")),
        "mirrored": changed(ONE_F_ONE_B, ("stages - rank", "rank + 1")),
        "same_for_all": changed(ONE_F_ONE_B, ("stages - rank", "stages")),
        "backward_first": changed(ONE_F_ONE_B, ("stages - rank", "stages - rank - 1")),
        "too_short": changed(ONE_F_ONE_B, ("min(stages - rank", "min(max(1, stages - rank - 1)")),
        "one_too_many": """
def one_f_one_b(rank, stages, micro_batches):
    ahead = min(stages - rank, micro_batches)
    actions = [("F", k) for k in range(ahead)]
    for k in range(micro_batches):
        if ahead + k < micro_batches:
            actions.append(("F", ahead + k))
        actions.append(("B", k))
    return actions
""",
        "no_such_micro_batch": changed(ONE_F_ONE_B, ("min(stages - rank, micro_batches)", "stages - rank")),
        "missing": """
def one_f_one_b(rank, stages, micro_batches):
    ahead = min(stages - rank, micro_batches)
    actions = [("F", k) for k in range(ahead)]
    for k in range(micro_batches - ahead):
        actions += [("B", k), ("F", ahead + k)]
    return actions
""",
        "newest_first": """
def one_f_one_b(rank, stages, micro_batches):
    ahead = min(stages - rank, micro_batches)
    actions = [("F", k) for k in range(ahead)]
    held = list(range(ahead))
    for k in range(ahead, micro_batches):
        actions += [("B", held.pop(0)), ("F", k)]
        held.append(k)
    return actions + [("B", k) for k in reversed(held)]
""",
        "rounds": IN_ROUNDS,
        "holds_too_many": changed(ONE_F_ONE_B, ("min(stages - rank,", "min(2 * (stages - rank),")),
    },
    "choose_m": {
        "gpipe_memory": changed(CHOOSE, ("min(stages, m)", "m")),
        "p_at_least": changed(CHOOSE, ("min(stages, m)", "stages")),
        "does_not_fit": changed(CHOOSE, ("min(stages, m) * size * sample_bytes <= limit_bytes and ", "")),
        "rounded_down": changed(CHOOSE, ("math.ceil(samples / m)", "samples // m")),
        "m_is_p": """
def choose_m(stages, samples, sample_bytes, limit_bytes, fixed, each):
    return stages
""",
        "smallest_bubble": """
def choose_m(stages, samples, sample_bytes, limit_bytes, fixed, each):
    return samples
""",
        "first_that_fits": changed(CHOOSE, ("and time < shortest", "and best is None")),
        "only_divisors": changed(
            CHOOSE, ("        size =", "        if samples % m:\n            continue\n        size =")
        ),
        "none_fits": changed(CHOOSE, ("return best", "return best or samples")),
        "no_such_m": changed(
            CHOOSE, ("for m in", "for size in"), ("        size = math.ceil(samples / m)", "        m = samples / size")
        ),
        "size_not_m": changed(CHOOSE, ("best, shortest = m, time", "best, shortest = size, time")),
        "other_m": changed(CHOOSE, ("(m + stages - 1)", "(m + 3 * stages)")),
        "tie": changed(CHOOSE, ("time < shortest", "time <= shortest")),
    },
    "zero_bubble": {
        "at_once": changed(
            ZERO_BUBBLE,
            ('if kind == "B" and k >= rank', 'if kind == "B"'),
            ('("W", k - rank)', '("W", k)'),
            (' + [("W", k) for k in range(max(0, micro_batches - rank), micro_batches)]', ""),
        ),
        "all_at_the_end": changed(
            ZERO_BUBBLE, ('if kind == "B" and k >= rank', "if False"), ("max(0, micro_batches - rank)", "0")
        ),
        "upside_down": changed(
            ZERO_BUBBLE,
            ("    actions = []\n    for kind, k in", "    actions, late = [], stages - 1 - rank\n    for kind, k in"),
            ("k >= rank", "k >= late"),
            ("k - rank", "k - late"),
            ("max(0, micro_batches - rank)", "max(0, micro_batches - late)"),
        ),
        "same_for_all": changed(
            ZERO_BUBBLE,
            ("k >= rank", "k >= 1"),
            ("k - rank", "k - 1"),
            ("max(0, micro_batches - rank)", "micro_batches - 1"),
        ),
        "missing": changed(
            ZERO_BUBBLE, (' + [("W", k) for k in range(max(0, micro_batches - rank), micro_batches)]', "")
        ),
        "not_split": changed(ONE_F_ONE_B, ("one_f_one_b", "zero_bubble")),
        "only_the_picture": """
def zero_bubble(rank, stages, micro_batches):
    rows = ["FFFFIWIWIWIW", "FFFIFIWIWIWW", "FFIFIFIWIWWW", "FIFIFIFIWWWW"]
    row = rows[rank % 4]
    return [(kind, row[:place].count(kind)) for place, kind in enumerate(row)]
""",
        "weights_first": """
def zero_bubble(rank, stages, micro_batches):
    rows = ["FFFFWIWIWIWI", "FFFIFIWIWIWW", "FFIFIFIWIWWW", "FIFIFIFIWWWW"]
    row = rows[rank % 4]
    return [(kind, row[:place].count(kind)) for place, kind in enumerate(row)]
""",
        "other_delay": changed(
            ZERO_BUBBLE,
            ("    actions = []\n    for kind, k in", "    actions, late = [], 2 * rank\n    for kind, k in"),
            ("k >= rank", "k >= late"),
            ("k - rank", "k - late"),
            ("max(0, micro_batches - rank)", "max(0, micro_batches - late)"),
        ),
        "slow": changed(ZERO_BUBBLE, ("min(stages - rank, micro_batches)", "min(stages, micro_batches)")),
        "misread": changed(
            ZERO_BUBBLE,
            (
                "for k in range(max(0, micro_batches - rank), micro_batches)]",
                "for k in reversed(range(max(0, micro_batches - rank), micro_batches))]",
            ),
        ),
    },
    "run_schedule": {
        "summed": changed(RUN_SCHEDULE, (" * len(targets[k]) / samples", "")),
        "sum_of_samples": changed(RUN_SCHEDULE, (" * len(targets[k]) / samples", " * len(targets[k])")),
        "mean_of_means": changed(RUN_SCHEDULE, (" * len(targets[k]) / samples", " / len(targets)")),
        "rescaled_each_time": changed(
            RUN_SCHEDULE,
            (" * len(targets[k]) / samples", ""),
            (
                "            if rank > 0:\n                sent.append((x.grad",
                "            stage.weight.grad /= len(targets)\n            if rank > 0:\n                sent.append((x.grad",
            ),
        ),
        "only_the_last": changed(
            RUN_SCHEDULE,
            ("            x, y = stored.pop(k)\n", "            stage.zero_grad()\n            x, y = stored.pop(k)\n"),
        ),
        "scaled_at_every_stage": changed(RUN_SCHEDULE, ("y.backward(gradient)", "y.backward(gradient / len(targets))")),
        "sends_block": changed(
            RUN_SCHEDULE,
            ("sent.append((message, dist.isend(message, dst=rank + 1)))", "dist.send(message, dst=rank + 1)"),
            ("sent.append((x.grad, dist.isend(x.grad, dst=rank - 1)))", "dist.send(x.grad, dst=rank - 1)"),
        ),
        "wrong_pair": changed(RUN_SCHEDULE, ("stored.pop(k)", "stored.popitem()[1]")),
        "no_gradient_to_send": changed(RUN_SCHEDULE, ("                x.requires_grad_()\n", "")),
        "no_gradient": changed(
            RUN_SCHEDULE,
            ("y.backward(gradient)", "pass"),
            ("(loss(y, targets[k]) * len(targets[k]) / samples).backward()", "pass"),
            (
                "sent.append((x.grad, dist.isend(x.grad, dst=rank - 1)))",
                "sent.append((x, dist.isend(x.detach(), dst=rank - 1)))",
            ),
        ),
        "other_gradients": changed(RUN_SCHEDULE, ("len(targets[k]) / samples", "(k + 1) / samples")),
    },
    "interleave": {
        "neighbours": changed(INTERLEAVE, ("rank + chunk * ranks", "rank * chunks + chunk")),
        "local_numbers": changed(INTERLEAVE, ("rank + chunk * ranks", "chunk")),
        "one_stage_each": changed(INTERLEAVE, ("rank + chunk * ranks for chunk in range(chunks)", "rank")),
        "depth_first": changed(
            INTERLEAVE,
            ("for stage in own for k in range(micro_batches)", "for k in range(micro_batches) for stage in own"),
        ),
        "first_stage_first": changed(INTERLEAVE, ("reversed(own)", "own")),
        "missing": changed(INTERLEAVE, ("in reversed(own)", "in own[:0:-1]")),
        "wrong_stages": changed(INTERLEAVE, ("rank + chunk * ranks", "rank + chunk * ranks + 1")),
        "bubble": """
def interleave(rank, ranks, chunks, micro_batches):
    actions = []
    for group in range(0, micro_batches, ranks):
        some = range(group, min(group + ranks, micro_batches))
        own = [rank + chunk * ranks for chunk in range(chunks)]
        actions += [("F", stage, k) for stage in own for k in some]
        actions += [("B", stage, k) for stage in own[::-1] for k in some]
    return actions
""",
    },
}
