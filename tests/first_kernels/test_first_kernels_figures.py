"""The pictures of lesson 03 say what they show, their numbers are right, and they wait politely for an answer."""

import runpy
from pathlib import Path

import pytest

from labs.first_kernels import figures, flight, given, kernels, strides


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 8, 31, 32, 33, 64])
def test_the_sweep_counts_what_the_picture_of_a_warp_shows(stride):
    launch = figures.sweep(stride)
    read = launch.traffic("x")
    by_hand = sum(len({i * stride // 32 for i in range(first, first + 32)}) for first in range(0, 4096, 32))
    assert read.sectors == by_hand and read.accesses == 4096
    if 32 % stride == 0 or stride > 31:
        assert read.sectors_per_request == strides.sectors_per_warp(stride, 1)


@pytest.mark.parametrize("stride", [1, 2, 7, 32, 40])
def test_the_time_of_a_sweep_is_what_its_sectors_predict(stride):
    scope = {}
    exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))["SECONDS"], scope)
    seconds = figures.sweep(stride).seconds
    assert seconds == pytest.approx(scope["predict_seconds"](4096, 1, stride, 768e9, 4e-6), rel=1e-9)


@pytest.mark.parametrize(
    ("stride", "size", "start", "sectors"),
    [(1, 1, 0, 1), (1, 1, 5, 2), (1, 4, 0, 4), (1, 8, 4, 9), (32, 1, 0, 32), (0, 4, 0, 1)],
)
def test_sectors_by_hand(stride, size, start, sectors):
    assert strides.sectors_per_warp(stride, size, start) == sectors


def test_every_frame_of_the_explorers_draws():
    for make in (figures.explore_addresses, figures.explore_banks, figures.explore_grid, figures.explore_threads):
        explorer = make()
        for frame in explorer.frames:
            assert "<svg" in explorer.set(**frame).svg()
    assert "1 sector = 32 B moved, 32 B wanted: 100%" in figures.explore_addresses().picture.alt
    assert "32 passes where 1 would do" in figures.explore_banks().set(words_apart=32).alt
    assert "No bank conflict" in figures.explore_banks().set(words_apart=33).alt


def test_the_reveal_says_32(capsys):
    guess = figures.predict_apart()
    guess.set(16)
    figures.reveal_apart(guess)
    assert "32" in capsys.readouterr().out


def test_more_threads_stop_helping_at_the_memory_or_at_the_device():
    bandwidth, latency = 768e9, 500e-9
    assert flight.rate(1000, 1, bandwidth, latency) == pytest.approx(2e9)
    assert (
        flight.rate(10**6, 1, bandwidth, latency) == flight.rate(flight.RESIDENT, 1, bandwidth, latency) < bandwidth / 3
    )
    assert flight.rate(10**6, 8, bandwidth, latency) == flight.rate(48_000, 8, bandwidth, latency) == bandwidth
    assert "98,304 fit at once" in figures.threads_picture().alt


def test_a_launch_returns_before_its_kernel_is_done():
    returned, done = figures.launch_times(100_000)
    assert returned < done


def test_the_roof_counts_bytes_and_operations():
    from labs.first_kernels.roofs import launches

    found = launches(kernels.divide, kernels.block_sum, kernels.tiled_product)
    assert found["divide"] == (65_536, 2 * 65_536)
    assert found["block_sum"] == (64 * 255, 64 * 256 * 4 + 64 * 32)
    assert found["tiled_product"][0] == 2 * 16 * 16 * 256
    alt = figures.roof(kernels.divide, kernels.block_sum, kernels.tiled_product).alt
    assert "divide: 0.5 FLOP/B, at best 384 GFLOP/s, bandwidth-bound" in alt


def test_tiles_read_each_number_once():
    assert figures.product_bytes(kernels.tiled_product)[0] == 2 * 16 * 256
    assert figures.product_bytes(given.plain_product)[0] == 16 * 2 * 16 * 256


def test_without_answers_the_figures_say_so(capsys):
    def stub(*arguments):
        raise NotImplementedError

    assert figures.roof(stub, stub, stub) is None
    assert "Solve divide first" in capsys.readouterr().out
    assert figures.product_bytes(stub) is None


def test_rows_cross_faster_without_the_host():
    peer, host = figures.two_ways(1_000_000).values()
    assert peer < host / 2
