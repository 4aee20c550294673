"""Each picture says in words, and shows, what its data say; the numbers are computed here once more."""

import re
from itertools import pairwise

import numpy as np
import pytest

from labs.kit import draw
from labs.kit.draw.curves import spread
from labs.kit.draw.holdings import states
from labs.kit.draw.topology import ranges
from labs.kit.hardware import Device, Topology, a5000_pair, both_ways, cluster, pcie_box, uniform


def test_timeline_says_how_long_and_who_waits(ring_events):
    events = ring_events()
    alt = draw.timeline(events, name="Step").alt
    last = max(event[5] for event in events)
    assert alt.startswith(f"Step: timeline of 4 ranks over {last * 1e3:.3g} ms")
    for kind, word in (("work", "work"), ("send", "sends"), ("recv", "receives")):
        total = sum(event[5] - event[4] for event in events if event[1] == kind)
        assert f"{word} {total * 1e3:.3g} ms" in alt
    assert "24 messages arrived, 96 MB in all" in alt
    waits = {rank: sum(e[5] - e[4] for e in events if e[0] == rank and e[1] == "wait") for rank in range(4)}
    longest = max(waits, key=waits.get)
    assert f"Rank {longest} waits longest, {waits[longest] * 1e6:.3g} µs" in alt


def test_timeline_up_to_a_moment(ring_events, texts):
    events = ring_events()
    picture = draw.timeline(events, until=600e-6, name="Step")
    arrived = sum(event[1] == "send" and event[5] <= 600e-6 for event in events)
    assert f"{arrived} messages arrived" in picture.alt and "drawn up to 600 µs" in picture.alt
    whole = draw.timeline(events, name="Step")
    assert texts(picture)[-6:] == texts(whole)[-6:], "the same axis and legend, so that frames can be compared"


def test_timeline_counts_a_message_once_and_one_sided_records_too():
    both = [(0, "send", 1, 8, 0.0, 1.0, ""), (1, "recv", 0, 8, 0.0, 1.0, "")]
    assert "1 message arrived" in draw.timeline(both).alt
    assert "1 message arrived" in draw.timeline(both[1:]).alt
    assert "2 messages arrived" in draw.timeline([*both, *both]).alt


def test_timeline_names_work_and_collectives_inside_their_bars(texts):
    events = [(0, "work", None, 0, 0.0, 1e-3, "forward"), (0, "collective", None, 8, 1e-3, 2e-3, "all_reduce")]
    shown = texts(draw.timeline(events))
    assert {"forward", "all_reduce", "rank 0", "time in ms", "collective"} <= set(shown)
    short = [(0, "work", None, 0, 0.0, 1e-6, "forward"), (0, "wait", None, 0, 1e-6, 1e-3, "")]
    assert "forward" not in texts(draw.timeline(short)), "a name that does not fit is left out"


def test_timeline_of_many_ranks_and_messages_stays_small(ring_events):
    hundred = draw.timeline(ring_events(100), name="Ring")
    assert "64 of the 100 ranks are drawn" in hundred.alt and "too many to draw an arrow" in hundred.alt
    assert len(hundred.svg()) < 80_000
    two_hundred = [event for event in ring_events(10) if event[1] != "recv"][:220]
    assert sum(event[1] == "send" for event in two_hundred) >= 160
    assert len(draw.timeline(ring_events(11), name="Ring").svg()) < 80_000


def test_events_that_cannot_be_read_are_explained():
    with pytest.raises(ValueError, match="seven values"):
        draw.timeline([(0, "send", 1)])
    with pytest.raises(ValueError, match="Unknown kind of event 'sleep'"):
        draw.timeline([(0, "sleep", None, 0, 0, 1, "")])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw.timeline([])

    class RealRun:
        trace = None

    with pytest.raises(ValueError, match="Only virtual ranks record one"):
        draw.timeline(RealRun())


def test_chunks_show_and_say_the_digits(texts):
    values = np.array([[1, 2, 3, 4], [2, 3, 4, 1], [3, 4, 1, 2], [4, 1, 2, 3]])
    text = [["1", "11", "111", "1111"]] * 4
    picture = draw.chunks(values, text=text, marks=[(1, 2), (3, 0, "wrong")], name="Ring", step=2)
    shown = texts(picture)
    assert shown.count("✓ 1111") == 1 and "✗ 1" in shown and "chunk 3" in shown and "rank 2" in shown
    assert "Ring, after step 2: table of 4 ranks by 4 chunks" in picture.alt
    assert f"{(values >= 4).sum()} of 16 cells are complete" in picture.alt
    assert "Received now: rank 1 chunk 2" in picture.alt and "Wrong: rank 3 chunk 0" in picture.alt
    assert "rank 0: 1 11 111 1111" in picture.alt


