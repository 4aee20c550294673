"""Widgets of lesson 21: a matrix in memory by layout, a guess, the slabs of a file by the learner's own function."""

from __future__ import annotations

from . import layout, strips

FILE = "".join(f"{name},{value}\n" for name, value in zip("abcdefghij", (1, 20, 300, 4, 55, 6, 7000, 8, 99, 10)))


def explore_layout():
    """Sliders for the shape of a matrix in a file, and for how a map counts: where does each number end up?

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import explore

    shapes = ((2, 3), (3, 4), (1, 5))
    return explore(
        lambda rows, columns, seen: layout.picture(int(rows), int(columns), seen),
        label="A matrix in memory, by layout",
        frames=[{"rows": r, "columns": c, "seen": seen} for r, c in shapes for seen in layout.SEEN],
        rows=(1, 5, 1, 2),
        columns=(1, 5, 1, 3),
        seen=list(layout.SEEN),
    )


def explore_slabs(slab, text=FILE):
    """A slider for the number of ranks: which bytes of a file each of them reads, by the learner's own function.

    Parameters
    ----------
    slab : callable
        The answer to the exercise of that name.
    text : str

    Returns
    -------
    labs.kit.draw.Explorer
    """
    from labs.kit.draw import explore

    def drawn(ranks):
        slabs = [tuple(slab(text, rank, int(ranks))) for rank in range(int(ranks))]
        return strips.picture(text, slabs, name=f"A file, read by {int(ranks)} ranks")

    drawn(2)  # an answer that cannot run says so here, and not in a widget
    frames = [{"ranks": ranks} for ranks in (2, 3, 5, 8, 12)]
    return explore(drawn, label="Slabs of a file", frames=frames, ranks=(1, 12, 1, 3))


def predict_json():
    """How many times as long does json take as .npy?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "A matrix of 12,000 x 32 float64 numbers, into a NumPy array: how many times as long does Python's json take "
        "as numpy.load?",
        "times",
        low=1,
        high=10_000,
        log=True,
        name="cpp_data_formats.json",
    )


def reveal_json(guess, measurement):
    """Put the guess beside what was measured a moment ago.

    Parameters
    ----------
    guess : labs.kit.exercise.Prediction
    measurement : labs.cpp_data_formats.formats.Measurement
    """
    larger = measurement.sizes["json"] / measurement.nbytes
    guess.reveal(
        measurement.ratio("JSON, json", ".npy, numpy"),
        f"Measured on this machine, just now. The text is {larger:.1f} times as large as the numbers. But most of the "
        "time goes elsewhere: each number is searched for its end, converted from decimal to binary, wrapped in a "
        "Python object, put into a list, and taken out again. A .npy file holds the bytes as they are in memory.",
    )
