"""The classic races are found and named: line, both threads, array; their correct versions raise no alarm."""

from pathlib import Path

import numpy as np
import pytest

from labs.kit.gpu import KernelHazard, cuda, outcome, profile

SOURCE = Path(__file__).read_text().splitlines()


@cuda.jit
def read_before_barrier_bad(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    o[t] = s[63 - t]  # no barrier before the read


@cuda.jit
def read_before_barrier_good(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    o[t] = s[63 - t]


@cuda.jit
def reuse_bad(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    acc = np.float32(0)
    for k in range(4):
        s[t] = x[k * 64 + t]
        cuda.syncthreads()
        acc += s[63 - t]  # no barrier before the tile is filled again
    o[t] = acc


@cuda.jit
def reuse_good(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    acc = np.float32(0)
    for k in range(4):
        s[t] = x[k * 64 + t]
        cuda.syncthreads()
        acc += s[63 - t]
        cuda.syncthreads()
    o[t] = acc


@cuda.jit
def loop_tail_bad(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    d = 32
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    o[t] = s[0]  # nothing stands behind the last turn


@cuda.jit
def loop_tail_good(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    d = 32
    while d > 0:
        cuda.syncthreads()
        if t < d:
            s[t] += s[t + d]
        d //= 2
    cuda.syncthreads()
    o[t] = s[0]


@cuda.jit
def plain_sum_bad(x, o):
    o[0] += x[cuda.grid(1)]


@cuda.jit
def plain_sum_good(x, o):
    cuda.atomic.add(o, 0, x[cuda.grid(1)])


@cuda.jit
def warp_synchronous_bad(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        d = 16
        while d > 0:
            if t < d:
                s[t] += s[t + d]  # relies on the warp running in step
            d //= 2
    if t == 0:
        o[0] = s[0]


@cuda.jit
def warp_synchronous_good(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        cuda.syncwarp()
        d = 16
        while d > 0:
            if t < d:
                s[t] += s[t + d]
            cuda.syncwarp()
            d //= 2
    if t == 0:
        o[0] = s[0]


@cuda.jit
def neighbour_tiles_bad(x, o):
    i = cuda.grid(1)  # in place: reads the neighbour's tile while its block writes it
    left = x[i - 1] if i > 0 else x[i]
    cuda.syncthreads()
    x[i] = (x[i] + left) / np.float32(2)


@cuda.jit
def neighbour_tiles_good(x, o):
    i = cuda.grid(1)
    left = x[i - 1] if i > 0 else x[i]
    o[i] = (x[i] + left) / np.float32(2)


CLASSICS = [
    (read_before_barrier_bad, read_before_barrier_good, 1, "s", "race"),
    (reuse_bad, reuse_good, 1, "s", "race"),
    (loop_tail_bad, loop_tail_good, 1, "s", "race"),
    (plain_sum_bad, plain_sum_good, 1, "o", "race"),
    (warp_synchronous_bad, warp_synchronous_good, 1, "s", "race"),
    (neighbour_tiles_bad, neighbour_tiles_good, 4, "x", "race_between_blocks"),
]


def data():
    return np.random.default_rng(7).random(256, np.float32), np.zeros(256, np.float32)


@pytest.mark.parametrize("bad, good, blocks, array, kind", CLASSICS, ids=[row[1].__name__[:-5] for row in CLASSICS])
def test_six_races_and_no_false_alarm(watched, bad, good, blocks, array, kind):
    with watched() as p:
        good[blocks, 64](*data())
    assert p.findings == []
    with watched() as p:
        bad[blocks, 64](*data())
    assert p.races and {finding.kind for finding in p.races} == {kind}
    finding = p.races[0]
    assert finding.array == array and finding.index is not None and finding.kernel == bad.__name__
    first, second = finding.first, finding.second
    assert (first.block, first.thread) != (second.block, second.thread)
    assert "store" in (first.op, second.op)
    for access in (first, second):
        text = SOURCE[access.line - 1].strip()
        assert f"{array}[" in text and access.place.endswith(text)
        assert access.place in finding.text and str(access.thread) in finding.text


def test_a_race_names_the_very_element():
    with profile() as p:
        read_before_barrier_bad[1, 64](*data())
    finding, line = p.races[0], read_before_barrier_bad.py_func.__code__.co_firstlineno
    assert (finding.first.line, finding.first.op) == (line + 4, "store")
    assert (finding.second.line, finding.second.op) == (line + 5, "load")
    assert finding.first.thread[0] == finding.index[0] and finding.second.thread[0] == 63 - finding.index[0]


def test_wrong_results_show_when_warps_take_turns():
    x, o = data()
    with profile():
        read_before_barrier_bad[1, 64](x, o)
    assert np.array_equal(o[:64], x[63::-1])
    with profile(warps_take_turns=True):
        read_before_barrier_bad[1, 64](x, o)
    assert not np.array_equal(o[:64], x[63::-1])


def test_a_race_is_a_warning_outside_a_profile():
    with pytest.warns(KernelHazard, match="cuda.atomic"):
        plain_sum_bad[1, 64](*data())


@cuda.jit
def last_block_sums(x, part, count, out):
    t = cuda.threadIdx.x
    v = cuda.syncthreads_count(int(x[cuda.grid(1)] > 0))
    last = cuda.shared.array(1, np.int32)
    if t == 0:
        part[cuda.blockIdx.x] = v
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and t == 0:
        total = 0
        for k in range(cuda.gridDim.x):
            total += part[k]
        out[0] = total


@cuda.jit
def last_block_sums_without_fence(x, part, count, out):
    if cuda.threadIdx.x == 0:
        part[cuda.blockIdx.x] = x[cuda.grid(1)]
        if cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
            total = 0
            for k in range(cuda.gridDim.x):
                total += part[k]
            out[0] = total


@pytest.mark.parametrize("kernel, races", [(last_block_sums, 0), (last_block_sums_without_fence, 1)])
def test_a_fence_and_an_atomic_order_blocks(watched, kernel, races):
    out = np.zeros(1, np.int32)
    with watched() as p:
        kernel[4, 64](np.ones(256, np.int32), np.zeros(4, np.int32), np.zeros(1, np.int32), out)
    assert len(p.races) == races and out[0] == (4 if races else 256)


@cuda.jit
def raced_in_one_block_only(x, o):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    if cuda.blockIdx.x != 3:
        cuda.syncthreads()
    o[cuda.grid(1)] = s[63 - t]


def test_a_block_like_the_others_but_for_a_barrier(watched):
    """Blocks that use shared memory in the same way are looked at once; one that differs is not taken for them."""
    with watched() as p:
        raced_in_one_block_only[6, 64](np.ones(64, np.float32), np.zeros(384, np.float32))
    assert [finding.first.block for finding in p.races] == [(3, 0, 0)]


def test_outcome_makes_a_race_a_failure():
    failure = outcome(reuse_bad[1, 64], *data())["failure"]
    assert failure["kind"] == "race" and failure["array"] == "s" and not failure["between_blocks"]
    assert len(failure["lines"]) == 2 and failure["first"]["op"] in ("load", "store")
    reported = outcome(reuse_bad[1, 64], *data(), hazards="report")
    assert [finding["kind"] for finding in reported["findings"]] == ["race"]
    assert "failure" not in outcome(reuse_good[1, 64], *data())
