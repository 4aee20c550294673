"""The live form of an explorer in ipywidgets: a number box and a slider for each parameter, the picture, its words."""

from __future__ import annotations

import functools
import html
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explore import Explorer
    from .knobs import Knob


class View:
    """The widgets of one explorer, kept in step with its values.

    Attributes
    ----------
    box : ipywidgets.VBox
        What is shown.
    inputs : dict
        (number box or menu, slider) of each parameter.
    """

    def __init__(self, explorer: Explorer):
        import ipywidgets

        self._explorer = explorer
        self._quiet = False
        self.picture, self.say = ipywidgets.HTML(), ipywidgets.HTML()
        self.say.add_class("labs-explorer-say")
        title = ipywidgets.HTML(f'<b class="labs-explorer-title">{html.escape(explorer.label)}</b>')
        column = f"{16 + 8 * max(len(each.label) for each in explorer.knobs.values())}px"
        self.inputs = {name: _pair(each, column) for name, each in explorer.knobs.items()}
        rows = []
        for name, (box, slider) in self.inputs.items():
            for part in (box, slider):
                part.observe(functools.partial(self._moved, name), "value")
            row = ipywidgets.HBox([box, slider], layout={"flex_flow": "row wrap", "align_items": "center"})
            row.add_class("labs-explorer-row")
            rows.append(row)
        self.box = ipywidgets.VBox([title, *rows, self.picture, self.say, names()], layout={"max_width": "720px"})
        self.box.add_class("labs-explorer")
        self.show(explorer.values)

    def _moved(self, name: str, change) -> None:
        if self._quiet:
            return
        self._explorer.values[name] = change["new"]
        self.show(self._explorer.values)

    def show(self, values) -> None:
        """Set every input to `values` and draw their picture; a failure is told in words."""
        self._quiet = True
        try:
            for name, (box, slider) in self.inputs.items():
                box.value = slider.value = values[name]
        finally:
            self._quiet = False
        try:
            picture = self._explorer.picture
        except Exception as error:
            self.picture.value = ""
            self._tell(f"{self._explorer.setting(values)}: no picture. {type(error).__name__}: {error}")
            return
        self.picture.value = picture.html(salt="explorer")
        self._tell(f"{self._explorer.setting(values)}. {picture.alt}")

    def _tell(self, text: str) -> None:
        self.say.value = f'<div style="line-height:1.45">{html.escape(text)}</div>'


def names():
    """An ipywidgets.Output that names the sliders of every "labs-explorer" on the page by the labels beside them."""
    import ipywidgets

    # An Output may carry a script, which is the only way to give names to what ipywidgets leaves without.
    script = {"output_type": "display_data", "metadata": {}, "data": {"text/html": f"<script>{_script()}</script>"}}
    return ipywidgets.Output(outputs=(script,), layout={"height": "0", "overflow": "hidden"})


def _pair(knob: Knob, column: str):
    """A labelled number box (or menu) and a slider without text of its own."""
    import ipywidgets

    named = {
        "description": knob.label,
        "style": {"description_width": column},
        "layout": {"width": f"calc({column} + 110px)"},
    }
    plain = {"continuous_update": False, "readout": False, "tooltip": knob.label, "layout": {"width": "300px"}}
    if knob.choices:
        options = [(str(choice), choice) for choice in knob.choices]
        return (
            ipywidgets.Dropdown(options=options, value=knob.start, **named),
            ipywidgets.SelectionSlider(options=options, value=knob.start, **plain),
        )
    limits = {"min": knob.low, "max": knob.high, "step": knob.step, "value": knob.start}
    if knob.whole:
        return ipywidgets.BoundedIntText(**limits, **named), ipywidgets.IntSlider(**limits, **plain)
    return ipywidgets.BoundedFloatText(**limits, **named), ipywidgets.FloatSlider(**limits, **plain)


@functools.cache
def _script() -> str:
    text = files(__package__).joinpath("sliders.js").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    return "(function(){" + "\n".join(line for line in lines if line and not line.startswith("//")) + "})()"
