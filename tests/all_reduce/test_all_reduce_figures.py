"""The pictures, widgets, measurements and oracles of lesson 08, against values that are known otherwise."""

import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from labs.all_reduce import exercises, figures, watched
from labs.all_reduce.costs_pictures import grows_with_ranks_picture, ring_or_tree_picture
from labs.all_reduce.exercises_chunks import usual_bounds
from labs.all_reduce.exercises_crossover import exact_crossover
from labs.all_reduce.exercises_two_paths import exact_split
from labs.all_reduce.orders import interleaved
from labs.kit import ranks
from labs.kit.exercise import Question
from labs.kit.hardware import cluster, costs, uniform

RIGHT = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))
SCOPE: dict = {}
exec(RIGHT["REDUCE_SCATTER"] + RIGHT["ALL_GATHER"], SCOPE)
reduce_scatter, all_gather = SCOPE["reduce_scatter"], SCOPE["all_gather"]


def ring_all_reduce(tensor, dist):
    reduce_scatter(tensor, dist)
    all_gather(tensor, dist)
    return tensor


def unsolved(tensor, dist):
    raise NotImplementedError


# ---------------------------------------------------------------- the watched run


def inputs(values, dtype="float32"):
    return {"values": np.asarray(values), "dtype": dtype, "latency": 5e-6, "bandwidth": 50e9}


def test_watching_changes_neither_time_nor_bytes():
    values = np.arange(12).reshape(3, 4)
    output = watched.run((reduce_scatter,), inputs(values))
    plain = ranks.run(
        reduce_scatter, 3, args=lambda rank: (torch.tensor(values[rank]).float(),), topology=uniform(3, 5e-6, 50e9)
    )
    assert output["time"] == plain.time
    assert output["bytes"] == [plain.bytes_sent(rank) for rank in range(3)]


def test_watching_notes_slices_copies_and_states():
    def program(tensor, dist):
        if dist.get_rank() == 0:
            dist.send(tensor[1:3], dst=1)
            dist.send(tensor[1:3].clone(), dst=1)
        else:
            tensor[2] += 1
            for _ in range(2):
                dist.recv(tensor[:2], src=0)

    output = watched.run((program,), inputs([[1, 2, 3], [4, 5, 6]]))
    assert output["sent"] == [[[1, 1, [2, 3], [1, 2, 3]], [1, None, [2, 3], [1, 2, 3]]], []]
    assert output["results"][1].tolist() == [2, 3, 7]


def test_a_long_tensor_is_not_written_down():
    output = watched.run((reduce_scatter,), inputs(np.ones((2, 65), dtype=int)))
    assert output["sent"] == [[], []]
    assert output["messages"] == [1, 1]


# ---------------------------------------------------------------- players over the learner's own code


def test_the_player_follows_chunk_0_of_the_reduce_scatter():
    player = figures.watch_reduce_scatter(reduce_scatter)
    assert len(player.frames) == 4
    assert "rank 3 has 1110 in chunk 0" in player.captions[2]
    assert "rank 0 has 1111 in chunk 0" in player.captions[3]
    assert {"from": "rank 0", "to": "rank 1", "chunk": 3, "carries": "1"} in player.events[1]
    assert "4 of 16 cells are complete" in player.frames[3][0].alt


def test_the_player_ends_with_everything_everywhere():
    player = figures.watch_all_gather(all_gather)
    assert "16 of 16 cells are complete" in player.frames[-1][0].alt


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (unsolved, "Solve reduce_scatter first"),
        (lambda tensor, dist: None, "sends nothing"),
        (lambda tensor, dist: dist.send(tensor, dst=(dist.get_rank() + 1) % 4), "Deadlock"),
    ],
)
def test_without_a_finished_answer_the_player_says_what_is_missing(answer, said, capsys):
    assert figures.watch_reduce_scatter(answer) is None
    assert said in capsys.readouterr().out


def test_the_player_shows_an_answer_without_common_rounds_as_before_and_after():
    def to_rank_0(tensor, dist):
        if dist.get_rank():
            dist.send(tensor, dst=0)
        else:
            for other in range(1, 4):
                buffer = torch.empty_like(tensor)
                dist.recv(buffer, src=other)
                tensor += buffer

    player = figures.watch_reduce_scatter(to_rank_0)
    assert len(player.frames) == 2


# ---------------------------------------------------------------- formulas with sliders


def test_the_crossing_is_marked_where_the_two_times_are_equal():
    alt = ring_or_tree_picture(world_size=64, latency_us=5, bandwidth_GBps=50).alt
    assert "2.84 MB" in alt
    assert "ring beats binomial tree from here" not in ring_or_tree_picture(2, 5, 50).alt  # the ring never loses


def test_a_ring_of_large_tensors_hardly_notices_more_ranks_and_a_collector_does():
    alt = grows_with_ranks_picture(1000).alt
    assert "ring: 20 ms at 2 to" in alt
    assert "collector: 40 ms at 2 to" in alt


@pytest.mark.parametrize("explorer", [figures.ring_or_tree, figures.grows_with_ranks])
def test_explorers_draw_every_static_frame(explorer):
    assert explorer().static.html.count("<svg") >= 4


# ---------------------------------------------------------------- measuring


def test_the_fitted_line_finds_latency_and_bandwidth_again():
    times = {size: [costs.ring_all_reduce(4, size, 1e-4, 2e9)] * 3 for size in (4_000, 1_000_000, 16_000_000)}
    latency, bandwidth = figures.model_line({"yours": times}, world_size=4)
    assert latency == pytest.approx(1e-4)
    assert bandwidth == pytest.approx(2e9)


