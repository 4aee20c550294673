"""Streams, events, copies and devices on the virtual clock."""

import itertools

import numpy as np
import pytest

from labs.kit.gpu import KernelHazard, LaunchFailed, cuda, outcome, profile, virtual_machine
from labs.kit.hardware import nvswitch_node, reference_machine


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def round_trip(streams, n=1 << 14):
    cuda.synchronize()
    for stream in streams:
        host = cuda.pinned_array(n, np.float32)
        host[:] = 1
        here, there = cuda.to_device(host, stream=stream), cuda.device_array(n, np.float32)
        add[n // 256, 256, stream](here, here, there)
        there.copy_to_host(host, stream=stream)
    cuda.synchronize()


def test_streams_overlap_copies_with_copies_and_kernels(fresh_machine):
    one = cuda.stream()
    start = fresh_machine.now
    round_trip([one] * 4)
    serial, start = fresh_machine.now - start, fresh_machine.now
    round_trip([cuda.stream() for _ in range(4)])
    assert fresh_machine.now - start < 0.7 * serial
    with profile() as p:
        round_trip([one, one])
    moments = sorted([(c.start, c.end) for c in p.copies] + [(k.start, k.end) for k in p.launches])
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(moments))  # one stream keeps its order
    assert [copy.kind for copy in p.copies] == ["to_device", "to_host"] * 2


def test_the_default_stream_waits_for_all(fresh_machine):
    s = cuda.stream()
    x = cuda.to_device(np.ones(1 << 14, np.float32))
    with profile() as p:
        add[64, 256, s](x, x, x)
        add[64, 256](x, x, x)
        add[64, 256, s](x, x, x)
    first, second, third = p.launches
    assert second.start >= first.end and third.start >= second.end
    assert fresh_machine.now < third.end  # launches do not wait
    cuda.synchronize()
    assert fresh_machine.now == third.end


def test_events_time_a_kernel_and_order_streams(fresh_machine):
    s, t, a, b = cuda.stream(), cuda.stream(), cuda.event(), cuda.event()
    x = cuda.to_device(np.ones(1 << 14, np.float32))
    a.record(s)
    with profile() as p:
        add[64, 256, s](x, x, x)
    b.record(s)
    assert not b.query()
    b.wait(t)
    assert t.ready == b.time
    b.synchronize()
    assert b.query() and fresh_machine.now == b.time
    assert cuda.event_elapsed_time(a, b) == pytest.approx(1e3 * p.launches[0].seconds)
    with t.auto_synchronize():
        add[64, 256, t](x, x, x)
    assert fresh_machine.now == t.ready
    with pytest.raises(LaunchFailed, match="never recorded"):
        cuda.event().synchronize()


def test_results_are_not_there_before_the_host_has_waited(fresh_machine):
    stream, host = cuda.stream(), cuda.pinned_array(4, np.float32)
    device = cuda.to_device(np.arange(4, dtype=np.float32))
    device.copy_to_host(host, stream=stream)
    with pytest.warns(KernelHazard, match=r"still filling.*\n.*host\[1\]"):
        assert host[1] == 0
    with pytest.warns(KernelHazard, match="still filling"):
        assert host.sum() == 0
    with profile() as p:
        assert np.array_equal(host[:2], [0, 0])
    assert {finding.kind for finding in p.findings} == {"unsynchronised"}
    stream.synchronize()
    with profile() as p:
        assert host[1] == 1 and host.sum() == 6 and (host + 1)[0] == 1 and type(host + 1) is np.ndarray
    assert p.findings == []


def test_an_array_is_not_overwritten_while_it_is_copied():
    stream, host = cuda.stream(), cuda.pinned_array(1 << 10, np.float32)
    device = cuda.device_array(1 << 10, np.float32)
    device.copy_to_device(host, stream=stream)
    with pytest.warns(KernelHazard, match="still reading"):
        host[0] = 1
    stream.synchronize()
    host[0] = 2  # no warning: a warning would be an error here


def test_pageable_memory_makes_the_host_wait(fresh_machine):
    device, stream = cuda.device_array(1 << 12, np.float32), cuda.stream()
    device.copy_to_device(np.ones(1 << 12, np.float32), stream=stream)
    assert fresh_machine.now == stream.ready > 0
    assert (device.copy_to_host(stream=stream) == 1).all() and fresh_machine.now == stream.ready


