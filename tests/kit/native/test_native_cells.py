"""Values that go to C++ and come back, lines of errors, and cells that cannot be called."""

import math
import pickle
import textwrap

import numpy as np
import pytest

from labs.kit.exercise import Case, Exercise, NotYet, Wrong
from labs.kit.native import CompileError
from labs.kit.native.arguments import parameter_names
from labs.kit.native.binding import parameters
from labs.kit.native.magic import parse_line, run_cell

PLAIN = r"""
int plus(int a, int b) { return a + b; }
double half(double x) { return x / 2; }
bool negate(bool x) { return !x; }
std::string shout(std::string_view text) { return std::string(text) + "!"; }
nb::bytes reverse(nb::bytes data) {
    std::string text(data.c_str(), data.size());
    std::reverse(text.begin(), text.end());
    return nb::bytes(text.data(), text.size());
}
std::vector<double> squares(std::vector<double> values) {
    for (double& value : values) value *= value;
    return values;
}
std::map<std::string, int> lengths(std::vector<std::string> words) {
    std::map<std::string, int> result;
    for (auto& word : words) result[word] = int(word.size());
    return result;
}
std::pair<int, double> both() { return {1, 0.5}; }
std::optional<int> maybe(bool some) { return some ? std::optional<int>(3) : std::nullopt; }
void nothing() {}
"""
ARRAYS = r"""
double total(lab::Vector<const double> values) {
    return std::accumulate(values.data(), values.data() + values.size(), 0.0);
}
void scale(lab::Matrix<double> values, double by) {
    for (size_t i = 0; i < values.size(); ++i) values.data()[i] *= by;
}
auto table(int rows, int columns) {
    auto made = lab::zeros<float>(rows, columns);
    for (int i = 0; i < rows * columns; ++i) made.data()[i] = float(i);
    return made;
}
auto filled(size_t n) { return lab::as_array(std::vector<double>(n, 2.0), n); }
double pick(nb::ndarray<const double, nb::ndim<2>, nb::device::cpu> a, int row, int column) { return a(row, column); }
double dot(std::vector<lab::Vector<const double>> pair) {
    return std::inner_product(pair[0].data(), pair[0].data() + pair[0].size(), pair[1].data(), 0.0);
}
double both_ends(lab::Vector<double> a, lab::Vector<double> b) { a.data()[0] = 5; return b.data()[0]; }
"""


@pytest.fixture
def plain(bind):
    return bind("plus half negate shout reverse squares lengths both maybe nothing", PLAIN)


@pytest.fixture
def arrays(bind):
    return bind("total scale table filled pick dot both_ends", ARRAYS)


def test_plain_values_go_and_come(plain):
    assert plain.plus(2, 3) == 5 and plain.plus(a=2, b=3) == 5
    assert plain.half(3) == 1.5 and math.isnan(plain.half(math.nan))
    assert plain.negate(True) is False
    assert plain.shout("Grüße") == "Grüße!"
    assert plain.reverse(b"ab\0c") == b"c\0ba"
    assert plain.squares([1, 2, 3]) == [1.0, 4.0, 9.0]
    assert plain.lengths(["one", "three"]) == {"one": 3, "three": 5}
    assert plain.both() == (1, 0.5)
    assert plain.maybe(True) == 3 and plain.maybe(False) is None
    assert plain.nothing() is None
    assert plain.plus(np.int64(2), np.int32(3)) == 5


@pytest.mark.parametrize("n", [0, 1, 70_000, (1 << 19) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_bytes_and_texts_of_any_length(plain, n):
    data = np.random.default_rng(n).bytes(n)
    assert plain.reverse(data) == data[::-1]
    assert plain.shout("ü" * n) == "ü" * n + "!"


@pytest.mark.parametrize("n", [0, 1, 3, 511, 512, 513, 200_000])
def test_arrays_go_and_come(arrays, n):
    values = np.random.default_rng(1).integers(0, 9, n).astype(float)
    assert arrays.total(values) == values.sum()
    np.testing.assert_array_equal(arrays.filled(n), np.full(n, 2.0))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (2, 3), (700, 400)])
def test_returned_arrays_own_their_memory(arrays, shape):
    made = arrays.table(*shape)
    assert made.dtype == np.float32 and made.flags.writeable
    arrays.table(*shape)
    np.testing.assert_array_equal(made, np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape))


def test_what_c_plus_plus_writes_comes_back(arrays):
    values = np.arange(6.0).reshape(2, 3)
    arrays.scale(values, 2)
    np.testing.assert_array_equal(values, 2 * np.arange(6.0).reshape(2, 3))
    assert arrays.scale.stats.copied_in == arrays.scale.stats.copied_back == 48
    arrays.total(values[0])
    assert arrays.total.stats.copied_back == 0
    arrays.scale(values[:1], 0)  # a part of an array
    np.testing.assert_array_equal(values, [[0, 0, 0], [6, 8, 10]])


def test_the_same_array_twice_is_one_array(arrays):
    values = np.ones(3)
    assert arrays.both_ends(values, values) == 5.0


