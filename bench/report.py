"""The tables for people, and the JSON for the record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Row, Series

HEADINGS = ("what", "ours", "peer", "its", "times faster", "aim")


def table(rows: Sequence[Row]) -> str:
    """Rows as aligned text: min / median / max of each series, then the ratio of the pairs.

    A ratio is peer over ours, run by run: above 1, ours is faster. Its median comes first, then its range.
    """
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def write(path: Path, record: dict) -> None:
    """Write the JSON file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _cells(row: Row) -> tuple[str, ...]:
    ratio = row.ratio
    pairs = "once" if ratio and len(ratio.values) == 1 else ratio and f"{ratio.low:.2f} to {ratio.high:.2f}"
    return (
        row.what,
        _series(row.ours, row.unit),
        row.peer or "",
        _series(row.theirs, row.unit) if row.theirs else "",
        f"{ratio.median:.2f} ({pairs})" if ratio else "",
        _aim(row),
    )


def _series(series: Series, unit: str) -> str:
    scale, shown = (1e3, unit.replace("s", "ms", 1)) if unit.startswith("s") and series.median < 0.1 else (1.0, unit)
    values = [scale * value for value in (series.low, series.median, series.high)]
    digits = 0 if unit == "MB" else 2
    runs = f"{len(series.values)} runs, spread {series.spread:.0%}"
    if len(series.values) == 1:
        return f"{values[1]:.{digits}f} {shown}, once"
    return " / ".join(f"{value:.{digits}f}" for value in values) + f" {shown} ({runs})"


def _aim(row: Row) -> str:
    if row.aim is None:
        return ""
    wanted = f">= {row.aim:g}" if row.ratio else f"< {row.aim:g} {row.unit}"
    return f"{wanted}: {'met' if row.aim_met else 'MISSED'}"
