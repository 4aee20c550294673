"""The mechanics, pictures, widgets and facts of lesson 07, against values that are known otherwise."""

import runpy
from pathlib import Path

import pytest
import torch
from torch.utils.data import DistributedSampler

from labs.data_parallel import digits, exercises, figures, networks, rates, training
from labs.kit import ranks
from labs.kit.exercise import Question
from labs.kit.hardware import costs

RIGHT = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))
SCOPE: dict = {}
exec(RIGHT["SHARDS"] + RIGHT["AVERAGE"] + RIGHT["RATE"] + RIGHT["EVALUATE"], SCOPE)
shard_indices, average_gradients, learning_rate = (
    SCOPE[name] for name in ("shard_indices", "average_gradients", "learning_rate")
)


def unsolved(*args):
    raise NotImplementedError


# ---------------------------------------------------------------- data, networks, training


def test_the_digits_are_all_of_scikit_learns_once():
    from sklearn.datasets import load_digits

    (images, labels), (others, rest) = digits.training(), digits.held_back()
    assert images.shape == (1500, 64) and others.shape == (297, 64) and images.dtype == torch.float64
    together = sorted(map(tuple, (torch.cat([images, others]) * 16).tolist()))
    assert together == sorted(map(tuple, load_digits().data.tolist()))
    assert (
        torch.bincount(torch.cat([labels, rest])).tolist()
        == torch.bincount(torch.tensor(load_digits().target)).tolist()
    )


def test_the_digits_given_out_are_copies():
    digits.training()[0].zero_()
    assert digits.training()[0].sum() > 0


def test_networks_depend_on_their_seed_only():
    state = torch.random.get_rng_state()
    assert torch.equal(training.flat(networks.mlp(3)), training.flat(networks.mlp(3)))
    assert not torch.equal(training.flat(networks.mlp(3)), training.flat(networks.mlp(4)))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert len(training.flat(networks.mlp())) == 26_122
    assert networks.cnn()(digits.training()[0][:5]).shape == (5, 10)


def test_batches_use_every_sample_before_one_comes_again():
    batches = training.batches_of(10, 4, number=5)
    assert [len(batch) for batch in batches] == [4] * 5
    order = [sample for batch in batches for sample in batch]
    assert sorted(order[:10]) == sorted(order[10:]) == list(range(10))


def test_without_images_loss_and_gradients_are_nan():
    images, labels = digits.training()
    model = networks.mlp()
    assert training.backward(model, images[:0], labels[:0]) != training.backward(model, images[:0], labels[:0])
    assert all(torch.isnan(p.grad).any() or not p.grad.any() for p in model.parameters())


# ---------------------------------------------------------------- what the lesson says


@pytest.mark.parametrize("size", [1, 2, 5])
def test_summed_and_scaled_a_step_is_n_squared_as_long(size):
    model = networks.mlp()
    before = training.flat(model)
    assert figures.step_ratio(model, size) == pytest.approx(size**2)
    assert torch.equal(training.flat(model), before)


