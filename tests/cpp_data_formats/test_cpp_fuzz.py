"""Random structure and random damage: a right value, or a FormatError; never a crash, never other numbers."""

import json
import math
import random
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from labs.cpp_data_formats import readers
from labs.cpp_data_formats.errors import FormatError
from labs.cpp_data_formats.specimens import SPECIMENS

pytestmark = pytest.mark.usefixtures("readers_built")
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def identical(a, b):
    return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))


numbers = st.one_of(
    st.floats(),
    st.integers(-(2**53), 2**53).map(float),
    st.floats(-1000, 1000).map(lambda x: round(x, 3)),
)
decimals = st.from_regex(r"\A[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})(e[+-]?[0-9]{1,3})?\Z")
tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.lists(numbers, min_size=width, max_size=width), max_size=6)
)


@relaxed
@given(st.lists(st.one_of(decimals, numbers.map(repr)), min_size=1, max_size=20))
@example(
    ["123456789012345678.0", "0.1234567890123456789", "9007199254740993.0", "1e22", "1e23", "00000000000000000001.5"]
)
@example(
    [
        "12345678",
        "123456789",
        "1234567812345678.0",
        "0.12345678",
        "0.123456789",
        "12345678.12345678",
        "0.1234567812345678",
    ]
)
def test_a_number_is_that_of_python_or_an_error_that_says_why(folder, texts):
    path = folder / "number.csv"
    for text in texts:
        path.write_text(f"a\n{text}\n")
        expected = float(text)
        try:
            value = readers.read_csv(path, threads=1).values[0, 0]
        except FormatError as problem:
            digits = text.lower().partition("e")[0]
            if "beyond the largest" in str(problem):
                assert math.isinf(expected)
            elif "would make it 0" in str(problem):
                assert expected == 0 and any(c in digits for c in "123456789")
            else:
                assert "an integer beyond 2^53" in str(problem) and int(text) != int(expected)
        else:
            assert identical(value, expected), text
            assert not (text.lstrip("+-").isdigit() and int(text) != int(expected))


@relaxed
@given(tables, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans(), st.data())
def test_a_table_comes_back_as_it_was_written(folder, table, delimiter, end, final, header, data):
    if not table:
        return
    quote = lambda text: f'"{text}"' if data.draw(st.booleans()) else text
    lines = [delimiter.join(quote(repr(x)) for x in row) for row in table]
    if header:
        lines.insert(0, delimiter.join(f'"c{i}{delimiter}""{end}"' for i in range(len(table[0]))))
    path = folder / "table.csv"
    path.write_text(end.join(lines) + (end if final else ""), newline="")
    read = readers.read_csv(path, delimiter=delimiter, header=header, threads=2)
    assert read.values.shape == (len(table), len(table[0]))
    assert all(identical(a, b) for a, b in zip(read.values.ravel(), np.array(table).ravel()))
    assert read.names == (tuple(f'c{i}{delimiter}"{end}' for i in range(len(table[0]))) if header else ())


finite = st.floats(allow_nan=False, allow_infinity=False)
documents = st.recursive(
    st.none() | st.booleans() | finite | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@relaxed
@given(
    st.integers(0, 4).flatmap(lambda width: st.lists(st.lists(finite, min_size=width, max_size=width), max_size=5)),
    documents,
    st.booleans(),
)
def test_a_json_matrix_comes_back_beside_anything_else(folder, table, other, spaced):
    path = folder / "table.json"
    path.write_text(
        json.dumps(
            {"before": other, "data": table, "behind": [other]}, indent=2 if spaced else None, ensure_ascii=False
        )
    )
    matrix = readers.read_json(path, key="data")
    assert matrix.shape == (len(table), len(table[0]) if table else 0)
    assert all(identical(a, b) for a, b in zip(matrix.ravel(), (x for row in table for x in row)))


@relaxed
@given(documents, st.booleans())
def test_any_json_is_a_matrix_or_refused(folder, document, keyed):
    path = folder / "any.json"
    path.write_text(json.dumps(document, ensure_ascii=False))
    try:
        matrix = readers.read_json(path, key="data" if keyed else None, missing=0)
    except FormatError:
        return
    rows = document["data"] if keyed else document
    assert matrix.tolist() == [[0 if x is None else float(x) for x in row] for row in rows]


def damaged(content, draw):
    """A few bytes changed, cut out, doubled, or a piece of them moved."""
    content = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(content)) if content else 0
        kind = draw.randrange(5)
        if kind == 0 and content:
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 1 and content:
            content[at] = draw.choice(b'\x00\xff",;\r\n0\x7f\x80')
        elif kind == 2:
            del content[at : at + draw.randint(1, 20)]
        elif kind == 3:
            content[at:at] = content[at : at + draw.randint(1, 20)]
        else:
            del content[at:]
    return bytes(content)


@pytest.mark.parametrize("kind", [".csv", ".json", ".h5", ".npy", "image"])
def test_damaged_files_are_read_or_refused(folder, kind):
    from dataclasses import replace

    draw = random.Random(21)
    chosen = [
        s
        for s in SPECIMENS
        if (s.path.suffix if s.path.suffix in (".csv", ".json", ".h5", ".npy") else "image") == kind
    ]
    outcomes = {"read": 0, "refused": 0}
    for turn in range({".h5": 60}.get(kind, 400)):
        specimen = chosen[turn % len(chosen)]
        copy = folder / specimen.file
        copy.write_bytes(damaged(specimen.path.read_bytes(), draw))
        object.__setattr__(moved := replace(specimen), "file", str(copy))  # an absolute path replaces the folder
        try:
            assert isinstance(moved.read(), np.ndarray)
            outcomes["read"] += 1
        except (FormatError, MemoryError):
            outcomes["refused"] += 1
    assert outcomes["refused"] > 0, outcomes
