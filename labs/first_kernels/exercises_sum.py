"""Exercise block_sum: the sum of 256 numbers by 256 threads, in shared memory, with barriers where they are needed."""

from __future__ import annotations

import numpy as np

from labs.first_kernels.evidence import decorated, elements, in_banks, lines, outside, race, source_line, total
from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

THREADS = 256
UNTOUCHED = 7
"""What `out` holds before the launch."""


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, size, part="correct"):
        # Whole numbers, so that every order of adding gives the same; of a wide range, so that no two sums are equal.
        x = rng.integers(-5000, 5000, size).astype(np.float32)
        return Case(title, {"x": x, "blocks": max(1, -(-size // 256))}, part)

    return [
        case("256 numbers, one block", 256),
        case("1,024 numbers, four blocks", 1024),
        case("1,000 numbers: the last block has only 232", 1000),
        case("no number: the sum is 0", 0, "edge"),
        case("1 number", 1, "edge"),
        case("31 numbers", 31, "edge"),
        case("32 numbers", 32, "edge"),
        case("33 numbers", 33, "edge"),
        case("255 numbers", 255, "edge"),
        case("257 numbers: one in the second block", 257, "edge"),
        case("2,048 numbers: what moves?", 2048, "budget"),
    ]


def run(answers, inputs):
    import numpy as np

    from labs.kit.gpu import cuda, outcome, undecorated

    kernel = answers[0]
    if undecorated(kernel):
        return {"undecorated": True}
    x, blocks = inputs["x"], inputs["blocks"]

    def program():
        around = np.concatenate([x, np.full(256, 1e6, np.float32)])  # what lies behind x must not come into a sum
        source, out = cuda.to_device(around), cuda.to_device(np.full(blocks, 7, np.float32))
        kernel[blocks, 256](source[: len(x)], out)
        return out.copy_to_host()

    return outcome(program, hazards="report")


_OUTSIDE = {
    "s": (
        "beyond_shared",
        "A thread reaches beyond the 256 elements of s. Which is the last thread that adds in this round?",
        "Of 2 * d numbers, d threads add: 0 to d - 1.",
        "if t < d:",
    ),
    "out": (
        "beyond_out",
        "A thread writes beyond the end of out. How many sums has a block, and which number has the block?",
        "out has one element a block. cuda.grid(1) counts threads.",
        "out[cuda.blockIdx.x] = s[0], by one thread of the block.",
    ),
}


def verify(case, output):
    decorated(output)
    x = case.inputs["x"]
    tail = len(x) % THREADS != 0
    completed(
        output,
        out_of_bounds=_OUTSIDE.get(outside(output))
        or (
            "no_tail",
            "A thread reaches beyond the end of an array. Which threads of the last block have no number of their own?",
            f"{len(x)} numbers: in the last block {len(x) % THREADS or THREADS} of 256 threads have one.",
            "s[t] = x[i] if i < x.size else np.float32(0)",
        ),
        divergent_barrier=(
            "returned_early",
            "Some threads have left the kernel, and the others wait for them at the barrier. Must a thread without a"
            " number leave?",
            "It has to come to every barrier. What number does no harm in a sum?",
            "s[t] = x[i] if i < x.size else np.float32(0), and no return.",
        )
        if tail and len(x) > THREADS
        else (
            "barrier_in_branch",
            "Some threads wait at a barrier that the others never reach. Does the barrier stand inside the `if`?",
            "Only half of the threads add, but all of them must come to the barrier.",
            "Write cuda.syncthreads() after the `if`, with the indentation of the `if`.",
        ),
    )
    blocks = case.inputs["blocks"]
    padded = np.zeros(blocks * THREADS, np.float64)
    padded[: len(x)] = x
    rows = padded.reshape(blocks, THREADS)
    got, right = np.asarray(output["result"]), rows.sum(1).astype(np.float32)
    shown = f"out   {short(got)}\nright {short(right)}"
    picture = elements(got, right, "Sums of the blocks")

    def wrong(hint, question, *then, picture=picture, evidence=shown):
        raise Wrong(hint, f"{question}\n{evidence}", picture=picture, then=then)

    if output["findings"]:
        _hazard(output, wrong)
    if not np.array_equal(got, right):
        _values(x, rows, got, right, wrong)
    if case.part == "budget" and output["virtual"]:
        _costs(len(x), blocks, output["launches"][0], wrong)


def _hazard(output, wrong):
    """A race, or a number that was never written: the result may be right by luck."""
    finding, launch = output["findings"][0], output["launches"][0]
    kind, text = finding["kind"], finding["text"]
    if kind == "uninitialised":
        wrong(
            "tail_not_zero",
            "A thread adds an element of shared memory that nobody has written. What is in it?",
            "Threads without a number must put something there that changes no sum.",
            "s[t] = x[i] if i < x.size else np.float32(0)",
            picture=None, evidence=text,
        )  # fmt: skip
    if kind == "race_between_blocks":
        wrong("one_place_for_all", "Two blocks write the same element of out. Which one belongs to a block?",
              "Block b writes out[b], and only one of its threads does.", picture=race(finding), evidence=text)  # fmt: skip
    if finding["space"] == "global":
        wrong("all_write", "Several threads of a block write one element of out. Who should?",
              "One thread is enough: the one that made the last addition.", "if t == 0:", picture=race(finding), evidence=text)  # fmt: skip
    adding = {line["line"] for line in lines(launch, "load", "shared")}
    filling = {line["line"] for line in lines(launch, "store", "shared")} - adding
    pair = {finding[key]["line"] for key in ("first", "second") if finding.get(key)}
    if pair & filling:
        wrong(
            "no_barrier_after_filling",
            "A thread adds a number that another one may not have put there yet. When are all 256 in shared memory?",
            "cuda.syncthreads() returns when every thread of the block has come to it.",
            "One cuda.syncthreads() between filling s and the loop.",
            picture=race(finding), evidence=text,
        )  # fmt: skip
    wrong(
        "no_barrier_in_loop",
        "A thread adds a partial sum that another one is still working on. What has to happen between two rounds?",
        "Every round reads what the round before has written.",
        "cuda.syncthreads() at the end of each round, outside the `if`.",
        picture=race(finding), evidence=text,
    )  # fmt: skip


def _values(x, rows, got, right, wrong):
    if len(rows) > 1 and (np.array_equal(got, np.full_like(got, right[0])) or np.isclose(got, right[0]).all()):
        wrong("thread_without_block", "Every block has the sum of the first 256 numbers. Which number does thread 0 of block 1 take?",
              "threadIdx.x is for s, cuda.grid(1) is for x.")  # fmt: skip
    if np.array_equal(got, right + UNTOUCHED):
        wrong("added_to_old", f"Every sum is {UNTOUCHED} too large, and {UNTOUCHED} is what out held before. What did you add to?",
              "Write the sum of a block once, when it is complete.", "out[cuda.blockIdx.x] = s[0]")  # fmt: skip
    for first in (128, 64):
        if np.array_equal(got, rows[:, :first].sum(1)):
            wrong("too_few_rounds", f"This is the sum of the first {first} numbers of each block. Who adds the other {THREADS - first}?",
                  f"With d = {first // 2} in the first round nobody reaches s[{first}].", "Begin with d = 128, half of the block.")  # fmt: skip
    if np.array_equal(got, rows[:, :32].sum(1)):
        wrong("one_warp", "This is the sum of the first 32 numbers of each block: one warp's. Where are the other seven warps?",
              "256 numbers are halved eight times: 128, 64, ..., 1.", "d = cuda.blockDim.x // 2")  # fmt: skip
    if np.array_equal(got, rows[:, ::2].sum(1)):
        wrong("last_round", "Your sum holds only the numbers at even places. Which round is missing?",
              "At d = 1 thread 0 adds s[1]. Does your loop come to d = 1?", "while d > 0:")  # fmt: skip
    if np.array_equal(got, rows[:, 0]):
        wrong("nothing_added", "This is the first number of each block. Which additions reached it?")
    untouched = np.flatnonzero((got == UNTOUCHED) & (right != UNTOUCHED))
    if len(untouched):
        wrong("not_written", f"out[{untouched[0]}] was never written. Which thread of block {untouched[0]} should have done it?",
              "Block b writes out[b].", "out[cuda.blockIdx.x] = s[0]")  # fmt: skip
    at = int(np.argmax(got != right))
    wrong("values", f"Block {at} has {got[at]:g} and should have {right[at]:g}. Which numbers are in your sum, and how often?",
          "Let x[k] be 1 at a single place, and follow it by hand.")  # fmt: skip


def _costs(n, blocks, launch, wrong):
    read = lines(launch, "load")
    if total(read, "accesses") > n:
        wrong("reads_again", f"The sums are right, but {total(read, 'accesses'):,} reads from global memory are too many for {n:,} numbers. Who reads a number"
              " that is already in shared memory?", "Each thread reads x once and works on s.", picture=None,
              evidence="\n".join(f"{line['accesses']:,} x {source_line(line)}" for line in read))  # fmt: skip
    atomics = [line for space in ("global", "shared") for line in lines(launch, "atomic", space)]
    if total(atomics, "accesses") > blocks * 32:
        wrong("atomics", f"The sums are right, but {total(atomics, 'accesses') // blocks} atomic additions to one element have to queue in each block. How many rounds"
              " would do?", "Atomics to one place are done one by one. In a tree, 256 numbers take 8 rounds.", picture=None,
              evidence="\n".join(f"{line['accesses']:,} x {source_line(line)}" for line in atomics))  # fmt: skip
    shared = [line for op in ("load", "store") for line in lines(launch, op, "shared")]
    conflicts = total(shared, "bank_conflicts")
    told = "\n".join(f"{line['wavefronts']:,} passes for {source_line(line)}" for line in shared)
    if conflicts > 8 * blocks:
        worst = max(shared, key=lambda line: line["bank_conflicts"])
        wrong("bank_conflicts", f"The sums are right, but shared memory needs {conflicts // blocks} extra passes a block: several threads of a warp want the same"
              " bank. Which elements do neighbours touch?", "Element k lies in bank k % 32. Neighbours that are 2, 4, 8, ... elements apart"
              " meet in one bank.", "Thread t adds s[t + d] to s[t], with t < d.", picture=in_banks(worst, "A warp's request"), evidence=told)  # fmt: skip
    passes = total(shared, "wavefronts") // blocks
    if passes > 90 and launch_lanes(shared) < 4:
        wrong("one_thread_adds", f"The sums are right, but shared memory is asked {passes} times a block, for one or two numbers each. What do the other"
              " 255 threads do meanwhile?", "In round one, 128 threads can add at once.", picture=None, evidence=told)  # fmt: skip
    if passes > 90:
        wrong("spread_out", f"The sums are right, but shared memory is asked {passes} times a block; 45 do. How many warps are awake in the last rounds?",
              "With `t % (2 * d) == 0` the busy threads lie far apart, in all 8 warps. With `t < d` they are neighbours.",
              picture=in_banks(max(shared, key=lambda line: line["wavefronts"]), "A warp's request"), evidence=told)  # fmt: skip


def launch_lanes(shared):
    """Mean number of lanes that take part in a request to shared memory."""
    adding = [line for line in shared if line["op"] == "load"] or shared
    return total(adding, "accesses") / max(1, total(adding, "requests"))


def achieved(outcomes):
    if not outcomes[-1][1]["virtual"]:
        return "Values checked on your GPU. Races and passes are seen on the virtual device only (LABS_GPU=virtual)."
    case, output = outcomes[-1]
    launch, blocks = output["launches"][0], case.inputs["blocks"]
    shared = [line for op in ("load", "store") for line in lines(launch, op, "shared")]
    return [
        (f"moved for {len(case.inputs['x']):,} numbers of 4 B", f"{launch['bytes']:,} B"),
        ("a block over shared memory, without a bank conflict", f"{total(shared, 'wavefronts') // blocks} passes"),
        ("in any order of the threads", "no race"),
    ]


block_sum = Exercise("block_sum", "Sum up a block", 3, cases, run, verify, achieved=achieved)
