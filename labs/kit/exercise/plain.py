"""Plain data <-> text: the only thing that ever crosses from a learner's process to the judge.

JSON carries numbers, text, lists and ``None``. Arrays of numbers travel as ``{"$nd": [dtype, shape, base64]}`` and
dicts as ``{"$d": {...}}`` or, with whole numbers among the keys, as ``{"$m": [[key, value], ...]}``.

Three properties make it safe to read text that a stranger wrote:

* no pickle (which runs code) and no ``npz`` (a zip file: 1 MB may unpack to 1 GB);
* the length, the depth and the number of items are capped before anything is built, so memory is bounded;
* what comes out has exactly the built-in types and base-class arrays in the machine's byte order. A learner's subclass
  whose ``__eq__`` always says yes does not survive the trip.
"""

import base64
import json
import math
import re
import sys

import numpy as np

MAX_TEXT = 8 << 20
"""Longest text in characters, also the longest array in bytes."""
MAX_DEPTH = 20
"""Deepest nesting of lists and dicts."""
MAX_ITEMS = 1 << 20
"""Most separators (commas and brackets) in a text: an upper bound on the objects built from it."""

_DTYPE = re.compile(r"[<>|=](?:b1|[iu][1248]|f[248]|c(?:8|16))")


class NotPlain(ValueError):
    """The value holds something other than numbers, text, lists, dicts and arrays of numbers."""


def encode(value):
    """Text that carries `value`.

    Parameters
    ----------
    value : None, bool, int, float, str, list, tuple, dict, numpy.ndarray, NumPy scalar or torch.Tensor
        Nested at will. Tuples become lists, NumPy scalars become Python numbers, tensors become arrays
        (bfloat16 as float32). Keys of a dict are text or whole numbers.

    Returns
    -------
    str
        At most `MAX_TEXT` characters, ASCII only.

    Raises
    ------
    NotPlain
        With a sentence for the learner: another type, a value too large or nested too deeply.
    """
    try:
        text = json.dumps(_pack(value, 0), separators=(",", ":"))
    except NotPlain:
        raise
    except (ValueError, OverflowError, RecursionError) as error:
        raise NotPlain(f"the result cannot be written down ({error})") from None
    _check_size(text)
    return text


def decode(text):
    """The value that `encode` wrote; anything else raises `NotPlain`, whoever wrote it.

    Parameters
    ----------
    text : str
        Untrusted.

    Returns
    -------
    None, bool, int, float, str, list, dict or numpy.ndarray
        Of exactly these types, at every depth. Arrays are new, writable and own their memory.
    """
    if type(text) is not str:
        raise NotPlain("the result is not text")
    _check_size(text)
    try:
        return _unpack(json.loads(text), 0)
    except NotPlain:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError, MemoryError) as error:
        raise NotPlain(f"malformed result ({type(error).__name__})") from None


def copy(value):
    """A deep copy by way of text: what the other side of a process boundary would see of `value`."""
    return decode(encode(value))


def _check_size(text):
    if len(text) > MAX_TEXT:
        raise NotPlain(f"the result is too large ({len(text) / 2**20:.0f} MB; at most {MAX_TEXT >> 20} MB)")
    if text.count(",") + text.count("[") + text.count("{") > MAX_ITEMS:
        raise NotPlain("the result has too many items; return an array instead of a long list")


def _pack(value, depth):
    if depth > MAX_DEPTH:
        raise NotPlain("the result is nested too deeply")
    kind = type(value)  # exact types: a subclass may answer comparisons as it likes
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return [_pack(item, depth + 1) for item in value]
    if kind is dict:
        return _pack_dict(value, depth)
    if isinstance(value, np.ndarray):
        return _pack_array(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        return value.item()
    torch = sys.modules.get("torch")  # nobody can hold a tensor where torch was never imported
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return _pack_array((value.float() if value.dtype == torch.bfloat16 else value).numpy())
    name = getattr(kind, "__name__", "unknown")
    raise NotPlain(f"a value of type {name[:60]} cannot be checked; return numbers, text, lists, dicts or arrays")


def _pack_dict(value, depth):
    if all(type(key) is str for key in value):
        return {"$d": {key: _pack(item, depth + 1) for key, item in value.items()}}
    for key in value:
        if type(key) not in (str, int):
            kind = type(key).__name__[:60]
            raise NotPlain(f"a dict with a key of type {kind} cannot be checked; use text or integers")
    return {"$m": [[key, _pack(item, depth + 1)] for key, item in value.items()]}


def _pack_array(value):
    array = np.asarray(value).view(np.ndarray)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if not _DTYPE.fullmatch(array.dtype.str):
        raise NotPlain(f"an array of {array.dtype} cannot be checked; use numbers of at most 8 bytes")
    if array.nbytes > MAX_TEXT:
        raise NotPlain(f"the result is too large ({array.nbytes / 2**20:.0f} MB; at most {MAX_TEXT >> 20} MB)")
    return {"$nd": [array.dtype.str, list(array.shape), base64.b64encode(array.tobytes()).decode()]}


def _unpack(value, depth):
    if depth > MAX_DEPTH:
        raise NotPlain("the result is nested too deeply")
    if type(value) is list:
        return [_unpack(item, depth + 1) for item in value]
    if type(value) is not dict:
        return value
    ((tag, body),) = value.items()
    if tag == "$d" and type(body) is dict:
        return {key: _unpack(item, depth + 1) for key, item in body.items()}
    if tag == "$m" and type(body) is list:
        return _unpack_pairs(body, depth)
    if tag == "$nd" and type(body) is list:
        return _unpack_array(*body)
    raise NotPlain("malformed result (tag)")


def _unpack_pairs(pairs, depth):
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in (str, int):
            raise NotPlain("malformed result (key)")
    return {key: _unpack(item, depth + 1) for key, item in pairs}


def _unpack_array(dtype, shape, data):
    if (
        type(dtype) is not str
        or not _DTYPE.fullmatch(dtype)
        or type(shape) is not list
        or len(shape) > 8
        or not all(type(length) is int and 0 <= length <= MAX_TEXT for length in shape)
        or type(data) is not str
    ):
        raise NotPlain("malformed result (array)")
    raw = base64.b64decode(data, validate=True)
    dtype = np.dtype(dtype)
    if len(raw) != dtype.itemsize * math.prod(shape):
        raise NotPlain("malformed result (array length)")
    if dtype.kind == "b":
        array = np.frombuffer(raw, np.uint8) != 0  # a forged byte 2 is neither True nor False to NumPy
    else:
        array = np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))
    return array.reshape(shape).copy()
