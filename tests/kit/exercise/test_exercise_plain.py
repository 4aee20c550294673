"""Plain data: what goes in comes out with exact types, and hostile text does no harm."""

import base64
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labs.kit.exercise import plain

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f4", ">i8"]
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
leaves = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text() | arrays
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)


def same(a, b):
    """Equality with exact types, NaN equal to NaN, arrays in native byte order."""
    if isinstance(a, np.ndarray):
        return (
            type(b) is np.ndarray
            and b.dtype == a.dtype.newbyteorder("=")
            and a.shape == b.shape
            and a.astype(b.dtype).tobytes() == b.tobytes()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b or (isinstance(a, float) and a != a and b != b)


@settings(max_examples=150, deadline=None)
@given(values)
def test_round_trip(value):
    assert same(value, plain.decode(plain.encode(value)))


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=200)
    | st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.sampled_from(["$nd", "$d", "<f8", "|O", "AAAA", ""]),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["$nd", "$d", "$m", "x"]), inner, max_size=2)
        ),
        max_leaves=12,
    ).map(json.dumps)
)
def test_hostile_text_gives_plain_data_or_not_plain(text):
    def exact(value):
        if type(value) is list:
            return all(map(exact, value))
        if type(value) is dict:
            return all(type(key) in (str, int) and exact(item) for key, item in value.items())
        return value is None or type(value) in (bool, int, float, str, np.ndarray)

    try:
        assert exact(plain.decode(text))
    except plain.NotPlain:
        pass


def nd(dtype, shape, raw=b""):
    return json.dumps({"$nd": [dtype, shape, base64.b64encode(raw).decode()]})


@pytest.mark.parametrize(
    "text",
    [
        nd("|O", [1], b"A" * 8),
        nd("O", [1], b"A" * 8),
        nd("", [0]),
        nd("<U9", [0]),
        nd("<M8", [0]),
        nd("<f8,O", [1]),
        nd("<i8", [1 << 40, 0]),
        nd("<i8", [-1]),
        nd("<i8", [True], b"A" * 8),
        nd("<i8", [2], b"A" * 8),
        nd("<i8", [0] * 9),
        nd("<i8", "ab"),
        '{"$nd": ["<i8", [1], "not base64!"]}',
        '{"$nd": ["<i8", [1]]}',
        '{"$d": 3}',
        '{"$m": [[[1], 2]]}',
        '{"$m": [1]}',
        '{"a": 1, "b": 2}',
        "{}",
        '{"$x": 1}',
        "[" * 100_000,
        "[" * 30 + "]" * 30,
        "1" * 5000,
        "[" + "[]," * plain.MAX_ITEMS + "[]]",
        '"' + "x" * (plain.MAX_TEXT + 1) + '"',
        b"null",
        None,
    ],
    ids=lambda text: str(text)[:24],
)
def test_forged_text_is_refused(text):
    with pytest.raises(plain.NotPlain):
        plain.decode(text)


def test_forged_booleans_become_true_or_false():
    assert plain.decode(nd("|b1", [3], b"\x00\x01\x02")).view(np.uint8).tolist() == [0, 1, 1]


class AlwaysEqual(list):
    __eq__ = lambda self, other: True
    __hash__ = None


class Wily(np.ndarray):
    __eq__ = lambda self, other: np.bool_(True)
    __hash__ = None


@pytest.mark.parametrize(
    "value",
    [
        AlwaysEqual(),
        [AlwaysEqual()],
        type("I", (int,), {})(3),
        type("S", (str,), {})("x"),
        type("D", (dict,), {})(),
        {1, 2},
        b"x",
        1j,
        iter([]),
        object(),
        np.array([None]),
        np.array(["text"]),
        {(1, 2): 3},
        {True: 1},
        [10**5000],
        np.zeros(plain.MAX_TEXT + 1, np.int8),
        "x" * (plain.MAX_TEXT + 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_refused_in_words(value):
    with pytest.raises(plain.NotPlain) as caught:
        plain.encode(value)
    assert len(str(caught.value)) < 200


def test_too_deep_is_refused_and_a_circle_too():
    nested = []
    for _ in range(plain.MAX_DEPTH):
        nested = [nested]
    assert plain.copy(nested) == nested
    with pytest.raises(plain.NotPlain, match="too deeply"):
        plain.encode([nested])
    with pytest.raises(plain.NotPlain, match="too deeply"):
        plain.decode("[" * (plain.MAX_DEPTH + 2) + "]" * (plain.MAX_DEPTH + 2))
    circle = []
    circle.append(circle)
    with pytest.raises(plain.NotPlain):
        plain.encode(circle)


def test_subclasses_of_arrays_lose_their_tricks():
    got = plain.copy(np.zeros(3).view(Wily))
    assert type(got) is np.ndarray and not (got == 1).any()


def test_tuples_scalars_and_tensors_have_a_plain_form():
    assert plain.copy((1, (2.5, np.int32(3)), np.float32(0.5), np.bool_(True))) == [1, [2.5, 3], 0.5, True]
    got = plain.copy([torch.arange(3), torch.tensor([1.5], dtype=torch.bfloat16), torch.nn.Parameter(torch.ones(2))])
    assert [str(array.dtype) for array in got] == ["int64", "float32", "float32"]
    assert [array.tolist() for array in got] == [[0, 1, 2], [1.5], [1.0, 1.0]]


def test_a_copy_shares_nothing():
    original = {"x": np.arange(3), "y": [1]}
    other = plain.copy(original)
    other["x"][:] = 9
    other["y"].append(2)
    assert original["x"].tolist() == [0, 1, 2] and original["y"] == [1]
