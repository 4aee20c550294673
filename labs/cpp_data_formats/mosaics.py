"""Small pictures as coloured squares, side by side: what a tensor of red, green and blue really shows."""

from __future__ import annotations

SIDE, LEFT, TITLE, GAP = 18.0, 12.0, 20.0, 26.0  # points


def picture(tensors, *, name="Pictures"):
    """Draw tensors of shape (3, height, width), red first, values from 0 to 1; others are clipped.

    Parameters
    ----------
    tensors : dict of str to ndarray
        By title; all of one shape, some hundred pixels.
    name : str
        The text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture

    parts = [
        f"{title}: first pixel {_hex(tensor[:, 0, 0])}, last pixel {_hex(tensor[:, -1, -1])}"
        for title, tensor in tensors.items()
    ]
    return Picture(_draw(tensors), f"{name}. {'. '.join(parts)}.")


def _hex(colour):
    return "#" + "".join(f"{min(max(round(float(value) * 255), 0), 255):02x}" for value in colour)


def _draw(tensors):
    from labs.kit.draw.shapes import rectangles
    from labs.kit.draw.style import INK, SMALL, drawing, paper, text_width

    _, height, width = next(iter(tensors.values())).shape
    across = max(width * SIDE, max(text_width(title, SMALL) for title in tensors))
    with drawing():
        figure, axes = paper(2 * LEFT + len(tensors) * (across + GAP) - GAP, TITLE + height * SIDE + 10)
        for place, (title, tensor) in enumerate(tensors.items()):
            left = LEFT + place * (across + GAP)
            axes.text(left, 10, title, va="center_baseline", fontsize=SMALL)
            for y in range(height):
                for x in range(width):
                    at = left + x * SIDE, TITLE + y * SIDE
                    look = {"facecolor": _hex(tensor[:, y, x]), "edgecolor": INK, "lw": 0.4}
                    rectangles(axes, [(*at, at[0] + SIDE, at[1] + SIDE)], **look)
    return figure
