"""Exercise predict_seconds: how long a kernel takes, from the sectors that it moves."""

from __future__ import annotations

import math

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, count, itemsize, stride, part="correct"):
        latency, bandwidth = float(rng.integers(2, 9)) * 1e-6, float(rng.integers(3, 30)) * 1e11
        return Case(title, {"count": count, "itemsize": itemsize, "stride": stride, "bandwidth": bandwidth,
                            "latency": latency}, part)  # fmt: skip

    return [
        case("4,096 pixels of 1 B, neighbours", 4096, 1, 1),
        case("4,096 numbers of 4 B, every second one", 4096, 4, 2),
        case("4,096 numbers of 4 B, 32 apart", 4096, 4, 32),
        case("no element", 0, 4, 1, "edge"),
        case("1 element", 1, 8, 1, "edge"),
        case("33 pixels: one in a second warp", 33, 1, 1, "edge"),
        case("1,000 numbers of 8 B, 3 apart", 1000, 8, 3, "edge"),
        case("257 pixels, 5 apart", 257, 1, 5, "edge"),
        case("all threads read the same number", 256, 4, 0, "edge"),
    ]


def run(answers, inputs):
    return float(
        answers[0](inputs["count"], inputs["itemsize"], inputs["stride"], inputs["bandwidth"], inputs["latency"])
    )


def sectors(count, itemsize, stride):
    """Sectors of 32 bytes that all warps together ask for."""
    at = np.arange(count)
    return len(np.unique(np.stack([at // 32, at * stride * itemsize // 32]), axis=1).T) if count else 0


def verify(case, output):
    n, size, stride = case.inputs["count"], case.inputs["itemsize"], case.inputs["stride"]
    latency, bandwidth = case.inputs["latency"], case.inputs["bandwidth"]
    read, write = 32 * sectors(n, size, stride), 32 * sectors(n, size, 1)
    seconds = lambda nbytes, start=latency: start + nbytes / bandwidth

    def wrong(hint, question, *then):
        told = f"yours {1e6 * output:.6g} µs, the model says {1e6 * seconds(read + write):.6g} µs"
        raise Wrong(hint, f"{question}\n{told}: {read:,} B read and {write:,} B written", then=then)

    def said(value):
        return isinstance(output, float) and math.isclose(output, value, rel_tol=1e-9)

    if said(seconds(read + write)):
        return
    if said(seconds(read + write, 0)):
        wrong("no_latency", f"A launch takes {latency * 1e6:g} µs before a byte moves. Where is it in yours?")
    if n and said(seconds(2 * n * size)):
        wrong("wanted_bytes", f"You count the bytes that threads ask for. A sector of 32 bytes moves as a whole: how many of them hold"
              f" 32 elements that are {stride} apart?", "Count different values of address // 32 in each group of 32 threads.",
              "len({i * stride * itemsize // 32 for i in warp})")  # fmt: skip
    if said(seconds(read)):
        wrong(
            "only_read",
            "Each thread reads a number and writes one. Which half is missing?",
            "The writes are neighbours: stride 1.",
        )
    if said(seconds(2 * read)):
        wrong(
            "writes_with_stride",
            "You count the writes like the reads. Where does thread i write?",
            "To out[i]: its neighbours write next to it.",
        )
    if n and said(seconds(32 * n + write)):
        wrong("a_sector_each", "You count a sector for every thread. What if two threads of a warp ask for the same one?",
              f"Elements of {size} B that are {stride} apart: {32 // (size * stride) if size * stride and size * stride <= 32 else 1} in a sector.")  # fmt: skip
    if n and (said(seconds(n * size * stride + n * size)) or said(seconds(n * size * stride + write))):
        wrong("all_in_between", "You count everything that lies between the elements. Does a sector move that nobody asked for?",
              "When elements are more than 32 bytes apart, whole sectors in between stay where they are.")  # fmt: skip
    if n and said(seconds(32 * (-(-n * size * max(stride, 1) // 32) + -(-n * size // 32)))):
        wrong(
            "all_in_between",
            "You count everything that lies between the elements. Does a sector move that nobody asked for?",
        )
    if n and said(latency * -(-n // 32) + (read + write) / bandwidth):
        wrong("latency_each", "You pay the latency for every warp. How often is the kernel launched?", "Once.")
    whole = 32 * sum(len(np.unique(np.arange(n) * step * size // 32)) for step in (stride, 1))
    if n and said(seconds(whole)):
        wrong("not_by_warp", "You count a sector once for the whole grid. What if the next warp asks for it again?",
              "Each warp sends a request of its own: count for 32 threads at a time, and add up.")  # fmt: skip
    if said(latency + (read + write) / 32 / bandwidth):
        wrong(
            "sectors_for_bytes", "You divide a number of sectors by bytes a second. How many bytes is a sector?", "32."
        )
    wrong("values", "This is not latency plus bytes over bandwidth. Which sectors does the first warp read?",
          "Threads 0 to 31 read the addresses i * stride * itemsize. Count the different values of address // 32.",
          "latency + 32 * (sectors read + sectors written) / bandwidth, warp by warp")  # fmt: skip


def achieved(outcomes):
    case, output = outcomes[2]
    return f"{case.title}: {output * 1e6:.3g} µs predicted, and counted in sectors"


predict_seconds = Exercise(
    "predict_seconds", "Predict the time from bytes", 1, cases, run, verify, core=False, achieved=achieved
)
