"""How measurements become numbers: by hand-made clocks, so nothing depends on the machine."""

import json

import pytest

from bench import measure, report
from bench.measure import Row, Series


def test_a_series_is_summed_up_and_kept():
    series = Series((4.0, 1.0, 2.0))
    assert (series.low, series.median, series.high, series.spread) == (1.0, 2.0, 4.0, 1.5)
    assert series.as_data() == {"min": 1.0, "median": 2.0, "max": 4.0, "spread": 1.5, "runs": [4.0, 1.0, 2.0]}
    with pytest.raises(ValueError, match="at least one measurement"):
        Series(())


def test_a_ratio_is_taken_pair_by_pair_and_above_one_when_ours_is_faster():
    row = Row("x", Series((1.0, 2.0, 10.0)), "s", "peer", Series((3.0, 8.0, 20.0)), aim=2.5)
    assert row.ratio.values == (3.0, 4.0, 2.0)
    assert row.ratio.median == 3.0 and row.aim_met is True
    assert Row("x", Series((1.0,)), "s", "peer", Series((2.0,)), aim=2.5).aim_met is False
    with pytest.raises(ValueError, match=r"shorter|longer"):
        _ = Row("x", Series((1.0,)), "s", "peer", Series((2.0, 3.0))).ratio


def test_without_a_peer_the_aim_is_a_limit():
    assert Row("x", Series((4.0, 5.0, 6.0)), "s CPU", aim=5.0).aim_met is True
    assert Row("x", Series((4.0, 5.1, 6.0)), "s CPU", aim=5.0).aim_met is False
    assert Row("x", Series((4.0,)), "s CPU").aim_met is None


def test_contenders_take_turns_and_every_other_turn_goes_backwards():
    order = []
    clock = lambda work: (work(), float(len(order)))[1]
    first, second = measure.alternate([lambda: order.append("A"), lambda: order.append("B")], 3, clock)
    assert "".join(order) == "AB" + "AB" + "BA" + "AB", "one unmeasured turn, then three"
    assert (first.values, second.values) == ((3.0, 6.0, 7.0), (4.0, 5.0, 8.0))
    order.clear()
    measure.alternate([lambda: order.append("A")], 2, clock, warm_up=False)
    assert len(order) == 2


def test_cpu_time_leaves_out_waiting_and_wall_time_does_not():
    import time

    waiting = lambda: time.sleep(0.05)
    assert measure.wall_seconds(waiting) >= 0.05
    assert measure.cpu_seconds(waiting) < measure.wall_seconds(waiting)


def test_the_table_shows_medians_ranges_and_missed_aims():
    rows = [
        Row("ring", Series((1.0, 2.0, 4.0)), "s CPU", "SimPy", Series((5.0, 8.0, 8.0)), aim=5.0),
        Row("tree", Series((0.001, 0.002, 0.003)), "s"),
        Row("memory", Series((512.3,)), "MB", aim=2000.0),
    ]
    head, rule, ring, tree, memory = report.table(rows).splitlines()
    assert head.split()[:2] == ["what", "ours"] and set(rule) == {"-"}
    assert "1.00 / 2.00 / 4.00 s CPU (3 runs, spread 150%)" in ring
    assert "4.00 (2.00 to 5.00)" in ring and ring.endswith(">= 5: MISSED")
    assert "1.00 / 2.00 / 3.00 ms" in tree
    assert "512 MB, once" in memory and memory.endswith("< 2000 MB: met")


def test_rows_become_plain_json():
    row = Row("ring", Series((1.0, 2.0)), "s", "peer", Series((2.0, 8.0)), aim=2.0)
    data = json.loads(json.dumps(row.as_data()))
    assert data["ratio"]["runs"] == [2.0, 4.0] and data["aim_met"] is True and data["ours"]["median"] == 1.5
    assert json.loads(json.dumps(Row("x", Series((1.0,)), "MB").as_data()))["theirs"] is None
