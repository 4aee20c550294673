"""Lesson 11: a network cut into stages on several devices, by memory and time, and what that buys."""

from labs.model_parallel import exercises, figures

__all__ = ["exercises", "figures"]