def test_chunks_of_one_player_have_one_size(texts):
    frames = [draw.chunks([[1, 1], [1, 1]], step=0), draw.chunks([[2, 1], [1, 2]], marks=[(0, 0), (1, 1)], step=1)]
    assert len({re.search(r'viewBox="([^"]*)"', frame.svg())[1] for frame in frames}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2], [1]],), "all of the same length"),
        (([],), "all of the same length"),
        (([[1]], {"marks": [(0, 1)]}), "outside a table of 1 x 1"),
        (([[1]], {"marks": [(0, 0, "odd")]}), "known are received, sent, wrong"),
        (([[1]], {"text": [["a", "b"]]}), "text has rows"),
    ],
)
def test_chunks_that_do_not_fit_are_explained(arguments, message):
    values, options = (*arguments, {})[:2]
    with pytest.raises(ValueError, match=message):
        draw.chunks(values, **options)


def held(table):
    """{(rank, column): set of pieces} of a table of cells."""
    return {
        (rank, column): {cell} if isinstance(cell, str) else set(cell)
        for rank, row in enumerate(table)
        for column, cell in enumerate(row)
        if cell is not None
    }


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_the_eight_collectives_hold_what_mpi_says(size):
    ranks = range(size)
    name = lambda rank: "ABCDEFGH"[rank]
    everything = {name(rank) for rank in ranks}
    root = size - 1
    b = {which: [held(table) for table in states(which, size, root)] for which in draw.COLLECTIVES}
    assert b["broadcast"] == [{(root, 0): {name(root)}}, {(r, 0): {name(root)} for r in ranks}]
    assert b["scatter"] == [
        {(root, p): {f"{name(root)}{p}"} for p in ranks},
        {(r, r): {f"{name(root)}{r}"} for r in ranks},
    ]
    assert b["gather"] == [{(r, r): {name(r)} for r in ranks}, {(root, p): {name(p)} for p in ranks}]
    assert b["all_gather"][1] == {(r, p): {name(p)} for r in ranks for p in ranks}
    assert b["reduce"] == [{(r, 0): {name(r)} for r in ranks}, {(root, 0): everything}]
    assert b["all_reduce"][1] == {(r, 0): everything for r in ranks}
    assert b["reduce_scatter"][1] == {(r, r): {f"{name(o)}{r}" for o in ranks} for r in ranks}
    before, after = b["all_to_all"]
    assert after == {(p, r): pieces for (r, p), pieces in before.items()}, "all-to-all transposes"


def test_a_collective_can_be_named_or_not(texts):
    named, secret = draw.collective("all_gather"), draw.collective("all_gather", named=False)
    assert "all_gather" in named.alt and "all_gather" in texts(named)
    assert "all_gather" not in secret.svg() and secret.alt.startswith("A collective, 4 ranks.")
    assert "After: rank 0 holds A, B, C, D" in secret.alt
    assert len({draw.collective(which, named=False).svg() for which in draw.COLLECTIVES}) == 8
    assert len({draw.collective(which, named=False).alt for which in draw.COLLECTIVES}) == 8


def test_holdings_that_do_not_fit_are_explained():
    with pytest.raises(ValueError, match="before has 1 ranks and after has 2"):
        draw.holdings([["A"]], [["A"], ["A"]])
    with pytest.raises(ValueError, match="Unknown collective 'allreduce'"):
        draw.collective("allreduce")
    with pytest.raises(ValueError, match="2 to 8 ranks"):
        draw.collective("reduce", 9)


def test_topology_shows_each_rank_on_its_device_and_each_kind_of_link(texts):
    machine = cluster(2, 4).reorder([0, 4, 1, 5, 2, 6, 3, 7])
    picture = draw.topology(machine)
    ranks_of = [[rank for rank in range(8) if machine.node_of(rank) == node] for node in (0, 1)]
    assert f"node 0: ranks {ranges(ranks_of[0])}; node 1: ranks {ranges(ranks_of[1])}" in picture.alt
    for kind in {edge.link.kind for edge in machine.links()}:
        assert f"{kind}: " in picture.alt and any(text.startswith(f"{kind}: ") for text in texts(picture))
    assert {"network", "NVSwitch", "host", "node 0", "node 1", "rank 7"} <= set(texts(picture))


def test_topology_states_bandwidth_latency_and_shared_wires():
    alt = draw.topology(a5000_pair()).alt
    assert "NVLink: 52.7–52.9 GB/s each way, 1.4 µs (both ways share 102 GB/s), 1 link" in alt
    box = draw.topology(pcie_box(4), name="The box").alt
    assert box.startswith("The box: 4 devices on 1 node") and "3 switches: PCIe switch 0, PCIe switch 1, host" in box


def test_a_large_topology_says_what_it_leaves_out(texts):
    picture = draw.topology(cluster(128))
    assert "1,024 devices on 128 nodes" in picture.alt and "126 nodes not drawn" in picture.alt
    assert {"126", "more", "1023", "node 127"} <= set(texts(picture))
    assert "rank 1" in texts(draw.topology(uniform(3))) and len(draw.topology(uniform(1024)).svg()) < 10_000


