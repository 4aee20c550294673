"""Exercise (an option): a first kernel, which adds one to every number of an array."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def _cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, size, blocks, threads, part="correct"):
        x = rng.integers(-99, 99, size).astype(np.int32)
        return Case(title, {"x": x, "blocks": blocks, "threads": threads}, part)

    return [
        case("64 numbers, 2 blocks of 32 threads", 64, 2, 32),
        case("100 numbers, 4 blocks of 32 threads", 100, 4, 32),
        case("no number", 0, 1, 32, "edge"),
        case("1 number", 1, 1, 32, "edge"),
        case("33 numbers, 2 blocks of 32 threads", 33, 2, 32, "edge"),
        case("1,000 numbers, 4 blocks of 256 threads", 1000, 4, 256, "edge"),
    ]


def _run(answers, inputs):
    import numpy as np

    from labs.kit.gpu import cuda, outcome, undecorated

    kernel, x = answers[0], inputs["x"]
    if undecorated(kernel):
        return {"undecorated": True}

    def program():
        whole = cuda.to_device(np.concatenate([x, np.full(1024, 7, np.int32)]))
        kernel[inputs["blocks"], inputs["threads"]](whole[: len(x)])
        return whole.copy_to_host()

    return outcome(program, hazards="report")


def _verify(case, output):
    if isinstance(output, dict) and output.get("undecorated"):
        question = "This is a plain Python function. What makes a kernel of it?"
        raise Wrong("not_a_kernel", question, then=("The line @cuda.jit stands directly above def.",))
    x, blocks, threads = case.inputs["x"], case.inputs["blocks"], case.inputs["threads"]
    too_many = (
        "no_guard",
        f"{blocks * threads} threads for {len(x)} numbers: some threads have no number. What should they do?",
        "Nothing. Compare i with x.size before you touch x[i].",
        "if i < x.size:",
    )
    completed(output, out_of_bounds=too_many)
    whole = np.asarray(output["result"])
    got, right = whole[: len(x)], x + np.int32(1)
    evidence = f"\nx       {short(x[:8])}\nyours   {short(got[:8])}"

    def wrong(hint, question, *then):
        raise Wrong(hint, question + evidence, picture=lambda: _picture(got, right), then=then)

    if (whole[len(x) :] != 7).any():
        raise Wrong(too_many[0], too_many[1] + evidence, then=too_many[2:])
    added = got - x
    if np.array_equal(got, right):
        if output["findings"]:
            wrong(
                "same_element",
                "Two threads touch the same number. Which number is a thread's own?",
                "x[i], with its own i.",
            )
        return
    if not added.any():
        wrong("nothing_changed", "No number has changed. Which line writes into x?", "x[i] += 1 changes x in place.")
    if len(x) > 1 and added[0] and not added[1:].any():
        wrong("one_element", "Only the first number has changed. Which number is thread 5's?", "Thread i adds to x[i].")
    if len(x) > threads and added[:threads].any() and not added[threads:].any():
        wrong("thread_without_block", f"Only the first {threads} numbers have changed: one block's. Which numbers are block 1's?",
              "cuda.threadIdx.x counts within a block; i = cuda.grid(1) counts over all blocks.")  # fmt: skip
    if len(x) > 1 and (added > 1).all():
        wrong("all_do_all", "Every number has grown by more than one. How many numbers should a thread touch?",
              "One. There is no loop in this kernel: the threads are the loop.")  # fmt: skip
    wrong("values", "Not every number has grown by exactly one. What does thread i do with x[i]?")


def _picture(got, right):
    from labs.kit.draw import memory_heat

    wide = np.equal(got, right)[:64]
    counts = [[int(ok) for ok in wide[row : row + 16]] for row in range(0, len(wide), 16)]
    counts[-1] += [1] * (len(counts[0]) - len(counts[-1]))
    marks = [(r, c) for r, row in enumerate(counts) for c, ok in enumerate(row) if not ok]
    return memory_heat(counts, name="Numbers; a cross marks a wrong one", op="right", marks=marks)


def _achieved(outcomes):
    output = outcomes[1][1]
    where = "the virtual device" if output["virtual"] else "your GPU"
    return f"4 blocks of 32 threads on {where}, and 28 of the 128 threads had nothing to do"


add_one = Exercise("add_one", "A first kernel", 3, _cases, _run, _verify, core=False, achieved=_achieved)
