"""From the arguments of a launch in Python to those of a kernel: checked against its parameters, laid out in memory."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

from labs.kit.gpu.cplusplus.scanning import Parameter

PAGE = 4096
_INTEGERS, _FLOATS = "iIhHbBqQ", "fde"


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an array lies in the shared memory.

    Parameters
    ----------
    array : numpy.ndarray
        The learner's array.
    offset : int
        Of its first byte, in bytes.
    constant : bool
        Whether no parameter writes to it.
    """

    array: np.ndarray
    offset: int
    constant: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """All arguments of a launch.

    Parameters
    ----------
    words : tuple of str
        For the worker, one for each argument.
    slots : tuple of Slot
        Arrays to copy in, and those that are not constant back out; each array once.
    arrays : tuple of (numpy.ndarray or None)
        For each argument the array behind it.
    end : int
        First free byte.
    """

    words: tuple[str, ...]
    slots: tuple[Slot, ...]
    arrays: tuple[np.ndarray | None, ...]
    end: int


def described(parameters: tuple[Parameter, ...], signature: list[str]) -> tuple[Parameter, ...]:
    """Parameters as the compiler sees them (typedefs and templates resolved), with the names that the text gives."""
    return tuple(
        replace(known, pointer=word[0] in "PC", constant=word[0] == "C", code=word[1], size=int(word[2:]))
        for known, word in zip(parameters, signature)
    )


def check_count(kernel: str, parameters, arguments) -> None:
    """Raise `TypeError` unless there is an argument for each parameter."""
    if len(parameters) != len(arguments):
        names = ", ".join(p.name for p in parameters) or "none"
        raise TypeError(f"{kernel} takes {len(parameters)} arguments ({names}), but got {len(arguments)}")


def as_array(value, kernel: str, parameter: Parameter) -> np.ndarray:
    """The NumPy array behind an argument for a pointer, or an error that says what was expected."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.device.type == "cpu":
        value = value.detach()
        value = value.view(torch.uint16).numpy() if value.dtype == torch.bfloat16 else value.numpy()
    if not isinstance(value, np.ndarray):
        raise TypeError(
            f"'{parameter.name}' of {kernel} is a pointer: pass a NumPy array, not {type(value).__name__}"
            + (f" (np.array([{value!r}]) is an array of one element)" if isinstance(value, (int, float)) else "")
        )
    wanted = {"z": "H", "v": None, "X": None}.get(parameter.code, parameter.code)
    if wanted and np.dtype(wanted) != value.dtype and not (parameter.code == "z" and value.dtype.name == "bfloat16"):
        name = "bfloat16 (pass its bits as uint16)" if parameter.code == "z" else np.dtype(wanted).name
        raise TypeError(
            f"'{parameter.name}' of {kernel} points to {name}, but the array has dtype {value.dtype}:"
            f" make it with dtype=np.{np.dtype(wanted).name}, or .astype(np.{np.dtype(wanted).name})"
        )
    if not value.flags.c_contiguous:
        raise TypeError(
            f"'{parameter.name}' of {kernel} must lie row by row without gaps, and this is a view that does not:"
            " pass np.ascontiguousarray(...)"
        )
    if not value.flags.writeable and not parameter.constant:
        raise TypeError(
            f"'{parameter.name}' of {kernel} may be written to (no const), but this array is read-only: pass .copy()"
        )
    return value


def scalar_bytes(value, kernel: str, parameter: Parameter) -> bytes:
    """A number as the parameter's C type."""
    code, size = parameter.code, parameter.size
    if code == "X":
        if not hasattr(value, "tobytes") and not isinstance(value, (bytes, bytearray)):
            raise TypeError(
                f"'{parameter.name}' of {kernel} is a struct of {size} bytes: pass an element of a NumPy array with"
                f" such a dtype, not {type(value).__name__}"
            )
        raw = value.tobytes() if hasattr(value, "tobytes") else bytes(value)
        if len(raw) != size:
            raise TypeError(f"'{parameter.name}' of {kernel} is a struct of {size} bytes, but got {len(raw)} bytes")
        return raw
    if np.ndim(value) != 0 or not isinstance(value, (int, float, np.generic, np.ndarray)):
        if np.ndim(value) == 1 and len(value) * _itemsize(code) == size:  # float4 and the like
            return np.asarray(value).astype(code).tobytes()
        raise TypeError(f"'{parameter.name}' of {kernel} is one number, but got {type(value).__name__}")
    number = np.asarray(value)
    if code in _INTEGERS:
        if number.dtype.kind not in "biu":
            raise TypeError(f"'{parameter.name}' of {kernel} is an integer, but got {value!r}")
        range_ = np.iinfo(code)
        if not range_.min <= int(number) <= range_.max:
            raise TypeError(f"{value!r} does not fit into '{parameter.name}' of {kernel} ({np.dtype(code).name})")
    if code == "z":
        word = int(np.float32(number).view(np.uint32))
        return np.uint16((word + 0x7FFF + (word >> 16 & 1)) >> 16).tobytes()
    with np.errstate(over="ignore"):
        return number.astype(code).tobytes()


