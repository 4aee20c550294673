"""Every sort leaves the same keys in order, on virtual and on real ranks, and moves no more of them than it says."""

import itertools
import os

import numpy as np
import pytest

from labs.kit import ranks
from labs.multi_gpu_sort import codes, distributions
from labs.multi_gpu_sort.heterogeneous import heterogeneous_sort
from labs.multi_gpu_sort.merge_sort import merge_sort
from labs.multi_gpu_sort.radix_partition import radix_partition

SOAK = os.environ.get("LABS_SOAK") == "1"
SMALL = range(1000) if SOAK else (0, 1, 2, 3, 7, 8, 9, 31, 64, 100, 999)
LARGE = [1000 * i + k for i in range(1, 21) for k in range(-3, 3)] if SOAK else (1000, 4997, 20002)
SIZES = sorted({*SMALL, *LARGE})


def special(n, dtype, seed):
    """Keys that break sorts: infinities, extreme finite numbers, both zeros, NaN of both signs, subnormals, ties."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        odd = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, info.min, info.tiny / 2, 1, 1, -1]
    else:
        odd = [np.iinfo(dtype).max, np.iinfo(dtype).min, 0, 1, 1, np.iinfo(dtype).max - 1]
    return np.random.default_rng(seed).choice(np.array(odd, dtype), n)


def specs(world_size):
    """(kind, dtype, number of keys): all sizes; kinds and dtypes take turns, or all of them when soaking."""
    both = list(itertools.product((*distributions.NAMES, "special"), codes.DTYPES))
    for number, n in enumerate(SIZES):
        turn = [both[(7 * number + world_size) % len(both)], both[(11 * number + 3) % len(both)]]
        for kind, dtype in both if SOAK else turn:
            yield kind, dtype, n


def inputs(world_size):
    """Blocks of (kind, keys), small enough that all ranks' copies fit into memory."""
    for block in batched(specs(world_size), 450):
        yield [
            (kind, special(n, dtype, n) if kind == "special" else distributions.draw(kind, n, dtype, n, world_size))
            for kind, dtype, n in block
        ]


def batched(values, count):
    """Tuples of at most `count` values (itertools has it from Python 3.12 on)."""
    values = iter(values)
    while block := tuple(itertools.islice(values, count)):
        yield block


