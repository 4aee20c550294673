"""Turn a parameter, see the picture change: sliders around a pure function, and a static twin for pages without Python.

The function stays a plain function from values to a Picture, so that a test can call it. Where a kernel runs, the
explorer shows ipywidgets: a number box and a slider for each parameter, the picture, and the picture's words as a live
region. The book and a stored notebook show a player over a few settings instead.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence

from .knobs import Knob, knob
from .picture import Picture
from .player import MOST_FRAMES, Player, player
from .units import number

MOST_KEPT = 48  # pictures that are remembered, so that going back to a setting does not compute again
WIDGET = "application/vnd.jupyter.widget-view+json"


class Explorer:
    """A function of some parameters, its sliders, and the picture of their current values. Made by `explore`.

    Attributes
    ----------
    values : dict
        The current value of each parameter.
    picture : Picture
        What the function returns for them.
    """

    def __init__(self, function: Callable[..., Picture], label: str, knobs: Sequence[Knob], frames: Sequence[Mapping]):
        self.label = label
        self.knobs = {each.name: each for each in knobs}
        self.frames = tuple(dict(frame) for frame in frames)
        self._function = function
        self._drawn: dict[tuple, Picture] = {}
        self._view = None
        self.values = {name: each.start for name, each in self.knobs.items()}

    @property
    def picture(self) -> Picture:
        """The picture for the current values."""
        return self._at(self.values)

    def set(self, **values) -> Picture:
        """Turn some parameters, as moving their sliders does, and return the new picture.

        Raises
        ------
        ValueError
            If there is no such parameter, or the value is not one that it can have.
        """
        for name, value in values.items():
            if name not in self.knobs:
                raise ValueError(f"There is no slider {name!r}; there are {', '.join(self.knobs)}.")
            values[name] = self.knobs[name].check(value)
        self.values |= values
        if self._view is not None:
            self._view.show(self.values)
        return self.picture

    @property
    def widget(self):
        """The ipywidgets form (made at first use)."""
        if self._view is None:
            from .sliders import View

            self._view = View(self)
        return self._view.box

    @functools.cached_property
    def static(self) -> Player:
        """The twin without Python: a player over `frames`."""
        pictures = [self._at(frame) for frame in self.frames]
        said = [f"{self.setting(frame)}. {picture.alt}" for frame, picture in zip(self.frames, pictures)]
        rows = [[{self.knobs[name].label: value for name, value in frame.items()}] for frame in self.frames]
        return player(pictures, said, rows, label=self.label)

    def setting(self, values: Mapping) -> str:
        """The values in words: "world size 4, megabytes 100"."""
        return ", ".join(
            f"{self.knobs[name].label} {number(value, 6) if isinstance(value, float) else value}"
            for name, value in values.items()
        )

    def _at(self, values: Mapping) -> Picture:
        key = tuple(values[name] for name in self.knobs)
        if key not in self._drawn:
            picture = self._function(**dict(zip(self.knobs, key)))
            if not isinstance(picture, Picture):
                raise TypeError(
                    f"{self.label}: the explored function must return a Picture, not {type(picture).__name__}."
                )
            while len(self._drawn) >= MOST_KEPT:
                del self._drawn[next(iter(self._drawn))]
            self._drawn[key] = picture
        return self._drawn[key]

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        data = {"text/html": self.static.html, "text/plain": repr(self)}
        if can_show_widgets():
            data[WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return data

    def __repr__(self) -> str:
        return f"{self.label}: {self.setting(self.values)}. {self.picture.alt}"


def explore(
    function: Callable[..., Picture], *, label: str, frames: Sequence[Mapping] | None = None, **sliders
) -> Explorer:
    """Sliders around a function.

    Parameters
    ----------
    function : callable
        `function(**values) -> Picture`: pure, and at most about a second a call.
    label : str
        What is explored, as the accessible name.
    frames : list of dict, optional
        The settings that the static twin shows, 2 to 12; a parameter that is left out keeps its start. If not given,
        the first parameter goes from one end to the other in up to six steps.
    **sliders : (low, high, step, start) or list of values
        One for each parameter of the function. Whole numbers make a whole-number slider.

    Raises
    ------
    ValueError
        For a slider or a frame that does not fit.

    Notes
    -----
    With the environment variable LABS_STATIC=1 only the static twin is shown.
    """
    knobs = [knob(name, spec) for name, spec in sliders.items()]
    if not knobs:
        raise ValueError("Pass at least one slider, such as world_size=(2, 16, 1, 4).")
    start = {each.name: each.start for each in knobs}
    if frames is None:
        frames = [{knobs[0].name: value} for value in knobs[0].spread(6)]
    if not 2 <= len(frames) <= MOST_FRAMES:
        raise ValueError(f"The static twin shows 2 to {MOST_FRAMES} frames; got {len(frames)}.")
    by_name = {each.name: each for each in knobs}
    for frame in frames:
        for name, value in frame.items():
            if name not in by_name:
                raise ValueError(f"A frame sets {name!r}, but the sliders are {', '.join(by_name)}.")
            by_name[name].check(value)
    return Explorer(function, label, knobs, [{**start, **frame} for frame in frames])


def can_show_widgets() -> bool:
    """Whether this is a notebook whose widgets can reach Python, and LABS_STATIC=1 does not forbid them."""
    if os.environ.get("LABS_STATIC") == "1":
        return False
    try:
        import ipywidgets  # noqa: F401
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
