"""How the error of a product grows with its depth: sums in float against sums in half precision."""

from __future__ import annotations

import functools
import math

import numpy as np

SEED, SIDE = 6, 16
DEPTHS = (16, 64, 256, 1024, 4096, 16384, 65536)
KINDS = ("uniform", "normal")
NORMS = {"largest element": "largest", "Frobenius norm": "frobenius"}


def inputs(kind):
    """Two matrices, 16 x 65,536 and 65,536 x 16, of numbers from [0, 1) or from a normal distribution."""
    rng = np.random.default_rng(SEED)
    draw = rng.random if kind == "uniform" else rng.standard_normal
    return draw((SIDE, DEPTHS[-1])), draw((DEPTHS[-1], SIDE))


@functools.cache
def errors_by_depth(kind, norm):
    """Relative errors of a product after each of `DEPTHS`, a second's work.

    Parameters
    ----------
    kind : {"uniform", "normal"}
    norm : {"largest", "frobenius"}

    Returns
    -------
    dict
        {"float32": errors, "float16": errors}.
    """
    from labs.kit.gpu import numerics

    (a, b), found = inputs(kind), {}
    for sums in ("float32", "float16"):
        results = numerics.sums_by_depth(a, b, DEPTHS, sums=sums)
        found[sums] = tuple(numerics.errors(c, a[:, :k], b[:k])[norm] for k, c in zip(DEPTHS, results))
    return found


def error_curves(kind, depth, norm="largest element"):
    """A picture of `errors_by_depth`, as decimal digits that are right: -log10 of the error."""
    from labs.kit.draw import curves

    count = DEPTHS.index(int(depth)) + 1
    found = errors_by_depth(kind, NORMS[norm])
    series = {
        f"sums in {name}": (DEPTHS[:count], [-math.log10(error) for error in errors[:count]])
        for name, errors in found.items()
    }
    words = "numbers from [0, 1)" if kind == "uniform" else "normal numbers"
    return curves(
        series,
        xlabel="depth K",
        ylabel="correct digits",
        logx=True,
        name=f"Correct digits (-log10 of the relative error) of a product of halves, {words}, {norm}",
    )


def explore_error():
    """Sliders for the depth, the numbers and the norm."""
    from labs.kit.draw import explore

    frames = [{"depth": depth} for depth in DEPTHS[3:]]
    frames += [{"depth": 65536, "kind": "normal", "norm": norm} for norm in NORMS]
    return explore(
        lambda depth, kind, norm: error_curves(kind, depth, norm),
        label="How wrong does the sum get?",
        frames=frames,
        depth=list(DEPTHS[1:]),
        kind=list(KINDS),
        norm=list(NORMS),
    )


def predict_sum():
    """A slider for a guess: how much of a long sum is left when it is kept in half precision?"""
    from labs.kit.exercise import predict

    return predict(
        "A sum of 65,536 products of numbers between 0 and 1, kept in half precision: how many per cent too small?",
        unit="%",
        low=0.01,
        high=100,
        log=True,
        name="tensor_cores.half_sum",
    )


def reveal_sum(guess):
    """Put the guess beside the computed error, with the reason."""
    errors = errors_by_depth("uniform", "largest")["float16"]
    guess.reveal(
        round(100 * errors[-1], 1),
        f"At K = 1,024 it is {100 * errors[DEPTHS.index(1024)]:.1f} %, at 65,536 almost everything is gone: once the "
        "sum is 2,048, neighbouring halves are 2 apart, and a product below 1 is rounded away.",
    )
