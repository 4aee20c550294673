"""A machine as a picture: nodes, the devices in them, switches, and the links that join them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from .layout import Layout, arrange
from .picture import Picture
from .style import BLUE, INK, LINES, PAPER, SMALL, drawn, ink_on, paper, text_width
from .units import count, quantity


@dataclass
class Wires:
    """All links of one kind: what a legend says once for many lines."""

    kind: str
    pairs: set = field(default_factory=set)
    bandwidths: list = field(default_factory=list)
    latencies: list = field(default_factory=list)
    shared: set = field(default_factory=set)

    def words(self) -> str:
        """ "NVLink: 450 GB/s each way, 1 µs"."""
        text = f"{self.kind}: {_range(self.bandwidths, 'B/s')} each way"
        if max(self.latencies) > 0:
            text += f", {_range(self.latencies, 's')}"
        if self.shared:
            text += f" (both ways share {_range(list(self.shared), 'B/s')})"
        return text


def topology(topology, name: str | None = None) -> Picture:
    """The devices of a `labs.kit.hardware.Topology` with the rank that runs on each, its switches and its links.

    Parameters
    ----------
    topology : labs.kit.hardware.Topology
    name : str, optional
        Heads the text alternative; the topology's own name if not given.

    Notes
    -----
    Of a large machine the first nodes and the last are drawn, of a large node its first devices and the last; the
    picture and the words say how many are left out.
    """
    wires = _wires(topology)
    where = arrange(
        topology, 504, least=56 + max((text_width(wire.words(), SMALL) for wire in wires.values()), default=0)
    )
    return Picture(_draw(topology, where, wires), _describe(topology, wires, name or topology.name, where))


def _wires(topology) -> dict[str, Wires]:
    found: dict[str, Wires] = {}
    for edge in topology.links():
        kind = edge.link.kind or "link"
        wire = found.setdefault(kind, Wires(kind))
        wire.pairs.add(frozenset((edge.source, edge.target)))
        wire.bandwidths.append(edge.link.bandwidth)
        wire.latencies.append(edge.link.latency)
        wire.shared |= {link.bandwidth for link in edge.shared}
    return dict(sorted(found.items(), key=lambda item: -max(item[1].bandwidths)))  # the fastest is drawn solid


def _range(values, unit: str) -> str:
    low, high = quantity(min(values), unit), quantity(max(values), unit)
    if low.split()[-1] == high.split()[-1]:  # 20.6–21.2 GB/s: the unit once
        return high if low == high else f"{low.split()[0]}–{high}"
    return f"{low} to {high}"


def ranges(ranks) -> str:
    """0, 1, 2, 3, 8 as "0–3, 8"; long lists are cut."""
    ranks, parts, i = list(ranks), [], 0
    while i < len(ranks):
        j = i
        while j + 1 < len(ranks) and ranks[j + 1] == ranks[j] + 1:
            j += 1
        parts += [str(rank) for rank in ranks[i : j + 1]] if j - i < 2 else [f"{ranks[i]}–{ranks[j]}"]
        i = j + 1
    return ", ".join(parts) if len(parts) <= 10 else ", ".join([*parts[:8], "…", parts[-1]])


def _named(ranks) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {ranges(ranks)}"


def _describe(topology, wires, name, where: Layout) -> str:
    members = defaultdict(list)
    for rank, device in enumerate(topology.devices):
        members[device.node].append(rank)
    parts = [f"{name}: {count(topology.world_size, 'device')} on {count(len(members), 'node')}"]
    told = list(members) if len(members) <= 8 else [*list(members)[:1], *list(members)[-1:]]
    parts.append("; ".join(f"node {node}: {_named(members[node])}" for node in told))
    if topology.switches:
        switches = topology.switches
        shown = ", ".join(switches[:6]) + (f" and {len(switches) - 6} more" if len(switches) > 6 else "")
        parts.append(f"{count(len(switches), 'switch', 'switches')}: {shown}")
    parts.append("; ".join(f"{wire.words()}, {count(len(wire.pairs), 'link')}" for wire in wires.values()))
    if where.hidden_nodes or where.hidden_devices:
        parts.append(where.left_out())
    return ". ".join(part for part in parts if part) + "."


@drawn
def _draw(topology, where: Layout, wires):
    from matplotlib.patches import FancyBboxPatch

    looks = {kind: LINES[i % len(LINES)] for i, kind in enumerate(wires)}
    figure, axes = paper(where.width, where.height + 6 + 17 * len(wires))
    for box in where.boxes:
        axes.add_artist(
            FancyBboxPatch((box.x + 4, box.y + 4), box.w - 8, box.h - 8, boxstyle="round,pad=4", facecolor="none",
                           edgecolor=INK, lw=0.8, alpha=0.7, zorder=0)
        )  # fmt: skip
        axes.text(
            box.x + box.w / 2,
            box.y + box.h - 10,
            box.text,
            fontsize=SMALL,
            fontweight="bold",
            ha="center",
            va="center_baseline",
        )
    for line in where.lines:
        colour, dashes, _ = looks[line.kind]
        axes.plot(
            line.x,
            line.y,
            color=colour,
            ls=dashes,
            lw=line.thick,
            solid_capstyle="butt",
            dash_capstyle="butt",
            zorder=1,
        )
    for bar in where.switches:
        axes.add_artist(
            FancyBboxPatch(
                (bar.x + 3, bar.y + 3),
                bar.w - 6,
                bar.h - 6,
                boxstyle="round,pad=3",
                facecolor=PAPER,
                edgecolor=INK,
                lw=1.0,
                zorder=2,
            )
        )
        axes.text(
            bar.x + bar.w / 2, bar.y + bar.h / 2, bar.text, fontsize=SMALL, ha="center", va="center_baseline", zorder=3
        )
    for chip in where.devices:
        axes.add_artist(
            FancyBboxPatch(
                (chip.x + 3, chip.y + 3),
                chip.w - 6,
                chip.h - 6,
                boxstyle="round,pad=3",
                facecolor=BLUE,
                edgecolor=INK,
                lw=0.8,
                zorder=2,
            )
        )
        axes.text(
            chip.x + chip.w / 2,
            chip.y + chip.h / 2,
            chip.text,
            fontsize=chip.size,
            ha="center",
            va="center_baseline",
            color=ink_on(BLUE),
            zorder=3,
        )
    for note in where.notes:
        axes.text(note.x, note.y, note.text, fontsize=note.size, ha="center", va="center_baseline")
    for i, wire in enumerate(wires.values()):
        y = where.height + 10 + 17 * i
        colour, dashes, _ = looks[wire.kind]
        axes.plot([8, 36], [y, y], color=colour, ls=dashes, lw=2.4, solid_capstyle="butt")
        axes.text(44, y, wire.words(), fontsize=SMALL, ha="left", va="center_baseline")
    return figure
