"""What layers cost, where they go, how idle a step is, what freezing saves, what crosses a cut: counted otherwise."""

import itertools
import runpy
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labs.kit.hardware import uniform
from labs.model_parallel import freezing, large, memory, networks, placement, serving, shapes, stages, sums, timelines

RIGHT = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))
SCOPE: dict = {"__name__": "__main__"}
for name in ("IDLE", "SERVE", "BYTES"):
    exec(RIGHT[name], SCOPE)


def test_costs_of_a_linear_layer_by_hand():
    network = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)).double()
    first, second = memory.costs(network, torch.ones(7, 3, dtype=torch.float64))
    assert (first.weights, first.gradients, first.optimiser) == (160, 160, 320)
    assert (first.activations, first.output) == (8 * 7 * 3, 8 * 7 * 5)
    assert (first.forward, first.backward) == (2 * 7 * 3 * 5, 2 * 7 * 3 * 5)  # no gradient for the data
    assert (second.activations, second.backward) == (8 * 7 * 5, 2 * 2 * 7 * 5 * 2)
    assert first.nbytes == 160 * 4 + 168
    assert memory.costs(network, torch.ones(7, 3, dtype=torch.float64), states=0)[0].optimiser == 0


def test_layers_add_up_to_the_network():
    network, batch = networks.vision(), torch.rand(16, 64, dtype=torch.float64)
    found = memory.costs(network, batch)
    stored, output = memory.saved_bytes(network, batch)
    together = memory.total(found)
    assert together.activations == stored
    assert together.weights == sum(parameter.nbytes for parameter in network.parameters())
    assert together.output == output.nbytes
    assert memory.table(found).splitlines()[-1].startswith("together")


def test_meta_counts_as_the_cpu_does():
    network = networks.vision()
    here = memory.costs(network, torch.rand(4, 64, dtype=torch.float64))
    there = memory.costs(network.to("meta"), torch.empty(4, 64, dtype=torch.float64, device="meta"))
    assert here == there


def brute(nbytes, seconds, limits):
    """The best slowest device over all ways to cut, or None."""
    layers, best = len(nbytes), None
    for cuts in itertools.combinations_with_replacement(range(layers + 1), len(limits) - 1):
        ends = [0, *cuts, layers]
        counts = [b - a for a, b in itertools.pairwise(ends)]
        if all(held <= limit for held, limit in zip(sums.sums(nbytes, counts), limits)):
            slowest = max(sums.sums(seconds, counts), default=0)
            best = slowest if best is None else min(best, slowest)
    return best


SIZES = st.integers(1, 30)


@given(st.lists(st.tuples(SIZES, SIZES), max_size=7), st.lists(st.integers(5, 60), min_size=1, max_size=4))
def test_place_is_the_best_of_all_plans_or_refuses(layers, limits):
    nbytes, seconds = [b for b, _ in layers], [s for _, s in layers]
    names = [f"part{k}" for k in range(len(layers))]
    best = brute(nbytes, seconds, limits)
    if best is None:
        with pytest.raises(placement.DoesNotFit) as refused:
            placement.place(names, nbytes, seconds, limits)
        reached = max(k for k in range(len(layers) + 1) if brute(nbytes[:k], seconds[:k], limits) is not None)
        assert str(refused.value).startswith(f"{names[reached]} ")
        assert f" {nbytes[reached]:,} bytes" in str(refused.value)
        return
    counts = placement.place(names, nbytes, seconds, limits)
    assert len(counts) == len(limits)
    assert sum(counts) == len(layers)
    assert all(held <= limit for held, limit in zip(sums.sums(nbytes, counts), limits))
    assert max(sums.sums(seconds, counts), default=0) == best


def test_a_refusal_names_layer_and_bytes():
    found = memory.costs(networks.vision(), torch.rand(64, 64, dtype=torch.float64))
    names, nbytes = [each.name for each in found], [each.nbytes for each in found]
    with pytest.raises(
        placement.DoesNotFit, match=r"^wide1 alone needs 8,929,280 bytes; the largest of 4 .* 8,000,000"
    ):
        placement.place(names, nbytes, [1] * 8, [8_000_000] * 4)
    with pytest.raises(placement.DoesNotFit, match=r"^wide3 needs 4,595,712 bytes; the last of 3 devices has"):
        placement.place(names, nbytes, [1] * 8, [12_000_000] * 3)
    with pytest.raises(placement.DoesNotFit, match=r"^a needs 1 bytes; the last of 0"):
        placement.place(["a"], [1], [1], [])


def test_splitting_needs_every_layer():
    with pytest.raises(ValueError, match="places 7 layers, but the network has 8"):
        stages.split(networks.vision(), [3, 4])


@pytest.mark.parametrize("devices", [1, 2, 3, 4, 8, 16])
def test_one_batch_leaves_everybody_idle_but_one(devices):
    machine = uniform(devices, latency=0.0, bandwidth=1e30)
    run = timelines.step_run(None, [1e-3] * devices, [2e-3] * devices, machine)
    for share in timelines.busy(run):
        assert 1 - share == pytest.approx((devices - 1) / devices, abs=1e-9)


