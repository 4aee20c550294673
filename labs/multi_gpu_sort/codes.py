"""Keys as signed integers of the same order and width, so that one sort serves every type.

A comparison of floats has three traps: NaN has no order, -0.0 equals +0.0, and a largest finite number used as padding
hides behind +inf. A code has none of them: codes are integers, every two of them can be compared, and a code goes back
to the key's very bits.

The order, ascending: -inf, finite numbers with -0.0 directly before +0.0, +inf, and every NaN last, as in numpy.sort.
Descending is exactly the reverse, so NaN comes first.
"""

from __future__ import annotations

import numpy as np

DTYPES = ("int32", "uint32", "int64", "float32", "float64")


def encode(keys, descending=False):
    """Signed integers whose order is the order of the keys.

    Parameters
    ----------
    keys : numpy.ndarray, shape (n,)
        One of `DTYPES`.
    descending : bool
        Whether the largest key gets the smallest code.

    Returns
    -------
    numpy.ndarray, shape (n,)
        int32 for keys of 4 bytes, int64 for keys of 8; never a view of `keys`.

    Raises
    ------
    TypeError
        For another dtype.
    """
    keys = np.asarray(keys)
    if keys.dtype.name not in DTYPES:
        raise TypeError(f"keys are {keys.dtype}; this sort knows {', '.join(DTYPES)}. Convert them first")
    signed = np.dtype(f"i{keys.dtype.itemsize}")
    if keys.dtype.kind == "f":
        codes = _mirror(np.ascontiguousarray(keys).view(signed))
        if (nan := np.isnan(keys)).any():  # one NaN for all: else its sign would decide where it goes
            codes[nan] = np.array(np.nan, keys.dtype).view(signed)
    elif keys.dtype.kind == "u":
        codes = keys.view(signed) ^ np.iinfo(signed).min
    else:
        codes = keys.copy()
    return ~codes if descending else codes


def decode(codes, dtype, descending=False):
    """The keys behind codes.

    Parameters
    ----------
    codes : numpy.ndarray, shape (n,)
        From `encode`.
    dtype : numpy dtype
        Of the keys.
    descending : bool
        As it was for `encode`.

    Returns
    -------
    numpy.ndarray, shape (n,)
    """
    dtype, codes = np.dtype(dtype), np.asarray(codes)
    codes = ~codes if descending else codes
    if dtype.kind == "f":
        return _mirror(codes).view(dtype)
    if dtype.kind == "u":
        return (codes ^ np.iinfo(codes.dtype).min).view(dtype)
    return codes.astype(dtype)


def _mirror(bits):
    """Turn the order of negative floats around: their magnitude bits grow while the number falls. Its own inverse."""
    return bits ^ ((bits >> (8 * bits.dtype.itemsize - 1)) & np.iinfo(bits.dtype).max)
