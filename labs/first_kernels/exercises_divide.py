"""Exercise divide: each pixel of an image divided by a number, whatever the number of threads."""

from __future__ import annotations

import numpy as np

from labs.first_kernels.evidence import addresses, decorated, elements, first_wrong, lines, source_line, total
from labs.kit.exercise import Case, Exercise, Wrong, completed, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

UNTOUCHED = 85
"""What `out` holds before the launch."""


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, size, blocks, threads, part="correct", start=0, divisor=3):
        pixels = rng.integers(0, 256, size).astype(np.uint8)
        return Case(
            title,
            {"pixels": pixels, "start": start, "divisor": divisor, "blocks": blocks, "threads": threads},
            part,
        )

    return [
        case("256 pixels, 4 blocks of 64 threads", 256, 4, 64),
        case("9 x 111 pixels, 4 blocks of 256 threads: more threads than pixels", 999, 4, 256, divisor=7),
        case("1,000 pixels, 2 blocks of 128 threads: fewer threads than pixels", 1000, 2, 128),
        case("no pixel at all", 0, 1, 32, "edge"),
        case("1 pixel", 1, 1, 32, "edge"),
        case("31 pixels", 31, 1, 32, "edge", divisor=2),
        case("32 pixels, divided by 1", 32, 1, 32, "edge", divisor=1),
        case("33 pixels, 2 blocks of 32", 33, 2, 32, "edge", divisor=255),
        case("255 pixels, 3 blocks of 96", 255, 3, 96, "edge"),
        case("257 pixels that start at an odd address", 257, 1, 256, "edge", start=5),
        case("1,000 pixels, one thread", 1000, 1, 1, "edge"),
        case("4,096 pixels, 4 blocks of 128: what moves?", 4096, 4, 128, "budget"),
        case("33 x 31 pixels, 2 blocks of 256: what moves?", 1023, 2, 256, "budget", divisor=10),
    ]


def run(answers, inputs):
    import numpy as np

    from labs.kit.gpu import cuda, outcome, undecorated

    kernel = answers[0]
    if undecorated(kernel):
        return {"undecorated": True}
    pixels, start, divisor = inputs["pixels"], inputs["start"], inputs["divisor"]
    margin = np.full(2048, 85, np.uint8)
    around = np.concatenate([margin[:start], pixels, margin])
    end = start + len(pixels)

    def program():
        source, target = cuda.to_device(around), cuda.to_device(np.full(len(around), 85, np.uint8))
        kernel[inputs["blocks"], inputs["threads"]](source[start:end], target[start:end], divisor)
        return source.copy_to_host(), target.copy_to_host()

    return outcome(program, hazards="report")


def verify(case, output):
    decorated(output)
    given = case.inputs
    n, threads, blocks = len(given["pixels"]), given["threads"], given["blocks"]
    completed(
        output,
        out_of_bounds=(
            "no_tail",
            f"{blocks} x {threads} threads for {n} pixels, and a thread reaches beyond the last one. What tells a thread"
            " that nothing is left for it?",
            "A loop `for i in range(first, image.size, step)` never begins in such a thread. An `if i < image.size` does"
            " the same for a single pixel.",
        ),
    )
    around, target = (np.asarray(part) for part in output["result"])
    start = given["start"]
    got, right = target[start : start + n], given["pixels"] // given["divisor"]
    shown = f"divided by {given['divisor']}\n{first_wrong(got, right)}" if n else ""
    picture = elements(got, right, "Pixels of out") if n else None

    def wrong(hint, question, *then, picture=picture, evidence=shown):
        raise Wrong(hint, f"{question}\n{evidence}", picture=picture, then=then)

    if not np.array_equal(around[start : start + n], given["pixels"]):
        wrong(
            "wrote_the_image",
            "The image itself has changed. Where does the result belong?",
            "out[i] = ..., from image[i].",
            evidence=f"image before {short(given['pixels'][:8])}\nimage after  {short(around[start : start + n][:8])}",
            picture=None,
        )
    outside = np.delete(target, np.s_[start : start + n])
    if (outside != UNTOUCHED).any():
        wrong("no_tail", "A thread wrote behind the last pixel. What tells a thread that nothing is left for it?")
    if not np.array_equal(got, right):
        _values(given, got, right, wrong)
    if case.part == "budget" and output["virtual"]:
        _costs(n, output["launches"], wrong)


