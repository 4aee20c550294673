"""Check yourself of lesson 17."""

from __future__ import annotations

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

tie = Question(
    "tie",
    "Both ranks hold only the key 7. How many keys does a swap with the leftmost pivot move?",
    choices={"a": "none", "b": "half of each", "c": "all"},
    right="a",
    why={
        "a": "7 <= 7 holds for p = 0, and the smallest p is taken.",
        "b": "Nothing in the definition halves anything: p is the smallest number that is enough, and 0 is.",
        "c": "That is what < does instead of <=: it asks for smaller keys where equal ones will do.",
    },
)
checked = Question(
    "checked",
    "A test sorts 1,000 random keys on 4 ranks and checks that the result is in order. What does it miss?",
    choices={
        "a": "nothing: a sorted result is a sorted result",
        "b": "a sort that returns 1,000 zeros",
        "c": "a sort that is too slow",
    },
    right="b",
    why={
        "a": "In order, yes. But are they the keys that went in?",
        "b": "In order and still wrong. Compare with the sorted input, key by key.",
        "c": "That too, but it is not a wrong result. Think of one.",
    },
)
padding = Question(
    "padding",
    "1,001 float keys on 4 ranks. A program pads with the largest finite number to 1,004 and cuts 3 keys off at the end. When is it wrong?",
    choices={"a": "never", "b": "when a key is +inf", "c": "when a key is negative"},
    right="b",
    why={
        "a": "There is a float beyond the largest finite one.",
        "b": "The padding sorts before +inf, so the three keys cut off are real ones, and three paddings stay.",
        "c": "Negative keys are far from the padding. Look at the other end.",
    },
)
six = Question(
    "six",
    "6 GPUs. Which sort do you run?",
    choices={
        "a": "the merge sort: 6 is even, so it can be halved",
        "b": "radix partition",
        "c": "the merge sort on 8, two of them empty",
    },
    right="b",
    why={
        "a": "6 halves to 3, and 3 to one and a half.",
        "b": "It cuts the keys by value into as many parts as there are devices, whatever their number.",
        "c": "There are no 8 devices here; two of the 6 would have to play two parts, and 6 would wait for them.",
    },
)
