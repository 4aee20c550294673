"""The first guess of lesson 06: how many instructions of a tensor core one step of 16 x 16 x 16 takes."""

from __future__ import annotations


def predict_steps():
    """A slider for a guess."""
    from labs.kit.exercise import predict

    return predict(
        "4,096 multiply-adds: the scalar units of a warp need 128 instructions. How many does a tensor core need?",
        unit="instructions",
        low=1,
        high=128,
        log=True,
        name="tensor_cores.steps",
    )


def reveal_steps(guess):
    """Put the guess beside the number that the machine code shows."""
    guess.reveal(
        16 * 16 * 16 / (16 * 8 * 16),
        "On an A100, HMMA.16816 computes 16 x 8 x 16 in one instruction, so a tile of 16 x 16 x 16 takes two. "
        "Turing's HMMA.1688 is half as deep: four. The name of the instruction says it.",
    )
