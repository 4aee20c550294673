"""Exercise divide8: eight pixels a thread through one 64-bit load, where the address allows it, and the rest by pixel."""

from __future__ import annotations

import numpy as np

from labs.first_kernels.evidence import elements, first_wrong, lines, source_line, total
from labs.kit.exercise import Case, Exercise, Wrong, completed

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

UNTOUCHED = 85


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, size, start=0, part="correct", divisor=3):
        return Case(
            title, {"pixels": rng.integers(0, 256, size).astype(np.uint8), "start": start, "divisor": divisor}, part
        )

    return [
        case("256 pixels, aligned", 256),
        case("9 x 111 = 999 pixels: no multiple of 8", 999, divisor=7),
        case("1,000 pixels that start 3 bytes behind a multiple of 8", 1000, 3),
        case("no pixel", 0, 0, "edge"),
        case("1 pixel, 5 bytes behind", 1, 5, "edge"),
        case("2 pixels, 7 bytes behind: one before and one in the next word", 2, 7, "edge"),
        case("31 pixels, 1 byte behind", 31, 1, "edge", 1),
        case("32 pixels", 32, 0, "edge", 255),
        case("33 pixels, 8 bytes behind", 33, 8, "edge", 2),
        case("255 pixels, 4 bytes behind", 255, 4, "edge"),
        case("257 pixels, 6 bytes behind", 257, 6, "edge"),
        case("4,099 pixels, 2 bytes behind: how wide are the loads?", 4099, 2, "budget"),
    ]


def run(answers, inputs):
    import numpy as np

    from labs.kit.gpu import cuda, outcome

    kernel, divide_fast = answers
    if "NotImplementedError" in getattr(kernel, "py_func", kernel).__code__.co_names:
        raise NotImplementedError
    pixels, start, divisor = inputs["pixels"], inputs["start"], inputs["divisor"]
    margin = np.full(64, 85, np.uint8)
    around = np.concatenate([margin[:start], pixels, margin])
    end = start + len(pixels)

    def program():
        source, target = cuda.to_device(around), cuda.to_device(np.full(len(around), 85, np.uint8))
        divide_fast(source[start:end], target[start:end], start, divisor)
        return target.copy_to_host()

    return outcome(program, hazards="report")


def verify(case, output):
    given = case.inputs
    start, n = given["start"], len(given["pixels"])
    completed(
        output,
        misaligned=(
            "unaligned_words",
            f"A word of 8 bytes is read at an address that is no multiple of 8: the image begins at byte {start}. How many"
            " pixels come before the first multiple of 8?",
            f"-{start} % 8 is {-start % 8}. The pixels before it are no word.",
            "head = min(-address % 8, image.size)",
        ),
        out_of_bounds=(
            "word_too_many",
            "A thread reaches beyond the last whole word. How many whole words are there?",
            "Only pixels after the head count, and only whole eights: (image.size - head) // 8.",
        ),
        launch=(
            "empty_part",
            f"A launch needs at least one block. Which part of an image of {n} pixels, {start} bytes behind a multiple of 8,"
            " is empty, or smaller than you think?",
            "Round the number of blocks up: (words + 127) // 128. Launch nothing for a part without pixels.",
            "head = min(-address % 8, image.size): an image may end before its first word begins.",
        ),
    )
    target = np.asarray(output["result"])
    got, right = target[start : start + n], given["pixels"] // given["divisor"]
    shown = f"divided by {given['divisor']}\n{first_wrong(got, right)}" if n else ""

    def wrong(hint, question, *then, evidence=shown):
        picture = elements(got, right, "Pixels of out") if n else None
        raise Wrong(hint, f"{question}\n{evidence}", picture=picture, then=then)

    outside = np.delete(target, np.s_[start : start + n])
    if (outside != UNTOUCHED).any():
        wrong("beyond", "Bytes in front of the image or behind it have changed. Which words lie completely inside?",
              "The first word begins at the first multiple of 8, the last one ends before the image does.")  # fmt: skip
    if not np.array_equal(got, right):
        _values(given, got, right, wrong)
    if case.part == "budget" and output["virtual"]:
        _costs(n, start, output["launches"], wrong)


