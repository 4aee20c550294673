"""A network in stages is one process: weights, losses and gradient norms to 1e-10, on virtual and on real ranks."""

import copy
import runpy
from pathlib import Path

import pytest
import torch

from labs.kit import ranks
from labs.model_parallel import memory, networks, proof, stages, sums
from labs.model_parallel.step import frozen_step, train_step

SCOPE: dict = {"__name__": "__main__"}  # as in a notebook, so that its function travels by value
exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))["STEP"], SCOPE)
TASKS = ("convolutions", "recurrent", "transformer")
BATCHES = [list(range(16)), list(range(16, 23))]


def whole(network, inputs, labels, loss):
    """Two steps of torch's own SGD by one process: no function of the lesson takes part."""
    network = copy.deepcopy(network)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    losses, norms = [], []
    for batch in BATCHES:
        optimiser.zero_grad()
        value = loss(network(inputs[batch]), labels[batch])
        value.backward()
        norms.append(torch.nn.utils.get_total_norm([p.grad for p in network.parameters()]).item())
        losses.append(value.item())
        optimiser.step()
    weights = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
    return {"weights": weights, "losses": losses, "norms": norms}


def everything(step, parts, inputs, labels, losses, coming, dist):
    """Train with each loss in turn, so that a crew of real processes is needed once."""
    return [stages.train(step, copy.deepcopy(parts), inputs, labels, BATCHES, loss, coming, dist) for loss in losses]


def assert_equal(results, wanted):
    weights = torch.cat([result["weights"] for result in results])
    assert weights.dtype == torch.float64
    assert (weights - wanted["weights"]).abs().max() < 1e-10
    assert results[-1]["losses"] == pytest.approx(wanted["losses"], rel=1e-10)
    assert all(result["losses"] == [] for result in results[:-1])
    for result in results:
        assert result["norms"] == pytest.approx(wanted["norms"], rel=1e-10)


@pytest.mark.parametrize("fabric", ["virtual", "gloo"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_stages_are_one_process(size, fabric):
    losses = proof.mean_loss, proof.sum_loss
    for which, (network, inputs, labels) in enumerate(proof.tasks().values()):
        if fabric == "gloo" and which != size % len(TASKS):
            continue  # one kind of network for each number of real processes; virtual ranks take all
        step = SCOPE["train_step"] if size % 2 else train_step
        parts = stages.split(network, sums.equal_counts(len(network), size))
        coming = [shape and shape[1:] for shape in stages.shapes(parts, inputs[:1])]
        run = ranks.run(
            everything,
            size,
            args=lambda rank: (step, parts[rank], inputs, labels, losses, coming[rank]),  # noqa: B023
            on=fabric,
        )
        for number, loss in enumerate(losses):
            assert_equal([result[number] for result in run.results], whole(network, inputs, labels, loss))


@pytest.mark.parametrize("counts", [[1, 7], [6, 1, 1], [0, 8], [4, 0, 4], [8], [1] * 8])
def test_it_does_not_matter_where_the_cuts_are(counts):
    network, inputs, labels = proof.tasks()["convolutions"]
    found = proof.apart(train_step, network, inputs, labels, counts)
    assert max(found.values()) < 1e-10


def test_the_yardstick_of_the_lesson_is_torchs_own_sgd():
    for network, inputs, labels in proof.tasks().values():
        one = stages.alone(copy.deepcopy(network), inputs, labels, BATCHES, proof.mean_loss)
        assert_equal([one], whole(network, inputs, labels, proof.mean_loss))


def test_the_yardstick_sees_a_wrong_factor_in_the_norm():
    def halved(stage, optimiser, loss, *rest):
        return train_step(stage, optimiser, lambda output, labels: loss(output, labels) / 2, *rest)

    network, inputs, labels = proof.tasks()["convolutions"]
    found = proof.apart(halved, network, inputs, labels, [4, 4])
    assert found["norms"] > 1e-3


def test_bytes_are_activations_and_gradients_exactly():
    network, inputs, labels = proof.tasks(24)["convolutions"]
    counts = [3, 2, 1, 2]
    parts = stages.split(network, counts)
    shapes = stages.shapes(parts, inputs)
    optimisers = []

    def program(stage, shape, dist):
        optimisers.append(dist.get_rank())
        optimiser = torch.optim.SGD(stage.parameters(), lr=0.1)
        given = inputs if dist.get_rank() == 0 else None, labels if dist.get_rank() == 3 else None
        train_step(stage, optimiser, proof.mean_loss, *given, shape, dist)

    run = ranks.run(program, 4, args=lambda rank: (parts[rank], shapes[rank]))
    borders = [8 * shape.numel() for shape in shapes[1:]]
    outputs = [cost.output for cost in memory.costs(network, inputs)]
    assert borders == [outputs[2], outputs[4], outputs[5]]
    assert [run.bytes_sent(rank) for rank in range(4)] == [
        borders[0],
        borders[0] + borders[1],
        borders[1] + borders[2],
        borders[2],
    ]
    assert [run.messages_sent(rank) for rank in range(4)] == [1, 2, 2, 1]


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_frozen_prefix_gives_the_weights_of_one_process_with_fewer_messages(first):
    network, inputs, labels = proof.tasks()["convolutions"]
    for number, layer in enumerate(network):
        layer.requires_grad_(number >= 2 * first)
    parts = stages.split(network, [2, 2, 2, 2])
    coming = [shape and shape[1:] for shape in stages.shapes(parts, inputs[:1])]

    def step(stage, optimiser, loss, images, labels, shape, dist):
        return frozen_step(stage, optimiser, loss, images, labels, shape, first, dist)

    run = ranks.run(
        stages.train,
        4,
        args=lambda rank: (step, parts[rank], inputs, labels, BATCHES, proof.mean_loss, coming[rank]),
    )
    one = stages.alone(copy.deepcopy(network), inputs, labels, BATCHES, proof.mean_loss)
    assert_equal(run.results, one)
    messages = sum(event.kind == "send" for event in run.trace)
    assert messages == len(BATCHES) * (3 + 3 - first)


def test_cutting_changes_no_bit():
    network, inputs, labels = networks.vision(), *proof.tasks()["convolutions"][1:]

    def weights(counts):
        parts = stages.split(network, counts)
        coming = [shape and shape[1:] for shape in stages.shapes(parts, inputs[:1])]
        run = ranks.run(
            stages.train,
            len(counts),
            args=lambda rank: (train_step, parts[rank], inputs, labels, BATCHES, proof.mean_loss, coming[rank]),
        )
        return torch.cat([result["weights"] for result in run.results])

    assert torch.equal(weights([8]), weights([3, 2, 1, 2]))
