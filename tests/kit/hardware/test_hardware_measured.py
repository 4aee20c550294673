"""The reference machine: units, the diagonal, the cold start; figures of the syllabus by hand."""

import numpy as np
import pytest

from labs.kit.hardware import costs, reference_machine

MACHINE = reference_machine()


def test_units_are_si_and_the_cells_are_those_of_the_tool():
    assert MACHINE.unidirectional.off.tolist() == pytest.approx(np.array([[439.52e9, 20.62e9], [21.23e9, 675.82e9]]))
    assert MACHINE.bidirectional.on[0, 1] == pytest.approx(101.57e9)
    assert MACHINE.gpu_latency.on[1, 0] == pytest.approx(1.30e-6)
    assert MACHINE.stream_times["kernel"] == pytest.approx((0.17e-3, 0.16e-3))
    assert MACHINE.nvlink_peak == 56.25e9
    assert MACHINE.relations[0][1] == "NV4"


def test_links_stay_below_what_is_on_paper_and_both_ways_below_twice_one_way():
    for access in (True, False):
        one_way = MACHINE.one_way(access)
        assert np.isnan(np.diagonal(one_way)).all(), "the diagonal is memory, not a link"
        assert np.nanmax(one_way) < MACHINE.nvlink_peak
        assert MACHINE.both_ways(access) < np.nansum(one_way)
        assert MACHINE.latency(False) > 8 * MACHINE.latency(True)


def test_the_diagonal_is_memory_bandwidth_and_one_cell_of_it_was_cold():
    matrices = [m.peer(access) for m in (MACHINE.unidirectional, MACHINE.bidirectional) for access in (False, True)]
    cells = np.concatenate([np.diagonal(matrix) for matrix in matrices])
    assert MACHINE.cold_start == cells.min() == pytest.approx(439.52e9)
    assert np.sort(cells)[1] > 670e9
    assert 0.85 * 768e9 < MACHINE.memory_bandwidth() < 768e9, "below the data sheet's figure, but near it"


def test_measurements_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        MACHINE.unidirectional.off[0, 0] = 0.0
    MACHINE.one_way(True)[0, 1] = 0.0
    assert MACHINE.one_way(True)[0, 1] > 0


def test_two_paths_on_this_machine():
    nvlink, host = (np.nanmedian(MACHINE.one_way(access)) for access in (True, False))
    assert nvlink / host == pytest.approx(2.52, abs=0.005)
    assert 1 + host / nvlink == pytest.approx(1.40, abs=0.005)
    nvlink, host = MACHINE.both_ways(True), MACHINE.both_ways(False)
    assert 101.7 / 28.7 == pytest.approx(3.54, abs=0.005) and nvlink / host == pytest.approx(3.55, abs=0.005)
    assert 1 + host / nvlink == pytest.approx(1.28, abs=0.005)
    # 597 KB with the rounded figures of the text (12.7 and 1.4 us, 52.8 GB/s); 595 KB with those of the file
    assert costs.two_paths_threshold(1.4e-6, 52.8e9, 12.7e-6) == pytest.approx(597e3, abs=500)
    bandwidth = np.nanmedian(MACHINE.one_way(True))
    exact = costs.two_paths_threshold(MACHINE.latency(True), bandwidth, MACHINE.latency(False))
    assert exact == pytest.approx(595e3, abs=500)