def test_the_prediction_is_revealed_only_after_it_was_made(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    step = figures.predict_step()
    figures.reveal_step(step, networks.mlp())
    assert "16" not in capsys.readouterr().out
    step.set(16)
    figures.reveal_step(step, networks.mlp())
    assert "You said 16 times, and it is 16 times." in capsys.readouterr().out


def short_epoch(pad, dist):
    rank, size = dist.get_rank(), dist.get_world_size()
    images, labels = digits.training()
    model = networks.mlp(hidden=4)
    mine = shard_indices(21, rank, size, 0, pad)
    for first in range(0, len(mine), 5):
        part = mine[first : first + 5]
        training.backward(model, images[part], labels[part])
        average_gradients([p.grad for p in model.parameters()], len(part), dist)
    return len(mine)


def test_one_batch_fewer_hangs_and_equal_steps_do_not():
    with pytest.raises(ranks.Deadlock) as found:
        ranks.run(short_epoch, 2, args=(False,))
    assert [waiting.rank for waiting in found.value.waiting] == [0]
    assert ranks.run(short_epoch, 2, args=(True,)).results == (11, 11)


def test_the_library_scores_22_of_21_images_and_the_extension_21():
    samplers = [DistributedSampler(range(21), num_replicas=2, rank=rank) for rank in range(2)]
    assert sum(len(list(sampler)) for sampler in samplers) == 22
    images, labels = digits.held_back()
    answer = SCOPE["evaluate"]
    for size in (1, 2, 3, 4):
        run = ranks.run(
            lambda dist: answer(lambda batch: networks.mlp()(batch).argmax(1), images[:21], labels[:21], dist), size
        )
        right = (networks.mlp()(images[:21]).argmax(1) == labels[:21]).sum().item()
        assert set(run.results) == {(right, 21)}


def test_the_sampler_repeats_its_order_unless_told_the_epoch():
    sampler = DistributedSampler(range(21), num_replicas=2, rank=0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first


def test_adam_hides_a_sum_and_sgd_shows_it():
    def summed(gradients, samples, dist):
        for gradient in gradients:
            dist.all_reduce(gradient)

    images, labels = digits.training()
    batches, start = training.batches_of(len(images), 64, number=3), training.flat(networks.mlp())
    optimisers = {
        "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
        "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.001),
    }
    off = {}
    for name, optimiser in optimisers.items():
        right, wrong = (
            ranks.run(training.steps, 4, args=(networks.mlp(), images, labels, batches, optimiser, how)).results[0]
            for how in (average_gradients, summed)
        )
        off[name] = ((wrong["weights"] - right["weights"]).norm() / (right["weights"] - start).norm()).item()
    assert off["sgd"] > 2.5
    assert off["adam"] < 0.01


def test_batch_norm_makes_ranks_differ_from_one_process():
    images, labels = digits.training()
    batches = training.batches_of(len(images), 64, number=2)
    off = {}
    for batch_norm in (False, True):
        one = training.alone(networks.mlp(batch_norm=batch_norm), images, labels, batches, 0.1)["weights"]
        model, sgd = networks.mlp(batch_norm=batch_norm), lambda parameters: torch.optim.SGD(parameters, lr=0.1)
        run = ranks.run(training.steps, 4, args=(model, images, labels, batches, sgd, average_gradients))
        off[batch_norm] = (run.results[0]["weights"] - one).abs().max().item()
    assert off[False] < 1e-12 < 1e-5 < off[True]


def test_sharing_one_batch_among_256_gpus_is_slower_than_among_64():
    def step(gpus):
        return 0.1 / gpus + costs.ring_all_reduce(gpus, 100e6, 5e-6, 50e9)

    assert step(64) < step(16) < step(1)
    assert step(256) > step(64)
    assert all(0.1 / step(gpus) < 26 for gpus in range(1, 1025))


def test_questions_agree_with_the_lesson():
    questions = [value for value in vars(exercises).values() if isinstance(value, Question)]
    assert len(questions) == 4
    said = exercises.step_length.choices[exercises.step_length.right]
    assert said == f"{figures.step_ratio(networks.mlp(), 8):.0f} times as long"


# ---------------------------------------------------------------- pictures and widgets


def test_the_dealt_digits_name_every_sample_and_mark_the_repeated_ones():
    explorer = figures.deal(shard_indices)
    assert "No sample is repeated" in explorer.set(pad="no").alt
    alt = explorer.set(pad="yes", size=4, epoch=3).alt
    shards = [shard_indices(13, rank, 4, 3, True) for rank in range(4)]
    for rank, shard in enumerate(shards):
        assert f"Rank {rank}: {', '.join(map(str, shard))}" in alt
    again = alt.split("Repeated: ")[1].rstrip(".").split(", ")
    assert sorted(map(int, again)) == sorted(k for k in range(13) if sum(shard.count(k) for shard in shards) > 1)
    assert explorer.static.html.count("<svg") >= 4


def test_an_empty_rank_is_drawn_as_holding_nothing():
    assert "Rank 1: nothing" in figures.shards_picture([[0], []], "One sample").alt


@pytest.mark.parametrize(("widget", "name"), [(figures.deal, "shard_indices"), (figures.warm_up, "learning_rate")])
def test_widgets_without_an_answer_say_what_to_solve(widget, name, capsys):
    assert widget(unsolved) is None
    assert f"Solve {name} first" in capsys.readouterr().out


def test_the_linear_rule_keeps_up_with_one_worker_and_the_old_rate_does_not():
    steps = rates.steps_an_epoch(8) * rates.EPOCHS
    one = rates.losses(1, (0.02,))
    same = rates.losses(8, (0.02,))
    scaled = rates.losses(8, tuple(learning_rate(k, 0.02, 8, 0) for k in range(steps)))
    assert scaled[-1] < 0.2 < 0.4 < same[-1]
    assert len(one) == rates.EPOCHS + 1 and one[-1] < 0.2
    alt = figures.training_picture(learning_rate, 8, 0.02, 0).alt
    assert all(label in alt for label in ("1 worker", "8, same rate", "8, your rates"))


# ---------------------------------------------------------------- measuring


def test_measuring_on_real_ranks_times_every_step():
    seconds = figures.measure(average_gradients, sizes=(1, 2), images=40, hidden=8, repeats=2)
    assert {size: len(steps) for size, steps in seconds.items()} == {1: 2, 2: 2}
    assert all(compute > 0 and average > 0 for steps in seconds.values() for compute, average in steps)


def test_the_table_gives_medians_and_the_speed_up():
    text = figures.table({1: [(0.01, 0.0), (0.02, 0.0), (0.03, 0.0)], 2: [(0.008, 0.002)] * 3})
    assert "1 rank :   20.0 ms a step (10.0 to 30.0)" in text
    assert "2.00 times as fast" in text
    assert figures.table(None) == "Nothing was measured."


def test_measuring_an_unsolved_answer_says_so(capsys):
    assert figures.measure(unsolved, sizes=(2,), images=8, hidden=4, repeats=1) is None
    assert "Solve average_gradients first" in capsys.readouterr().out