def _values(given, got, right, wrong):
    n, threads, blocks = len(right), given["threads"], given["blocks"]
    missing = (got == UNTOUCHED) & (right != UNTOUCHED)
    place = np.arange(n)
    if np.array_equal(got[~missing], right[~missing]) and missing.any():
        visible = right != UNTOUCHED  # where a pixel that nobody wrote can be told from one that was
        first_blocks = (place >= threads, place % (threads * blocks) >= threads)  # with one pixel each, and in a loop
        if blocks > 1 and any(np.array_equal(missing, others & visible) for others in first_blocks):
            wrong(
                "thread_without_block",
                f"Only the first {threads} of every {threads * blocks} pixels are done: block 0's. Which number does"
                " thread 0 of block 1 have in the whole grid?",
                "threadIdx.x counts within a block. cuda.grid(1) counts over all blocks.",
                "cuda.grid(1) is cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x.",
            )
        if np.array_equal(missing, (place >= threads * blocks) & visible):
            wrong(
                "one_pixel_each",
                f"The first {threads * blocks} of {n} pixels are done, one by each thread. Who does the others?",
                "Let a thread go on: after its first pixel, as far as all threads of the grid together.",
                "for i in range(cuda.grid(1), image.size, cuda.gridsize(1)):",
            )
        wrong("pixels_left", f"Pixel {int(np.argmax(missing))} was never written. Which thread should have done it?",
              "Write down the pixels of thread 0 and of the last thread.")  # fmt: skip
    if np.array_equal(got, np.rint(given["pixels"] / given["divisor"]).astype(np.uint8)):
        wrong("rounded", "Your pixels are rounded. What does // do with 5 // 3?", "It drops what is behind the point.")
    at = int(np.argmax(got != right))
    wrong("values", f"Pixel {at} is {int(got[at])} and should be {int(right[at])}. What does that thread calculate?",
          "out[i] = image[i] // divisor, and nothing else.")  # fmt: skip


def _costs(n, launches, wrong):
    launch = launches[0]
    loads, stores = lines(launch, "load"), lines(launch, "store")
    if total(stores, "accesses") > n or total(loads, "accesses") > n:
        most = max(total(stores, "accesses"), total(loads, "accesses"))
        wrong(
            "done_twice",
            f"All pixels are right, but for {n:,} pixels your threads did {most:,} accesses. Which thread's pixel does"
            " thread 0 do next?",
            "A step of one block leads into the pixels of the next block. How far must thread 0 go to be past ALL"
            " threads of the grid?",
            "cuda.gridsize(1), which is cuda.gridDim.x * cuda.blockDim.x.",
            picture=addresses(loads[0], "One warp's request"),
            evidence="\n".join(f"{line['accesses']:,} x {source_line(line)}" for line in loads + stores),
        )
    if launch["flops"]:
        kind, count = next(iter(launch["flops"].items()))
        wrong(
            "in_floats",
            f"The pixels are right, but the kernel did {count:,} operations in {kind}. Where do they come from?",
            "/ makes a float64, as in Python. On many GPUs float64 runs at 1/32 or 1/64 of the rate of float32.",
            "image[i] // divisor stays a whole number.",
            picture=None,
            evidence=f"operations: {launch['flops']}",
        )
    for line in loads + stores:
        if line["sectors"] > 2 * line["ideal_sectors"]:
            wrong(
                "strided",
                f"The pixels are right, but a warp's request touches {line['sectors'] / line['requests']:.0f} sectors of"
                f" 32 bytes where {line['ideal_sectors'] / line['requests']:.0f} would do. Which pixel does the"
                " neighbour of thread 0 read at the same moment?",
                "Threads with neighbouring numbers should read neighbouring pixels. Then a warp's 32 pixels share a"
                " sector.",
                "A step of cuda.gridsize(1) from pixel to pixel, not a piece of the image for each thread.",
                picture=addresses(line, "One warp's request"),
                evidence=f"{line['sectors']:,} sectors for {line['accesses']:,} x {source_line(line)}",
            )


def achieved(outcomes):
    if not outcomes[-1][1]["virtual"]:
        return "Values checked on your GPU. What moves is seen on the virtual device only (LABS_GPU=virtual)."
    found = []
    for case, output in outcomes[-2:]:
        launch, n = output["launches"][0], len(case.inputs["pixels"])
        found.append((f"moved for {n:,} pixels; each read and written once is {2 * n:,} B", f"{launch['bytes']:,} B"))
    return found


divide = Exercise("divide", "Divide an image", 3, cases, run, verify, achieved=achieved)
