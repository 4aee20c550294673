"""Predictions: commit to a number before you see it. Never graded, and remembered."""

import html
import math
import os

from labs.kit.exercise import progress
from labs.kit.exercise.explain import clip, in_notebook
from labs.kit.exercise.markup import escape, inline, prose, shell
from labs.kit.exercise.scale import scale, with_unit

UNSET = "No prediction yet: choose a number above, then run this cell again."
"""What `Prediction.reveal` says to somebody who has not committed to a number."""


class Prediction:
    """A number that the learner commits to, with a slider and a number box; `predict` makes one.

    The value is None until the learner moves the slider or fills the box. It is kept in the learner's progress under
    `name`, so that it is still there when the notebook is opened again.
    """

    def __init__(self, question, unit="", *, low, high, start=None, step=None, log=False, name):
        low, high = float(low), float(high)
        if not (math.isfinite(low) and math.isfinite(high) and low < high) or (log and low <= 0):
            raise ValueError(
                f"Prediction {name!r}: low must be less than high" + (", and above 0 with log" if log else "")
            )
        self.question, self.unit, self.name = question, unit, name
        self.low, self.high, self.log = low, high, log
        middle = math.sqrt(low * high) if log else (low + high) / 2
        self.start = middle if start is None else min(max(float(start), low), high)
        self.step = float(step) if step else (high - low) / 200
        self._value = None if _static() else progress.recall(name)
        self._widget = None

    @property
    def value(self) -> float | None:
        """The prediction in `unit`, or None as long as there is none."""
        return self._value

    def set(self, value) -> None:
        """Commit to a number: what the slider and the box call, and what works without them."""
        value = float(value)
        if not math.isfinite(value):
            raise ValueError(f"A prediction is a finite number, not {value}.")
        self._value = value
        progress.remember(self.name, value)

    def reveal(self, truth, explanation="", accept=()) -> None:
        """Show the prediction beside the right value, with the reason; never a grade.

        Parameters
        ----------
        truth : float
            The right value, in the prediction's unit.
        explanation : str
            Why it is that; shown as text.
        accept : sequence of float, optional
            Other values that are right under other assumptions; say in the explanation which.
        """
        if self.value is None:
            print(UNSET)
            return
        words = self.compare(truth, accept)
        if not in_notebook():
            print("\n".join(filter(None, [words, explanation])))
            return
        from IPython.display import display

        picture = scale(self.low, self.high, self.value, [truth, *accept], self.unit, self.log, words)
        reason = f'<div class="lk-say">{prose(explanation)}</div>' if explanation else ""
        body = f'<p class="lk-question">{escape(words)}</p><div class="lk-picture">{picture}</div>{reason}'
        text = "\n".join(filter(None, [words, explanation]))
        display(
            {"text/html": shell("lk-told", f"Your prediction: {self.question}", body), "text/plain": text}, raw=True
        )

    def compare(self, truth, accept=()) -> str:
        """One sentence that puts the prediction beside the right value."""
        value, rights = self.value, [float(truth), *map(float, accept)]
        said, right = with_unit(value, self.unit), " or ".join(with_unit(number, self.unit) for number in rights)
        nearest = min(rights, key=lambda number: abs(number - value))
        if math.isclose(value, nearest, rel_tol=0.02, abs_tol=1e-12):
            return f"You said {said}, and it is {right}."
        if math.isclose(value, nearest, rel_tol=0.15):
            return f"You said {said}; it is {right}. Close."
        if value > 0 and nearest > 0:
            factor = max(value / nearest, nearest / value)
            side = "high" if value > nearest else "low"
            return f"You said {said}; it is {right}. That was {factor:.2g} times too {side}."
        return f"You said {said}; it is {right}."

    def widget(self):
        """The slider and its number box (ipywidgets), made once."""
        if self._widget is None:
            self._widget = _widget(self)
        return self._widget

    def _repr_mimebundle_(self, include=None, exclude=None):
        if _static():
            sentence = "In the notebook you commit to a number here."
            span = f"Between {with_unit(self.low, self.unit)} and {with_unit(self.high, self.unit)}."
            body = f'<p class="lk-question">{inline(self.question)}</p><p class="lk-say">{sentence} {escape(span)}</p>'
            return {
                "text/html": shell("lk-told", f"Prediction: {self.question}", body),
                "text/plain": f"{self.question}\n{sentence} {span}",
            }
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget().model_id}  # ipywidgets 7 and 8
        return {"application/vnd.jupyter.widget-view+json": view, "text/plain": repr(self)}

    def __repr__(self):
        said = "no prediction yet" if self.value is None else with_unit(self.value, self.unit)
        return f"Prediction({self.question!r}: {said})"


