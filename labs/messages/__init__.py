"""Lesson 01: messages between ranks, the ways in which they hang, and the eight collectives."""

from . import exercises, figures

__all__ = ["exercises", "figures"]
