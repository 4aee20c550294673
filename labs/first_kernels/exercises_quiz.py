"""Check yourself of lesson 03."""

from __future__ import annotations

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

threads = Question(
    "threads",
    "divide keeps the memory of a GPU busy all the time. You launch it with twice as many threads. What happens?",
    choices={"a": "it takes half as long", "b": "hardly anything", "c": "it moves twice as many bytes"},
    right="b",
    why={
        "a": "Threads do not move bytes; the memory does, and it is busy already.",
        "b": "The same bytes cross the same memory. More threads help only as long as too few bytes are on their way.",
        "c": "Each pixel is still read once and written once: the loop of each thread is shorter.",
    },
)
launch = Question(
    "launch",
    "divide[blocks, threads](image, out, 3) has returned. What do you know about out?",
    choices={"a": "all pixels are there", "b": "the first block is done", "c": "nothing: the kernel is queued"},
    right="c",
    why={
        "a": "The launch only puts the kernel into a queue. copy_to_host, or cuda.synchronize(), waits.",
        "b": "Perhaps no block has begun.",
        "c": "The next thing in the same stream sees the result, and so does whoever waits. The host does not, by itself.",
    },
)
barrier = Question(
    "barrier",
    "A block of 32 threads gives the right sum without a single barrier, each time you try. What does that prove?",
    choices={"a": "nothing", "b": "that one warp needs no barrier", "c": "that the kernel is right on this GPU"},
    right="a",
    why={
        "a": "Nothing orders the threads of a warp either, since Volta. The next compiler may break it.",
        "b": "Lanes of a warp may run apart since Volta (2017). cuda.syncwarp() orders them.",
        "c": "Luck is no proof: another compiler, another optimisation, another result.",
    },
)
wide = Question(
    "wide",
    "An image begins 3 bytes behind a multiple of 8. What does a 64-bit load of its first eight pixels do on a GPU?",
    choices={"a": "it is a little slower", "b": "it stops the kernel with an error", "c": "it reads the word before"},
    right="b",
    why={
        "a": "CPUs forgive this. GPUs do not.",
        "b": "misaligned address: every load must lie on a multiple of its size.",
        "c": "Nothing is rounded down: the address is refused.",
    },
)
