"""Exercise json_matrix (extension): a matrix from JSON, strictly."""

from __future__ import annotations

import json
import re

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, text, shows="plain", part="correct"):
        return Case(title, {"text": text, "shows": shows}, part)

    rows, columns = int(rng.integers(3, 6)), int(rng.integers(6, 9))
    drawn = json.dumps(rng.normal(size=(rows, columns)).tolist())
    return [
        case("2 rows of 3", "[[1, 2.5, -3e2], [4, 5, 6]]"),
        case(f"{rows} rows of {columns}, drawn at random", drawn),
        case("one row", "[[1, 2, 3]]"),
        case("a short row", "[[1, 2], [3], [5, 6]]", "short"),
        case("a long row", "[[1, 2], [3, 4], [5, 6, 7]]", "long"),
        case("null among the numbers", "[[1, 2], [3, null]]", "null"),
        case("a number in quotes", '[[1, "2"], [3, 4]]', "text"),
        case("true among the numbers", "[[1, 2], [true, 4]]", "true"),
        case("2^53 + 1, which no float64 holds", "[[9007199254740993, 1]]", "integer"),
        case("NaN, which JSON does not have", "[[1, NaN]]", "syntax"),
        case("a comma too many", "[[1, 2], [3, 4],]", "syntax"),
        case("no rows", "[]", "empty", "edge"),
        case("rows without numbers", "[[], []]", "empty", "edge"),
        case("an object where rows should be", '{"rows": [[1, 2]]}', "object", "edge"),
        case("a number where a row should be", "[[1, 2], 3]", "object", "edge"),
        case("2^53, which is exact", "[[9007199254740992, -9007199254740992, 4503599627370497]]", part="edge"),
        case("2^64 - 1, the largest that nlohmann keeps whole", "[[1, 18446744073709551615]]", "unsigned", "edge"),
        case("text behind the matrix", "[[1, 2]] [[3, 4]]", "syntax", "edge"),
    ]


def run(answers, inputs):
    try:
        values = answers[0](inputs["text"])
    except (ValueError, IndexError, OverflowError) as error:
        return {"refused": str(error)}
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # NotImplementedError, or a crash
            raise
        return {"refused": str(error)}
    return {"values": values}


def right(text):
    """The matrix, or the place of what is refused: (row, column), from 1; (0, 0) where the text is no JSON."""

    def refuse(_):
        raise ValueError

    try:
        rows = json.loads(text, parse_constant=refuse)
    except ValueError:
        return None, (0, 0)
    if type(rows) is not list:
        return None, (0, 0)
    for i, row in enumerate(rows, start=1):
        if type(row) is not list or len(row) != len(rows[0]):
            return None, (i, 0)
        for j, number in enumerate(row, start=1):
            exact = type(number) is float or (type(number) is int and int(float(number)) == number)
            if not exact:
                return None, (i, j)
    return np.array(rows, dtype=float).reshape(len(rows), len(rows[0]) if rows else 0), None


_ACCEPTED = {
    "short": (
        "ragged",
        "A row is shorter than the first, and you returned a matrix. What stands where its numbers are missing?",
        "Compare the length of every row with that of the first.",
    ),
    "long": (
        "rest_of_row",
        "A row is longer than the first. What became of its last number?",
        "Compare the length of every row with that of the first: != and not <.",
    ),
    "null": (
        "null_is_zero",
        "null became a number. Is a measurement that is missing a measurement of 0?",
        "Ask is_number() first, and throw unless it is one.",
    ),
    "text": (
        "text_number",
        'The text "2" became the number 2. Who else will read this file, and will they do the same?',
        "JSON tells text and numbers apart. Take only is_number().",
    ),
    "true": ("true_is_one", "true became 1. Did the file say 1?", "Take only is_number()."),
    "integer": (
        "beyond_2_53",
        "9007199254740993 became 9007199254740992. Would you notice, if it were the number of a customer?",
        "float64 holds every integer up to 2^53 = 9007199254740992, and then every second one.",
        "For is_number_integer(): compare it with 2^53 and -2^53, and throw beyond.",
    ),
    "unsigned": (
        "signed_compare",
        "18446744073709551615 got through, although it is far beyond 2^53. As what did your comparison see it?",
        "nlohmann keeps an integer from 0 on as unsigned. Compared with a signed number it is taken for signed, and"
        " 2^64 - 1 is -1 then.",
        "Where value.is_number_unsigned(): compare value.get<std::uint64_t>() with 1ULL << 53.",
    ),
    "syntax": (
        "not_json",
        "This is not JSON, and you returned a matrix. What did you not look at?",
        "json::parse(text) looks at all of it, and throws.",
    ),
    "object": (
        "not_rows",
        "Here are no rows, and you returned a matrix. What did you take for them?",
        "Ask is_array().",
    ),
}