def slices(n, world_size):
    return [slice(n * rank // world_size, n * (rank + 1) // world_size) for rank in range(world_size)]


def sort_all(sort, arrays, options, dist):
    """Rank program: sort each of many arrays, so that many cases share the start of one run."""
    rank, size, found = dist.get_rank(), dist.get_world_size(), []
    for keys in arrays:
        if sort is heterogeneous_sort:
            mine = slice(None) if rank == size - 1 else slice(0, 0)
        else:
            mine = slice(len(keys) * rank // size, len(keys) * (rank + 1) // size)
        result = sort(keys[mine], dist, np.arange(len(keys))[mine], **options)
        found.append((result.keys, result.values, result.moved))
    return found


def check(name, keys, parts, *, stable, descending=False):
    """Sorted, the same multiset bit by bit, and every value with its key: NumPy is the judge."""
    keys_out = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    assert keys_out.dtype == keys.dtype, name
    right = np.sort(keys)[::-1] if descending else np.sort(keys)
    assert np.array_equal(keys_out, right, equal_nan=keys.dtype.kind == "f"), name
    assert np.array_equal(np.sort(values), np.arange(len(keys))), name
    assert np.array_equal(np.signbit(keys[values]) | np.isnan(keys_out), np.signbit(keys_out) | np.isnan(keys_out)), (
        name
    )
    assert np.array_equal(keys[values], keys_out, equal_nan=keys.dtype.kind == "f"), name
    if stable:
        same = codes.encode(keys_out)[1:] == codes.encode(keys_out)[:-1]
        assert np.all(values[1:][same] > values[:-1][same]), name


SORTS = [
    *[(merge_sort, size, {"placement": placement}) for size in (1, 2, 4, 8) for placement in ("mirrored", "ordered")],
    *[(radix_partition, size, {}) for size in range(1, 9)],
    *[(heterogeneous_sort, size, {}) for size in (2, 3, 4, 6)],
    (merge_sort, 4, {"descending": True}),
    (radix_partition, 3, {"descending": True}),
    (heterogeneous_sort, 3, {"descending": True}),
]


@pytest.mark.parametrize(
    ("sort", "world_size", "options"), SORTS, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_sorts_on_virtual_ranks(sort, world_size, options):
    for block in inputs(world_size):
        run = ranks.run(
            sort_all, world_size, args=(sort, [keys for _, keys in block], options), timeout=3600, trace=False
        )
        for index, (kind, keys) in enumerate(block):
            judge(sort, world_size, options, kind, keys, [result[index] for result in run.results])


def judge(sort, world_size, options, kind, keys, parts):
    """One array: sorted, complete, stable where that is promised, and no more keys moved than allowed."""
    name = f"{len(keys)} {kind} {keys.dtype}"
    stable = sort is not merge_sort or world_size < 4 or options.get("placement") == "ordered"
    check(name, keys, parts, stable=stable, descending=options.get("descending", False))
    if sort is not heterogeneous_sort:
        moved = sum(part[2] for part in parts)
        assert moved <= len(keys) * ((world_size - 1) if sort is merge_sort else 1), name
        assert [len(part[0]) for part in parts] == [len(keys[s]) for s in slices(len(keys), world_size)], name
        if kind == "all equal" or (kind == "sorted" and not options.get("descending")):
            assert moved == 0, name


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_real_ranks_give_the_same_keys_values_and_moves(world_size):
    sorts = [(radix_partition, {})]
    if world_size > 1:
        sorts.append((heterogeneous_sort, {}))
    if world_size in (1, 2, 4):
        sorts.append((merge_sort, {"placement": "mirrored"}))
    for block, (sort, options) in itertools.product(inputs(world_size), sorts):
        chosen = [keys for _, keys in block][:: 1 if SOAK else 2]
        virtual, real = (
            ranks.run(sort_all, world_size, args=(sort, chosen, options), on=fabric, timeout=600).results
            for fabric in ("virtual", "gloo")
        )
        for ours, theirs in zip(virtual, real):
            for (keys, values, moved), (real_keys, real_values, real_moved) in zip(ours, theirs):
                assert keys.tobytes() == real_keys.tobytes()
                assert np.array_equal(values, real_values) and moved == real_moved


@pytest.mark.parametrize(
    ("world_size", "placement", "passes"),
    [
        (2, "mirrored", 1),
        (4, "mirrored", 3),
        (8, "mirrored", 7),
        (2, "ordered", 1),
        (4, "ordered", 2),
        (8, "ordered", 3),
    ],
)
def test_reverse_input_moves_each_key_a_known_number_of_times(world_size, placement, passes):
    keys = distributions.draw("reverse", 16 * world_size, "int32")
    run = ranks.run(sort_all, world_size, args=(merge_sort, [keys], {"placement": placement}))
    assert sum(result[0][2] for result in run.results) == passes * len(keys)


def test_equal_keys_lose_their_order_when_blocks_are_mirrored_on_four_ranks():
    """The statement about stability is no caution: here is an input that shows it."""
    keys = np.array([9, 9, 9, 9, 1, 1, 1, 1], dtype=np.int32)
    mirrored, ordered = (
        np.concatenate(
            [
                result[0][1]
                for result in ranks.run(sort_all, 4, args=(merge_sort, [keys], {"placement": placement})).results
            ]
        )
        for placement in ("mirrored", "ordered")
    )
    assert list(ordered) == [4, 5, 6, 7, 0, 1, 2, 3]
    assert list(mirrored) != list(ordered) and sorted(keys[mirrored]) == list(keys[mirrored])


@pytest.mark.parametrize("world_size", [3, 5, 6, 7, 12])
def test_the_merge_sort_refuses_other_numbers_of_ranks_and_names_the_alternative(world_size):
    with pytest.raises(ranks.RankFailed, match="radix_partition sorts on any number") as caught:
        ranks.run(sort_all, world_size, args=(merge_sort, [np.arange(world_size)], {}))
    assert f"not {world_size}" in str(caught.value)


def uneven(sort, chunks, dist):
    return sort(chunks[dist.get_rank()], dist).keys


@pytest.mark.parametrize("sort", [merge_sort, radix_partition])
@pytest.mark.parametrize("sizes", [(5, 0), (0, 5), (1, 9, 0, 3), (100, 1, 1, 50), (0, 0, 0, 0)])
def test_ranks_may_bring_different_numbers_of_keys(sort, sizes):
    random = np.random.default_rng(sum(sizes))
    chunks = [random.integers(-9, 9, size).astype(np.int32) for size in sizes]
    run = ranks.run(uneven, len(sizes), args=(sort, chunks))
    assert [len(result) for result in run.results] == list(sizes)
    assert np.array_equal(np.concatenate(run.results), np.sort(np.concatenate(chunks)))


def test_an_unknown_dtype_is_refused_by_name():
    with pytest.raises(TypeError, match="float16; this sort knows int32"):
        codes.encode(np.ones(3, np.float16))