def test_arrays_inside_lists_are_arrays(arrays):
    assert arrays.dot([np.arange(4.0), np.full(4, 2.0)]) == 12.0


@pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2]])
def test_layouts_keep_their_values(arrays, make):
    values = make(np.arange(12.0).reshape(3, 4))
    assert [arrays.pick(values, i, j) for i, j in [(0, 1), (2, 3), (1, 0)]] == [1.0, 11.0, 4.0]


def test_a_read_only_array_can_be_read_and_not_written(arrays):
    values = np.ones((2, 2))
    values.flags.writeable = False
    assert arrays.total(values[0]) == 2.0
    with pytest.raises(TypeError, match=r"scale\(values: ndarray\[dtype=float64.*shape \(2, 2\), read-only, 2 \(int\)"):
        arrays.scale(values, 2)


def test_an_array_that_would_have_to_be_converted_to_write_to_is_refused(arrays):
    with pytest.raises(TypeError, match=r"an array of float32, shape \(2, 2\), 2 \(int\)"):
        arrays.scale(np.ones((2, 2), np.float32), 2)
    with pytest.raises(TypeError, match="not in C order"):
        arrays.scale(np.asfortranarray(np.ones((2, 3))), 2)
    assert arrays.total(np.ones(3, np.float32)) == 3.0  # to read, a converted copy will do


def test_what_cannot_cross_is_named(plain):
    with pytest.raises(TypeError, match="a value of type function cannot go to C"):
        plain.plus(lambda: 1, 2)
    with pytest.raises(TypeError, match="array of Python objects"):
        plain.squares(np.array([object()]))
    with pytest.raises(TypeError, match=r"plus\(a: int, b: int\) -> int cannot take what it was given: 'x' \(str\), 2"):
        plain.plus("x", 2)
    assert plain.plus(1, 2) == 3


def test_exceptions_keep_their_kind_and_text(bind):
    cell = bind(
        "fail",
        """void fail(int which) {
            if (which == 0) throw std::invalid_argument("row 3, column 2: expected a number");
            if (which == 1) throw std::out_of_range("index 7");
            if (which == 2) throw std::runtime_error("Grüße");
            if (which == 3) throw nb::key_error("name");
            if (which == 4) throw 5;
            std::vector<double> huge(1ull << 50);
            printf("%p", (void*)huge.data());
        }""",
    )
    with pytest.raises(ValueError, match=r"^row 3, column 2: expected a number$"):
        cell.fail(0)
    with pytest.raises(IndexError, match=r"^index 7$"):
        cell.fail(1)
    with pytest.raises(RuntimeError, match=r"^Grüße$"):
        cell.fail(2)
    with pytest.raises(KeyError):
        cell.fail(3)
    with pytest.raises(Exception):  # noqa: B017  # no text is to be had from an int
        cell.fail(4)
    with pytest.raises(MemoryError, match=r"fail\(\) ran out of memory"):
        cell.fail(5)


def test_a_function_has_the_signature_and_the_source(plain):
    assert plain.plus.__name__ == "plus" and plain.plus.signature == "plus(a: int, b: int) -> int"
    assert plain.plus.source.text == PLAIN and "plus" in plain.plus.source.symbols
    assert plain.plus.source.language == "cpp" and not plain.plus.unsolved
    assert "plus(a: int" in plain.plus.__doc__ and repr(plain.plus) == "<C++ function plus>"
    assert pickle.loads(pickle.dumps(plain.plus))(4, 5) == 9


def test_figures_of_a_call(plain):
    plain.plus(1, 2)
    stats = plain.plus.stats
    assert 0 <= stats.seconds <= stats.call_seconds and stats.copied_in == 0


LINES = {
    "missing name": ("int f() {\n  return missing;\n}", 2),
    "after blank lines": ("\n\n\nint f() { return missing; }", 4),
    "behind a comment": ("/* one\n two */\nint f() { return missing; }", 3),
    "behind an include": ("#include <vector>\n#include <map>\nint f() {\n  return missing;\n}", 4),
    "no return": ("int f() {\n  int x = 1;\n}", 3),
    "in a template": ("template <class T> int g(T t) {\n  return t.size();\n}\nint f() { return g(1); }", 2),
    "carriage returns": ("int f() {\r\n  return missing;\r\n}", 2),
    "not ASCII": ("// Grüße, 世界\nint f() { return größe; }", 2),
}


@pytest.mark.parametrize("name", LINES)
def test_errors_name_the_line_of_the_cell(shared_parts, name):
    text, line = LINES[name]
    with pytest.raises(CompileError, match=f"line {line} of your cell: ") as caught:
        run_cell("f", text)
    assert caught.value.lines[0] == line


def test_other_slips_are_told(shared_parts):
    with pytest.raises(CompileError, match="names h, but the cell defines no function h"):
        run_cell("h", "int f() { return 1; } // h()")
    with pytest.raises(CompileError, match="several definitions"):
        run_cell("f", "int f(int a) { return 1; }\nint f(double a) { return 2; }")
    with pytest.raises(CompileError, match=r"other\(int\) is declared, but has no body"):
        run_cell("f", "int other(int);\nint f() { return other(1); }")


