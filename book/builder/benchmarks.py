"""The page of benchmarks: what `make bench` measured, kept in book/benchmarks.json, as dots and as tables.

A ratio is peer over ours, run by run: above 1, ours is faster by so much.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

WIDTH, ROW, LEFT, RIGHT, AXIS = 480, 56, 14, 14, 30  # of a picture, in its own units
SERIES = ("min", "median", "max")


def kept(records: Sequence[Mapping], before: Mapping | None = None) -> dict:
    """Put measurements together for the repository: the newest of each figure, without single runs.

    Parameters
    ----------
    records : sequence of dict
        Files that `python -m bench` wrote.
    before : dict, optional
        What was kept so far.

    Returns
    -------
    dict
        ``{"figures": [{"name", "title", "notes", "measured", "machine", "load_after", "rows"}, ...]}``.

    Raises
    ------
    SystemExit
        For a quick record, whose figures are not to be cited.
    """
    figures = {figure["name"]: figure for figure in (before or {}).get("figures", ())}
    for record in sorted(records, key=lambda record: record["measured"]):
        if record["quick"]:
            raise SystemExit("These figures were measured with --quick, which is not to be cited. Run: make bench")
        for figure in record["figures"]:
            if figure["name"] in figures and figures[figure["name"]]["measured"] > record["measured"]:
                continue
            about = {key: figure[key] for key in ("name", "title", "notes")}
            about |= {"measured": record["measured"], "machine": record["machine"], "load_after": figure["load_after"]}
            figures[figure["name"]] = about | {"rows": [_short(row) for row in figure["rows"]]}
    return {"figures": list(figures.values())}


def renew(paths: Sequence[Path], target: Path) -> int:
    """Take over measurements into the file of the repository; returns how many figures it has then.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        Files that `python -m bench` wrote.
    target : pathlib.Path
        book/benchmarks.json.

    Returns
    -------
    int
    """
    for path in paths:
        if not path.exists():
            raise SystemExit(f"There is no {path}. Measure first: make bench")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else None
    result = kept(records, before)
    target.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return len(result["figures"])


def benchmarks_page(kept: Mapping) -> str:
    """The figures as Markdown with inline SVG.

    Parameters
    ----------
    kept : dict
        From `kept`.

    Returns
    -------
    str
    """
    parts = []
    for figure in kept["figures"]:
        machine = figure["machine"]
        parts.append(f"## {figure['title']}\n\n{_escaped(figure['notes'])}\n")
        if any(row["ratio"] for row in figure["rows"]):
            parts.append(f"```{{raw}} html\n{dots(figure)}\n```\n")
        parts.append(_table(figure["rows"]))
        memory = f", {machine['memory_bytes'] / 1e9:.0f} GB" if machine["memory_bytes"] else ""
        versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items() if version)
        load = machine["load_before"]
        busy = "" if load is None else f", load {load:.1f} before"
        parts.append(
            f"*{figure['measured'][:10]}: {machine['cpu']}, {machine['cores']} cores{memory}, {machine['system']}{busy}"
            f"; Python {machine['python']}, {versions}; course {machine['revision'] or 'without git'}.*\n"
        )
    return "\n".join(parts)


def dots(figure: Mapping) -> str:
    """A line for each comparison on one logarithmic axis: range as a bar, median as a dot, aim as a tick.

    Parameters
    ----------
    figure : dict
        One of the kept figures.

    Returns
    -------
    str
        An <svg> with its words.
    """
    rows = [row for row in figure["rows"] if row["ratio"]]
    low = min(0.5, *(row["ratio"]["min"] for row in rows))
    high = max(2.0, *(row["ratio"]["max"] for row in rows))
    first, last = math.log10(low) - 0.05, math.log10(high) + 0.05

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - first) / (last - first)

    height, one = ROW * len(rows) + AXIS, x(1)
    shapes = [f'<path class="bench-one" d="M{one:.1f} 4V{height - AXIS + 6}"/>']
    for value in _ticks(low, high):
        shapes.append(f'<text class="bench-tick" x="{x(value):.1f}" y="{height - 8}">{value:g}</text>')
    for number, row in enumerate(rows):
        y, ratio = number * ROW + 44, row["ratio"]
        shapes.append(f'<text x="{LEFT}" y="{y - 29}">{html.escape(row["what"])}</text>')
        shapes.append(f'<text x="{LEFT}" y="{y - 13}">beside {html.escape(row["peer"])}</text>')
        shapes.append(
            f'<path class="bench-range" d="M{x(ratio["min"]):.1f} {y}H{x(ratio["max"]):.1f}"/>'
            f'<circle class="bench-dot" cx="{x(ratio["median"]):.1f}" cy="{y}" r="5.5"/>'
        )
        if row["aim"]:
            shapes.append(f'<path class="bench-aim" d="M{x(row["aim"]):.1f} {y - 8}v16"/>')
    words = "; ".join(f"{_versus(row)}: {row['ratio']['median']:.2g} times" for row in rows)
    label = (
        f"Dots on a logarithmic axis, the peer's time over ours, above 1 ours is faster. {words}. The table has all."
    )
    return (
        f'<svg class="bench" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(label)}">'
        f"{''.join(shapes)}</svg>"
    )


def _short(row):
    """A row without its single runs, with as many digits as mean something."""

    def series(found):
        return found and {key: float(f"{found[key]:.4g}") for key in SERIES} | {"runs": _count(found["runs"])}

    return row | {key: series(row[key]) for key in ("ours", "theirs", "ratio")}


def _count(runs):
    return runs if isinstance(runs, int) else len(runs)


def _versus(row):
    return f"{row['what']}, beside {row['peer']}"


def _ticks(low, high):
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 30 else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def _table(rows):
    """All rows as a table: smallest, median and largest, the ratio with its range, the aim."""
    lines = ["| what | ours | peer | its | times faster | aim |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = row["ratio"]
        cells = (
            row["what"],
            _amount(row["ours"], row["unit"]),
            row["peer"] or "none",
            _amount(row["theirs"], row["unit"]) if row["theirs"] else "",
            f"**{ratio['median']:.3g}** ({_range(ratio)})" if ratio else "",
            _aim(row),
        )
        lines.append("| " + " | ".join(_escaped(cell) if i != 4 else cell for i, cell in enumerate(cells)) + " |")
    return "\n".join(lines) + "\n"


def _range(ratio):
    return "once" if ratio["runs"] == 1 else f"{ratio['min']:.3g} to {ratio['max']:.3g}, {ratio['runs']} runs"


def _amount(series, unit):
    scale, shown = (1e3, unit.replace("s", "ms", 1)) if unit.startswith("s") and series["median"] < 0.1 else (1, unit)
    low, middle, high = (scale * series[key] for key in SERIES)
    return f"{middle:.3g} {shown}" if low == high else f"{middle:.3g} {shown} ({low:.3g} to {high:.3g})"


def _aim(row):
    if row["aim"] is None:
        return "no aim"
    wanted = f"at least {row['aim']:g}" if row["ratio"] else f"below {row['aim']:g} {row['unit']}"
    return f"{wanted}: {'met' if row['aim_met'] else 'missed'}"


def _escaped(text):
    """Text in which Markdown sees no marks of its own."""
    return "".join(f"\\{sign}" if sign in "*_`$|<[\\" else sign for sign in text)
