"""How many bytes each server has: bars for one assignment or several."""

from __future__ import annotations

from labs.kit.draw import drawn

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 504, 15, 64, 20, 26, 36  # points
HATCHES = ("", "////", "..", "\\\\")


def bars(loads, *, fair=None, name):
    """Draw the bytes on each server, a bar for each assignment.

    Parameters
    ----------
    loads : {label: list of int}
        Bytes by server; lists of equal length, at most four of them.
    fair : float, optional
        A line to compare with: the bytes of the fullest server that would do.
    name : str
        What is compared; the text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import Picture, quantity

    said = [
        f"{label}: " + ", ".join(f"{quantity(value, 'B')} on server {server}" for server, value in enumerate(values))
        for label, values in loads.items()
    ]
    if fair is not None:
        said.append(f"A line at {quantity(fair, 'B')}, which would do for the fullest server")
    return Picture(_draw(loads, fair), f"{name}. " + ". ".join(said) + ".")


@drawn
def _draw(loads, fair):
    from labs.kit.draw import canvas
    from labs.kit.draw.style import INK, LINES
    from labs.kit.draw.units import scale

    servers, kinds = len(next(iter(loads.values()))), len(loads)
    most = max([max(values, default=0) for values in loads.values()] + [fair or 0]) or 1
    factor, unit = scale(most, "B")
    row = ROW * kinds + 8
    figure, axes = canvas(WIDTH, TOP + BOTTOM + row * servers, LEFT, RIGHT, BOTTOM, TOP)
    height = ROW / row
    for kind, (label, values) in enumerate(loads.items()):
        places = [server + (kind - (kinds - 1) / 2) * height for server in range(servers)]
        axes.barh(
            places, [value * factor for value in values], height=height * 0.92, label=label,
            color=LINES[kind][0], hatch=HATCHES[kind], edgecolor=INK, linewidth=0.6,
        )  # fmt: skip
    if fair is not None:
        axes.axvline(fair * factor, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), label="would do")
    axes.set_xlim(0, most * factor * 1.04)
    axes.set_ylim(servers - 0.5, -0.5)
    axes.set_yticks(range(servers), [f"server {server}" for server in range(servers)])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"on this server in {unit}")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=kinds + 1, frameon=False, borderaxespad=0.3)
    return figure