def test_measured_times_are_drawn_with_their_spread():
    seconds = {name: {1000: [1.0, 2.0, 4.0], 2000: [2.0, 3.0, 5.0]} for name in ("yours", "library")}
    picture = figures.measured(seconds, world_size=2)
    assert "your ring" in picture.alt and "dist.all_reduce" in picture.alt and "spread" in picture.alt
    assert figures.measured(None) is None


def test_measuring_on_real_ranks_times_both_at_every_size():
    seconds = figures.measure(ring_all_reduce, sizes=(400, 4000), world_size=2, repeats=2)
    assert {name: {size: len(times) for size, times in found.items()} for name, found in seconds.items()} == {
        "yours": {400: 2, 4000: 2},
        "library": {400: 2, 4000: 2},
    }
    assert all(times == sorted(times) and times[0] > 0 for found in seconds.values() for times in found.values())


def test_measuring_an_unsolved_ring_says_so(capsys):
    assert figures.measure(unsolved, sizes=(400,), world_size=2, repeats=1) is None
    assert "Solve reduce_scatter and all_gather first" in capsys.readouterr().out


# ---------------------------------------------------------------- the order of ranks


def test_interleaved_neighbours_never_share_a_node():
    order = interleaved(3, 4)
    assert sorted(order) == list(range(12))
    machine = cluster(3, 4).reorder(order)
    assert all(machine.node_of(rank) != machine.node_of((rank + 1) % 12) for rank in range(12))


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_ring_is_as_slow_as_its_slowest_hop(gpus):
    machine = cluster(3, gpus, nic=12.5e9)
    size, nbytes = 3 * gpus, 48_000 * gpus
    hop = machine.route(gpus - 1, gpus)
    node_by_node, mixed = figures.order_times(ring_all_reduce, machine, nbytes=nbytes)
    chunk = nbytes / size
    assert node_by_node == pytest.approx(2 * (size - 1) * (hop.latency + chunk / 12.5e9), rel=1e-9)
    assert mixed == pytest.approx(2 * (size - 1) * (hop.latency + chunk / (12.5e9 / gpus)), rel=1e-9)


def test_the_order_of_an_unsolved_ring_says_so(capsys):
    assert figures.order_times(unsolved, cluster(2, 2)) is None
    assert "Solve reduce_scatter" in capsys.readouterr().out


# ---------------------------------------------------------------- predictions and questions


def test_the_reveal_gives_both_answers_with_their_reasons(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    collector, best = figures.predict_collector(), figures.predict_best()
    figures.reveal(collector, best)
    assert "6 ms" not in capsys.readouterr().out  # nothing is given away before the learner commits
    collector.set(5)
    best.set(3)
    figures.reveal(collector, best)
    said = capsys.readouterr().out
    assert "it is 12 ms or 6 ms" in said
    assert "You said 3 ms, and it is 3 ms." in said


def test_questions_are_answered_as_the_formulas_say():
    questions = [value for value in vars(exercises).values() if isinstance(value, Question)]
    assert len(questions) == 4
    per_rank = ranks.run(ring_all_reduce, 8, args=(torch.zeros(800),)).bytes_sent(0) / 3200
    assert exercises.bytes_sent.choices[exercises.bytes_sent.right] == f"{800 * per_rank:,.0f} MB"
    doubled = costs.ring_all_reduce(128, 1e9, 5e-6, 50e9) / costs.ring_all_reduce(64, 1e9, 5e-6, 50e9)
    assert 1 < doubled < 1.03
    assert costs.ring_all_reduce(1024, 4, 5e-6, 50e9) > 90 * costs.tree_all_reduce(1024, 4, 5e-6, 50e9)


# ---------------------------------------------------------------- oracles against other oracles


@pytest.mark.parametrize("numel", [0, 1, 3, 4, 5, 10, 100])
@pytest.mark.parametrize("size", [1, 2, 4, 7, 64])
def test_usual_chunks_are_those_of_tensor_split(numel, size):
    parts = torch.arange(numel).tensor_split(size)
    assert [end - start for start, end in usual_bounds(numel, size)] == [len(part) for part in parts]


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12, 64, 1024])
def test_the_exact_crossing_is_that_of_the_cost_model(size):
    assert float(exact_crossover(size, 5e-6, 50e9)) == pytest.approx(costs.ring_tree_crossover(size, 5e-6, 50e9))


def test_no_other_split_is_quicker():
    rng = np.random.default_rng(0)
    for _ in range(50):
        nbytes = int(rng.integers(0, 2_000_000))
        paths = [(float(rng.integers(0, 40)) * 1e-6, float(rng.integers(1, 90)) * 1e9) for _ in range(2)]
        share = exact_split(nbytes, *paths)

        def ends(x, nbytes=nbytes, paths=paths):
            parts = (Fraction(x), nbytes - Fraction(x))
            return max((Fraction(a) + part / Fraction(b) for part, (a, b) in zip(parts, paths) if part), default=0)

        assert all(ends(share) <= ends(Fraction(nbytes) * k / 100) for k in range(101))


def test_floating_point_bends_the_ring_and_leaves_all_ranks_alike():
    numbers = [1e8, 1.0, -1e8, 1.0]
    run = ranks.run(ring_all_reduce, 4, args=lambda rank: (torch.full((4,), numbers[rank]),))
    assert [result.tolist() for result in run.results] == [[0.0, 1.0, 0.0, 1.0]] * 4
