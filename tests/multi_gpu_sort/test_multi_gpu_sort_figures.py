"""The pictures of lesson 17: they draw, say what they show, and wait politely for an answer that is not there yet."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from labs.kit.exercise import Question
from labs.multi_gpu_sort import comparison, exercises, figures, stages, timing
from labs.multi_gpu_sort.machines import KINDS, machine

FOUR = [[12, 3, 7, 15], [0, 9, 5, 14], [10, 1, 13, 4], [6, 11, 2, 8]]
RIGHT = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))


def stub(*arguments):
    raise NotImplementedError


def text_of(shown):
    return shown._repr_mimebundle_()["text/html"] if hasattr(shown, "_repr_mimebundle_") else shown._repr_html_()


def test_bars_say_what_they_show():
    picture = figures.bars(FOUR, moved=[(0, 1)], wrong=[(3, 0)], arrows=[(0, 2, 3), (1, 0, 0)], name="Keys")
    away = sum(key // 4 != rank for rank, chunk in enumerate(FOUR) for key in chunk)
    assert "Rank 0: 12 3 7 15." in picture.alt and f"{away} of 16 keys are not where they belong" in picture.alt
    assert "1 have just arrived" in picture.alt and "1 are marked as wrong" in picture.alt
    assert "3 keys go from rank 0 to rank 2." in picture.alt and "0 keys go" not in picture.alt
    assert "<svg" in picture.svg()


@pytest.mark.parametrize("chunks", [[[], []], [[1], []], [[1.5, np.inf], [-np.inf, 0.0]], [[7] * 40, [7] * 40]])
def test_bars_of_unusual_keys(chunks):
    assert "<svg" in figures.bars(chunks).svg()


def test_a_swap_marks_what_is_still_wrong():
    a, b = [1, 3, 6, 7], [0, 2, 4, 5]
    wrong = [figures.swap(a, b, p, "x").alt.count("marked as wrong") for p in range(5)]
    assert wrong == [1, 1, 0, 1, 1], "with p = 2 all is well; with more, keys went that should have stayed"
    assert "Rank 0: 1 3 0 2." in figures.swap(a, b, 2, "x").alt


def test_the_slider_has_a_frame_for_every_pivot():
    explorer = figures.explore_swap()
    assert len(explorer.frames) == 9
    for frame in explorer.frames:
        assert "<svg" in explorer.set(**frame).svg()


def test_the_player_of_the_merge_sort_tells_every_move():
    player = figures.watch(FOUR)
    assert len(player.captions) <= 12 and "GPUs 0 to 3: the halves swap" in " ".join(player.captions)
    assert text_of(player).count("<svg") == len(player.captions)
    moves = [row for rows in player.events for row in rows]
    assert all(row["from GPU"] != row["to GPU"] and row["keys"] > 0 for row in moves)
    assert sum(row["keys"] for row in moves) == stages.moved(FOUR)
    assert len(figures.watch([[1, 2], [3, 4]]).captions) == 3, "sorted keys: a swap of nothing, and no merge"


def test_the_player_of_the_radix_partition_sends_every_key_once():
    chunks = [[17, 203, 90, 33], [240, 12, 36, 99], [5, 120, 64, 250]]
    player = figures.partition(chunks)
    assert len(player.captions) == 4 and text_of(player).count("<svg") == 4
    moved = sum(row["keys"] for row in player.events[2])
    assert f"{moved} of 12 keys change their GPU" in player.captions[2]
    assert figures.partition([[], [], []]).captions[3].endswith("GPU 0 has 0, GPU 1 has 0, GPU 2 has 0.")
    same = figures.partition([[7, 7], [7, 7]])
    assert "GPU 0 has 4, GPU 1 has 0" in same.captions[3], "one bucket goes to one GPU"


def test_shares_and_halves():
    assert "rank 1 30; an equal share would be 20" in figures.shares([10, 30], "Keys").alt
    assert "2 are marked as wrong" in figures.halves([[1, 2], [3, 4]], [[1, 3], [2, 4]], "x").alt


def test_the_guess_is_revealed_with_counted_numbers():
    seen = []
    figures.reveal_moves(SimpleNamespace(reveal=lambda truth, why: seen.append((truth, why))))
    (truth, why) = seen[0]
    assert truth == 7 and "placed in order, it is 3;" in why


def test_the_comparison_has_the_shape_of_the_papers():
    times = {kind: figures.seconds(kind, 4, sample=2**16) for kind in KINDS}
    for kind in ("NVSwitch", "NVLink to the CPU"):
        assert times[kind]["peer to peer"] < times[kind]["heterogeneous"]
    assert times["PCIe only"]["heterogeneous"] < times["PCIe only"]["peer to peer"]
    assert min(times["NVSwitch"].values()) < min(times["PCIe only"].values())
    chart = figures.chart(times, "Four machines")
    assert all(kind in chart.alt for kind in KINDS) and "heterogeneous" in chart.alt and "<svg" in chart.svg()


def test_on_the_devices_alone_more_devices_favour_one_exchange():
    ratios = []
    for gpus in (2, 8):
        peer, radix = figures.on_the_devices("NVSwitch", gpus, sample=2**16).values()
        ratios.append(peer / radix)
    assert ratios[0] < 1 < ratios[1]


def test_the_order_of_devices_matters_where_wires_differ():
    good, bad = (
        figures.on_the_devices("NVLink pairs", 4, sample=2**14, order=order)["peer to peer"]
        for order in (None, [0, 2, 1, 3])
    )
    assert bad > 1.3 * good


def test_curves_by_device_count():
    picture = figures.by_devices(sample=2**14, counts=(2, 4))
    assert all(name in picture.alt for name in comparison.SORTS) and "<svg" in picture.svg()


def test_an_unknown_machine_is_named():
    with pytest.raises(ValueError, match="no machine 'Ethernet'; there are PCIe only"):
        machine("Ethernet", 4)


def test_measure_says_what_to_solve_first(capsys):
    assert figures.measure(stub, stub, n=100, repeats=1) is None
    assert "sort_pair and radix_partition" in capsys.readouterr().out


def test_measure_times_both_answers_and_the_library():
    scope = {"__name__": "__main__"}  # as in a notebook, so that its functions travel by value
    for source in (RIGHT["SORT_PAIR"], RIGHT["RADIX"]):
        exec(source, scope)
    found = timing.measure(scope["sort_pair"], scope["radix_partition"], n=2000, repeats=2)
    assert list(found) == ["your sort_pair", "your radix_partition", "torch.sort, one process"]
    assert all(len(times) == 2 and min(times) > 0 for times in found.values())


def test_questions_explain_every_choice():
    questions = [value for value in vars(exercises).values() if isinstance(value, Question)]
    assert len(questions) == 4
    for question in questions:
        assert set(question.why) == set(question.choices) and question.right in question.choices
