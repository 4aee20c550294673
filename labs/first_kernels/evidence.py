"""What a launch did, out of the plain data of `labs.kit.gpu.outcome`: for verdicts, and as pictures for hints."""

from __future__ import annotations

UNDECORATED = (
    "not_a_kernel",
    "This is a plain Python function, so it cannot be launched. What makes a kernel of it?",
    ("The line @cuda.jit stands directly above def.",),
)


def decorated(output):
    """Raise the `Wrong` that a plain function in place of a kernel deserves."""
    from labs.kit.exercise import Wrong

    if isinstance(output, dict) and output.get("undecorated"):
        hint, question, then = UNDECORATED
        raise Wrong(hint, question, then=then)


def outside(output) -> str:
    """The name of the array that a thread of the answer left; "" when none did. The output is untrusted."""
    failure = output.get("failure") if isinstance(output, dict) else None
    name = failure.get("array") if isinstance(failure, dict) and failure.get("kind") == "out_of_bounds" else ""
    return name if isinstance(name, str) else ""


def lines(launch: dict, op: str, space: str = "global") -> list[dict]:
    """The traffic of all lines that do `op` ("load", "store", "atomic") to a memory space."""
    return [line for line in launch["lines"] if (line["op"], line["space"]) == (op, space)]


def total(found: list[dict], field: str) -> int:
    """The sum of a field over lines of traffic."""
    return sum(line[field] for line in found)


def source_line(line: dict) -> str:
    """A line of traffic in words: what it does, and where."""
    return f"{line['op']} {line['array']} at {line['place']}"


def addresses(line: dict, name: str):
    """A callable that draws the addresses of one warp's request; None when there is no sample."""
    sample = line.get("sample")
    if not sample or not any(address is not None for address in sample["addresses"]):
        return None

    def draw():
        from labs.kit.draw import warp_addresses

        return warp_addresses(sample["addresses"], sample["itemsize"], name=name, array=line["array"])

    return draw


def in_banks(line: dict, name: str):
    """A callable that draws which banks one warp's request wants; None when there is no sample."""
    sample = line.get("sample")
    if not sample or not any(address is not None for address in sample["addresses"]):
        return None

    def draw():
        from labs.kit.draw import banks

        return banks(sample["addresses"], sample["itemsize"], name=name)

    return draw


def race(finding: dict):
    """A callable that draws the two accesses of a race."""

    def draw():
        from labs.kit.draw import races

        index = tuple(finding["index"])
        index = index[0] if len(index) == 1 else index
        pair = [finding[key] for key in ("first", "second") if finding.get(key)]
        thread = lambda each: "{}, {}".format(*each["thread"][:2]) if each["thread"][1] else each["thread"][0]
        block = lambda each: f"{thread(each)} of block {each['block'][0]}"
        name = block if len({tuple(each["block"]) for each in pair}) > 1 else thread
        rows = [(str(name(each)), index, each["op"], each["line"]) for each in pair]
        return races(rows, array=finding["array"], name="A race")

    return draw


def first_wrong(got, right, most=6) -> str:
    """Two lines of evidence: a result and the right one, from the first element that differs."""
    import numpy as np

    got, right = np.ravel(got), np.ravel(right)
    at = int(np.argmax(got != right))
    more = lambda values: (
        "[" + ", ".join(f"{value:g}" for value in values[at : at + most]) + (", …]" if len(values) > at + most else "]")
    )
    return f"from element {at} on: yours {more(got)}\n{' ' * len(f'from element {at} on: ')}right {more(right)}"


def elements(got, right, what: str):
    """A callable that draws which elements of a result are right: 64 in a row, or a matrix as it is, up to 64 x 64."""
    import numpy as np

    def draw():
        from labs.kit.draw import Picture, memory_heat

        flat = np.ravel(~np.equal(got, right))
        wrong = np.atleast_2d(~np.equal(got, right))[:64, :64]
        if np.ndim(got) == 1 and flat.size > 16:
            columns = 64 if flat.size > 128 else 16
            wrong = np.concatenate([flat, np.zeros(-flat.size % columns, bool)]).reshape(-1, columns)[:64]
        marks = [(int(row), int(column)) for row, column in np.argwhere(wrong)]
        picture = memory_heat((~wrong).astype(int), name=what, op="right", marks=marks)
        first = int(np.argmax(flat))
        counted = f"{flat.size - flat.sum():,} right, {flat.sum():,} wrong, element {first} first"
        return Picture(picture.figure, f"{what}, {wrong.shape[1]} in a row: {counted}.")

    return draw
