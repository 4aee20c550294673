"""The arguments of one call, laid out in shared memory for the process that runs C++: `Bench`."""

from __future__ import annotations

import re

from labs.kit.native import wire
from labs.kit.native.crash import Argument
from labs.kit.native.memory import Segment, end_at_page, order_of, pages, segment_of, write_all


class Bench:
    """The arguments of one call, laid out for the child."""

    def __init__(self, workshop, args, kwargs, signature, written):
        self.fds, self.described, self.copied_in, self.backs = [], [], 0, []
        self._layout, self._used = {}, 0
        names = parameter_names(signature)
        self._names = {id(value): names[i] for i, value in enumerate(args) if i < len(names)}
        self._names.update((id(value), key) for key, value in kwargs.items())
        self._written = {id(value) for i, value in enumerate(args) if i >= len(written) or written[i] == "1"} | {
            id(value) for key, value in kwargs.items() if key not in names or written[names.index(key)] == "1"
        }
        # Two passes: the first counts what must be copied, so that the scratch segment is large enough.
        wire.pack((args, kwargs), self._measure)
        if self._used and (workshop.scratch is None or len(workshop.scratch) < self._used):
            workshop.scratch = Segment.of(max(self._used, 2 * len(workshop.scratch) if workshop.scratch else 0))
        self._scratch, self._at = workshop.scratch, 0
        self.request = wire.pack((args, kwargs), self._place)

    def _measure(self, thing, array):
        _check_type(array)
        if id(thing) not in self._layout:
            self._layout[id(thing)] = None
            if not _in_segment(array):
                self._used += pages(array.nbytes)
        return ("measured",)

    def _place(self, thing, array):
        if self._layout[id(thing)] is None:
            self._layout[id(thing)] = self._put(thing, array)
        return self._layout[id(thing)]

    def _put(self, thing, array):
        self.described.append(Argument(self._names.get(id(thing), "an array"), array.itemsize or 1, array.size))
        order = order_of(array) or "C"
        if segment := _in_segment(array):
            offset = array.ctypes.data - segment.address
        else:
            segment, offset = self._scratch, self._at + end_at_page(array.nbytes)
            self._at += pages(array.nbytes)
            there = segment.array(array.dtype, array.shape, order, offset)
            if order_of(array):
                write_all(segment.fd, array, offset)
            else:
                there[...] = array
            self.copied_in += array.nbytes
            if array.flags.writeable and id(thing) in self._written:
                self.backs.append((array, there))
        if segment.fd not in self.fds:
            self.fds.append(segment.fd)
        segment_index = self.fds.index(segment.fd)
        return (segment_index, offset, array.dtype.str, array.shape, order, array.flags.writeable)

    def copy_back(self):
        """Bring what C++ wrote into the caller's arrays; returns the bytes."""
        for array, there in self.backs:
            array[...] = there
        return sum(array.nbytes for array, _ in self.backs)

    def close(self):
        """Forget the segment."""
        self._scratch = None


def _check_type(array):
    if array.dtype.hasobject:
        raise TypeError("an array of Python objects cannot go to C++; give it a numeric dtype")


def _in_segment(array):
    return segment_of(array) if order_of(array) and array.nbytes else None


def parameter_names(signature: str) -> tuple[str, ...]:
    """The names of the parameters in a signature of nanobind's."""
    inside = signature[signature.index("(") + 1 : signature.rindex(") ->")] if ") ->" in signature else ""
    return tuple(re.findall(r"(?:^|, )(\w+): ", re.sub(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]", "", inside)))
