"""What is noted while a launch runs: findings, and traffic by line; at the end it becomes plain data."""

from __future__ import annotations

from types import CodeType

from labs.kit.virtual.cuda.findings import Access, Finding, Sample, Traffic
from labs.kit.virtual.cuda.memory import OPERATIONS, Allocation
from labs.kit.virtual.places import Place, place_of


class Recorder:
    """Findings and traffic of one launch.

    Parameters
    ----------
    kernel : str
        Its name.
    grid, block : tuple of int
        The launch configuration.
    """

    def __init__(self, kernel: str, grid, block):
        self.kernel, self.grid, self.block = kernel, tuple(grid), tuple(block)
        self._sites: list[tuple[CodeType, int]] = []
        self._site_numbers: dict[tuple[CodeType, int], int] = {}
        self._findings: dict[tuple, list] = {}
        self.found = 0  # findings, repeated ones included
        self._traffic: dict[tuple, list] = {}
        self.samples: dict[tuple, Sample] = {}
        self.history: dict[Allocation, list] = {}  # who touched each element last, for races between blocks

    # ---- names

    def site(self, code: CodeType, line: int) -> int:
        """Number of a line of a kernel or device function."""
        key = (code, line)
        if key not in self._site_numbers:
            self._site_numbers[key] = len(self._sites)
            self._sites.append(key)
        return self._site_numbers[key]

    def line(self, site: int) -> int:
        """Line number of a site."""
        return self._sites[site][1]

    def place(self, site: int) -> Place:
        """Place of a site."""
        return place_of(*self._sites[site])

    def thread(self, number: int) -> tuple[int, int, int]:
        """threadIdx of a thread of a block."""
        x, y, _ = self.block
        return int(number % x), int(number // x % y), int(number // (x * y))

    def block_index(self, number: int) -> tuple[int, int, int]:
        """blockIdx of a block of the grid."""
        x, y, _ = self.grid
        return int(number % x), int(number // x % y), int(number // (x * y))

    def words(self, block: int, thread: int) -> str:
        """ "thread (3, 0, 0) of block (1, 0, 0)"."""
        return f"thread {self.thread(thread)} of block {self.block_index(block)}"

    def access(self, block: int, thread: int, op: int, site: int) -> Access:
        """An access as data."""
        place = self.place(site)
        return Access(self.block_index(block), self.thread(thread), OPERATIONS[op], place.line, str(place))

    # ---- findings

    def find(self, kind: str, place: Place, text: str, array="", space="", index=(), first=None, second=None):
        """Note a finding; the same kind at the same lines on the same array is counted, not repeated."""
        self.found += 1
        key = (kind, place.file, place.line, array, second and second.line)
        if key in self._findings:
            self._findings[key][1] += 1
            return
        facts = {"array": array, "space": space, "index": tuple(index), "first": first, "second": second}
        self._findings[key] = [
            dict(kind=kind, text=text, kernel=self.kernel, line=place.line, place=str(place), **facts),
            1,
        ]

    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order in which they were made."""
        return tuple(Finding(**facts, count=count) for facts, count in self._findings.values())

    def add(self, sums: dict) -> None:
        """Add requests, accesses, cost, ideal cost and useful bytes of some lines."""
        for key, values in sums.items():
            total = self._traffic.setdefault(key, [0] * len(values))
            for position, value in enumerate(values):
                total[position] += value

    def lines(self) -> tuple[Traffic, ...]:
        """Traffic by line, array and operation, in the order of the text."""
        out = []
        for key, (requests, accesses, cost, ideal, used) in self._traffic.items():
            space, array, itemsize, site, op = key
            place = self.place(site)
            common = {"line": place.line, "place": str(place), "op": OPERATIONS[op], "space": space, "array": array}
            common |= {
                "itemsize": itemsize,
                "requests": requests,
                "accesses": accesses,
                "sample": self.samples.get(key),
            }
            if space == "global":
                out.append(Traffic(**common, sectors=cost, ideal_sectors=ideal, bytes=32 * cost))
            else:
                out.append(Traffic(**common, bytes=used, wavefronts=cost, bank_conflicts=cost - ideal))
        return tuple(sorted(out, key=lambda traffic: (traffic.line, traffic.array, traffic.op)))
