"""Pictures of parallel runs, and players that step through them.

Pure functions from data to a `Picture`, which carries its own text alternative and shows itself in JupyterLab, in the
book and as plain text. matplotlib and ipywidgets are imported when something is drawn.
"""

from .chunks import chunks
from .curves import curves
from .explore import Explorer, explore
from .holdings import COLLECTIVES, collective, holdings
from .messages import between, messages
from .picture import Picture
from .player import Player, player
from .style import canvas, drawing, drawn
from .timeline import timeline
from .topology import topology
from .units import number, quantity

__all__ = [
    "COLLECTIVES",
    "Explorer",
    "Picture",
    "Player",
    "between",
    "canvas",
    "chunks",
    "collective",
    "curves",
    "drawing",
    "drawn",
    "explore",
    "holdings",
    "messages",
    "number",
    "player",
    "quantity",
    "timeline",
    "topology",
]
