"""What the learner commits to before the first kernel runs."""

from __future__ import annotations


def predict_apart():
    """How many times as many bytes move when a warp's pixels lie 32 bytes apart?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "As many pixels, but the threads read every 32nd one: how many times as many bytes come from memory?",
        "times",
        low=1,
        high=64,
        step=1,
        start=1,
        name="first_kernels.apart",
    )


def reveal_apart(guess):
    """Put the prediction beside what is counted.

    Parameters
    ----------
    guess : labs.kit.exercise.Prediction
    """
    from labs.first_kernels.strides import sectors_per_warp

    near, far = (sectors_per_warp(stride, 1) for stride in (1, 32))
    guess.reveal(
        far / near,
        f"Memory moves in sectors of 32 bytes. 32 neighbouring pixels lie in {near}; 32 pixels that are 32 bytes apart "
        f"lie in {far} different ones. Each sector moves as a whole, for a single byte.",
    )
