"""Lesson 08: the all-reduce that data-parallel training runs at every step, built, measured and scaled."""

from labs.all_reduce import exercises, figures

__all__ = ["exercises", "figures"]