def verify(case, output):
    text, shows = case.inputs["text"], case.inputs["shows"]
    wanted, place = right(text)
    known = f"\ntext: {short(text, 90)}"
    if "refused" in output:
        _refused(output["refused"], shows, place, known)
        return
    got = output["values"]
    if place is not None:
        usual = ("accepted", "Your function returns a matrix for a text that holds none. What is wrong with the text?")
        hint, question, *then = _ACCEPTED.get(shows, usual)
        raise Wrong(hint, f"{question}{known}\nyours: {short(_told(got), 90)}", then=then)
    if type(got) is not np.ndarray or got.ndim != 2 or got.dtype != np.float64:
        raise Wrong("shape", f"A matrix of float64 with two axes is due. What does yours have?{known}")
    evidence = f"{known}\nexpected {short(_told(wanted), 90)}\nyours    {short(_told(got), 90)}"
    if got.shape == wanted.shape and np.array_equal(got, wanted):
        return
    if got.shape == wanted.shape and np.array_equal(got.ravel(), wanted.ravel(order="F")):
        raise Wrong(
            "column_by_column",
            "Your numbers stand in the wrong places. In which order did you fill the memory?" + evidence,
            picture=_picture(got, wanted),
            then=("Row after row: the number in row i, column j belongs at i * columns + j.",),
        )
    raise Wrong("values", "The matrix differs from the text. Which number goes wrong first?" + evidence)


def _refused(said, shows, place, known):
    said = f"\nyour error: {short(said or '(without a text)', 120)}"
    if place is None:
        if shows == "empty":
            raise Wrong(
                "first_row",
                "A matrix without numbers is a matrix. How many columns has it, when there is no first row?"
                + known
                + said,
                then=("Without rows the shape is (0, 0). Look at rows[0] only when there is one.",),
            )
        raise Wrong("refused", "Your function refuses a good matrix. What did it not like?" + known + said)
    row, column = place
    missing = [word for word, number in (("row", row), ("column", column)) if number and not _names(said, word, number)]
    if (
        missing
        and not any(number == 1 for number in place)
        and any(_names(said, word, number - 1) for word, number in (("row", row), ("column", column)) if number)
    ):
        raise Wrong(
            "counts_from_zero",
            f"Your error counts from 0, and the bad place is in row {row}. From where do people count?" + known + said,
            then=('Write i + 1 and j + 1: "row " + std::to_string(i + 1).',),
        )
    if missing:
        due = f"row {row}" + (f" and column {column}" if column else "")
        raise Wrong(
            "no_place",
            "Your error does not say where. Who will look for it in a million numbers?"
            + known
            + said
            + f"\nexpected an error that names {due}",
            then=(
                'Write "row 2, column 3" into the text of the exception, both from 1.',
                'throw std::invalid_argument("row " + std::to_string(i + 1) + ", column " + std::to_string(j + 1));',
            ),
        )


def _names(said, word, number):
    return re.search(rf"\b{word} {number}\b", said)


def _told(values):
    return values.tolist() if type(values) is np.ndarray else values


def _picture(got, wanted):
    if got.size > 24:
        return None

    def drawn():
        from labs.cpp_data_formats import layout

        rows, columns = wanted.shape
        return layout.picture(
            rows, columns, "column-major", wanted.ravel(), name="The numbers of the text, as you filled in"
        )

    return drawn


def achieved(outputs):
    return [("texts refused", str(sum("refused" in output for _, output in outputs))), ("silent zeros", "none")]


json_matrix = Exercise(
    "json_matrix", "Read a JSON matrix strictly", 2, cases, run, verify, core=False, achieved=achieved
)
