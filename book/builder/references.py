"""The page of references: every work that a lesson's Sources name, once, with links back to the lessons.

Works are written down in book/references.yml, as a library would; which lesson names which is read from the lessons.
A source of a lesson that no work fits stops the build, so the page is complete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from labs.course.canonical import read

from .outline import Entry

# Bullets that say where numbers come from and name no work.
REMARKS = (
    "All numbers on this page",
    "All other numbers on this page",
    "Machine code:",
    "That backward takes about twice forward",
    "The 5 µs and 50 GB/s",
    "The bandwidths of the four machines",
    "The reference machine's figures",
    "What pandas, NumPy and h5py do",
    "25 MB and 1 MB are PyTorch's defaults",
)


@dataclass(frozen=True)
class Work:
    """Something that lessons refer to.

    Attributes
    ----------
    kind : str
        Heading under which it stands.
    authors, title, where, link : str
        The last two may be empty.
    names : tuple of str
        Pieces of text by which lessons name it.
    """

    kind: str
    authors: str
    title: str
    where: str = ""
    link: str = ""
    names: tuple[str, ...] = ()

    def named_in(self, text: str) -> bool:
        """Whether a piece of a lesson's Sources names this work."""
        there = _plain(text)
        return any(_plain(name) in there for name in (self.title, *self.names))


def works(path: Path) -> tuple[Work, ...]:
    """Read book/references.yml, each kind sorted by authors and title.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    tuple of Work
    """
    found = []
    for group in yaml.safe_load(path.read_text(encoding="utf-8")):
        made = [
            Work(
                group["kind"],
                w["authors"],
                w["title"],
                w.get("where", ""),
                w.get("link", ""),
                tuple(w.get("names", ())),
            )
            for w in group["works"]
        ]
        found += sorted(made, key=lambda work: (_last_name(work.authors), work.title.casefold()))
    return tuple(found)


def sources(path: Path) -> list[str]:
    """Return the bullets of a lesson's Sources, each as one line.

    Parameters
    ----------
    path : pathlib.Path
        A notebook.

    Returns
    -------
    list of str
    """
    for cell in read(path).cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## Sources"):
            bullets = re.split(r"(?m)^- ", cell.source)[1:]
            return [" ".join(bullet.split("\n\n")[0].split()) for bullet in bullets]
    return []


def unknown(bullets: Sequence[str], known: Sequence[Work]) -> list[str]:
    """Return the bullets that name no known work, and the titles in italics that no known work has.

    Parameters
    ----------
    bullets : sequence of str
    known : sequence of Work

    Returns
    -------
    list of str
    """
    missing = []
    for bullet in bullets:
        if bullet.startswith(REMARKS):
            continue
        here = [work for work in known if work.named_in(bullet)]
        if not here:
            missing.append(bullet)
        for title in re.findall(r"\*([^*]+)\*", re.sub(r" \*(?=[ :,;.)]|$)", "", bullet)):
            if not any(_plain(title) in _plain(" ".join((work.title, *work.names))) for work in here):
                missing.append(title)
    return missing


def references_page(known: Sequence[Work], bullets: Mapping[Entry, Sequence[str]]) -> str:
    """The lists of the page, as Markdown.

    Parameters
    ----------
    known : sequence of Work
    bullets : dict of Entry to sequence of str
        Each lesson's Sources.

    Returns
    -------
    str

    Raises
    ------
    SystemExit
        When a lesson names a work that is not known, or no lesson names a known one.
    """
    for entry, found in bullets.items():
        if missing := unknown(found, known):
            raise SystemExit(
                f"{entry.name}: its Sources name what book/references.yml does not have: {missing[0]!r}. Add the work "
                "there (or, for a remark that names no work, its beginning to REMARKS in book/builder/references.py)."
            )
    lines, kind = [], ""
    for work in known:
        lessons = [entry for entry, found in bullets.items() if any(work.named_in(bullet) for bullet in found)]
        if not lessons:
            raise SystemExit(f"book/references.yml has {work.title!r}, but no lesson's Sources name it. Take it out.")
        if work.kind != kind:
            kind = work.kind
            lines.append(f"\n## {kind}\n")
        title = f"[*{work.title}*]({work.link})" if work.link else f"*{work.title}*"
        where = f", {work.where}" if work.where else ""
        back = ", ".join(f"[{entry.label}](lessons/{entry.name}.ipynb#sources)" for entry in lessons)
        lines.append(f"- {work.authors}: {title}{where}. → {back}")
    return "\n".join(lines) + "\n"


def gathered(entries: Sequence[Entry], root: Path) -> str:
    """The page's lists for a course.

    Parameters
    ----------
    entries : sequence of Entry
    root : pathlib.Path
        Folder of the course.

    Returns
    -------
    str
    """
    known = works(root / "book" / "references.yml")
    return references_page(known, {e: sources(root / "solutions" / f"{e.name}.ipynb") for e in entries})


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _last_name(authors: str) -> str:
    first = authors.split(",")[0].removesuffix(" and others")
    return re.sub(r"^(?:[A-ZÄÖÜ]\.[- ]?)+", "", first).casefold()
