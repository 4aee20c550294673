"""Reading the matrix that ``nvidia-smi topo -m`` prints."""

from __future__ import annotations

import re
from dataclasses import dataclass

RELATIONS = {
    "X": "itself",
    "NV#": "# NVLinks bonded together (directly or through NVSwitches)",
    "PIX": "at most one PCIe bridge",
    "PXB": "several PCIe bridges, but not the host bridge",
    "PHB": "a PCIe host bridge (typically the CPU)",
    "NODE": "PCIe and the interconnect between host bridges of one NUMA node",
    "SYS": "PCIe and the interconnect between NUMA nodes (QPI, UPI); older drivers print SOC",
}
"""What each relation means, from the nearest to the farthest. Source: the legend that nvidia-smi prints."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # the header is underlined on a terminal, and pasting keeps the codes
_AFFINITIES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_HEADER = re.compile("|".join((*_AFFINITIES, r"\S+")))
_RELATION = re.compile(r"X|NV[1-9]\d*|PIX|PXB|PHB|NODE|SYS|SOC")
_GPU = re.compile(r"GPU\d+")
_DEVICE = re.compile(r"[A-Za-z][\w.:-]*")


class TopoFormatError(ValueError):
    """The text is not a matrix of ``nvidia-smi topo -m``.

    Parameters
    ----------
    what : str
        What is wrong and what was expected.
    line, column : int
        Where, counted from 1 (without colour codes); column 0 means the line as a whole.
    text : str
        The line itself, shown with a mark under the column.
    """

    def __init__(self, what: str, line: int, column: int = 0, text: str = ""):
        where = f"line {line}, column {column}" if column else f"line {line}"
        flat = text.replace("\t", " ")  # a tab would move the mark away from its place
        shown = f"\n  {flat}\n  {' ' * (column - 1)}^" if column else f"\n  {flat}" if flat else ""
        super().__init__(f"{where}: {what}{shown}")
        self.line, self.column = line, column


@dataclass(frozen=True)
class TopoMatrix:
    """The matrix as printed.

    Parameters
    ----------
    names : tuple of str
        Devices in the order of the columns: GPUs, then network cards.
    relations : tuple of tuple of str
        ``relations[i][j]`` between ``names[i]`` and ``names[j]``: a key of `RELATIONS`, with a number in place of
        the # of NV#. Symmetric, "X" on the diagonal.
    cpu_affinity : dict of str to str
        Device to its nearest CPU cores, such as "0-23,48-71", where the text says so.
    numa_affinity : dict of str to int
        Device to its NUMA node, where the text says so.
    models : dict of str to str
        Network card to its driver's name, such as "NIC0" to "mlx5_0", from the card legend.
    """

    names: tuple[str, ...]
    relations: tuple[tuple[str, ...], ...]
    cpu_affinity: dict[str, str]
    numa_affinity: dict[str, int]
    models: dict[str, str]

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPUs' names."""
        return tuple(name for name in self.names if _GPU.fullmatch(name))

    def relation(self, a: str, b: str) -> str:
        """The relation between two devices, by name."""
        return self.relations[self.names.index(a)][self.names.index(b)]