def test_unsolved_cells_need_no_compiler(monkeypatch, tmp_path, own_cache):
    monkeypatch.setenv("PATH", str(tmp_path))
    made = run_cell("f g", 'int f() {\n    #error "not solved yet"\n}\nint g();')
    assert made["f"].unsolved and made["g"].unsolved and not made["f"].unavailable
    with pytest.raises(NotImplementedError, match=r"^not solved yet$"):
        made["f"](1, 2)


def exercise():
    def run(answers, inputs):
        return answers[0](inputs["n"])

    def verify(case, output):
        if output != case.inputs["n"] + 1:
            raise Wrong("off_by_one", "What is one more?")

    cases = lambda seed: [Case(str(n), {"n": n}) for n in (1, 2)]
    return Exercise("f", "One more", 1, cases, run, verify)


def test_an_exercise_takes_it_as_an_answer(bind, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    assert exercise()(bind("f", "int f(int n) { return n + 1; }").f) is None
    for text, hint in (
        ("int f(int n) { return n; }", "off_by_one"),
        ('int f(int n) {\n#error "not solved yet"\n}', "unsolved"),
        ("int f(int n) { std::abort(); }", "error"),
    ):
        with pytest.raises(NotYet) as caught:
            exercise()(run_cell("f", text)["f"])
        wrong = caught.value.report.problem or next(o.wrong for o in caught.value.report.outcomes if o.wrong)
        assert wrong.hint == hint
    slow = run_cell("--timeout 0.3 f", "int f(int n) { volatile int i = 0; while (i == 0) {} return n; }")["f"]
    with pytest.raises(NotYet) as caught:
        exercise()(slow)
    assert caught.value.report.outcomes[0].wrong.hint == "timeout"


def test_without_a_compiler_the_notebook_goes_on(shared_parts, monkeypatch, tmp_path, own_cache, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    made = run_cell("f", "int f(int n) { return n + 1; }")
    assert "no C++ compiler was found" in capsys.readouterr().out
    assert exercise()(made["f"]) is None
    assert "Not checked here: One more." in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="no C"):
        made["f"](1)


@pytest.mark.parametrize(
    ("text", "function", "names"),
    [
        ("int f(int a, double b) {", "f", ("a", "b")),
        ("int f() {", "f", ()),
        ("std::vector<int> f(std::map<int, int> const& m, std::vector<int> v)\n{", "f", ("m", "v")),
        ("int f(int);\nint f(int later) {", "f", ("later",)),
        ("int f(int) {", "f", ()),
        ("auto f(int a = 3) -> int {", "f", ("a",)),
        ("int f(int a /* the first */, // and\n int b) {", "f", ("a", "b")),
        ("int g() { return f(x); }\nint f(int y) {", "f", ("y",)),
    ],
)
def test_names_of_parameters_are_read(text, function, names):
    assert parameters(text, function) == names


def test_names_of_parameters_in_signatures():
    array = "numpy.ndarray[dtype=float64, shape=(*, *), order='C']"
    text = f"def f(a: {array}, by: float, t: tuple[int, dict[str, int]]) -> int"
    assert parameter_names(text) == ("a", "by", "t")
    assert parameter_names("def f() -> None") == ()


def test_the_first_line_is_read():
    line = parse_line('--check --timeout 2.5 --flags "-O3 -march=native" one two')
    assert (line.names, line.check, line.seconds, line.flags) == (("one", "two"), True, 2.5, ("-O3", "-march=native"))
    assert parse_line("one, two, one").names == ("one", "two")
    for wrong in ("", "--check", "--timeout", "--timeout x f", "--timeout 0 f", "--fast f", "f(x)", "'f"):
        with pytest.raises(ValueError, match="names the functions that Python shall get"):
            parse_line(wrong)


def test_flags_and_standards(bind):
    assert bind('--flags "-DSEVEN=7 -std=c++17" f', "int f() { return SEVEN; }").f() == 7
    text = textwrap.dedent("""
        #include <span>
        double f(lab::Vector<const double> v) {
            double sum = 0;
            for (double x : std::span(v.data(), v.size())) sum += x;
            return sum;
        }""")
    assert bind("f", text).f(np.ones(4)) == 4.0


def test_another_locale_is_set_for_the_call_only(bind, tmp_path):
    cell = bind(
        "point parse",
        """#include <clocale>
std::string point() { return std::localeconv()->decimal_point; }
double parse(std::string text) { double value = 0; std::from_chars(text.data(), text.data() + text.size(), value);
    return value; }""",
    )
    assert cell.point() == "."
    for name in ("de_DE.UTF-8", "C.UTF-8"):
        other = cell.point.with_options(locale=name)
        try:
            assert other() == ("," if name.startswith("de") else ".")
        except ValueError as error:
            assert str(error) == f"the locale {name} is not installed on this machine"
        assert cell.point() == "."
    assert cell.parse.with_options(locale="C.UTF-8")("1.5") == 1.5
