"""An explorer is a thin shell: its function gets the sliders' values, with a kernel and without."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.kit import draw
from labs.kit.draw.explore import WIDGET, can_show_widgets
from labs.kit.draw.knobs import knob


class Recorder:
    """A function to explore that notes its calls and draws as many chunks as asked."""

    def __init__(self):
        self.calls = []

    def __call__(self, size, share, kind):
        self.calls.append((size, share, kind))
        if kind == "broken":
            raise RuntimeError("no such kind")
        return draw.chunks([[1] * size], total=2, name=f"{kind} {share}")


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def explorer(recorder):
    return draw.explore(
        recorder, label="How many?", size=(1, 6, 1, 2), share=(0.0, 1.0, 0.25, 0.5), kind=["ring", "tree", "broken"],
        frames=[{"size": 1}, {"size": 3, "kind": "tree"}],
    )  # fmt: skip


def test_nothing_is_computed_before_it_is_shown(explorer, recorder):
    assert recorder.calls == []
    assert "by 2 chunks" in explorer.picture.alt and recorder.calls == [(2, 0.5, "ring")]
    assert "by 2 chunks" in explorer.picture.alt and len(recorder.calls) == 1, "a picture is drawn once"


def test_moving_a_slider_calls_the_function_and_changes_the_picture(explorer, recorder):
    assert explorer.widget is explorer.widget
    view = explorer._view
    assert recorder.calls == [(2, 0.5, "ring")] and "by 2 chunks" in view.say.value
    box, slider = view.inputs["size"]
    before = view.picture.value
    slider.value = 4
    assert recorder.calls[-1] == (4, 0.5, "ring") and explorer.values["size"] == 4
    assert box.value == 4, "the number box follows"
    assert view.picture.value != before and "<svg" in view.picture.value and "by 4 chunks" in view.picture.value
    assert "size 4, share 0.5, kind ring. ring 0.5: table" in view.say.value
    box.value = 5
    assert recorder.calls[-1] == (5, 0.5, "ring") and slider.value == 5, "the slider follows the box"
    view.inputs["share"][0].value = 0.75
    view.inputs["kind"][1].value = "tree"
    assert recorder.calls[-1] == (5, 0.75, "tree") and view.inputs["kind"][0].value == "tree"
    assert len(recorder.calls) == 5, "one call a move"


def test_every_input_is_labelled_and_sliders_wait_for_the_hand(explorer):
    assert explorer.widget
    for name, (box, slider) in explorer._view.inputs.items():
        assert box.description == name and slider.tooltip == name
        assert slider.continuous_update is False and slider.readout is False
    script = explorer._view.box.children[-1].outputs[0]["data"]["text/html"]
    assert "aria-label" in script and "noUi-handle" in script and "aria-live" in script


def test_a_failing_function_leaves_the_sliders_usable(explorer, recorder):
    assert explorer.widget
    view = explorer._view
    view.inputs["kind"][0].value = "broken"
    assert "no picture. RuntimeError: no such kind" in view.say.value and view.picture.value == ""
    view.inputs["kind"][0].value = "tree"
    assert "<svg" in view.picture.value


def test_set_moves_the_sliders_too(explorer):
    assert explorer.widget
    explorer.set(size=6, kind="tree")
    assert [part.value for part in explorer._view.inputs["size"]] == [6, 6]
    with pytest.raises(ValueError, match="goes from 1 to 6"):
        explorer.set(size=7)
    with pytest.raises(ValueError, match="one of ring, tree, broken"):
        explorer.set(kind="mesh")
    with pytest.raises(ValueError, match="no slider 'ranks'"):
        explorer.set(ranks=2)


def test_the_static_twin_shows_its_frames(explorer, recorder):
    twin = explorer.static
    assert recorder.calls == [(1, 0.5, "ring"), (3, 0.5, "tree")]
    assert twin.captions[1].startswith("size 3, share 0.5, kind tree. tree 0.5: table of 1 rank by 3 chunks")
    assert twin.events[1] == ({"size": 3, "share": 0.5, "kind": "tree"},)


def test_without_a_kernel_only_the_static_twin_is_shown(explorer):
    bundle = explorer._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/html"] == explorer.static.html
    assert bundle["text/plain"].startswith("How many?: size 2, share 0.5, kind ring. ring 0.5: table")


def test_with_a_kernel_the_widget_and_the_twin_are_shown(explorer, monkeypatch):
    monkeypatch.delenv("LABS_STATIC", raising=False)
    monkeypatch.setattr("IPython.get_ipython", lambda: type("Shell", (), {"kernel": object()})())
    bundle = explorer._repr_mimebundle_()
    assert bundle[WIDGET]["model_id"] == explorer.widget.model_id and "labs-player" in bundle["text/html"]
    monkeypatch.setenv("LABS_STATIC", "1")
    assert WIDGET not in explorer._repr_mimebundle_()
    assert can_show_widgets() is False


def test_frames_of_the_twin_run_over_the_first_slider(recorder):
    explorer = draw.explore(recorder, label="x", size=(1, 9, 1, 3), share=(0.0, 1.0, 0.5), kind=["ring", "tree"])
    assert [frame["size"] for frame in explorer.frames] == [1, 3, 4, 6, 7, 9]
    assert all(frame["share"] == 0.0 and frame["kind"] == "ring" for frame in explorer.frames)


@given(st.integers(-50, 50), st.integers(1, 60), st.integers(1, 7), st.integers(2, 12))
def test_spread_values_are_values_of_the_slider(low, width, step, most):
    high = low + width
    values = knob("n", (low, high, step, low)).spread(most)
    possible = range(low, high + 1, step)
    assert len(values) == min(most, len(possible)) and set(values) <= set(possible)
    assert values == sorted(set(values)) and values[0] == low
    assert len(values) == 1 or values[-1] == possible[-1]


@pytest.mark.parametrize(
    ("slider", "message"),
    [((5, 2, 1, 3), "low < high"), ((0, 5, 0, 3), "positive step"), ((0, 5, 1, 9), "start between"),
     ([1], "at least two values"), (3, "low, high, step, start"), ((1, 2), "low, high, step, start")],
)  # fmt: skip
def test_sliders_that_do_not_fit_are_explained(slider, message):
    with pytest.raises(ValueError, match=message):
        draw.explore(lambda n: None, label="x", n=slider)


def test_functions_and_frames_that_do_not_fit_are_explained():
    with pytest.raises(ValueError, match="at least one slider"):
        draw.explore(lambda: None, label="x")
    with pytest.raises(ValueError, match="A frame sets 'm'"):
        draw.explore(lambda n: None, label="x", n=(0, 3, 1, 0), frames=[{"m": 1}, {"n": 2}])
    with pytest.raises(ValueError, match="2 to 12 frames; got 1"):
        draw.explore(lambda n: None, label="x", n=(0, 3, 1, 0), frames=[{"n": 1}])
    with pytest.raises(TypeError, match="must return a Picture, not int"):
        assert draw.explore(lambda n: n, label="x", n=(0, 3, 1, 0)).picture


def test_exploring_imports_widgets_only_when_they_are_shown():
    code = (
        "import sys; from labs.kit import draw\n"
        "e = draw.explore(lambda n: draw.chunks([[n]]), label='x', n=(1, 3, 1, 1))\n"
        "assert e.static.html and 'ipywidgets' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