def parse_topo_matrix(text: str) -> TopoMatrix:
    """Read the output of ``nvidia-smi topo -m``.

    Parameters
    ----------
    text : str
        As printed or pasted: tabs or spaces, with or without colour codes, affinity columns, network cards, legend,
        and lines before the header.

    Returns
    -------
    TopoMatrix

    Raises
    ------
    TopoFormatError
        Says at which line and column, and what was expected there.
    """
    lines = [_COLOUR.sub("", line).rstrip() for line in text.splitlines()]
    start, names, extras = _header(lines)
    rows: dict[str, list[str]] = {}
    places: dict[str, list[tuple[int, int]]] = {}  # of each relation in the text, for the symmetry error
    cpu: dict[str, str] = {}
    numa: dict[str, int] = {}
    number = start
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip() or line.lstrip().startswith("Legend"):
            if rows:
                break
            continue
        label, cells, rest = _row(line, number, names)
        if label in rows:
            raise TopoFormatError(f"a second row for {label}", number, line.index(label) + 1, line)
        rows[label] = [cell for cell, _ in cells]
        places[label] = [(number, column) for _, column in cells]
        for title, value in zip(extras, rest):
            if title == "CPU Affinity" and value != "N/A":
                cpu[label] = value
            elif title == "NUMA Affinity" and value.isdigit():
                numa[label] = int(value)
    if missing := [name for name in names if name not in rows]:
        raise TopoFormatError(f"the matrix ends without a row for {', '.join(missing)}", number)
    for i, a in enumerate(names):
        for j, b in enumerate(names[:i]):
            if rows[a][j] != rows[b][i]:
                at, column = places[a][j]
                what = f"{a} to {b} is {rows[a][j]}, but {b} to {a} is {rows[b][i]}; the matrix must be symmetric"
                raise TopoFormatError(what, at, column, lines[at - 1])
    models = dict(re.findall(r"^\s*(NIC\d+):\s*(\S+)", "\n".join(lines[number - 1 :]), re.MULTILINE))
    return TopoMatrix(tuple(names), tuple(tuple(rows[name]) for name in names), cpu, numa, models)


def _header(lines: list[str]) -> tuple[int, list[str], list[str]]:
    """Number of lines up to and with the header, the devices it names, and the further columns it announces."""
    for number, line in enumerate(lines, 1):
        words = [(match[0], match.start() + 1) for match in _HEADER.finditer(line)]
        if not words or not _GPU.fullmatch(words[0][0]):
            continue
        if len(words) > 1 and _RELATION.fullmatch(words[1][0]):
            what = "a row, but no header before it; copy the line that names the columns (GPU0 GPU1 ...) too"
            raise TopoFormatError(what, number, words[0][1], line)
        names: list[str] = []
        extras: list[str] = []
        for word, column in words:
            if word in _AFFINITIES:
                extras.append(word)
            elif extras or not _DEVICE.fullmatch(word):
                what = f"{word!r} cannot be a column here; expected devices, then {', '.join(_AFFINITIES)}"
                raise TopoFormatError(what, number, column, line)
            elif word in names:
                raise TopoFormatError(f"a second column {word}", number, column, line)
            else:
                names.append(word)
        return number, names, extras
    what = "no header found: a line that begins with GPU0 and names the columns; is this the output of topo -m?"
    raise TopoFormatError(what, max(1, len(lines)))


def _row(line: str, number: int, names: list[str]) -> tuple[str, list[tuple[str, int]], list[str]]:
    """One row: its device, its relations with their columns in the text, and what follows them."""
    words = [(match[0], match.start() + 1) for match in re.finditer(r"\S+", line)]
    label, column = words[0]
    if label not in names:
        what = f"a row for {label!r}, which is no column; columns: {', '.join(names)}"
        raise TopoFormatError(what, number, column, line)
    cells: list[tuple[str, int]] = []
    for i, name in enumerate(names):
        if i + 1 >= len(words):
            raise TopoFormatError(f"the row of {label} ends before its column {name}", number, len(line) + 1, line)
        word, column = words[i + 1]
        if not _RELATION.fullmatch(word):
            expected = "X, NV1, NV2, ..., PIX, PXB, PHB, NODE or SYS"
            what = f"{word!r} in column {name} is no relation; expected {expected}"
            raise TopoFormatError(what, number, column, line)
        if (word == "X") != (label == name):
            what = f"{word!r} in column {name} of row {label}; X stands where a device meets itself, and only there"
            raise TopoFormatError(what, number, column, line)
        cells.append(("SYS" if word == "SOC" else word, column))
    return label, cells, [word for word, _ in words[len(names) + 1 :]]
