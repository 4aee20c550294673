"""Where the parts of a topology go: devices in a row, what joins them above or below, the network on top.

A switch is a bar as wide as what it joins, so that every link to it is a vertical line. Points, y downwards.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from .style import SMALL, text_width
from .units import count

BAR, CHIP, GAP = 20.0, 28.0, 22.0
MOST_CHIPS = 16


class Box(NamedTuple):
    """A rectangle with a text: a node, a switch or a device."""

    x: float
    y: float
    w: float
    h: float
    text: str
    size: float = SMALL  # of the text, in points


class Line(NamedTuple):
    """A link: the points that it passes, its kind, its thickness in points."""

    x: tuple
    y: tuple
    kind: str
    thick: float


@dataclass
class Layout:
    """All that is to be drawn, and what is left out."""

    width: float
    height: float = 0.0
    boxes: list[Box] = field(default_factory=list)
    switches: list[Box] = field(default_factory=list)
    devices: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    notes: list[Box] = field(default_factory=list)
    hidden_nodes: int = 0
    hidden_devices: int = 0

    def left_out(self) -> str:
        """What the picture does not show, in words."""
        parts = []
        if self.hidden_nodes:
            parts.append(f"{count(self.hidden_nodes, 'node')} not drawn")
        if self.hidden_devices:
            parts.append(f"{count(self.hidden_devices, 'device')} of each drawn node not drawn")
        return ", ".join(parts)


def arrange(topology, width: float, least: float = 0.0) -> Layout:
    """The layout of a topology on a sheet of at most `width` and at least `least` points."""
    layout = Layout(width)
    members = defaultdict(list)  # node -> ranks
    for rank, device in enumerate(topology.devices):
        members[device.node].append(rank)
    nodes = list(members)
    largest = max(len(ranks) for ranks in members.values())
    per_node = min(largest, 8 if topology.world_size <= 1000 else 6)
    most_nodes = max(2, (MOST_CHIPS if per_node > 2 else 8) // per_node)
    shown_nodes = _ends(nodes, most_nodes)
    layout.hidden_nodes = len(nodes) - len(shown_nodes)
    layout.hidden_devices = largest - per_node
    shown = {node: _ends(members[node], per_node) for node in shown_nodes}

    column, seam = _columns(layout, shown, least)
    names = {rank: topology.devices[rank].name for rank in column}
    place = {names[rank]: x for rank, x in column.items()}
    near = _neighbours(topology, place)
    home = _homes(topology, near, members)
    rows = _rows(near, place, home)
    _lay(layout, topology, shown, place, near, home, rows, column, seam)
    return layout


def _ends(items: list, most: int) -> list:
    """All items, or the first ones and the last."""
    return items if len(items) <= most else [*items[: most - 1], items[-1]]


def _columns(layout: Layout, shown, least: float):
    """Centre of each drawn rank; the gap where something is left out (between the last two nodes)."""
    hidden = layout.hidden_nodes > 0
    seam_width = 62.0 if hidden else 0.0
    pad, between = (10.0, 12.0) if max(map(len, shown.values())) > 1 or len(shown) < 6 else (4.0, 8.0)
    chips = sum(len(ranks) for ranks in shown.values())
    hole = 22.0 if layout.hidden_devices else 0.0
    free = layout.width - 4 - seam_width - len(shown) * (2 * pad + hole) - (len(shown) - 1) * between
    step = min(free / chips, 84.0)
    used = chips * step + len(shown) * (2 * pad + hole) + (len(shown) - 1) * between + seam_width + 4
    layout.width = max(used, 300.0, least)
    x = (layout.width - used) / 2 + 2
    column, seam = {}, None
    for index, (node, ranks) in enumerate(shown.items()):
        if hidden and index == len(shown) - 1:
            seam = x + seam_width / 2 - between / 2
            x += seam_width
        left = x
        x += pad
        for position, rank in enumerate(ranks):
            if hole and position == len(ranks) - 1:
                layout.notes.append(Box(x + hole / 2, 0, 0, 0, "…"))
                x += hole
            column[rank] = x + step / 2
            x += step
        x += pad
        long = f"node {node}"
        layout.boxes.append(
            Box(left, 0, x - left, 0, long if text_width(long, SMALL, "bold") + 4 < x - left else str(node))
        )
        x += between
    return column, (seam, step)


def _neighbours(topology, place):
    """point -> {neighbour: (kind, bandwidth)}, of drawn devices and of every switch."""
    switches = set(topology.switches)
    near = defaultdict(dict)
    for edge in topology.links():
        if all(end in place or end in switches for end in (edge.source, edge.target)):
            for a, b in ((edge.source, edge.target), (edge.target, edge.source)):
                kind, bandwidth = near[a].get(b, (edge.link.kind or "link", 0.0))
                near[a][b] = (kind, max(bandwidth, edge.link.bandwidth))
    return near


def _homes(topology, near, members):
    """switch -> (level, node or None): level 1 touches devices; a switch that serves one node only belongs to it."""
    node_of = {device.name: device.node for device in topology.devices}
    touched = defaultdict(set)
    for edge in topology.links():
        for a, b in ((edge.source, edge.target), (edge.target, edge.source)):
            if a not in node_of and b in node_of:
                touched[a].add(node_of[b])
    level = {switch: 1 for switch in topology.switches if touched[switch]}
    step = 1
    while True:
        new = {
            other
            for switch, at in level.items()
            if at == step
            for other in near[switch]
            if other not in level and other not in node_of
        }
        if not new:
            break
        step += 1
        for switch in new:
            level[switch] = step
            touched[switch] = set().union(*(touched[low] for low in near[switch] if level.get(low) == step - 1))
    return {
        switch: (at, next(iter(touched[switch])) if len(touched[switch]) == 1 else None) for switch, at in level.items()
    }


def _rows(near, place, home):
    """switch -> (above?, row, left, right). Rows are counted away from the devices; bars in one row do not overlap."""
    spans = {}
    for switch, (_, _) in sorted(home.items(), key=lambda item: item[1][0]):
        xs = [place[end] for end in near[switch] if end in place]
        xs += [sum(spans[end]) / 2 for end in near[switch] if end in spans and home[end][0] < home[switch][0]]
        if xs:
            spans[switch] = (min(xs), max(xs))
    rows, taken = {}, defaultdict(list)
    for switch in sorted(spans, key=lambda name: (home[name][0], home[name][1] is None)):
        at, node = home[switch]
        leads_up = any(home.get(end, (0,))[0] > at for end in near[switch])
        devices = [end for end in near[switch] if end in place]
        others = any(end in home and end != switch for device in devices for end in near[device])
        above = not (at == 1 and node is not None and not leads_up and others)
        low, high = spans[switch]
        row = at - 1 if above else 0
        if node is None:  # outside every node, so above all that is inside
            inside = [rows[other][1] for other in rows if rows[other][0] and home[other][1] is not None]
            row = max([row, *(r + 1 for r in inside)])
        while any(low <= other_high and other_low <= high for other_low, other_high in taken[above, row]):
            row += 1
        taken[above, row].append((low, high))
        rows[switch] = (above, row, low, high)
    return rows


def _lay(layout, topology, shown, place, near, home, rows, column, seam) -> None:
    """Give everything its height and collect the lines."""
    seam_x, step = seam
    outer = {switch for switch in rows if home[switch][1] is None}
    top_inside = max([row for switch, (above, row, _, _) in rows.items() if above and switch not in outer], default=-1)
    outer_rows = sorted({rows[switch][1] for switch in outer})
    direct = {frozenset((a, b)) for a in place for b in near[a] if b in place}
    far = max((_distance(pair, place, step) for pair in direct), default=0)
    arcs = 0.0 if far < 1.6 else 14.0 + 7.0 * far
    below = 1 + max([row for above, row, _, _ in rows.values() if not above], default=-1)

    y = 4.0 + len(outer_rows) * (BAR + GAP)
    box_top = y
    y += 8.0
    level_y = {row: y + (top_inside - row) * (BAR + GAP) for row in range(top_inside + 1)}
    chips = y + (top_inside + 1) * (BAR + GAP)
    down = chips + CHIP + arcs
    box_bottom = down + below * (GAP + BAR) + 22.0  # with the node's name
    layout.height = box_bottom + 4.0
    layout.boxes = [Box(box.x, box_top, box.w, box_bottom - box_top, box.text) for box in layout.boxes]
    layout.notes = [Box(note.x, chips + CHIP / 2, 0, 0, note.text) for note in layout.notes]
    if seam_x is not None:
        layout.notes.append(Box(seam_x, chips + CHIP / 2 - 14, 0, 0, "…", 14.0))
        layout.notes.append(Box(seam_x, chips + CHIP / 2 + 4, 0, 0, f"{layout.hidden_nodes:,}"))
        layout.notes.append(Box(seam_x, chips + CHIP / 2 + 16, 0, 0, "more"))

    chip_w = min(step - (6 if step > 34 else 4), 62.0)
    for rank, x in column.items():
        long = f"rank {rank}"
        text = long if text_width(long, SMALL) + 6 <= chip_w else str(rank)
        size = min(SMALL, SMALL * (chip_w - 4) / max(text_width(text, SMALL), 1.0))
        layout.devices.append(Box(x - chip_w / 2, chips, chip_w, CHIP, text, size))
    bars = {}
    for switch, (above, row, low, high) in rows.items():
        if switch in outer:
            at = 4.0 + (len(outer_rows) - 1 - outer_rows.index(row)) * (BAR + GAP)
        elif above:
            at = level_y[row]
        else:
            at = down + row * (GAP + BAR) + GAP
        node = home[switch][1]
        text = switch.removeprefix(f"node{node} ") if node is not None else switch
        half = max((high - low) / 2 + chip_w / 2, text_width(text, SMALL) / 2 + 9)
        middle = (low + high) / 2
        bars[switch] = Box(middle - half, at, 2 * half, BAR, text)
    layout.switches = list(bars.values())
    _connect(layout, place, near, home, rows, bars, direct, chips, step)


def _connect(layout, place, near, home, rows, bars, direct, chips, step) -> None:
    widest = max((bandwidth for ends in near.values() for _, bandwidth in ends.values()), default=1.0)
    thick = lambda bandwidth: max(1.2, min(4.0, 3.6 * (bandwidth / widest) ** 0.25))
    for switch, bar in bars.items():
        above = rows[switch][0]
        for end, (kind, bandwidth) in near[switch].items():
            if end in place:
                doubled = sum(1 for other in near[end] if other in bars and rows[other][0] == above) > 1
                x = place[end] + (0 if not doubled else 5 * (1 if rows[switch][1] else -1))
                y = (bar.y + BAR, chips) if above else (chips + CHIP, bar.y)
                layout.lines.append(Line((x, x), y, kind, thick(bandwidth)))
            elif end in bars and home[end][0] < home[switch][0]:
                x = bars[end].x + bars[end].w / 2
                layout.lines.append(Line((x, x), (bar.y + BAR, bars[end].y), kind, thick(bandwidth)))
    for pair in sorted(direct, key=sorted):
        a, b = sorted(pair, key=place.get)
        kind, bandwidth = near[a][b]
        distance = _distance(pair, place, step)
        x0, x1, y = place[a], place[b], chips + CHIP / 2
        if distance < 1.6:
            layout.lines.append(Line((x0, x1), (y, y), kind, thick(bandwidth)))
            continue
        depth = 10.0 + 7.0 * distance
        ts = [i / 16 for i in range(17)]
        xs = tuple(x0 + (x1 - x0) * t for t in ts)
        ys = tuple(chips + CHIP - 2 + depth * 4 * t * (1 - t) for t in ts)
        layout.lines.append(Line(xs, ys, kind, thick(bandwidth)))


def _distance(pair, place, step) -> float:
    """How many columns two devices are apart."""
    a, b = (place[name] for name in pair)
    return abs(a - b) / step
