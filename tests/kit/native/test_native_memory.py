"""Shared memory: no copies where none are promised, nothing leaks, and large arrays are not slow."""

import gc
import os
import sys
import time
import weakref

import numpy as np
import pytest

from labs.kit.native.function import _workshop
from labs.kit.native.memory import Segment, segment_of, shared

CELL = r"""
double first(lab::Vector<const double> values) { return values.data()[0]; }
void add_one(lab::Vector<double> values) { for (size_t i = 0; i < values.size(); ++i) values.data()[i] += 1; }
void touch(lab::Matrix<double> values) { values.data()[0] = -1; }
auto ones(size_t n) { return lab::as_array(std::vector<double>(n, 1.0), n); }
lab::Vector<double> same(lab::Vector<double> values) { return values; }
double keep(lab::Vector<const double> values) {
    static std::optional<lab::Vector<const double>> kept;
    double before = kept ? kept->data()[0] : -1;
    kept = values;
    return before;
}
"""


@pytest.fixture
def cell(bind):
    return bind("first add_one touch ones same keep", CELL)


def open_files():
    return len(os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"))


def child_memory():
    """B that the child holds, shared pages included."""
    with open(f"/proc/{_workshop().children.get(False).process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("make", [shared, lambda a: shared(a.shape, a.dtype)])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (1000, 17)])
def test_shared_arrays_are_arrays(make, shape):
    values = np.zeros(shape, np.float32)
    made = make(values)
    assert made.shape == shape and made.dtype == np.float32 and made.flags.c_contiguous and made.flags.writeable
    np.testing.assert_array_equal(made, values)
    assert isinstance(segment_of(made), Segment)
    assert segment_of(values) is None


def test_shared_takes_what_numpy_takes():
    np.testing.assert_array_equal(shared([1, 2, 3], np.int16), np.array([1, 2, 3], np.int16))
    assert shared(4).shape == (4,)
    assert shared(np.asfortranarray(np.ones((2, 3)))).flags.f_contiguous
    with pytest.raises(TypeError, match="Python objects"):
        shared([object()])


def test_a_shared_array_is_not_copied_and_seen_by_both(cell):
    values = shared(np.arange(1000.0))
    cell.add_one(values)
    np.testing.assert_array_equal(values, np.arange(1000.0) + 1)
    assert cell.add_one.stats.copied_in == cell.add_one.stats.copied_back == 0


def test_parts_of_a_shared_array_are_not_copied_either(cell):
    values = shared((4, 3))
    cell.touch(values[2:])
    cell.touch(values[1:2])
    np.testing.assert_array_equal(values[:, 0], [0, -1, -1, 0])
    assert cell.touch.stats.copied_in == 0
    cell.add_one(values[:, 1].copy())
    assert cell.add_one.stats.copied_in == 32


def test_a_large_result_goes_back_without_a_copy(cell):
    made = cell.ones(1 << 18)
    cell.add_one(made)
    assert cell.add_one.stats.copied_in == 0 and made[-1] == 2.0


def test_a_result_outlives_the_call_the_function_and_the_child(bind):
    made = bind("f", "auto f() { return lab::as_array(std::vector<double>(1 << 18, 1.0), 1 << 18); }").f()
    view = made[5:10]
    ghost = weakref.ref(segment_of(made))
    del made
    _workshop().children.close()
    gc.collect()
    np.testing.assert_array_equal(view, np.ones(5))
    del view
    gc.collect()
    assert ghost() is None  # freed with the last view


def test_an_argument_that_is_returned_is_a_new_array(cell):
    for values in (np.arange(3.0), shared(np.arange(3.0))):
        made = cell.same(values)
        made[0] = 9
        assert values[0] == 0


def test_an_argument_that_c_plus_plus_keeps_stays_what_it_was(cell):
    _workshop().children.close()
    assert cell.keep(np.array([1.0])) == -1
    assert cell.first(np.array([7.0])) == 7.0
    assert cell.keep(np.array([2.0])) == 1.0
    assert cell.keep(np.array([3.0])) == 2.0


def test_nothing_is_left_of_many_calls(cell):
    rounds = lambda n: (
        [cell.add_one(np.ones(1000)) or cell.ones(1 << 17) or None for _ in range(n) if False]
        or [
            (cell.add_one(np.ones(1000)), cell.ones(1 << 17), cell.first(shared(np.ones(1 << 17)))) and None
            for _ in range(n)
        ]
    )
    rounds(10)
    gc.collect()
    files, held = open_files(), child_memory() if sys.platform == "linux" else 0
    rounds(60)
    gc.collect()
    assert open_files() == files
    if sys.platform == "linux":
        assert child_memory() - held < 20 << 20  # 60 rounds hand over 120 MB


def test_a_large_argument_is_let_go(cell, monkeypatch):
    monkeypatch.setattr("labs.kit.native.function.KEPT_SCRATCH", 1 << 20)
    cell.first(np.ones(1 << 18))
    assert _workshop().scratch is None
    cell.first(np.ones(10))
    assert _workshop().scratch is not None


def best(call, rounds=4):
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def test_100_mb_cost_a_bounded_multiple_of_a_copy(cell):
    """Against copies of the same bytes, of which one each way is promised; pickling them costs twenty and more."""
    values = np.ones(100_000_000 // 8)
    copy = best(lambda: values.copy()[0])
    ready = shared(values)
    assert best(lambda: cell.first(values)) < 20 * copy
    assert best(lambda: cell.first(ready), 20) < 2 * copy
    assert best(lambda: cell.ones(values.size), 2) < 60 * copy
