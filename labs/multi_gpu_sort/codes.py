"""Keys as signed integers of the same order and width, so that one sort serves every type.

A comparison of floats has three traps: NaN has no order, -0.0 equals +0.0, and a largest finite number used as padding
hides behind +inf. A code has none of them: codes are integers, every two of them can be compared, and a code goes back
to the key's very bits.

The order, ascending: -inf, finite numbers with -0.0 directly before +0.0, +inf, and every NaN last, as in numpy.sort.
Descending is exactly the reverse, so NaN comes first.
"""

from __future__ import annotations

import numpy as np
import torch

DTYPES = ("int32", "uint32", "int64", "float32", "float64")


def encode(keys, descending=False):
    """Signed integers whose order is the order of the keys.

    Parameters
    ----------
    keys : numpy.ndarray or torch.Tensor, shape (n,)
        One of `DTYPES`; a tensor may lie on a GPU.
    descending : bool
        Whether the largest key gets the smallest code.

    Returns
    -------
    numpy.ndarray or torch.Tensor, shape (n,)
        Of the same kind as `keys`: int32 for keys of 4 bytes, int64 for keys of 8; never a view of `keys`.

    Raises
    ------
    TypeError
        For another dtype.
    """
    if not isinstance(keys, torch.Tensor):
        keys = np.asarray(keys)
        _check(keys.dtype.name)
        return encode(torch.from_numpy(np.ascontiguousarray(keys)), descending).numpy()
    name = str(keys.dtype).removeprefix("torch.")
    _check(name)
    keys = keys.contiguous()
    if name.startswith("float"):
        codes = _mirror(keys.view(_signed(name)))
        if (nan := torch.isnan(keys)).any():  # one NaN for all: else its sign would decide where it goes
            codes[nan] = torch.tensor(torch.nan, dtype=keys.dtype).view(codes.dtype).item()
    elif name.startswith("u"):
        codes = keys.view(_signed(name)) ^ torch.iinfo(_signed(name)).min
    else:
        codes = keys.clone()
    return codes.bitwise_not_() if descending else codes


def decode(codes, dtype, descending=False):
    """The keys behind codes.

    Parameters
    ----------
    codes : numpy.ndarray or torch.Tensor, shape (n,)
        From `encode`.
    dtype : str, numpy.dtype or torch.dtype
        Of the keys.
    descending : bool
        As it was for `encode`.

    Returns
    -------
    numpy.ndarray or torch.Tensor, shape (n,)
        Of the same kind as `codes`; the same memory where codes are keys already (int32 and int64, ascending).
    """
    if not isinstance(codes, torch.Tensor):
        return decode(torch.from_numpy(np.ascontiguousarray(codes)), dtype, descending).numpy()
    name = str(dtype).removeprefix("torch.") if isinstance(dtype, torch.dtype) else np.dtype(dtype).name
    codes = ~codes if descending else codes
    if name.startswith("float"):
        return _mirror(codes).view(getattr(torch, name))
    if name.startswith("u"):
        return (codes ^ torch.iinfo(codes.dtype).min).view(getattr(torch, name))
    return codes


def _check(name):
    if name not in DTYPES:
        raise TypeError(f"keys are {name}; this sort knows {', '.join(DTYPES)}. Convert them first")


def _signed(name):
    return torch.int64 if name.endswith("64") else torch.int32


def _mirror(bits):
    """Turn the order of negative floats around: their magnitude bits grow while the number falls. Its own inverse."""
    mirrored = bits >> torch.iinfo(bits.dtype).bits - 1  # all ones where the number is negative
    mirrored &= torch.iinfo(bits.dtype).max
    mirrored ^= bits
    return mirrored
