"""Listings that come with the course, for machines that lack a compiler: `keep` makes one, `find` looks one up.

A stored listing is a small JSON file: what was asked, and what the compiler answered, with its version. It is found by
what was asked, so a changed kernel never shows the listing of another.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from labs.kit.native.toolchain import digest

from .request import Request

SHIPPED = Path(__file__).parent / "shipped"


def find(wanted: Request, folder: os.PathLike | str | None = None) -> dict | None:
    """The compiler's stored answer to a request, from `folder` or from those that come with the kit; None if absent."""
    for place in filter(None, (folder, SHIPPED)):
        path = Path(place) / file_name(wanted)
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
    return None


def keep(wanted: Request, result: dict, folder: os.PathLike | str = SHIPPED) -> Path:
    """Store the answer to a request; returns the file."""
    path = Path(folder) / file_name(wanted)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {**result, "raw": slim(wanted.format, result["raw"])}
    path.write_text(json.dumps(data, indent=0) + "\n", encoding="utf-8")
    return path


def file_name(wanted: Request) -> str:
    """Readable, and different for everything that may change the answer."""
    data = wanted.as_data() | {"source": "\n".join(line.rstrip() for line in wanted.source.strip().splitlines())}
    return f"{wanted.name}-{wanted.language}-{wanted.arch}-{wanted.format}-{digest(sorted(data.items()))[:8]}.json"


def slim(format: str, raw: str) -> str:
    """What the parser reads of a compiler's output: no debug sections, no encodings, no paths of this machine."""
    import re

    from .parse import OURS

    raw = re.sub(rf'"[^"\n]*/{OURS}"', f'"{OURS}"', raw)
    raw = re.sub(r'"/[^"\n]*/([^"/\n]+)"', r'"\1"', raw)
    if format == "sass":
        wanted = r"\s*//## File|\s*/\*[0-9a-f]+\*/ |\.L_x_?\w*:|//-+ \.text\."
        lines = [re.sub(r"^\s+", "", line.rstrip()) for line in raw.splitlines() if re.match(wanted, line)]
        lines = [re.sub(r"^/\*[0-9a-f]+\*/\s+", "/*0*/ ", line) for line in lines]
        return (
            "\n".join(line for line, after in zip(lines, [*lines[1:], ""]) if line != after or line[:2] != "//") + "\n"
        )
    if format == "gcn":
        end = raw.find("Lfunc_end")
        kept, rest = (raw[: raw.find("\n", end)], raw[end:]) if end > 0 else (raw, "")
        files = [line for line in rest.splitlines() if line.strip().startswith(".file")]
        lines = [line for line in kept.splitlines() if not line.strip().startswith((";", ".cfi", ".Ltmp"))]
        return "\n".join([*files, *(line.rstrip() for line in lines)]) + "\n"
    return re.split(r"\n\s*\.section\s+\.debug", raw)[0] + "\n"