def constant_array(name: str, value, code: str) -> np.ndarray:
    """A value for a `__constant__` variable whose elements have the type `code`."""
    wanted = {"z": "H", "X": None}.get(code, code)
    if wanted is None:
        return np.ascontiguousarray(value)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != np.dtype(wanted):
        raise TypeError(f"__constant__ {name} holds {np.dtype(wanted).name}, but the array has dtype {value.dtype}")
    return np.ascontiguousarray(value, wanted)


def _itemsize(code):
    return 2 if code == "z" else np.dtype(code).itemsize


def lay_out(kernel: str, parameters: tuple[Parameter, ...], arguments: tuple, room: int, begin: int = PAGE) -> Layout:
    """Check the arguments and find a place for each array.

    An array ends close to the end of a page and begins on a multiple of 256 bytes; the next page belongs to nobody. An
    array that is passed twice has one place.

    Raises
    ------
    TypeError
        When an argument does not fit its parameter, or two arrays overlap.
    MemoryError
        When they do not fit into `room` bytes.
    """
    check_count(kernel, parameters, arguments)
    arrays = tuple(as_array(a, kernel, p) if p.pointer else None for a, p in zip(arguments, parameters))
    constant: dict[tuple, bool] = {}
    for array, parameter in zip(arrays, parameters):
        if array is not None:
            constant[_key(array)] = constant.get(_key(array), True) and parameter.constant
    slots: dict[tuple, Slot] = {}
    words, end = [], begin
    for array, parameter, argument in zip(arrays, parameters, arguments):
        if array is None:
            words.append("S " + scalar_bytes(argument, kernel, parameter).hex())
            continue
        key = _key(array)
        if key not in slots:
            _check_overlap(array, slots.values(), kernel, parameter)
            pages = -(-max(array.nbytes, 1) // PAGE) * PAGE
            start = end + pages - -(-max(array.nbytes, 1) // 256) * 256
            if start + array.nbytes + PAGE > room:
                raise MemoryError(f"the arrays of this launch need more than the {room >> 20} MB of this device")
            slots[key] = Slot(array, start, constant[key])
            end += pages + PAGE
        grain = 0 if parameter.code in "Xv" else (array.itemsize & -array.itemsize).bit_length() - 1
        words.append(f"P {slots[key].offset} {array.nbytes} {int(constant[key])} {grain}")
    return Layout(tuple(words), tuple(slots.values()), arrays, end)


def _key(array):
    return (array.__array_interface__["data"][0], array.nbytes) if array.nbytes else (id(array), 0)


def _check_overlap(array, slots, kernel, parameter):
    for slot in slots:
        if np.may_share_memory(array, slot.array):
            raise TypeError(
                f"'{parameter.name}' of {kernel} overlaps another array of this launch without being the same:"
                " pass copies"
            )
