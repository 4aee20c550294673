"""What lesson 21 draws and measures: layouts and slabs against NumPy, sizes and real speeds, facts that hold."""

import numpy as np
import pytest

from labs.cpp_data_formats import bars, figures, formats, layout, mosaics, strips, widgets
from labs.kit.native.failures import CompileError, NoCompiler
from labs.kit.virtual.failures import RankFailed


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (4, 4), (1, 5), (5, 1)])
def test_a_layout_shows_what_numpy_sees(shape):
    numbers = np.arange(np.prod(shape))
    columns_first = numbers.reshape(shape, order="F")
    expected = {
        "row-major": numbers.reshape(shape),
        "column-major": columns_first,
        "column-major, transposed": columns_first.T,
    }
    for seen, matrix in expected.items():
        assert layout.matrix(numbers.tolist(), *shape, seen) == matrix.tolist()
        right = "These are the rows" in layout.picture(*shape, seen).alt
        assert right == np.array_equal(matrix, numbers.reshape(shape))


def test_slabs_are_drawn_with_what_nobody_reads_and_what_is_read_twice():
    text = "1\n22\n333\n"
    assert strips.lines_of(text) == [(0, 2), (2, 5), (5, 9)]
    assert strips.readers(text, [(0, 2), (1, 3), (5, 9)]) == [1, 2, 1, 0, 0, 1, 1, 1, 1]
    drawn = strips.picture(text, [(0, 2), (1, 3), (5, 9)])
    assert "read by nobody: bytes 3 to 5" in drawn.alt and "read twice: bytes 1 to 2" in drawn.alt
    assert "<svg" in drawn.svg()


def test_widgets_have_a_static_form():
    def slab(text, rank, world_size):
        return (0, len(text)) if rank == 0 else (len(text), len(text))

    for widget in (widgets.explore_layout(), widgets.explore_slabs(slab)):
        assert "<svg" in widget.static.html


def test_an_answer_that_is_not_solved_is_told_before_a_widget_stands():
    def slab(text, rank, world_size):
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        widgets.explore_slabs(slab)


def test_a_mosaic_names_its_colours():
    red = np.zeros((3, 2, 2))
    red[0] = 1
    assert "expected: first pixel #ff0000" in mosaics.picture({"expected": red}).alt


def test_points_stand_at_the_logarithms_of_their_values():
    place, ticks = bars._axis({"a": (1e6, 1e6), "b": (1e9, 1e9)}, 0.0, True)
    assert ticks == [1e6, 1e7, 1e8, 1e9]
    assert place(1e6) == pytest.approx(0) and place(1e7) == pytest.approx(place(1e9) / 3)


def test_each_reader_is_measured_or_named_as_missing(readers_built):
    found = formats.measure(rows=300, columns=4, repeats=1)
    for name in ("JSON, json", "CSV, numpy.loadtxt", "CSV, this lesson", ".npy, numpy"):
        assert name in found.seconds
    assert found.sizes["json"] > 2 * found.nbytes and found.sizes["npy"] < found.nbytes + 200
    speeds = list(found.speeds().values())
    assert speeds == sorted(speeds)
    for drawn in (figures.chart(found), figures.sizes_chart(found)):
        assert "<svg" in drawn.svg() and "json" in drawn.alt.lower()


def test_a_reader_that_returns_other_numbers_is_not_measured(monkeypatch):
    monkeypatch.setattr(formats, "contenders", lambda files: {"wrong": lambda: np.zeros((50, 4))})
    with pytest.raises(AssertionError, match="wrong returns other numbers"):
        formats.measure(rows=50, columns=4, repeats=1)


def test_what_people_say_holds_where_it_is_tested():
    pytest.importorskip("h5py", reason="h5py writes the files of these tests")
    told = figures.facts(rows=2000)
    assert [fact.claim.split(":")[0] for fact in told].count("HDF5") == 3
    assert all(fact.holds for fact in told), [fact for fact in told if not fact.holds]


def test_pandas_and_the_lesson_read_the_same_broken_files(readers_built, capsys):
    pytest.importorskip("pandas", reason="the lesson shows what pandas makes of broken files")
    figures.read_by_others(("plain.csv", "ragged_short.csv", "text_behind_quote.csv"))
    said = capsys.readouterr().out
    plain, short, quoted = said.split("\n")[2::3]
    assert plain.endswith("pandas: [[1, 2, 3], [4, 5, 6]]")
    assert "[4.0, 5.0, nan]" in short and quoted.endswith("[[12, 3]]")
    assert "here:   error: line 3, column 2 ('b'): the line ends after 2 fields: expected 3" in said


def test_a_cell_goes_on_where_something_is_missing(capsys):
    for missing, words in (
        (NoCompiler("no g++ here"), "no g++ here"),
        (NotImplementedError(), "Solve the exercise"),
        (RankFailed(2, "NotImplementedError", "not solved yet"), "Solve the exercise"),
        (RankFailed(0, "NoCompiler", "no g++ in a rank"), "no g++ in a rank"),
        (ModuleNotFoundError("No module named 'h5py'"), "h5py"),
    ):
        with figures.where_possible():
            raise missing
        assert words in capsys.readouterr().out
    for wrong in (CompileError("line 3"), ZeroDivisionError(), RankFailed(1, "ValueError", "its own mistake")):
        with pytest.raises(type(wrong)), figures.where_possible():
            raise wrong
