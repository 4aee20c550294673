"""Lesson 21: parse the files of machine learning in C++, and share the memory with NumPy and torch."""
