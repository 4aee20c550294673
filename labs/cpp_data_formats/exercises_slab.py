"""Exercise slab: which bytes of a text file are a rank's, so that each line is read by exactly one rank."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, text, world_size, part="correct", ranks=None, shows="plain"):
        ranks = list(range(world_size)) if ranks is None else list(ranks)
        return Case(title, {"text": text, "world_size": world_size, "ranks": ranks, "shows": shows}, part)

    def lines(lengths):
        return "".join(f"{k % 10}" * (int(length) - 1) + "\n" for k, length in enumerate(lengths))

    drawn = rng.integers(2, 30, int(rng.integers(15, 30)))
    return [
        case("5 lines, 4 ranks", "10,20,30\n4,5\n6.5,7\n8,9,10\n1\n", 4),
        case("4 lines of the same length, 4 ranks", "1,2\n3,4\n5,6\n7,8\n", 4),
        case("the last line has no line end", "1,2\n3,4\n5,6\n7,8", 3),
        case("short lines first, long ones last", lines([2] * 12 + [20] * 6), 3),
        case(f"{len(drawn)} lines drawn at random, 5 ranks", lines(drawn), 5),
        case("lines that end in CR LF", "1,2\r\n30,4\r\n5,6\r\n7,80\r\n", 3),
        case("one rank", "1\n2\n3\n", 1, "edge"),
        case("more ranks than lines", "1,2\n3,4\n", 5, "edge"),
        case("one long line among short ones", "1\n" + "2" * 40 + "\n3\n4\n", 4, "edge"),
        case("an empty file", "", 3, "edge"),
        case("one line without a line end", "1,2,3,4", 3, "edge"),
        case(
            "700 kB and 4,096 ranks: the last ones",
            lines([7] * 100_000),
            4096,
            "edge",
            ranks=(0, 1, 3070, 3071, 4094, 4095),
            shows="large",
        ),
    ]


def run(answers, inputs):
    found = []
    for rank in inputs["ranks"]:
        begin, end = answers[0](inputs["text"], rank, inputs["world_size"])
        found.append([int(begin), int(end)])
    return {"slabs": found}


def verify(case, output):
    text, world_size, ranks = (case.inputs[name] for name in ("text", "world_size", "ranks"))
    slabs = output["slabs"]
    try:
        _verify(text, world_size, ranks, slabs)
    except Wrong as wrong:
        if case.inputs["shows"] != "large":
            raise
        raise Wrong(
            "overflow",
            "It works for small files, but not for this one. How large is its size times the rank?\n" + wrong.evidence,
            then=(
                "700,000 times 4,095 is beyond 2^31. An int cannot hold it, and nobody says so.",
                "Compute with std::size_t (64 bits): file.size() * rank / world_size, without a cast to int.",
            ),
        ) from None


def _verify(text, world_size, ranks, slabs):
    size, starts = len(text), _starts(text)
    longest = max(np.diff([*sorted(starts), size]), default=0)
    picture = (lambda: _picture(text, slabs)) if size <= 400 and len(ranks) == world_size else None

    def wrong(hint, question, *then):
        raise Wrong(hint, question + _table(text, world_size, ranks, slabs), picture=picture, then=then)

    for rank, (begin, end) in zip(ranks, slabs):
        if not 0 <= begin <= end <= size:
            wrong(
                "outside",
                f"Rank {rank}'s slab goes from byte {begin} to byte {end}, in a file of {size}. Can that be?",
                "begin is at most end, and end at most the size of the file. A slab may be empty.",
            )
    cut = [(rank, at) for rank, slab in zip(ranks, slabs) for at in slab if at not in starts and at != size]
    if cut:
        rank, at = cut[0]
        if all(text[at] == "\n" for _, at in cut):
            wrong(
                "off_by_one",
                f"Rank {rank}'s border is byte {at}, and there stands a line end. To which line does it belong?",
                "A line end is the last character of its line. The next line starts one byte behind it.",
                r"A place starts a line when the character before it is \n: look at file[at - 1].",
            )
        wrong(
            "cut_line",
            f"Rank {rank}'s border, byte {at}, lies within a line. Which number does each side read there?",
            "The share of a rank, size * rank / world_size, may fall anywhere. Move it to the start of a line.",
            r"while (at > 0 && at < size && file[at - 1] != '\n') ++at; for both borders.",
        )
    following = [(r, a, b) for r, s, a, b in zip(ranks, ranks[1:], slabs, slabs[1:]) if s == r + 1]
    for rank, (_, end), (begin, _) in following:
        share = size * (rank + 1) // world_size
        if end < begin and end == share:
            wrong(
                "border_line",
                f"The line that starts exactly at byte {end} is nobody's: it is the border of ranks {rank} and {rank + 1}. "
                "Whose should it be?",
                "Both ranks must move the same border in the same way. If one skips a line there, the other has to read it.",
                "Compute a border in one place: begin = start(rank), end = start(rank + 1).",
            )
        if end < begin:
            wrong(
                "lost",
                f"Nobody reads bytes {end} to {begin}, between ranks {rank} and {rank + 1}. Which way did each go?",
                "One moved the border forward, the other one moved it back.",
                "end of rank r must be begin of rank r + 1: compute both with the same function.",
            )
        if end > begin:
            wrong(
                "twice",
                f"Ranks {rank} and {rank + 1} both read bytes {begin} to {end}. How often is that line trained on?",
                "One moved the border back, the other one moved it forward.",
                "end of rank r must be begin of rank r + 1: compute both with the same function.",
            )
    last = slabs[-1][1] if ranks[-1] == world_size - 1 else size
    floor = size // world_size * world_size
    if last != size and floor < size and last == min((at for at in starts if at >= floor), default=size):
        wrong(
            "rounded_share",
            f"The last slab ends at byte {last}, but the file has {size}. {size} / {world_size} is {size // world_size}, and"
            f" {world_size} times that is {floor}: who reads the rest?",
            "Divide last: first size * rank, then by world_size.",
            "file.size() * rank / world_size",
        )
    if last != size:
        wrong(
            "lost_last",
            f"The last slab ends at byte {last}, but the file has {size}. Who reads the last line?",
            "Many files do not end in a line end, and the last line counts all the same.",
            "The last rank's end is file.size().",
        )
    if ranks[0] == 0 and slabs[0][0] != 0:
        wrong("lost_first", f"The first slab begins at byte {slabs[0][0]}. Who reads what stands before it?")
    for rank, (begin, _) in zip(ranks, slabs):
        if abs(begin - size * rank // world_size) > longest:
            wrong(
                "uneven",
                f"Rank {rank}'s slab begins at byte {begin}; its share begins at byte {size * rank // world_size}. "
                "Did you count lines?",
                "Lines differ in length, so equal numbers of lines are unequal work. And who counts them has read the whole "
                "file first, on each rank.",
                "Begin with size * rank / world_size, a number of bytes, and look only around it.",
            )


def _starts(text):
    return {0, *(at + 1 for at, character in enumerate(text) if character == "\n" and at + 1 < len(text))}


def _table(text, world_size, ranks, slabs):
    lines = [f"\n{len(text)} bytes, {world_size} ranks"]
    for rank, (begin, end) in list(zip(ranks, slabs))[:8]:
        piece = text[max(begin, 0) : max(end, 0)]
        shown = repr(piece if len(piece) <= 40 else piece[:37] + "...")
        lines.append(f"rank {rank}: bytes {begin} to {end}, {shown}")
    return "\n".join(lines)


def _picture(text, slabs):
    from labs.cpp_data_formats import strips

    return strips.picture(text, slabs, name="Lines of the file and the slabs of the ranks")


def achieved(outputs):
    case, output = outputs[4]
    sizes = [end - begin for begin, end in output["slabs"]]
    return [
        ("bytes a rank, smallest and largest", f"{min(sizes)} and {max(sizes)} of {len(case.inputs['text'])}"),
        ("each line", "read once, by one rank"),
    ]


slab = Exercise("slab", "Each rank reads its slab of a file", 3, cases, run, verify, achieved=achieved)
