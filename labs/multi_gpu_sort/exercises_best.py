"""Exercise best_sort: which of three sorts is the fastest, from bandwidths alone."""

from __future__ import annotations

import math

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module
TOLERANCE = 0.05
NAMES = ("peer to peer", "radix partition", "heterogeneous")


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, gpus, nbytes, host, peer, cpu, part="correct"):
        inputs = {"gpus": gpus, "nbytes": nbytes, "host": host, "peer": peer, "cpu": cpu}
        return Case(
            title, {name: float(value) if name != "gpus" else int(value) for name, value in inputs.items()}, part
        )

    drawn = [float(x) * 1e9 for x in rng.integers(5, 90, 3)]
    return [
        case("PCIe only: 4 GPUs, 6 GB/s to the host, 5 between any two", 4, 8e9, 6e9, 5e9, 50e9),
        case("NVLink pairs: 2 GPUs, 48 GB/s", 2, 8e9, 12e9, 48e9, 50e9),
        case("NVSwitch: 8 GPUs, 279 GB/s", 8, 8e9, 12.5e9, 279e9, 50e9),
        case("NVLink to the CPU: 4 GPUs", 4, 8e9, 50e9, 32e9, 50e9),
        case("8 GPUs, drawn bandwidths", 8, 4e9, *drawn),
        case("1 GPU", 1, 8e9, 12e9, 48e9, 50e9, "edge"),
        case("no bytes", 4, 0.0, 12e9, 48e9, 50e9, "edge"),
    ]


def run(answers, inputs):
    return answers[0](inputs["nbytes"], inputs["gpus"], inputs["host"], inputs["peer"], inputs["cpu"])


def right(nbytes, gpus, host, peer, cpu):
    """Seconds of the three sorts, counted stage by stage."""
    chunk = nbytes / gpus
    copies = chunk / host + chunk / host
    stages = 0
    size = gpus
    while size > 1:  # a sort over `size` devices: twice the sort over half of them, and one swap
        stages, size = 2 * stages + 1, size // 2
    return [copies + stages * chunk / peer, copies + chunk * (gpus - 1) / gpus / peer, copies + nbytes / cpu]


def verify(case, output):
    want = right(
        case.inputs["nbytes"], case.inputs["gpus"], case.inputs["host"], case.inputs["peer"], case.inputs["cpu"]
    )
    i = case.inputs
    if not isinstance(output, list | tuple) or len(output) != 3 or any(type(x) not in (int, float) for x in output):
        raise Wrong(
            "three_numbers",
            f"Three times in seconds are asked for, not {short(output)}. Which are they?\n{', '.join(NAMES)}",
        )
    off = [k for k in range(3) if not math.isclose(output[k], want[k], rel_tol=TOLERANCE, abs_tol=1e-12)]
    if not off:
        return
    k, g, chunk = off[0], i["gpus"], i["nbytes"] / i["gpus"]
    copies = 2 * chunk / i["host"]
    evidence = "\n".join(f"{name}: yours {mine:.4g} s" for name, mine in zip(NAMES, output))
    log = math.log2(g)
    slips = (
        ("one_way", want[k] - copies / 2, "The keys begin in the CPU's memory. Where do they end?", "Out and back: two copies over the link to the host."),
        ("no_copies", want[k] - copies, "The keys begin and end in the CPU's memory. What does it cost to bring them to the devices and back?", "A chunk of nbytes / gpus, once each way, over its own link to the host."),
        ("whole_array", want[k] + 2 * i["nbytes"] / i["host"] - copies, "Does every device get all the keys?", "A chunk is nbytes / gpus, and every device has its own link."),
        ("log_stages", copies + log * chunk / i["peer"], f"{g} devices: how many stages lie one behind the other?", "Sort the halves, swap, sort the halves again: T(g) = 2 T(g/2) + 1.", f"T(2) = 1, T(4) = 3, T(8) = 7: g - 1, not log2 g = {log:g}."),
        ("g_stages", copies + g * chunk / i["peer"], "One device alone: how many stages does it need? And with every doubling?", "T(g) = 2 T(g/2) + 1 with T(1) = 0: that is g - 1."),
        ("all_move", copies + chunk / i["peer"], "How many of a device's keys have to leave it in the all-to-all?", f"Of {g} equal parts one stays: (g - 1)/g of the chunk moves."),
        ("parallel_merge", copies + chunk / i["cpu"], "Who merges in the heterogeneous sort?", "The CPU alone: all nbytes pass through it."),
    )  # fmt: skip
    for hint, value, question, *then in slips:
        if math.isclose(output[k], value, rel_tol=1e-6) and not math.isclose(value, want[k], rel_tol=1e-6):
            raise Wrong(hint, f"{NAMES[k]}: {question}\n{evidence}", then=then)
    raise Wrong(
        "time", f"{NAMES[k]}: which copies lie one behind the other, and how many bytes has each?\n{evidence}",
        then=("Count only copies and the CPU's merge: bytes over bandwidth, one after the other.",),
    )  # fmt: skip


def achieved(outcomes):
    return [
        (case.title.split(":")[0], f"{NAMES[int(np.argmin(output))]}, {min(output):.2f} s")
        for case, output in outcomes[:4]
    ]


best_sort = Exercise("best_sort", "Predict the fastest", 1, cases, run, verify, core=False, achieved=achieved)