def test_topology_of_gpus_joined_crosswise():
    devices = [Device(f"gpu{i}") for i in range(4)]
    pairs = [(a, b) for a in range(4) for b in range(a)]
    edges = [edge for a, b in pairs for edge in both_ways(f"gpu{a}", f"gpu{b}", 25e9, 1e-6, "NVLink")]
    picture = draw.topology(Topology("mesh", devices, edges))
    assert "NVLink: 25 GB/s each way, 1 µs, 6 links" in picture.alt


def test_ranges():
    assert ranges([0, 1, 2, 3, 8]) == "0–3, 8" and ranges([0, 2, 4]) == "0, 2, 4" and ranges([5, 6]) == "5, 6"


def test_curves_say_ends_extremes_and_marks(texts):
    xs, ys = [1e3, 1e6, 1e9], [5e-6, 1e-3, 2e-2]
    picture = draw.curves(
        {"ring": (xs, ys), "dip": ([1e3, 1e4, 1e9], [1e-3, 1e-5, 1e-4])},
        xlabel="size (B)", ylabel="time (s)", logx=True, logy=True, name="All-reduce", marks=[(2e6, "both equal")],
    )  # fmt: skip
    assert picture.alt.startswith("All-reduce: time over size, both axes logarithmic")
    assert "ring: 5 µs at 1 kB to 20 ms at 1 GB" in picture.alt
    assert "dip: 1 ms at 1 kB to 100 µs at 1 GB, lowest 10 µs at 10 kB" in picture.alt
    assert "Marked: both equal at 2 MB" in picture.alt
    shown = texts(picture)
    assert {"ring", "dip", "both equal", "size", "time", "1 kB", "1 MB", "1 ms"} <= set(shown)


def test_curves_put_the_unit_once_on_a_linear_axis(texts):
    shown = texts(draw.curves({"a": ([1, 2, 4], [0, 1e-3, 8e-3])}, xlabel="ranks", ylabel="time in s", name="T"))
    assert "time in ms" in shown and "ranks" in shown and "8" in shown and not any("2.5" in text for text in shown)


def test_numbers_of_ranks_are_ticked_where_they_are(texts):
    ranks = [2**k for k in range(1, 11)]
    picture = draw.curves(
        {"a": (ranks, ranks)}, xlabel="ranks", ylabel="time (s)", logx=True, logy=True, name="T",
    )  # fmt: skip
    assert {"2", "64", "1024"} <= set(texts(picture)) and "at 1024" in picture.alt


def test_lines_differ_without_colour():
    series = {str(i): ([1, 2], [i, i + 1]) for i in range(6)}
    svg = draw.curves(series, xlabel="x", ylabel="y", name="Six").svg()
    dashes = set(re.findall(r"stroke-dasharray:([^;\"}]+)", svg))
    assert len(dashes) >= 5, "one is solid, five have dashes of their own"


def test_curves_that_cannot_be_drawn_are_explained():
    draws = lambda series, **more: draw.curves(series, xlabel="x", ylabel="y", name="n", **more)
    with pytest.raises(ValueError, match="one length"):
        draws({"a": ([1, 2], [1])})
    with pytest.raises(ValueError, match="no value that can be drawn"):
        draws({"a": ([1], [0])}, logy=True)
    with pytest.raises(ValueError, match="cannot be told apart"):
        draws({str(i): ([1], [1]) for i in range(7)})
    assert "1 value" in draws({"a": ([0, 1], [1, 1])}, logx=True).alt


def test_labels_at_line_ends_never_overlap():
    spots = spread([5.0, 5.5, 6.0, 90.0], 13.0, 2.0, 100.0)
    assert all(b - a >= 13 - 1e-9 for a, b in pairwise(spots)) and spots[0] >= 2 and spots[-1] <= 100
    assert spread([10.0, 50.0], 13.0, 0.0, 100.0) == [10.0, 50.0]


def test_a_real_run_is_drawn():
    from labs.kit.ranks import run

    def pass_on(dist):
        import torch

        rank, size = dist.get_rank(), dist.get_world_size()
        box = torch.zeros(250)
        if rank:
            dist.recv(box, src=rank - 1)
        if rank + 1 < size:
            dist.send(box + 1, dst=rank + 1)

    done = run(pass_on, 3)
    alt = draw.timeline(done, name="Chain").alt
    assert "timeline of 3 ranks" in alt and "2 messages arrived, 2 kB in all" in alt
    assert "Rank 2 waits longest" in alt
    player = draw.messages(done, name="Chain")
    assert len(player.frames) == 3 and "0 → 1 (1 kB)" in player.captions[1] and "2 of 2" in player.captions[2]
