"""Lesson 06: matrix units (tensor cores, matrix cores): how a tile gets in and out, who uses them, and when it pays."""

from labs.tensor_cores import exercises, figures

__all__ = ["exercises", "figures"]
