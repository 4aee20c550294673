"""Exercise center_columns: see a row-major buffer as a matrix, and change it in place."""

from __future__ import annotations

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module


def cases(seed):
    rng = np.random.default_rng(seed)

    def case(title, numbers, rows, columns, part="correct"):
        return Case(title, {"numbers": np.array(numbers, dtype=float), "rows": rows, "columns": columns}, part)

    rows, columns = int(rng.integers(4, 8)), int(rng.integers(8, 12))
    drawn = rng.normal(size=rows * columns).round(3)
    return [
        case("2 rows of 3", [1, 2, 4, 11, 22, 44], 2, 3),
        case("3 rows of 2", [1, 20, 3, 50, 8, 110], 3, 2),
        case(f"{rows} rows of {columns}, drawn at random", drawn, rows, columns),
        case("4 rows of 4", np.arange(16) ** 2, 4, 4),
        case("one row: everything becomes 0", [3, 1, 4, 1, 5], 1, 5, "edge"),
        case("one column", [3, 1, 4, 1, 6], 5, 1, "edge"),
        case("one number", [7], 1, 1, "edge"),
        case("no rows at all", [], 0, 3, "edge"),
        case("300 rows of 70", rng.normal(size=21000), 300, 70, "edge"),
    ]


def run(answers, inputs):
    import numpy as np

    numbers = np.array(inputs["numbers"], dtype=np.float64)
    answers[0](numbers, inputs["rows"], inputs["columns"])
    return {"numbers": numbers}


def centered(table, axis=0):
    """`table` less its means along `axis`."""
    return table - table.mean(axis=axis, keepdims=True) if table.size else table


def _mistakes(numbers, rows, columns):
    """What the buffer holds after each mistake, by the hint that it deserves."""
    by_rows = numbers.reshape(rows, columns)
    sums = by_rows.sum(axis=0, keepdims=True)
    return {
        "copied": numbers,
        "column_major": centered(numbers.reshape(rows, columns, order="F")).ravel(order="F"),
        "swapped": centered(numbers.reshape(columns, rows)).ravel(),
        "row_means": centered(by_rows, 1).ravel(),
        "overall_mean": numbers - numbers.mean(),
        "wrong_count": (by_rows - sums / columns).ravel(),
        "sum_for_mean": (by_rows - sums).ravel(),
    }


_WORDS = {
    "copied": (
        "Your buffer is unchanged. Did you change the matrix, or a copy of it?",
        "A matrix that you make from a map, as in Rows m = map;, copies all numbers into memory of its own.",
        "Work on the Eigen::Map itself: it has no memory of its own. What you write into it stands in the buffer.",
    ),
    "column_major": (
        "You subtracted the means of columns, but of which matrix? Each colour below is one row of the file.",
        "Eigen::MatrixXd counts down the columns first. The file counts along the rows.",
        "Name the layout in the type: Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>.",
    ),
    "swapped": (
        "Your columns are as long as the file's rows. Did you transpose, or swap rows and columns?",
        "A map of another layout, transposed, has the shape columns x rows. Its rows are not the file's.",
        "Do not transpose. Tell Eigen::Map the layout that the memory has, and the shape (rows, columns).",
    ),
    "row_means": (
        "Each row of yours has the mean 0. Which means were to be subtracted?",
        "colwise() gives one result for each column, rowwise() one for each row.",
        "m.colwise().mean() is a row of means; m.rowwise() -= ... subtracts it from each row.",
    ),
    "overall_mean": (
        "You subtracted one number from all. How many means does a matrix with several columns have?",
        "m.mean() is the mean of everything. m.colwise().mean() has one for each column.",
    ),
    "wrong_count": (
        "Your means are sums divided by the number of columns. How many numbers stand in one column?",
        "As many as there are rows.",
    ),
    "sum_for_mean": (
        "You subtracted the sum of each column. What is missing for a mean?",
        "Divide by the number of rows, or ask Eigen for .mean().",
    ),
}


def verify(case, output):
    numbers, rows, columns = (case.inputs[name] for name in ("numbers", "rows", "columns"))
    got = output["numbers"]
    wanted = centered(numbers.reshape(rows, columns)).ravel()
    if np.allclose(got, wanted, rtol=1e-9, atol=1e-9):
        return
    evidence = (
        f"\nin memory before: {short(_told(numbers), 90)}, {rows} rows of {columns}"
        f"\nexpected after:   {short(_told(wanted), 90)}\nyours:            {short(_told(got), 90)}"
    )
    for hint, mistake in _mistakes(numbers, rows, columns).items():
        if np.allclose(got, mistake, rtol=1e-9, atol=1e-9):
            question, *then = _WORDS[hint]
            raise Wrong(hint, question + evidence, picture=_picture(hint, numbers, rows, columns), then=then)
    raise Wrong(
        "values",
        "Some numbers are not what they were less the mean of their column. Which column goes wrong first?" + evidence,
        then=("Number k of the buffer stands in row k / columns, column k % columns.",),
    )


def _told(numbers):
    return [float(f"{number:.4g}") for number in numbers]


def _picture(hint, numbers, rows, columns):
    seen = {"column_major": "column-major", "swapped": "column-major, transposed"}.get(hint)
    if seen is None or len(numbers) > 24:
        return None

    def drawn():
        from labs.cpp_data_formats import layout

        return layout.picture(rows, columns, seen, numbers, name="What your code took for the matrix")

    return drawn


def achieved(outputs):
    case, _ = outputs[2]
    return [("copies", "none: your map and NumPy's array are the same memory"), ("a case", case.title)]


center_columns = Exercise("center_columns", "Map row-major memory", 3, cases, run, verify, achieved=achieved)
