"""Lesson 09: parameter servers, in step and out of step, and whether they beat all-reduce."""

from labs.parameter_server import exercises, figures

__all__ = ["exercises", "figures"]
