"""Step through pictures: static, self-contained HTML, the same in JupyterLab, in the book and without a kernel.

Buttons, a slider with a number box, and the arrow, Home and End keys show a frame; a live region says what it shows; a
table lists the same events. Without JavaScript all frames stand one below another.
"""

from __future__ import annotations

import functools
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from .picture import Picture

MOST_FRAMES = 12


@dataclass(frozen=True, eq=False)
class Player:
    """Frames to step through. Made by `player`; shows itself.

    Attributes
    ----------
    frames : tuple of tuples of Picture
        The pictures of each step, side by side where there is room.
    captions : tuple of str
        What each step shows, in words.
    events : tuple of tuples of dict, or None
        Rows of the table, by step: {column: value}.
    label : str
        The player's accessible name.
    """

    frames: tuple[tuple[Picture, ...], ...]
    captions: tuple[str, ...]
    events: tuple[tuple[Mapping, ...], ...] | None
    label: str

    @functools.cached_property
    def html(self) -> str:
        """The player as HTML that needs nothing else: style, frames, controls, table, script."""
        return _html(self)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "\n".join([f"{self.label}:", *(f"  step {step}: {text}" for step, text in enumerate(self.captions))])


def player(
    frames: Iterable[Picture | Sequence[Picture]],
    captions: Iterable[str] | None = None,
    events: Iterable[Iterable[Mapping]] | None = None,
    *,
    label: str,
) -> Player:
    """A player that steps through `frames`.

    Parameters
    ----------
    frames : iterable of Picture, or of sequences of Pictures
        2 to 12 steps; several pictures of one step stand side by side where there is room.
    captions : iterable of str, optional
        What each step shows; the pictures' own text alternatives if not given.
    events : iterable of iterables of dict, optional
        What happens in each step, as rows {column: value} of a table under the player.
    label : str
        What the player shows, as its accessible name.

    Raises
    ------
    ValueError
        If the numbers of frames, captions and events differ, or there are not 2 to 12 frames.
    """
    steps = tuple((frame,) if isinstance(frame, Picture) else tuple(frame) for frame in frames)
    if not 2 <= len(steps) <= MOST_FRAMES:
        raise ValueError(
            f"A player has 2 to {MOST_FRAMES} frames, so that it can be read step by step; this one has {len(steps)}."
        )
    for step, pictures in enumerate(steps):
        if not pictures or not all(isinstance(picture, Picture) for picture in pictures):
            raise ValueError(f"Frame {step} must be a Picture or a list of Pictures, not {pictures!r}.")
    if captions is None:
        captions = [" ".join(picture.alt for picture in pictures) for pictures in steps]
    captions = tuple(str(caption) for caption in captions)
    rows = None if events is None else tuple(tuple(dict(event) for event in step) for step in events)
    for what, found in (("captions", captions), ("lists of events", rows)):
        if found is not None and len(found) != len(steps):
            raise ValueError(f"{len(steps)} frames but {len(found)} {what}: give one for each frame.")
    return Player(steps, captions, rows, str(label))


@functools.cache
def assets() -> tuple[str, str]:
    """The style sheet and the script, without comments and indentation."""
    folder = files(__package__)
    css = re.sub(r"/\*.*?\*/", "", folder.joinpath("player.css").read_text(encoding="utf-8"), flags=re.S)
    js = folder.joinpath("player.js").read_text(encoding="utf-8")
    lines = [line.strip() for line in js.splitlines()]
    return "".join(css.split("\n")), "\n".join(line for line in lines if line and not line.startswith("//"))


def _html(player: Player) -> str:
    last = len(player.frames) - 1
    salt = hashlib.sha256("\n".join([player.label, *player.captions]).encode()).hexdigest()[:8]
    figures = []
    for step, (pictures, caption) in enumerate(zip(player.frames, player.captions)):
        # A salt for each frame: a hatch defined in a frame that is not shown would be missing in one that is.
        body = "".join(picture.html(salt=f"{salt}.{step}.{i}") for i, picture in enumerate(pictures))
        figures.append(
            f'<figure data-say="{html.escape(caption)}"><div class="labs-frame">{body}</div>'
            f"<figcaption>Step {step}: {html.escape(caption)}</figcaption></figure>"
        )
    buttons = "".join(
        f'<button type="button" data-do="{what}">{text}</button>'
        for what, text in (("back", "Back"), ("next", "Next"), ("play", "Play"))
    )
    bar = (
        f'<div class="labs-bar">{buttons}<input type="range" min="0" max="{last}" value="0" aria-label="Step">'
        f'<label>Step <input type="number" min="0" max="{last}" value="0"> of {last}</label></div>'
    )
    css, js = assets()
    return (
        f"<style>{css}</style>"
        f'<div class="labs-player" role="group" aria-label="{html.escape(player.label)}" '
        'data-lm-suppress-shortcuts="true">'
        f'{"".join(figures)}{bar}<div class="labs-say" role="status" aria-live="polite"></div>'
        f"{_table(player.events)}</div>"
        f"<script>(function(){{{js}}})()</script>"
    )


def _table(events) -> str:
    """The events of all steps as a table, folded; "" where there are none."""
    if not events or not any(events):
        return ""
    columns = list(dict.fromkeys(name for step in events for event in step for name in event))
    head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in ["step", *columns])
    rows = []
    for step, found in enumerate(events):
        for event in found:
            cells = "".join(_cell(event.get(name, "")) for name in columns)
            rows.append(f'<tr data-step="{step}"><th scope="row">{step}</th>{cells}</tr>')
    return (
        '<details><summary>Table of the events</summary><div class="labs-table" tabindex="0" role="group" '
        f'aria-label="Table of the events"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</div></details>"
    )


def _cell(value) -> str:
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    kind = ' class="labs-number"' if numeric else ""
    return f"<td{kind}>{html.escape(str(value))}</td>"
