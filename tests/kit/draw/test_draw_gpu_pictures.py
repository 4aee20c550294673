"""Pictures of what a kernel does to memory, in words and in shapes; the numbers are computed here once more."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from labs.kit import draw
from labs.kit.draw.banks import served
from labs.kit.draw.races import conflicts
from labs.kit.gpu.fragments import FRAGMENTS, fragment

COALESCED = [4 * lane for lane in range(32)]
STRIDED = [8 * lane for lane in range(32)]
COLUMN = [128 * lane for lane in range(32)]
RACE = [(thread, thread, "store", 4) for thread in range(4)] + [(thread, thread + 1, "load", 5) for thread in range(3)]


def few():
    """Pictures of each kind of drawing, made anew."""
    return {
        "coalesced": draw.warp_addresses(COALESCED),
        "conflicts": draw.banks(COLUMN),
        "vector": draw.memory_heat([1, 2, 0, 3]),
        "races": draw.races(RACE),
        "tiles": draw.grid_of_blocks((3, 3), (16, 16), (40, 45)),
    }


def pictures():
    heat = [[(row * column) % 5 for column in range(12)] for row in range(8)]
    owners = [[row // 8 * 3 + column // 16 for column in range(48)] for row in range(32)]
    return few() | {
        "column": draw.warp_addresses(COLUMN, array="image"),
        "bytes": draw.warp_addresses(range(32), 1),
        "doubles": draw.warp_addresses(STRIDED, 8),
        "unaligned": draw.warp_addresses([8 * lane + 124 for lane in range(32)], 8),
        "one word": draw.warp_addresses([64] * 20 + [None] * 12),
        "banks": draw.banks(COALESCED),
        "broadcast": draw.banks([0] * 32),
        "heat": draw.memory_heat(heat, marks=[(2, 3)]),
        "owners": draw.memory_heat(np.ones((32, 48)), by=owners, op="written"),
        "large": draw.memory_heat(np.arange(300 * 700).reshape(300, 700) // 1000),
        "fragment": draw.fragment_lanes(*fragment("A").tables),
        "lane": draw.fragment_lanes(*fragment("C").tables, lane=17, letter="c", packed=1),
        "amd": draw.fragment_lanes(*fragment("C", "v_mfma_f32_32x32x8_f16").tables, letter="c", packed=1, lane=40),
        "roofline": draw.roofline(
            {"divide": (0.5, 3e11), "product": (300, 1.5e14), "best": (1, None)},
            flops={"float32": 19.5e12, "tensor cores": 312e12},
            bandwidth=1.55e12,
        ),
        "no race": draw.races([(0, 0, "load"), (1, 0, "load")]),
        "grid": draw.grid_of_blocks(4, 256, 1000),
        "many": draw.grid_of_blocks((100, 1), (256, 1), 25_000),
    }


@pytest.fixture(scope="module")
def drawn():
    return pictures()


def test_each_is_a_sound_svg_of_modest_size(drawn, check_svg):
    for name, picture in drawn.items():
        check_svg(picture)
        assert len(picture.svg()) < 60_000, name
        assert picture.width <= 520, name


def test_each_is_the_same_every_time(drawn):
    for name, picture in few().items():
        assert picture.svg() == drawn[name].svg()


@pytest.mark.parametrize(
    ("addresses", "size"),
    [
        (COALESCED, 4),
        (STRIDED, 4),
        (COLUMN, 4),
        (list(range(32)), 1),
        ([8 * i + 28 for i in range(32)], 8),
        ([64] * 32, 4),
    ],
)
def test_sectors_and_bytes_of_a_request(addresses, size, texts):
    sectors = {byte // 32 for start in addresses for byte in range(start, start + size)}
    wanted = {byte for start in addresses for byte in range(start, start + size)}
    alt = draw.warp_addresses(addresses, size, name="Here").alt
    noun = "sector" if len(sectors) == 1 else "sectors"
    share = f"{100 * len(wanted) / (32 * len(sectors)):.3g}%"
    assert alt.startswith(f"Here: 32 lanes ask for {size} B each")
    assert f"{len(sectors)} {noun} = {32 * len(sectors)} B moved, {len(wanted)} B wanted: {share}" in alt
    assert alt.split("B wanted")[0].split()[-1] in " ".join(texts(draw.warp_addresses(addresses, size)))


def test_lanes_are_written_into_their_bytes(texts, drawn):
    assert [text for text in texts(drawn["coalesced"]) if text.isdigit()] == [str(lane) for lane in range(32)]
    assert "0 to 31" in texts(drawn["bytes"]) and "×20" in texts(drawn["one word"])
    assert "22 more lines" in texts(drawn["column"]) and "31" in texts(drawn["column"])


def test_a_sample_of_a_profile_is_drawn_as_it_is():
    sample = SimpleNamespace(addresses=tuple(STRIDED), itemsize=8)
    assert draw.warp_addresses(sample).alt == draw.warp_addresses(STRIDED, 8).alt
    assert draw.banks(sample).alt == draw.banks(STRIDED, 8).alt


@pytest.mark.parametrize("size", [4, 8, 16])
def test_passes_over_the_banks_against_counting(size):
    generator = np.random.default_rng(size)
    for _ in range(30):
        lanes = {
            lane: int(word) * size
            for lane, word in enumerate(generator.integers(0, 200, 32))
            if generator.random() < 0.9
        }
        passes, ideal = served(lanes, size)
        expected, busy, group = 0, 0, 32 * 4 // size
        for first in range(0, 32, group):
            words = {
                lanes[lane] // 4 + part for lane in lanes if first <= lane < first + group for part in range(size // 4)
            }
            per_bank = [sum(word % 32 == bank for word in words) for bank in range(32)]
            expected += max(per_bank)
            busy += max(per_bank) > 0
        assert (len(passes), ideal) == (expected, busy)


def test_banks_say_who_waits(drawn):
    assert "1 pass where 1 would do. No bank conflict." in drawn["banks"].alt
    assert (
        "32 passes where 1 would do. Bank 0 is wanted for 32 different words, by lanes 0, 1, 2"
        in drawn["conflicts"].alt
    )
    assert "No bank conflict; lanes that want the same word get it together" in drawn["broadcast"].alt
    padded = [4 * 33 * lane for lane in range(32)]
    assert "No bank conflict" in draw.banks(padded).alt, "a row of 33 words: the usual cure"


def test_heat_counts(drawn, texts):
    table = np.array([[(row * column) % 5 for column in range(12)] for row in range(8)])
    alt = drawn["heat"].alt
    assert f"{(table > 0).sum()} elements are read, 1 to 4 times; {(table == 0).sum()} never" in alt
    assert f"{table.sum()} accesses in all" in alt and "Wrong: (2, 3)." in alt
    assert "wrong" in texts(drawn["heat"]) and texts(drawn["heat"]).count("4") >= (table == 4).sum()
    assert "Drawn in tiles of 16 x 16 elements" in drawn["large"].alt
    assert "4 elements. 3 elements are read" in drawn["vector"].alt
    assert {str(block) for block in range(12)} <= set(texts(drawn["owners"])), "each block's number stands in its part"
    assert "none is read" in draw.memory_heat([[0, 0]]).alt


@pytest.mark.parametrize(("instruction", "operand"), [(n, o) for n, parts in FRAGMENTS.items() for o in parts])
def test_fragments_say_where_a_lane_is(instruction, operand, texts):
    part = fragment(operand, instruction)
    lane = part.lanes - 3
    picture = draw.fragment_lanes(*part.tables, lane=lane, letter="x", packed=part.packed, name=instruction)
    for slot in range(part.slots):
        row, column = map(int, part.place(lane, slot))
        assert f"x{slot} is ({row}, {column})" in picture.alt
    assert f"in {part.slots // part.packed} registers" in picture.alt
    assert texts(picture).count(str(lane)) >= part.slots


def test_roofline_says_what_binds(drawn, texts):
    alt = drawn["roofline"].alt
    assert f"bandwidth-bound below {312e12 / 1.55e12:.0f} FLOP/B" in alt
    assert (
        f"divide: 0.5 FLOP/B, reaches 300 GFLOP/s, {100 * 3e11 / (0.5 * 1.55e12):.0f}% of its roof, bandwidth-bound"
        in alt
    )
    assert "product: 300 FLOP/B, reaches 150 TFLOP/s, 48% of its roof, compute-bound" in alt
    assert "best: 1 FLOP/B, at best 1.55 TFLOP/s, bandwidth-bound" in alt
    assert {"memory 1.55 TB/s", "tensor cores 312 TFLOP/s", "rate", "intensity in FLOP/B"} <= set(
        texts(drawn["roofline"])
    )


def test_races_are_pairs_that_nothing_orders(drawn):
    found = conflicts(RACE)
    assert [(one[0], other[0], one[1]) for one, other in found] == [(1, 0, 1), (2, 1, 2), (3, 2, 3)]
    assert (
        "3 elements with a race: thread 1 writes s[1] in line 4, and thread 0 reads s[1] in line 5"
        in drawn["races"].alt
    )
    assert "No two of them race" in drawn["no race"].alt
    assert conflicts([(0, 0, "atomic", 1), (1, 0, "atomic", 1)]) == []
    assert len(conflicts([(0, 0, "atomic", 1), (1, 0, "load", 2)])) == 1
    assert conflicts([(0, 0, "store", 1), (0, 0, "load", 2)]) == [], "a thread does not race with itself"


def test_a_finding_of_a_profile_is_drawn_as_it_is():
    access = lambda thread, op, line, block=(0, 0, 0): SimpleNamespace(block=block, thread=thread, op=op, line=line)
    finding = SimpleNamespace(
        array="tile", index=(3,), first=access((3, 0, 0), "store", 4), second=access((2, 0, 0), "load", 6)
    )
    alt = draw.races(finding).alt
    assert "thread 3 writes tile[3] in line 4, and thread 2 reads tile[3] in line 6" in alt
    between = SimpleNamespace(
        array="out", index=(1, 2), first=access((0, 0, 0), "store", 4), second=access((0, 0, 0), "store", 4, (1, 0, 0))
    )
    alt = draw.races(between).alt
    assert "thread 0 writes out[1, 2] in line 4, and thread 1 writes out[1, 2] in line 4" not in alt
    assert "thread 0 of block 1 writes out[1, 2]" in alt


def test_grids_say_how_many_threads_are_left_over(drawn):
    assert "1,024 threads for 1,000 elements. 24 threads fall outside" in drawn["grid"].alt
    assert (
        f"{48 * 48:,} threads for {40 * 45:,} elements. {48 * 48 - 40 * 45} threads fall outside" in drawn["tiles"].alt
    )
    assert "they fit exactly" in draw.grid_of_blocks(4, 256, 1024).alt
    assert "500 elements have no thread of their own" in draw.grid_of_blocks(2, 250, 1000).alt


def test_they_work_with_sliders():
    explorer = draw.explore(
        lambda stride: draw.warp_addresses([4 * stride * lane for lane in range(32)]),
        label="Stride", stride=(1, 32, 1, 1), frames=[{"stride": 1}, {"stride": 2}, {"stride": 32}],
    )  # fmt: skip
    assert "4 sectors" in explorer.picture.alt and "8 sectors" in explorer.set(stride=2).alt
    html = explorer.static.html
    assert html.count("<svg") == 3 and "32 sectors = 1024 B moved" in html
    ids = re.findall(r'id="([^"]+)"', html)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw.warp_addresses(range(33)), "A warp has 32 lanes; got 33"),
        (lambda: draw.warp_addresses([None] * 32), "No lane takes part"),
        (lambda: draw.banks([0, -4]), "Lane 1 has address -4"),
        (lambda: draw.memory_heat([]), "counts needs one row"),
        (lambda: draw.memory_heat([[1], [1, 2]]), "of the same length"),
        (lambda: draw.memory_heat([[1, 2]], by=[[1]]), "shape of counts"),
        (lambda: draw.memory_heat([[1, 2]], marks=[(0, 2)]), r"\(0, 2\) lies outside an array of 1 x 2"),
        (lambda: draw.fragment_lanes([[0]], [[0, 1]]), "tables of the same shape"),
        (lambda: draw.fragment_lanes([[0]], [[0]], lane=2), "Lane 2 holds nothing"),
        (lambda: draw.roofline({"a": (0, 1)}, flops=1, bandwidth=1), "must be positive"),
        (lambda: draw.roofline({}, flops=0, bandwidth=1), "The roof 'peak' must be a positive"),
        (lambda: draw.races([]), "no access"),
        (lambda: draw.races([(0, 0, "read")]), "Unknown operation 'read'"),
        (lambda: draw.grid_of_blocks(0, 1, 1), "grid needs positive numbers"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
