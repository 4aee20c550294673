"""Lesson 17: sort keys that lie on many devices, peer to peer, through the CPU, or with one all-to-all."""

from labs.multi_gpu_sort import exercises, figures

__all__ = ["exercises", "figures"]
