"""Accumulation in few bits, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from labs.kit.gpu.numerics import GROUP, errors, product, rounded, sums_by_depth, truncated


@pytest.fixture(scope="module")
def deep():
    generator = np.random.default_rng(0)
    return generator.random((64, 1024)), generator.random((1024, 64))


def test_the_claim_of_the_lesson(deep):
    """K = 1024, uniform on [0, 1), largest relative error of an element."""
    good = errors(product(*deep, sums="float32"), *deep)
    bad = errors(product(*deep, sums="float16"), *deep)
    assert good["largest"] < 1e-5 and bad["largest"] > 1e-2
    assert bad["frobenius"] < bad["largest"]


def test_truncation_loses_a_little_and_always_downwards(deep):
    a, b = (rounded(each, "float16").astype(float) for each in deep)
    result, exact = product(*deep, sums="truncated"), a @ b
    assert (result < exact).all()
    assert errors(product(*deep), *deep)["largest"] < errors(result, *deep)["largest"] < 1e-5


def exact_sum(a, b, cut, group):
    """One element by exact fractions: the sum of each group, then `cut`."""
    total = Fraction(0)
    for k in range(0, len(a), group):
        for x, y in zip(a[k : k + group], b[k : k + group]):
            total += Fraction(float(x)) * Fraction(float(y))
        total = Fraction(float(cut(total)))
    return float(total)


@pytest.mark.parametrize("sums", ["float32", "float16", "bfloat16", "truncated"])
@pytest.mark.parametrize("inputs", ["float16", "bfloat16"])
def test_against_exact_fractions(inputs, sums):
    generator = np.random.default_rng(5)
    a, b = generator.normal(size=(3, 61)), generator.normal(size=(61, 2))
    left, right = rounded(a, inputs), rounded(b, inputs)
    cuts = {
        "float32": np.float32,
        "float16": np.float16,
        "bfloat16": lambda value: rounded(np.float64(value).reshape(1), "bfloat16")[0],
        "truncated": lambda value: truncated(np.float64(value).reshape(1))[0],
    }
    cut = lambda value: cuts[sums](np.float64(float(value)))
    expected = [
        [exact_sum(left[i], right[:, j], cut, GROUP if sums == "truncated" else 1) for j in range(2)] for i in range(3)
    ]
    assert np.array_equal(product(a, b, inputs=inputs, sums=sums), np.array(expected, np.float32))


def test_rounding_to_bfloat16():
    torch = pytest.importorskip("torch", reason="torch, the independent rounding, is not installed")
    generator = np.random.default_rng(1)
    values = (generator.normal(size=4000) * 10.0 ** generator.integers(-30, 30, 4000)).astype(np.float32)
    ties = np.array([1.00390625, 1.01171875, -1.00390625, 3.3895314e38, 3.4e38, np.inf, -np.inf, 0.0, -0.0], np.float32)
    values = np.concatenate([values, ties])
    assert np.array_equal(rounded(values, "bfloat16"), torch.from_numpy(values).bfloat16().float().numpy())
    assert np.isnan(rounded(np.array([np.nan]), "bfloat16")).all()


def test_truncated_goes_towards_zero():
    values = np.array([1 + 2.0**-25, 1 + 2.0**-23 - 2.0**-30, -1 - 2.0**-24 - 2.0**-40, 0.0, 2.0**-140])
    assert truncated(values).tolist() == [1.0, 1.0, -1.0, 0.0, 2.0**-140]


def test_depths_are_prefixes(deep):
    a, b = deep
    depths = [1, 16, 100, 1024]
    for sums in ("float16", "truncated"):
        for depth, result in zip(depths, sums_by_depth(a, b, depths, sums=sums)):
            assert np.array_equal(result, product(a[:, :depth], b[:depth], sums=sums))
    grown = [
        errors(each, a[:, :k], b[:k])["largest"] for k, each in zip(depths, sums_by_depth(a, b, depths, sums="float16"))
    ]
    assert grown == sorted(grown) and grown[-1] > 10 * grown[0]


def test_a_half_stops_growing():
    """The classic: 1 + 1 + ... in float16 stays at 2048, because 2049 lies halfway between two halves."""
    ones = np.ones((1, 4096)), np.ones((4096, 1))
    assert product(*ones, sums="float16").item() == 2048
    assert product(*ones, sums="bfloat16").item() == 256
    assert product(*ones, sums="float32").item() == 4096


def test_edges():
    assert product(np.zeros((2, 0)), np.zeros((0, 3))).tolist() == [[0, 0, 0]] * 2
    assert errors(np.zeros((2, 3)), np.zeros((2, 0)), np.zeros((0, 3))) == {"largest": 0.0, "frobenius": 0.0}
    assert product(np.array([[70000.0]]), np.array([[1.0]])).item() == np.inf, "halves end at 65504"
    with pytest.raises(ValueError, match="An M x K and a K x N matrix"):
        product(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Unknown kind of sum 'fp8'"):
        product(np.zeros((2, 2)), np.zeros((2, 2)), sums="fp8")
    with pytest.raises(ValueError, match="Unknown number type 'int8'"):
        product(np.zeros((2, 2)), np.zeros((2, 2)), inputs="int8")
    with pytest.raises(ValueError, match="Depths ascend"):
        list(sums_by_depth(np.zeros((2, 2)), np.zeros((2, 2)), [2, 1]))
    with pytest.raises(ValueError, match="Depths ascend"):
        list(sums_by_depth(np.zeros((2, 2)), np.zeros((2, 2)), [3]))
