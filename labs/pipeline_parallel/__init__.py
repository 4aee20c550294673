"""Lesson 12: micro-batches through a pipeline of stages, the schedules that order them, and what they cost."""

from labs.pipeline_parallel import exercises, figures

__all__ = ["exercises", "figures"]
