"""Loads, stores and windows: every access of the lanes to memory is checked, recorded and carried out here."""

from __future__ import annotations

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.failures import OutOfBounds, WrongType
from labs.kit.virtual.cuda.memory import ATOMIC, OPERATIONS, READ, WRITE, View
from labs.kit.virtual.cuda.translate import constant
from labs.kit.virtual.cuda.unset import Unset
from labs.kit.virtual.cuda.values import Values

_WATCHED = ("global", "shared")
_INT64 = np.dtype(np.int64)


class Accesses(Values):
    """Memory as the lanes see it.

    `block` is the block in flight (`labs.kit.virtual.cuda.block.BlockRun`), `ids` the number of each lane's thread in
    it.
    """

    def __init__(self, block, ids: np.ndarray):
        super().__init__(len(ids), block.launch.flops)
        self.block, self.ids = block, ids
        self.watching = block.launch.recorder is not None

    # ---- what translated code calls

    def load(self, array, index, site):
        """``array[index]``."""
        if type(array) is not View:
            return self._from_tuple(array, index, site)
        if type(index) is tuple:
            if len(index) != array.ndim or slice in map(type, index):
                return self.window(array, index, site)
        elif array.ndim != 1 or type(index) is slice:
            return self.window(array, (index,), site)
        flat, chosen = self.address(array, index, site, READ)
        memory = array.memory
        if self.watching:
            self.observe(memory, site, READ, flat, chosen)
        got = memory.data[flat]
        if type(got) is not np.ndarray or chosen is None:
            return got
        out = np.zeros(self.n, got.dtype)
        out[chosen] = got
        return out

    def store(self, array, index, value, site):
        """``array[index] = value``."""
        if not self.live:
            return
        if type(array) is not View:
            self._refuse_store(array, site)
        if type(index) is slice or (type(index) is tuple and slice in map(type, index)):
            self.refuse(site, "an assignment to a slice", "a loop over the elements")
        if array.memory.space == "const":
            self.refuse(site, f"an assignment to {array.memory.name}, a constant", "an array argument")
        if not arithmetic.is_number(value):
            self._refuse_value(array, value, site)
        flat, chosen = self.address(array, index, site, WRITE)
        memory = array.memory
        value = arithmetic.typed(value)
        vector = type(value) is np.ndarray
        if vector and chosen is not None:
            value = value[chosen]
        if self.watching:
            self.observe(memory, site, WRITE, flat, chosen)
        if vector and type(flat) is not np.ndarray:  # all lanes write one element: the last one wins
            if not len(value):
                return
            value, vector = value[-1], False
        if memory.written is not None:
            memory.written[flat] = True
        if value.dtype != memory.dtype:
            value = arithmetic.convert(value, memory.dtype)
        memory.data[flat] = value

    def window(self, array, index, site) -> View:
        """``array[i]`` with too few indices, or with slices: a smaller array."""
        if len(index) > array.ndim or any(part is ... or part is None for part in index):
            raise WrongType(_too_many(array, index) if len(index) > array.ndim else "an index is a number or a slice")
        offset, shape, strides = array.offset, [], []
        whole = (slice(None),) * (array.ndim - len(index))
        for axis, (n, stride, part) in enumerate(zip(array.shape, array.strides, index + whole)):
            if type(part) is slice:
                start, length, step = self._slice(part, n)
                offset = offset + start * stride
                shape.append(length)
                strides.append(stride * step)
                continue
            position = self._position(part, n)
            if position is None:
                before = [0] * axis + [part] + [0] * (array.ndim - axis - 1)
                one = View(array.memory, array.shape, array.strides, array.offset)
                self._bad_address(one, tuple(before), site, READ)
                position = np.clip(self.vector(part), 0, np.maximum(n - 1, 0))
            offset = offset + position * stride
        return View(array.memory, shape, strides, offset)

    # ---- addresses

    def address(self, array, index, site, kind):
        """Flat elements of the lanes that take part.

        Returns
        -------
        flat : int or numpy.ndarray of int64
            One element for each lane that takes part, or one for all.
        chosen : numpy.ndarray or None
            The lanes, as in `Masks.chosen`.
        """
        if type(index) is not tuple:
            index = (index,)
        if len(index) != array.ndim:
            raise WrongType(_too_many(array, index))
        chosen, flat, memory = self.chosen, array.offset, array.memory
        if type(flat) is np.ndarray and chosen is not None:
            flat = flat[chosen]
        for i, n, stride in zip(index, array.shape, array.strides):
            if type(n) is np.ndarray and chosen is not None:
                n = n[chosen]
            if type(i) is np.ndarray:
                if chosen is not None:
                    i = i[chosen]
                if i.dtype is not _INT64:
                    i = self._whole(i, array)
                bad = ((i < 0) | (i >= n)).any() if type(n) is np.ndarray else (i.view(np.uint64) >= n).any()
            else:
                if type(i) is not int:
                    i = int(self._whole(arithmetic.typed(i), array))
                bad = ((i < 0) | (i >= n)).any() if type(n) is np.ndarray else not 0 <= i < n
            if bad:
                return self._bad_address(array, index, site, kind)
            flat = flat + i * stride if stride != 1 else flat + i
        if memory.misaligned:
            self.misaligned(array, site, kind)
        if memory.lanes:
            flat = flat * memory.lanes + self.lanes()
        return flat, chosen

    def _whole(self, i, array):
        if isinstance(i, Unset):
            bool(i)
        if not isinstance(i, (np.ndarray, np.generic)) or i.dtype.kind not in "iub":
            kind = f"a {i.dtype.name}" if hasattr(i, "dtype") else f"a {type(i).__name__}"
            hint = (
                "name its part .x, .y or .z" if type(i).__name__ == "Dim3" else "an index is a whole number, int(...)"
            )
            raise WrongType(f"{array.memory.name} is indexed with {kind}: {hint}")
        return i.astype(np.int64)

    def _bad_address(self, array, index, site, kind):
        lanes = self.lanes()
        columns = [self._whole(self.vector(i), array)[lanes] for i in index]
        lengths = [n[lanes] if type(n) is np.ndarray else n for n in array.shape]
        wrapped = [np.where(i < 0, i + n, i) for i, n in zip(columns, lengths)]
        inside = np.all([(i >= 0) & (i < n) for i, n in zip(wrapped, lengths)], axis=0)
        negative = np.any([i < 0 for i in columns], axis=0)
        for which, counts_from_end in ((~inside, False), (inside & negative, True)):
            if which.any():
                k = int(np.flatnonzero(which)[0])
                shape = [int(n[k]) if type(n) is np.ndarray else n for n in lengths]
                at = [int(i[k]) for i in columns]
                self._index_fault(array, site, kind, lanes[k], at, shape, counts_from_end, int(which.sum()))
        keep = lanes[inside]
        base = array.offset[keep] if type(array.offset) is np.ndarray else array.offset
        flat = base + sum(i[inside] * stride for i, stride in zip(wrapped, array.strides))
        if array.memory.lanes:
            flat = flat * array.memory.lanes + keep
        return np.broadcast_to(flat, len(keep)), keep

    def _index_fault(self, array, site, kind, lane, index, shape, counts_from_end, lanes):
        name = array.memory.name
        element = f"{name}[{', '.join(map(str, index))}]"
        size = f"{shape[0]} elements" if len(shape) == 1 else f"shape {tuple(shape)}"
        did = {READ: "reads", WRITE: "writes", ATOMIC: "updates"}[kind]
        more = f" (and {lanes - 1} more of its block)" if lanes > 1 else ""
        text = f"{self.thread_in_words(lane)}{more} {did} {element}, but {name} has {size}.\n  at {self.place(site)}"
        facts = {
            "array": name,
            "space": array.memory.space,
            "index": tuple(index),
            "lane": lane,
            "op": OPERATIONS[kind],
        }
        if counts_from_end:
            text += "\n  A negative index counts from the end, as in Python. Is that what you meant?"
            self.block.finding("negative_index", self, site, text, **facts)
            return
        text += "\n  Which threads should not run this line? Compare the index with the length before."
        self.block.fault(OutOfBounds, self, site, text, **facts)

    # ---- windows

    def _slice(self, part, n):
        """(start, length, step) of a slice of `n` elements; start and length may differ by lane."""
        step = 1 if part.step is None else part.step
        if type(step) is np.ndarray or int(step) == 0 or (step < 0 and type(n) is np.ndarray):
            raise WrongType("the step of a slice is one whole number, the same in every thread")
        bounds = (part.start, part.stop)
        for bound in bounds:
            if bound is not None and arithmetic.typed(bound).dtype.kind not in "iu":
                raise WrongType("the bounds of a slice are whole numbers: use // or int(...)")
        if not any(type(bound) is np.ndarray for bound in (*bounds, n)):
            indices = slice(*(None if b is None else int(b) for b in (*bounds, step))).indices(int(n))
            return indices[0], len(range(*indices)), int(step)
        if step < 0:
            raise WrongType("a slice whose bounds differ between threads cannot run backwards")
        start, stop = (
            default if bound is None else np.where(np.less(bound, 0), np.add(bound, n), bound)
            for bound, default in zip(bounds, (0, n))
        )
        start, stop = np.clip(start, 0, n), np.clip(stop, 0, n)
        length = np.maximum(0, -((start - stop) // step))
        return self.vector(start), self.vector(length), int(step)

    def _position(self, part, n):
        """A checked index of a window: None when a lane that takes part is outside."""
        part = arithmetic.typed(part)
        if not isinstance(part, (np.ndarray, np.generic)) or part.dtype.kind not in "iu":
            raise WrongType("an index is a whole number or a slice")
        if type(part) is not np.ndarray and type(n) is not np.ndarray:
            return int(part) if 0 <= part < n else int(part) + n if -n <= part < 0 else None
        part = self.vector(part).astype(np.int64)
        part = np.where(part < 0, part + n, part)
        bad = (part < 0) | (part >= n)
        if (bad & self.full(self.mask)).any():
            return None
        return np.where(bad, 0, part)

    def _from_tuple(self, array, index, site):
        """``values[index]`` for what is no array: a tuple, such as a shape."""
        if isinstance(array, Unset):
            array[0]
        if type(array) is not tuple:
            if arithmetic.is_number(array):
                raise WrongType("a number has no elements: is the array's name right?")
            if hasattr(array, "translated"):
                raise WrongType("a kernel cannot launch a kernel: call a device function, or launch from the host")
            raise WrongType(f"a kernel cannot index a {type(array).__name__}: hand it over as an array")
        if type(index) is not np.ndarray:
            return array[index]
        if all(arithmetic.is_number(item) and type(item) is not np.ndarray for item in array):
            return self.load(constant(np.asarray(array), "the tuple"), index, site)
        raise WrongType("the index into a tuple must be the same in every thread")

    # ---- watching

    def observe(self, memory, site, kind, flat, chosen):
        """Record one access by the lanes that take part; report what was never written."""
        ids = self.ids if chosen is None else self.ids[chosen]
        if not len(ids):
            return
        if memory.written is not None and kind != WRITE:
            known = memory.written[flat]
            if not (known.all() if type(known) is np.ndarray else known):
                self._uninitialised(memory, site, kind, flat, known, chosen)
        if memory.space in _WATCHED:
            self.block.record(self, memory, site, kind, ids, flat)

    def _uninitialised(self, memory, site, kind, flat, known, chosen):
        first = int(np.flatnonzero(~known)[0]) if type(known) is np.ndarray else 0
        lane = first if chosen is None else int(chosen[first])
        element = flat[first] if type(flat) is np.ndarray else flat
        index = memory.where(element)
        text = (
            f"{self.thread_in_words(lane)} reads {memory.name}[{', '.join(map(str, index))}] in {memory.space} memory,"
            f" which nobody has written: it holds whatever was there.\n  at {self.place(site)}"
        )
        facts = {"array": memory.name, "space": memory.space, "index": index, "lane": lane, "op": OPERATIONS[kind]}
        self.block.finding("uninitialised", self, site, text, **facts)

    # ---- refusals

    def _refuse_store(self, array, site):
        if isinstance(array, Unset):
            array[0]
        what = "a number" if arithmetic.is_number(array) else f"what is no array ({type(array).__name__})"
        self.refuse(site, f"an assignment to an element of {what}", "an array, or cuda.local.array")

    def _refuse_value(self, array, value, site):
        if isinstance(value, Unset):
            bool(value)
        kind = f"a {type(value).__name__}"
        if isinstance(value, View):
            more = "one index" if value.ndim == 1 else f"{value.ndim} indices"
            kind = f"a part of {value.memory.name}, which takes {more} more"
        raise WrongType(f"an element of {array.memory.name} is one number, not {kind}")


def _too_many(array, index):
    has = _count(array.ndim, "dimension")
    return f"{array.memory.name} has {has}, but is indexed with {_count(len(index), 'number')}"


def _count(n, noun):
    return f"1 {noun}" if n == 1 else f"{n} {noun}s"