def _values(given, got, right, wrong):
    n, start = len(right), given["start"]
    head = min(-start % 8, n)
    body = slice(head, head + (n - head) // 8 * 8)
    missing = (got == UNTOUCHED) & (right != UNTOUCHED)
    done = got == right
    if missing.any() and done[: body.stop].all():
        wrong("tail_lost", f"The last {n - body.stop} pixels are no whole word, and nobody divided them. Who can?",
              "divide works on any pixels: give it out[head + 8 * words:].")  # fmt: skip
    if missing[:head].any():
        wrong("head_lost", f"The first {head} pixels come before the first whole word, and nobody divided them. Who can?",
              "divide works on any pixels: give it image[:head].")  # fmt: skip
    pixels = given["pixels"][body].copy()
    words = pixels.view(np.uint64)
    if np.array_equal(got[body], (words // np.uint64(given["divisor"])).view(np.uint8)):
        wrong("whole_word", "A pixel was divided together with those above it in the word. What happens to their remainder?",
              "It is carried into the next pixel. After the shift, everything above the pixel is still there: cut it off first.",
              "(word >> shift) & np.uint64(255)")  # fmt: skip
    if words.size and np.array_equal(got[body].reshape(-1, 8)[:, ::-1], right[body].reshape(-1, 8)):
        wrong("reversed", "The eight pixels of each word came out in reverse. Which byte of the word is the first pixel?",
              "The first one is the lowest byte: shift 0. Put each result back where it was.")  # fmt: skip
    if words.size and (got[body].reshape(-1, 8)[:, 1:] == 0).all():
        wrong("not_put_back", "Only the lowest pixel of each word is there. Where do the other seven belong?",
              "Shift each result back to its place, and join them with |.", "result |= (pixel // divisor) << shift")  # fmt: skip
    at = int(np.argmax(~done))
    wrong("values", f"Pixel {at} is {int(got[at])} and should be {int(right[at])}. Which bits of which word is it?")


def _costs(n, start, launches, wrong):
    loads = [line for launch in launches for line in lines(launch, "load")]
    head = -start % 8
    words = (n - head) // 8
    wide = total([line for line in loads if line["itemsize"] == 8], "accesses")
    narrow = total([line for line in loads if line["itemsize"] == 1], "accesses")
    told = "\n".join(f"{line['accesses']:,} x {line['itemsize']} B: {source_line(line)}" for line in loads)
    if wide < words:
        wrong("not_wide", f"The pixels are right, but {narrow:,} of them were loaded one by one. {words} whole words lie inside:"
              " who reads them as words?", "image[head:head + 8 * words].view(np.uint64) are the words for divide8.",
              evidence=told)  # fmt: skip
    if wide > words or narrow > n - 8 * words:
        wrong("done_twice", f"The pixels are right, but {wide:,} words and {narrow:,} single pixels were loaded for"
              f" {n:,} pixels. Which ones twice?", "Head, words and tail do not overlap.", evidence=told)  # fmt: skip


def achieved(outcomes):
    case, output = outcomes[-1]
    if not output["virtual"]:
        return "Values checked on your GPU. The width of loads is seen on the virtual device only (LABS_GPU=virtual)."
    loads = [line for launch in output["launches"] for line in lines(launch, "load")]
    n = len(case.inputs["pixels"])
    return f"{n:,} pixels in {total(loads, 'accesses'):,} loads; by single pixels it would be {n:,}"


divide8 = Exercise("divide8", "Eight pixels a thread", 1.5, cases, run, verify, core=False, achieved=achieved,
                   answers=("divide8", "divide_fast"))  # fmt: skip
