"""One block of memory, seen by several libraries without a copy, each through its own type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .extension import native


@dataclass(frozen=True)
class View:
    """What one library sees when it is shown a buffer.

    Parameters
    ----------
    library, type : str
        Who looks, and through which type.
    shape : tuple of int
        Rows and columns as it counts them.
    address : int
        Of its first element: the buffer's own where nothing was copied.
    row_sums : tuple of float
        The sums of what it takes for the rows of the matrix; Armadillo, which sees the transpose, sums its columns.
    second : float
        What it takes for the second number of the first row; 0.0 where there is none.
    """

    library: str
    type: str
    shape: tuple[int, ...]
    address: int
    row_sums: tuple[float, ...]
    second: float


def seen_by(values: np.ndarray) -> list[View]:
    """Let NumPy, torch and each C++ library that was found look at the same memory.

    Parameters
    ----------
    values : ndarray of shape (rows, columns), float64, C-contiguous

    Returns
    -------
    list of View
        Eigen twice: as a row-major map, which is right, and as Eigen's default, which is column-major: the same bytes,
        other numbers.

    Raises
    ------
    TypeError
        Where the array would have to be copied first.
    """
    if values.dtype != np.float64 or values.ndim != 2 or not values.flags.c_contiguous:
        raise TypeError(
            f"a view without a copy needs float64, two axes, row-major; this is {values.dtype}, {values.ndim} axes, "
            f"{'row-major' if values.flags.c_contiguous else 'not row-major'}"
        )
    second = lambda seen: float(seen[0, 1]) if min(seen.shape) > 0 and seen.shape[1] > 1 else 0.0
    views = [
        View("NumPy", "ndarray", values.shape, values.ctypes.data, tuple(values.sum(axis=1).tolist()), second(values))
    ]
    try:
        import torch
    except ImportError:
        pass
    else:
        seen = torch.from_numpy(values)
        views.append(
            View(
                "torch", "from_numpy", tuple(seen.shape), seen.data_ptr(), tuple(seen.sum(dim=1).tolist()), second(seen)
            )
        )
    return views + [View(*seen) for seen in native().views(values)]
