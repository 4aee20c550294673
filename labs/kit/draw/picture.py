"""A picture: a figure together with the words that say the same."""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .style import PAPER, drawing
from .svg import framed, to_svg


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure with a text alternative. Shows itself in JupyterLab, in the book and as plain text.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        Drawn in the colours of `labs.kit.draw.style`.
    alt : str
        What the picture says, for readers who do not see it: the kind of picture, its numbers, its point.
    """

    figure: Any
    alt: str

    def __post_init__(self):
        if not self.alt.strip():
            raise ValueError("A picture needs a text alternative: pass alt= with the words that say what it shows.")

    @property
    def width(self) -> float:
        """Natural width in points; a page shows at most 1.39 px a point."""
        return float(self.figure.get_size_inches()[0] * 72)

    def svg(self, *, salt: str = "") -> str:
        """The picture as one <svg> element with its text alternative as accessible name."""
        return to_svg(self.figure, self.alt, salt=salt)

    def html(self, *, salt: str = "") -> str:
        """The picture in a box that scrolls sideways where the page is narrow."""
        return framed(self.svg(salt=salt), self.width)

    def png(self, *, dpi: int = 150, paper: str = "#ffffff") -> bytes:
        """The picture as PNG bytes for places without SVG, on `paper`, without dates or versions in the file."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from PIL import Image

        before = self.figure.dpi
        with drawing(), _painted(self.figure, paper):
            try:
                self.figure.set_dpi(dpi)
                surface = FigureCanvasAgg(self.figure)
                surface.draw()
                image = Image.frombuffer("RGBA", surface.get_width_height(), surface.buffer_rgba())
            finally:
                self.figure.set_dpi(before)
        flat = Image.new("RGBA", image.size, paper)
        flat.alpha_composite(image)
        out = io.BytesIO()
        flat.convert("RGB").save(out, "PNG", optimize=True)
        return out.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        # text/html with inline SVG: neither JupyterLab nor the book gives an image output a text alternative.
        return {"text/html": self.html(), "text/plain": self.alt}

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"


@contextmanager
def _painted(figure, paper: str):
    """Within it, what is drawn in PAPER (the page's background, see `svg`) is drawn in `paper`."""
    from matplotlib.colors import same_color

    changed = []
    for artist in figure.findobj():
        for part in ("facecolor", "edgecolor"):
            setter, getter = getattr(artist, f"set_{part}", None), getattr(artist, f"get_{part}", None)
            if setter is None or getter is None:
                continue
            colour = getter()
            if isinstance(colour, (str, tuple)) and same_color(colour, PAPER):
                setter(paper)
                changed.append((setter, colour))
    try:
        yield
    finally:
        for setter, colour in changed:
            setter(colour)
