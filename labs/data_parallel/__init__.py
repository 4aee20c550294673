"""Lesson 07: one model on many ranks, each with its share of the data, and why that may be one big batch."""

from labs.data_parallel import exercises, figures

__all__ = ["exercises", "figures"]
