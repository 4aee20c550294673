"""The compilers, each behind one function from a request to text. They run in a child process (see `__main__`).

A request is plain data: "language", "arch", "format", "name", "source", "header" (our own lines before the source),
"signature", "options". A result is plain data too: "raw", "kernel" (its symbol), "compiler".
"""