def predict(question, unit="", low=0.0, high=1.0, start=None, step=None, *, log=False, name) -> Prediction:
    """Ask the learner for a number; as a cell's last value it shows a slider with a number box beside it.

    Parameters
    ----------
    question : str
        What is to be predicted.
    unit : str
        Unit of the number: "ms", "GB/s", "" for a pure number.
    low, high : float
        Ends of the slider. The number box takes numbers beyond them.
    start : float, optional
        Where the slider stands at first (no prediction yet); the middle when left out.
    step : float, optional
        Step of the slider; ignored on a logarithmic one.
    log : bool
        Whether the slider is logarithmic.
    name : str
        Under which the prediction is remembered; unique in the course: "all_reduce.one_collector".

    Returns
    -------
    Prediction
    """
    return Prediction(question, unit, low=low, high=high, start=start, step=step, log=log, name=name)


def read_number(text) -> float | None:
    """The number somebody typed: "12", "1.5e-3", "1,000", "3 ms"; None where there is none."""
    text = text.strip().replace("\u2212", "-").replace(",", "").split(" ")[0]
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _static():
    """Whether notebooks are being stored for the book, where no slider would move."""
    return os.environ.get("LABS_STATIC", "") not in ("", "0")


def _widget(prediction):
    import ipywidgets as widgets

    from labs.kit.draw.sliders import names

    p = prediction
    at = p.start if p.value is None else min(max(p.value, p.low), p.high)
    common = {"readout": False, "layout": widgets.Layout(flex="1 1 220px", min_width="180px")}
    if p.log:
        ends = {"min": math.log10(p.low), "max": math.log10(p.high)}
        slider = widgets.FloatLogSlider(value=at, base=10, step=(ends["max"] - ends["min"]) / 200, **ends, **common)
    else:
        slider = widgets.FloatSlider(value=at, min=p.low, max=p.high, step=p.step, **common)
    slider.tooltip = p.question
    box = widgets.Text(
        value="" if p.value is None else f"{p.value:.4g}",
        placeholder="number",
        description="Your prediction",
        continuous_update=False,
        style={"description_width": "initial"},
        layout=widgets.Layout(width="200px"),
    )
    say = widgets.HTML(_status(p))
    moving = []  # the widget that is being changed by the other one, so that the change is not taken for the learner's

    def follow(widget, value):
        moving.append(widget)
        try:
            widget.value = value
        finally:
            moving.pop()

    def slid(change):
        if slider not in moving:
            p.set(float(f"{change['new']:.4g}"))
            follow(box, f"{p.value:.4g}")
            say.value = _status(p)

    def typed(change):
        if box in moving:
            return
        number = read_number(change["new"])
        if number is None:
            say.value = _said(f"“{clip(change['new'], 30)}” is not a number. Write one like 12 or 0.5.")
            return
        p.set(number)
        follow(slider, min(max(number, p.low), p.high))
        say.value = _status(p)

    slider.observe(slid, "value")
    box.observe(typed, "value")
    look = "font-size:16px;font-weight:600;line-height:1.4"
    title = widgets.HTML(f'<div class="labs-explorer-title" style="{look}">{html.escape(p.question)}</div>')
    ends = [
        widgets.HTML(f'<span style="opacity:.8">{html.escape(with_unit(end, p.unit))}</span>')
        for end in (p.low, p.high)
    ]
    row = [ends[0], slider, ends[1], box, widgets.HTML(html.escape(p.unit)), names()]
    line = widgets.HBox(row, layout=widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="2px 8px"))
    line.add_class("labs-explorer-row")
    all_of_it = widgets.VBox([title, line, say], layout=widgets.Layout(max_width="780px"))
    all_of_it.add_class("labs-explorer")  # by which `names` finds it
    return all_of_it


def _status(prediction):
    if prediction.value is None:
        return _said("No prediction yet. Move the slider or fill in the box; nobody grades it.")
    return _said(
        f"Noted: {with_unit(prediction.value, prediction.unit)}. You can change it until you run the next cell."
    )


def _said(text):
    return f'<div role="status" aria-live="polite">{html.escape(text)}</div>'
