"""Many shapes as one path, so that a picture of a thousand bars stays small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Point = tuple[float, float]


def rectangles(axes, boxes: Iterable[tuple[float, float, float, float]], **look) -> None:
    """Draw rectangles (left, top, right, bottom) in one look; nothing where there is none."""
    polygons(axes, [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in boxes], **look)


def polygons(axes, corners: Iterable[Sequence[Point]], **look) -> None:
    """Draw closed shapes in one look."""
    _patch(axes, corners, True, **look)


def polylines(axes, points: Iterable[Sequence[Point]], **look) -> None:
    """Draw open lines in one look."""
    _patch(axes, points, False, facecolor="none", **look)


def _patch(axes, pieces, close: bool, **look) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    vertices: list[Point] = []
    codes: list[int] = []
    for piece in pieces:
        vertices += piece
        codes += [Path.MOVETO] + [Path.LINETO] * (len(piece) - 1)
        if close:
            vertices.append(piece[0])
            codes.append(Path.CLOSEPOLY)
    if vertices:
        axes.add_artist(PathPatch(Path(vertices, codes), clip_on=False, **look))