def test_mapped_memory_goes_over_the_link(fresh_machine):
    n = 1 << 14
    mapped, near, out = (
        cuda.mapped_array(n, np.float32),
        cuda.device_array(n, np.float32),
        cuda.device_array(n, np.float32),
    )
    mapped[:] = 2
    near.copy_to_device(np.ones(n, np.float32))
    with profile() as p:
        add[n // 256, 256](near, near, out)
        add[n // 256, 256](near, mapped, out)
        add[n // 256, 256](near, near, mapped)
    own, reads, writes = p.launches
    assert reads.seconds > 1.2 * own.seconds and writes.bytes == own.bytes
    with pytest.warns(KernelHazard, match="still filling"):
        mapped[0]
    cuda.synchronize()
    assert (mapped == 2).all() and (out.copy_to_host() == 3).all()


def test_two_devices_and_copies_between_them():
    assert len(cuda.gpus) == 2 and cuda.can_access_peer(0, 1)
    a = cuda.to_device(np.arange(64, dtype=np.float32))
    with cuda.gpus[1]:
        o, b = cuda.device_array(64, np.float32), cuda.device_array_like(a)
        assert cuda.get_current_device().id == o.device.id == 1
        with pytest.raises(LaunchFailed, match="a lies on device 0, but add runs on device 1"):
            add[1, 64](a, b, o)
        with profile() as p:
            b.copy_to_device(a)
            add[1, 64](b, b, o)
        assert p.findings == [] and p.launches[0].device == 1
        assert np.array_equal(o.copy_to_host(), 2 * np.arange(64))
        cuda.current_context().enable_peer_access(0)
        add[1, 64](a, a, o)
        assert np.array_equal(o.copy_to_host(), 2 * np.arange(64))
    assert cuda.get_current_device().id == 0
    (copy,) = p.copies
    measured = reference_machine()
    wanted = measured.latency(True) + a.nbytes / measured.one_way(True)[0, 1]
    assert copy.kind == "peer" and copy.seconds == pytest.approx(wanted)


def test_devices_work_side_by_side(fresh_machine):
    arrays = []
    for device in cuda.gpus:
        with device:
            arrays.append([cuda.device_array(1 << 14, np.float32) for _ in range(2)])
            arrays[-1][0].copy_to_device(np.ones(1 << 14, np.float32))
    with profile() as p:
        for device, (x, o) in zip(cuda.gpus, arrays):
            with device:
                add[64, 256](x, x, o)
    first, second = p.launches
    assert second.start < first.end


def test_a_split_over_other_machines():
    def split(x):
        parts = []
        for device, part in zip(cuda.gpus, np.array_split(x, len(cuda.gpus))):
            with device:
                o = np.zeros_like(part)
                add[1, 32](part, part, o)
                parts.append(o)
        return np.concatenate(parts)

    out = outcome(split, np.arange(100, dtype=np.float32), topology=nvswitch_node(gpus=8))
    assert np.array_equal(out["result"], 2 * np.arange(100)) and [k["device"] for k in out["launches"]] == list(
        range(8)
    )


def test_machines_are_kept_apart():
    with virtual_machine():
        foreign = cuda.to_device(np.ones(4, np.float32))
    with pytest.raises(LaunchFailed, match="another virtual machine"):
        add[1, 32](foreign, foreign, foreign)


def test_device_arrays_are_like_numbas():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    d = cuda.to_device(a)
    assert (d.shape, d.size, d.ndim, d.dtype, d.nbytes, len(d)) == ((4, 6), 24, 2, np.float32, 96, 4)
    assert np.array_equal(d[1:, 2].copy_to_host(), a[1:, 2]) and d[2, 3] == a[2, 3]
    assert np.array_equal(d.reshape(2, 12).copy_to_host(), a.reshape(2, 12)) and np.array_equal(d.T.copy_to_host(), a.T)
    d[1] = 7
    d[0, 0] = -1
    a[1], a[0, 0] = 7, -1
    assert np.array_equal(np.asarray(d), a)
    with pytest.raises(ValueError, match="incompatible shape"):
        d.copy_to_device(a[:2])
    with pytest.raises(TypeError, match="incompatible dtype"):
        d.copy_to_device(a.astype(np.float64))
    before = cuda.current_context().get_memory_info().free
    del d
    assert cuda.current_context().get_memory_info().free == before + 96
