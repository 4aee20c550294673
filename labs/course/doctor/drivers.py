"""Which driver runs which CUDA.

Source: NVIDIA, CUDA Compatibility, "Minor Version Compatibility", table 1 (CUDA 11.x: driver 450 or newer, 12.x: 525,
13.x: 580; a newer driver runs all older ones), docs.nvidia.com/deploy/cuda-compatibility; the same on Windows' side of
WSL, whose driver carries its own number with the same major versions.
"""

from __future__ import annotations

import re

OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
"""Major version of CUDA -> major version of the oldest driver that runs it."""


def major(version: str | None) -> int | None:
    """First number of a version, or None."""
    found = re.match(r"\s*(\d+)", version or "")
    return int(found[1]) if found else None


def newest_cuda(driver: str) -> int | None:
    """Newest major version of CUDA that a driver runs; None for an unknown driver, 0 for one older than the table."""
    number = major(driver)
    if number is None:
        return None
    return max((cuda for cuda, oldest in OLDEST_DRIVER.items() if number >= oldest), default=0)


def runs(driver: str, cuda: int | None) -> bool | None:
    """Whether a driver runs a major version of CUDA; None when the table does not say."""
    number, oldest = major(driver), OLDEST_DRIVER.get(cuda)
    return None if number is None or oldest is None else number >= oldest
