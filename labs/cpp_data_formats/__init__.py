"""Lesson 21: parse the files of machine learning in C++, and share the memory with NumPy and torch."""

from labs.cpp_data_formats import exercises, figures

__all__ = ["exercises", "figures"]
