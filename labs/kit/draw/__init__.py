"""Pictures of parallel runs, and players that step through them.

Pure functions from data to a `Picture`, which carries its own text alternative and shows itself in JupyterLab, in the
book and as plain text. matplotlib and ipywidgets are imported when something is drawn.
"""

from .addresses import warp_addresses
from .banks import banks
from .blocks import grid_of_blocks
from .chunks import chunks
from .curves import curves
from .explore import Explorer, explore
from .fragments import fragment_lanes
from .heat import memory_heat
from .holdings import COLLECTIVES, collective, holdings
from .messages import between, messages
from .picture import Picture
from .player import Player, player
from .races import races
from .roofline import roofline
from .style import canvas, drawing, drawn
from .timeline import timeline
from .topology import topology
from .units import number, quantity

__all__ = [
    "COLLECTIVES",
    "Explorer",
    "Picture",
    "Player",
    "banks",
    "between",
    "canvas",
    "chunks",
    "collective",
    "curves",
    "drawing",
    "drawn",
    "explore",
    "fragment_lanes",
    "grid_of_blocks",
    "holdings",
    "memory_heat",
    "messages",
    "number",
    "player",
    "quantity",
    "races",
    "roofline",
    "timeline",
    "topology",
    "warp_addresses",
]
