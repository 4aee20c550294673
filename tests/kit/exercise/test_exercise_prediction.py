"""Predictions and questions without a kernel: values, sentences, scale, static form."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit.exercise import Question, predict, progress
from labs.kit.exercise.prediction import UNSET, read_number
from labs.kit.exercise.scale import scale, ticks, with_unit


def parts(prediction):
    """(slider, number box, status line) of the widget."""
    _, row, status = prediction.widget().children
    return row.children[1], row.children[3], status


def ask(**options):
    return predict("How long?", "ms", **{"low": 0, "high": 40, "name": "test.guess", **options})


def test_no_value_until_the_learner_moves_something():
    guess = ask(start=10)
    slider, box, status = parts(guess)
    assert guess.value is None and slider.value == 10 and box.value == "" and "No prediction yet" in status.value


def test_the_slider_sets_the_value_and_the_box():
    guess = ask()
    slider, box, status = parts(guess)
    slider.value = 12.5
    assert guess.value == 12.5 and box.value == "12.5" and "Noted: 12.5 ms" in status.value


def test_the_box_alone_is_enough_and_may_leave_the_range():
    guess = ask()
    slider, box, _ = parts(guess)
    box.value = "1,000 ms"
    assert guess.value == 1000 and slider.value == 40
    box.value = "0"
    assert guess.value == 0 and slider.value == 0


@pytest.mark.parametrize("text", ["soon", "", "nan", "inf", "<b>", "1 2 x y", "--3"])
def test_what_is_no_number_is_said_and_changes_nothing(text):
    guess = ask()
    slider, box, status = parts(guess)
    slider.value = 7
    box.value = text
    assert read_number(text) in (None, 1.0)
    if read_number(text) is None:
        assert guess.value == 7 and "not a number" in status.value and "<b>" not in status.value


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_numbers_are_read_back(value):
    assert read_number(f"{value!r}") == value and read_number(f" {value:,} ms") == value


def test_a_logarithmic_slider():
    guess = ask(low=1e-6, high=1, log=True)
    slider, box, _ = parts(guess)
    assert math.isclose(slider.value, 1e-3, rel_tol=1e-6)
    box.value = "0.01"
    assert guess.value == 0.01 and math.isclose(slider.value, 0.01, rel_tol=1e-9)
    with pytest.raises(ValueError, match="above 0"):
        ask(low=0, high=1, log=True)
    with pytest.raises(ValueError, match="low must be less"):
        ask(low=1, high=1)


def test_it_is_remembered_when_the_notebook_is_opened_again(monkeypatch):
    parts(ask())[0].value = 12
    again = ask()
    assert again.value == 12 and parts(again)[1].value == "12" and ask(name="test.other").value is None
    monkeypatch.setenv("LABS_STATIC", "1")
    assert ask().value is None
    monkeypatch.delenv("LABS_STATIC")
    progress.reset()
    assert ask().value is None


def test_a_stored_notebook_shows_words_in_place_of_the_slider(monkeypatch):
    monkeypatch.setenv("LABS_STATIC", "1")
    shown = ask()._repr_mimebundle_()
    assert set(shown) == {"text/html", "text/plain"}
    assert "In the notebook you commit to a number here. Between 0 ms and 40 ms." in shown["text/plain"]


def test_unset_prints_a_fixed_sentence_and_hides_the_truth(capsys):
    ask().reveal(12, "Because.")
    assert capsys.readouterr().out == UNSET + "\n"


@pytest.mark.parametrize(
    "said, truth, accept, words",
    [
        (12, 12, (), "You said 12 ms, and it is 12 ms."),
        (12.1, 12, (), "and it is 12 ms"),
        (13, 12, (), "Close."),
        (6, 12, [6], "You said 6 ms, and it is 12 ms or 6 ms."),
        (24, 12, (), "2 times too high"),
        (3, 12, [6], "2 times too low"),
        (0, 12, (), "You said 0 ms; it is 12 ms."),
        (-1, 12, (), "You said -1 ms; it is 12 ms."),
        (0, 0, (), "and it is 0 ms"),
    ],
)
def test_the_comparison_in_words(said, truth, accept, words, capsys):
    guess = ask()
    guess.set(said)
    assert words in guess.compare(truth, accept)
    guess.reveal(truth, "Because.", accept)
    assert words in capsys.readouterr().out


def test_only_finite_numbers_are_predictions():
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite"):
            ask().set(value)


values = st.floats(-1e7, 1e7)


@settings(max_examples=150, deadline=None)
@given(values, st.floats(1e-3, 1e6), values, st.lists(values, min_size=1, max_size=3), st.booleans())
def test_all_marks_lie_on_the_scale(low, span, guess, rights, log):
    picture = scale(low, low + span, guess, rights, "ms", log, "You said <this>.")
    assert "&lt;this&gt;" in picture and 'role="img"' in picture and "nan" not in picture
    for x in re.findall(r'(?:cx="|x="|d="M)(-?[\d.]+)', picture):
        assert 0 <= float(x) <= 640
    assert picture.count("right:") == len(rights) and picture.count("you:") == 1


def test_ticks_are_round_numbers():
    assert ticks(0, 40, False) == [0, 5, 10, 15, 20, 25, 30, 35, 40]
    assert ticks(1, 1000, True) == [1, 10, 100, 1000]
    assert with_unit(16384, "ranks") == "16,384 ranks" and with_unit(1.23456e-6, "") == "1.235e-06"


CHOICES = {"a": "twice as slow", "b": "half as slow", "c": "hardly slower"}
WHY = {"a": "Half as much each.", "b": "No rank sends less.", "c": "At most 2 S."}


@pytest.mark.parametrize(
    "answer, words",
    [
        (..., 'Not answered yet: write "a", "b" or "c" in place of the dots'),
        (None, "Not answered yet"),
        ("a", "Not a. Half as much each."),
        (" C ", "Right. At most 2 S."),
        ("d", "'d' is none of the choices."),
        (3, "3 is none of the choices."),
        ("<script>", "none of the choices"),
    ],
)
def test_questions_never_raise_and_always_explain(answer, words, capsys):
    question = Question("q", "Twice the ranks: the ring is …", CHOICES, "c", WHY)
    assert question(answer) is None
    out = capsys.readouterr().out
    assert words in out and "hardly slower" in out and "Twice the ranks" in out
    html = question._html(*question._verdict(answer))
    assert "<script>" not in html and 'role="status"' in html


@pytest.mark.parametrize("right, why", [("d", WHY), ("a", {"a": "only one"})])
def test_a_question_is_complete_or_refused(right, why):
    with pytest.raises(ValueError, match="q"):
        Question("q", "?", CHOICES, right, why)


def test_ipywidgets_7_as_on_colab_shows_the_slider_too(monkeypatch):
    """There, widgets display themselves by side effect and have no mime bundle."""
    import ipywidgets

    monkeypatch.delenv("LABS_STATIC", raising=False)
    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_")
    question = ask()
    shown = question._repr_mimebundle_()
    assert shown["application/vnd.jupyter.widget-view+json"]["model_id"] == question.widget().model_id
