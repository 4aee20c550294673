"""Check yourself of lesson 06."""

from __future__ import annotations

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

which_lane = Question(
    "which_lane",
    "mma.sync.m16n8k16: which lane holds element (9, 3) of the result? Find it in the picture of the lanes.",
    choices={"a": "lane 5", "b": "lane 9", "c": "lane 27"},
    right="a",
    why={
        "a": "Rows r and r + 8 belong to the same four lanes: 4 * (9 - 8) = 4, and column 3 is in the second of them. Slot c3.",
        "b": "The row is not the lane: four lanes share a row, and rows 0 and 8 share their lanes.",
        "c": "That would be row 6, or 14. Rows 8 to 15 begin again with lane 0, in other registers.",
    },
)
padded = Question(
    "padded",
    "B is 64 x 40, row by row, of halves. You load 16 x 16 tiles with ld = 40. What happens at column 32?",
    choices={
        "a": "the tile is padded with zeros",
        "b": "the tile takes 8 columns of the next row",
        "c": "ld = 40 is refused",
    },
    right="b",
    why={
        "a": "Nobody pads. load_matrix_sync knows a pointer and a distance, and nothing about the end of a row.",
        "b": "Columns 40 to 47 of a row are columns 0 to 7 of the next. No error, except perhaps in the last row. Pad the array.",
        "c": "40 is a multiple of 8, so it is a leading dimension like any other.",
    },
)
float_sums = Question(
    "float_sums",
    "A kernel multiplies halves on tensor cores and adds them up in half precision. At K = 65,536 and numbers between 0 and 1, which is the result?",
    choices={"a": "right to 3 digits", "b": "right to 1 digit", "c": "about an eighth of the right one"},
    right="c",
    why={
        "a": "3 digits is what one half holds. The sum is rounded 65,536 times.",
        "b": "That is what you see at K = 1,024 to 4,096. Then the sum stops growing.",
        "c": "At 2,048 neighbouring halves are 2 apart, so no product below 1 can move the sum any further.",
    },
)
halves_enough = Question(
    "halves_enough",
    "A colleague says: “My kernel has half arrays, so it runs on tensor cores.” What do you ask for?",
    choices={"a": "the GPU's name", "b": "the machine code", "c": "the error of the result"},
    right="b",
    why={
        "a": "It must have the unit; but having it is not using it.",
        "b": "Is there an HMMA in it, an HGMMA, a v_mfma? A loop with __half2float becomes FFMA on every one of them.",
        "c": "Sums in float look alike on either unit.",
    },
)
one_vector = Question(
    "one_vector",
    "A language model answers one user: each product is a matrix times one vector. How much do tensor cores help?",
    choices={"a": "16 times, as their peak says", "b": "hardly: memory decides", "c": "not at all: vectors are not allowed"},
    right="b",
    why={
        "a": "The peak counts when operands come fast enough. Here each weight is loaded for one multiply-add.",
        "b": "About 1 FLOP/B; the scalar units keep up with the memory at that intensity. Batch 16 users, and it is another matter.",
        "c": "A vector padded to 8 or 16 columns is allowed; it just does not pay.",
    },
)  # fmt: skip
