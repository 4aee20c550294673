"""Sectors, bank conflicts, operations and addresses, against numbers worked out by hand."""

import json

import numpy as np
import pytest

from labs.kit.exercise import plain
from labs.kit.gpu import cuda, outcome, profile

WIDTH = np.dtype(np.float32).itemsize


@cuda.jit
def strided(x, out, stride):
    i = cuda.grid(1)
    out[i] = x[i * stride]


@cuda.jit
def shifted(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i + 1]


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 16, 33])
def test_sectors_grow_with_the_stride(watched, stride):
    x, out = np.ones(128 * stride, np.float32), np.zeros(128, np.float32)
    with watched() as p:
        strided[1, 128](x, out, stride)
    load, store = p.traffic("x"), p.traffic("out", "store")
    by_hand = sum(len({lane * stride * WIDTH // 32 for lane in range(warp * 32, warp * 32 + 32)}) for warp in range(4))
    assert (load.requests, load.accesses, load.sectors, load.ideal_sectors) == (4, 128, by_hand, 16)
    assert load.efficiency == 16 / by_hand and load.bytes == 32 * by_hand
    assert (store.sectors, store.efficiency, store.sectors_per_request) == (16, 1, 4)
    assert p.launches[0].bytes == 32 * (by_hand + 16) and p.launches[0].ideal_bytes == 32 * 32
    assert load.sample.addresses == tuple(range(0, 32 * stride * WIDTH, stride * WIDTH)) and load.sample.warp == 0


def test_an_unaligned_start_costs_a_sector(watched):
    x, out = cuda.to_device(np.ones(65, np.float32)), np.zeros(64, np.float32)
    with watched() as p:
        shifted[1, 64](x, out)
    assert p.traffic("x").sectors == 10  # two warps, five sectors each
    with watched() as p:
        shifted[1, 64](x[7:], np.zeros(50, np.float32))
    assert p.traffic("x").sectors == 4 + 3  # the slice starts at 28 bytes: its element 1 is aligned again


@cuda.jit
def columns(out, a):
    tile = cuda.shared.array((32, 32), np.float32)
    t = cuda.threadIdx.x
    for row in range(32):
        tile[row, t] = a[row, t]
    cuda.syncthreads()
    for column in range(32):
        out[column, t] = tile[t, column]


@cuda.jit
def padded_columns(out, a):
    tile = cuda.shared.array((32, 33), np.float32)
    t = cuda.threadIdx.x
    for row in range(32):
        tile[row, t] = a[row, t]
    cuda.syncthreads()
    for column in range(32):
        out[column, t] = tile[t, column]


@cuda.jit
def doubles(out):
    tile = cuda.shared.array(64, np.float64)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    out[t] = tile[0] + tile[(2 * t) % 64]


def test_bank_conflicts(watched):
    a = np.random.default_rng(0).random((32, 32), np.float32)
    for kernel, wavefronts in ((columns, 32 * 32), (padded_columns, 32)):
        out = np.zeros_like(a)
        with watched() as p:
            kernel[1, 32](out, a)
        load, store = p.traffic("tile"), p.traffic("tile", "store")
        assert np.array_equal(out, a.T)
        assert (load.requests, load.wavefronts, load.bank_conflicts) == (32, wavefronts, wavefronts - 32)
        assert (store.wavefronts, store.bank_conflicts, load.sectors) == (32, 0, 0)
        assert p.launches[0].bank_conflicts == wavefronts - 32
    with watched() as p:
        doubles[1, 32](np.zeros(32))
    loads = {line.wavefronts: line.bank_conflicts for line in p.lines if (line.array, line.op) == ("tile", "load")}
    assert loads == {6: 2} or loads == {2 + 4: 2}  # a broadcast in two halves, and a stride of two in two halves of two


@cuda.jit
def polynomial(x, out, y):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i] + np.float32(1)
        y[i] = out[i] * 2.0


def test_operations_by_type_and_intensity(watched):
    x, out, y = np.ones(100, np.float32), np.zeros(100, np.float32), np.zeros(100)
    with watched() as p:
        polynomial[1, 128](x, out, y)
    (launch,) = p.launches
    assert launch.flops == {"float32": 200, "float64": 100}  # 2.0 is a float64: the threads beyond 100 do nothing
    assert launch.intensity == 300 / launch.bytes


def test_the_roofline_takes_the_larger_time(fresh_machine):
    spec = fresh_machine.devices[0].spec
    x = np.ones(1 << 14, np.float32)
    with profile() as p:
        strided[1 << 6, 256](x, np.zeros_like(x), 1)
        strided[1 << 6, 256](np.ones(x.size * 8, np.float32), np.zeros_like(x), 8)
    fast, slow = p.launches
    latency = fast.seconds - fast.bytes / spec.memory_bandwidth
    assert slow.seconds == pytest.approx(latency + slow.bytes / spec.memory_bandwidth)
    assert slow.bytes == (8 + 1) / 2 * fast.bytes


def test_everything_is_plain_data(watched):
    with watched() as p:
        polynomial[1, 128](np.ones(100, np.float32), np.zeros(100, np.float32), np.zeros(100))
    data = p.as_data()
    assert json.loads(json.dumps(data)) == data
    (launch,) = data["launches"]
    assert launch["kernel"] == "polynomial" and launch["grid"] == [1, 1, 1] and launch["observed"]
    assert len(launch["lines"][0]["sample"]["addresses"]) == 32
    out = outcome(polynomial[1, 128], np.ones(100, np.float32), np.zeros(100, np.float32), np.zeros(100))
    assert plain.encode(out)
    assert np.array_equal(out["args"][1], np.full(100, 2, np.float32)) and out["result"] is None and out["seconds"] > 0


def test_lines_are_found_by_name():
    with profile() as p:
        polynomial[1, 128](np.ones(100, np.float32), np.zeros(100, np.float32), np.zeros(100))
    with pytest.raises(ValueError, match=r"0 lines load z, not one\. The lines of polynomial: line"):
        p.traffic("z")
    assert p.traffic("out", "store").place.endswith("out[i] = x[i] * x[i] + np.float32(1)")


def test_observation_can_be_left_out():
    from labs.kit.gpu import Limits, virtual_machine

    with virtual_machine(limits=Limits(observe=False)), profile() as p:
        out = np.zeros(64, np.float32)
        strided[1, 64](np.arange(64, dtype=np.float32), out, 1)
    assert np.array_equal(out, np.arange(64)) and not p.launches[0].observed and p.lines == []
    assert p.launches[0].bytes == 512
