"""The parts of the sorts against brute force: codes, pivots, plans of a swap, merge path, splitters."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labs.kit import ranks
from labs.multi_gpu_sort import codes, distributions
from labs.multi_gpu_sort.merging import cuts, merge_path
from labs.multi_gpu_sort.pivot import find_pivot
from labs.multi_gpu_sort.splitters import find_splitters
from labs.multi_gpu_sort.swaps import gives, plan_swap

SORTED = st.lists(st.integers(0, 6), max_size=12).map(sorted)


@pytest.mark.parametrize("dtype", codes.DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_codes_have_the_order_of_the_keys_and_go_back_to_their_bits(dtype, descending):
    bits = np.random.default_rng(0).integers(0, 256, 8000, dtype=np.uint8)
    keys = bits.view(dtype)
    if keys.dtype.kind == "f":
        keys = np.concatenate([keys[~np.isnan(keys)], np.array([0.0, -0.0, np.inf, -np.inf], dtype)])
    found = codes.encode(keys, descending)
    assert found.dtype.kind == "i" and found.dtype.itemsize == keys.dtype.itemsize
    assert codes.decode(found, dtype, descending).tobytes() == keys.tobytes()
    inorder = keys[np.argsort(found, kind="stable")]
    assert np.array_equal(inorder, np.sort(keys)[::-1] if descending else np.sort(keys))


def test_every_nan_comes_last_whatever_its_sign():
    keys = np.array([np.nan, -np.nan, np.inf, -np.inf], np.float32)
    keys[1] = np.copysign(np.nan, np.float32(-1))
    order = np.argsort(codes.encode(keys), kind="stable")
    assert list(order) == [3, 2, 0, 1]


@given(SORTED, SORTED)
def test_the_pivot_is_the_leftmost_that_separates_the_halves(a, b):
    pivot = find_pivot(a, b)
    tried = [
        p for p in range(min(len(a), len(b)) + 1)
        if max(a[: len(a) - p] + b[:p], default=-1) <= min(a[len(a) - p :] + b[p:], default=99)
    ]  # fmt: skip
    assert pivot == min(tried)


@given(st.lists(st.integers(0, 5), min_size=2, max_size=6), st.data(), st.sampled_from(["mirrored", "ordered"]))
def test_a_planned_swap_exchanges_exactly_the_tail_and_the_head(sizes, data, placement):
    middle = data.draw(st.integers(1, len(sizes) - 1))
    pivot = data.draw(st.integers(0, min(sum(sizes[:middle]), sum(sizes[middle:]))))
    moves = plan_swap(sizes, middle, pivot, placement)
    position = np.cumsum([0, *sizes])
    sent = [
        set(range(position[m.source] + m.start, position[m.source] + m.start + m.count)) for m in moves
    ]  # places in the whole
    everything = sorted(place for places in sent for place in places)
    half = position[middle]
    assert everything == list(range(half - pivot, half + pivot))
    for device, size in enumerate(sizes):
        assert gives(moves, device) == sum(m.count for m in moves if m.target == device) <= size
    assert all((m.source < middle) != (m.target < middle) for m in moves)
    for device in range(len(sizes)):  # what one device receives is one run of the other half, in order
        got = [
            place for m in moves if m.target == device
            for place in range(position[m.source] + m.start, position[m.source] + m.start + m.count)
        ]  # fmt: skip
        assert got == list(range(got[0], got[0] + len(got))) if got else True


def test_mirrored_partners_trade_as_many_keys_as_they_give():
    moves = plan_swap([4, 4, 4, 4], 2, 6, "mirrored")
    assert {(m.source, m.target): m.count for m in moves} == {(2, 1): 4, (1, 2): 4, (3, 0): 2, (0, 3): 2}


def test_an_unknown_placement_is_refused():
    with pytest.raises(ValueError, match='"mirrored" or "ordered"'):
        plan_swap([1, 1], 1, 1, "random")


@given(SORTED, SORTED, st.integers(1, 30), st.sampled_from(["int64", "float32"]))
def test_merge_path_merges_whatever_the_number_of_parts(a, b, parts, dtype):
    found = merge_path(np.array(a, dtype), np.array(b, dtype), parts)
    assert list(found) == sorted(a + b) and found.dtype == dtype


def test_merge_path_knows_a_key_from_the_end_of_a_run():
    """The largest integer and +inf are keys like others: a run that has ended must not be mistaken for them."""
    top = np.iinfo(np.int32).max
    for a, b in (([top], [top, top]), ([1], [top]), ([top], [1]), ([-np.inf, np.inf], [np.inf])):
        a, b = (np.array(keys, np.float64 if np.inf in a else np.int32) for keys in (a, b))
        for parts in (1, 2, 3, 5):
            assert np.array_equal(merge_path(a, b, parts), np.sort(np.concatenate([a, b])))


def test_merge_path_with_the_usual_number_of_parts():
    random = np.random.default_rng(0)
    a, b = (np.sort(random.integers(0, 500, n)) for n in (5003, 9001))
    assert np.array_equal(merge_path(a, b), np.sort(np.concatenate([a, b])))


@given(SORTED, SORTED)
def test_a_cut_takes_equal_keys_from_the_first_run(a, b):
    tagged = sorted([(key, 0) for key in a] + [(key, 1) for key in b])
    found = cuts(np.array(a, np.int64), np.array(b, np.int64), np.arange(len(tagged) + 1))
    assert list(found) == [sum(run == 0 for _, run in tagged[:diagonal]) for diagonal in range(len(tagged) + 1)]


def splitters_of(chunks, places, dist):
    return find_splitters(torch.from_numpy(chunks[dist.get_rank()]), places, dist)


@given(st.lists(st.lists(st.integers(-3, 3), max_size=6), min_size=1, max_size=3), st.data())
def test_splitters_cut_the_sorted_whole_at_the_asked_places(keys, data):
    chunks = [np.array(chunk, np.int32) for chunk in keys]
    whole = sorted(key for chunk in keys for key in chunk)
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=3))
    found = ranks.run(splitters_of, len(chunks), args=(chunks, places), trace=False).results
    for k, place in enumerate(places):
        below = sum(int((chunk < own[k].code).sum()) + own[k].ties_below for chunk, own in zip(chunks, found))
        assert below == place
        assert len({own[k].code for own in found}) == 1


@pytest.mark.parametrize("name", distributions.NAMES)
@pytest.mark.parametrize("dtype", codes.DTYPES)
def test_distributions_are_what_their_names_say(name, dtype):
    keys = distributions.draw(name, 4000, dtype, seed=3, world_size=4)
    assert keys.dtype == dtype and len(keys) == 4000
    assert np.array_equal(keys, distributions.draw(name, 4000, dtype, seed=3, world_size=4))
    steps = np.diff(keys.astype(float))
    if name == "sorted":
        assert (steps >= 0).all()
    if name == "reverse":
        assert (steps < 0).all()
    if name == "nearly sorted":
        assert 0 < (steps < 0).mean() < 0.05
    if name == "all equal":
        assert len(set(keys)) == 1
    if name == "zipf":
        assert (keys == keys.min()).mean() > 0.1
    if name == "staggered":  # no block holds its own keys
        order = np.argsort(np.argsort(keys, kind="stable")) * 4 // 4000
        assert (order == np.arange(4000) * 4 // 4000).mean() < 0.05
    if name == "normal":
        top = 2**30 if keys.dtype.kind in "iu" else 1.0
        assert 0.6 < np.mean(np.abs(keys / top - 0.5) < 0.125) < 0.76  # one standard deviation: 68 %
    assert len(distributions.draw(name, 0, dtype)) == 0
