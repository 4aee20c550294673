"""Lesson 03: the first kernels, what they cost in bytes, and how threads of a block work together."""

from labs.first_kernels import exercises, figures

__all__ = ["exercises", "figures"]
