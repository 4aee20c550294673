"""How many bytes each server has: bars for one assignment or several."""

from __future__ import annotations


def bars(loads, *, fair=None, name):
    """Draw the bytes on each server, side by side for each assignment.

    Parameters
    ----------
    loads : {label: list of int}
        Bytes by server; lists of equal length.
    fair : float, optional
        A line to compare with: the bytes of the fullest server that would do.
    name : str
        What is compared; the text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import curves

    series = {label: (range(len(values)), values) for label, values in loads.items()}
    if fair is not None:
        longest = max(len(values) for values in loads.values())
        series["would do"] = (range(longest), [fair] * longest)
    return curves(series, xlabel="server (number)", ylabel="on this server (B)", name=name, points=loads)