def test_the_formula_of_the_exercise_is_the_trace():
    forward, backward = [1e-3, 3e-3, 2e-3], [2e-3, 5e-3, 0.0]
    machine = uniform(3, latency=1e-3, bandwidth=1e30)
    run = timelines.step_run(None, forward, backward, machine)
    assert [1 - share for share in timelines.busy(run)] == pytest.approx(
        SCOPE["idle"](forward, backward, 1e-3), abs=1e-9
    )


def test_freezing_late_stores_nearly_everything_and_early_nothing():
    batch, labels = torch.rand(8, 64, dtype=torch.float64), torch.arange(8)
    all_, early, late, none = (
        freezing.counted(freezing.freeze(networks.vision(), trained), batch, labels)
        for trained in ([1] * 8, [0] * 4 + [1] * 4, [1] * 4 + [0] * 4, [0] * 8)
    )
    costs = memory.costs(networks.vision(), batch)
    linear_inputs = sum(8 * 8 * width for width in (512, 512, 512, 256))
    assert early["stored"] == sum(each.activations for each in costs[4:])
    assert all_["stored"] - late["stored"] == linear_inputs
    assert none["stored"] == none["backward"] == none["gradients"] == 0
    assert early["forward"] == late["forward"] == all_["forward"]
    assert early["gradients"] + late["gradients"] == all_["gradients"]
    assert early["backward"] < late["backward"] < all_["backward"]


def test_a_frozen_prefix_on_ranks_ends_sooner_with_fewer_messages():
    rows = [line.split() for line in freezing.on_ranks().splitlines()[1:]]
    assert [int(row[3]) for row in rows] == [6, 5, 4, 3]
    assert [float(row[1]) for row in rows] == pytest.approx([12, 10, 8, 6], abs=0.1)


def test_what_crosses_a_cut():
    whole = 8 * shapes.BATCH * shapes.LENGTH * shapes.WIDTH
    state = whole // shapes.LENGTH
    found = {name: dict(shapes.crossings(net, batch)) for name, (_, net, batch) in shapes.examples().items()}
    assert set(found["tagger"].values()) == set(found["GPT"].values()) == {whole}
    assert found["reader"] == {"gru1": whole, "gru2": whole, "gru3": state}
    assert found["writer"]["pool"] == state
    assert found["translator"]["decode1"] == found["translator"]["decode2"] == 2 * whole


@pytest.mark.parametrize("name", shapes.examples())
def test_a_network_cut_anywhere_gives_the_same(name):
    _, network, batch = shapes.examples()[name]
    layers = list(network.children())
    with torch.no_grad():
        exact = network(batch)
        for cut in range(1, len(layers)):
            assert torch.equal(torch.nn.Sequential(*layers[cut:])(torch.nn.Sequential(*layers[:cut])(batch)), exact)


def test_a_gpt_does_not_look_ahead_and_a_bert_does():
    tokens = shapes.examples()["GPT"][2][:1].clone()
    changed = tokens.clone()
    changed[0, -1] = (changed[0, -1] + 1) % shapes.SYMBOLS
    gpt, bert = shapes.transformer(causal=True), shapes.transformer(causal=False)
    with torch.no_grad():
        assert torch.allclose(gpt(tokens)[:, :-1], gpt(changed)[:, :-1], rtol=0, atol=1e-12)
        assert not torch.allclose(bert(tokens), bert(changed), rtol=0, atol=1e-6)


def test_published_sizes():
    sizes = {name: parameters for name, _, _, parameters in shapes.published()}
    assert sizes["BERT base"] / 1e6 == pytest.approx(110, rel=0.02)  # 110 and 340 million in the paper
    assert sizes["BERT large"] / 1e6 == pytest.approx(340, rel=0.02)
    block = 12 * 768**2 + 13 * 768
    assert sizes["GPT"] == 12 * block + (40_000 + 512) * 768


def test_the_large_model_takes_no_memory():
    model = large.language_model(layers=2, width=256)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert [each.name for each in large.costs_of(model, places=64)] == ["embed", "block1", "block2", "scores"]


def test_the_queue_of_stages_is_what_the_stream_does():
    seconds, transfer = [1e-3, 3e-3, 2e-3], 5e-6 + 128 / 50e9
    run = serving.stream_run(SCOPE["serve_stream"], seconds, 10)
    model = serving.answer_times([0.0] * 10, seconds, transfer)[-1]
    assert run.time == pytest.approx(model, rel=0.02)  # sends that wait for their receiver cost a little more
    assert serving.answer_times([0.0] * 10, [1e-3], transfer)[-1] == pytest.approx(10e-3)
    assert serving.copies([0.0, 0.0, 0.0], 2, 1.0) == [1.0, 1.0, 2.0]


def test_an_answer_in_inference_mode_serves_and_leaves_the_notebook_as_it_was():
    source, scope = RIGHT["RIGHT"]["serve_stream"]["isend"], {"__name__": "__main__"}
    assert "@torch.inference_mode()" in source
    exec(source, scope)
    run = serving.stream_run(scope["serve_stream"], [1e-3] * 3, 4)
    assert len(run.results[-1]) == 4
    assert all(answer.is_inference() for answer in run.results[-1])
    assert not torch.is_inference_mode_enabled()
    assert (torch.ones(1, requires_grad=True) * 2).requires_grad
