"""Lesson 00: the first two programs for many ranks, and one that breaks on purpose."""

from . import exercises, figures

__all__ = ["exercises", "figures"]
