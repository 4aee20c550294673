"""The documented layouts: each element has one place, and a warp that holds its tiles so computes the product."""

import numpy as np
import pytest

from labs.kit.gpu.fragments import FRAGMENTS, fragment, multiply

ALL = [(name, operand) for name, operands in FRAGMENTS.items() for operand in operands]


@pytest.mark.parametrize(("name", "operand"), ALL)
def test_a_layout_is_a_bijection(name, operand):
    part = FRAGMENTS[name][operand]
    assert part.lanes * part.slots == part.shape[0] * part.shape[1]
    seen = {tuple(map(int, part.place(lane, slot))) for lane in range(part.lanes) for slot in range(part.slots)}
    assert seen == {(row, column) for row in range(part.shape[0]) for column in range(part.shape[1])}
    for row, column in [(0, 0), (part.shape[0] - 1, part.shape[1] - 1), (3, 5)]:
        assert part.place(*part.where(row, column)) == (row, column)
    tile = np.arange(part.shape[0] * part.shape[1]).reshape(part.shape)
    assert np.array_equal(part.scatter(part.gather(tile)), tile)


def eight_by_eight(tile):
    """What ldmatrix gives each lane of an 8 x 8 tile of halves: row lane / 4, columns 2 (lane % 4) and the next."""
    return np.array([[tile[lane // 4, 2 * (lane % 4)], tile[lane // 4, 2 * (lane % 4) + 1]] for lane in range(32)])


def test_a_is_what_ldmatrix_loads():
    """The documented use of ldmatrix.x4 for A: four 8 x 8 tiles, down first, then to the right."""
    tile = np.arange(256).reshape(16, 16)
    quarters = [tile[row : row + 8, column : column + 8] for column in (0, 8) for row in (0, 8)]
    assert np.array_equal(fragment("A").gather(tile), np.hstack([eight_by_eight(part) for part in quarters]))


def test_b_is_what_ldmatrix_loads_of_its_transpose():
    tile = np.arange(128).reshape(16, 8)
    halves = [tile[row : row + 8].T for row in (0, 8)]
    assert np.array_equal(fragment("B").gather(tile), np.hstack([eight_by_eight(part) for part in halves]))


def brute_force(a, b, c):
    """mma.sync.m16n8k16 from the words of the PTX manual, one lane and one product at a time."""
    d = np.zeros((32, 4))
    for lane in range(32):
        group, member = lane >> 2, lane % 4
        for i in range(4):
            row, column = (group if i < 2 else group + 8), member * 2 + (i & 1)
            total = float(c[lane, i])
            for k in range(16):
                # A(row, k): the lane of the row's group whose pair of columns holds k, in the half k / 8.
                a_lane = (row % 8) * 4 + (k % 8) // 2
                a_slot = (k & 1) + (2 if row >= 8 else 0) + (4 if k >= 8 else 0)
                b_lane = column * 4 + (k % 8) // 2
                b_slot = (k & 1) + (2 if k >= 8 else 0)
                total += float(a[a_lane, a_slot]) * float(b[b_lane, b_slot])
            d[lane, i] = total
    return d


def test_mma_against_brute_force():
    generator = np.random.default_rng(7)
    a, b = (generator.integers(-8, 9, shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    c = generator.integers(-8, 9, (16, 8)).astype(np.float32)
    held = [fragment(name).gather(tile) for name, tile in zip("ABC", (a, b, c))]
    expected = brute_force(*held)
    assert np.array_equal(fragment("D").scatter(expected), a.astype(float) @ b.astype(float) + c)
    assert np.array_equal(multiply(*held), expected)


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16"])
def test_mfma_multiplies(name):
    """Outer products as the calculator lists them: lanes l and l + 16 (or 32) of A and B share a step of k."""
    generator = np.random.default_rng(3)
    parts = FRAGMENTS[name]
    a, b = (generator.integers(-8, 9, parts[which].shape).astype(np.float32) for which in "AB")
    held_a, held_b = parts["A"].gather(a), parts["B"].gather(b)
    size = a.shape[0]
    total = np.zeros((size, size))
    for first in range(0, 64, size):
        for slot in range(4):
            total += np.outer(held_a[first : first + size, slot], held_b[first : first + size, slot])
    assert np.array_equal(total, a @ b)
    c = np.zeros((64, parts["C"].slots), np.float32)
    assert np.array_equal(parts["C"].scatter(multiply(held_a, held_b, c, name)), a @ b)


def test_places_that_the_documents_print():
    assert [fragment("A").where(*at) for at in ((0, 0), (0, 1), (8, 0), (0, 8), (15, 15))] == [
        (0, 0), (0, 1), (0, 2), (0, 4), (31, 7)
    ]  # fmt: skip
    assert fragment("B").where(9, 3) == (12, 3) and fragment("C").where(9, 3) == (5, 3)
    assert [fragment("A").register(slot) for slot in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]
    amd = fragment("D", "v_mfma_f32_32x32x8_f16")
    # The calculator's table for D[i][j]: D[4][0] is in lane 32, register 0; D[8][1] in lane 1, register 4.
    assert amd.where(4, 0) == (32, 0) and amd.where(8, 1) == (1, 4) and amd.where(31, 31) == (63, 15)


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="Unknown operand 'E'"):
        fragment("E")
    with pytest.raises(ValueError, match="Unknown instruction 'wmma'"):
        fragment("A", "wmma")
    with pytest.raises(IndexError, match=r"\(16, 0\) lies outside A's tile of 16 x 16"):
        fragment("A").where(16, 0)
    with pytest.raises(ValueError, match="tile is 16 x 8"):
        fragment("B").gather(np.zeros((8, 16)))
    with pytest.raises(ValueError, match="32 lanes hold 4 elements"):
        fragment("C").scatter(np.zeros((4, 32)))
