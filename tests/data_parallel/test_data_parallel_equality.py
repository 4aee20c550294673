"""n ranks with averaged gradients are one process with the n-fold batch: to 1e-12, on virtual and on real ranks."""

import runpy
from pathlib import Path

import pytest
import torch

from labs.data_parallel import digits, gpt, networks, training
from labs.kit import ranks

SCOPE: dict = {}
exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))["AVERAGE"], SCOPE)
average_gradients = SCOPE["average_gradients"]

NETWORKS = {"mlp": networks.mlp, "cnn": networks.cnn, "gpt": gpt.gpt}
BATCHES = {
    "even": [24] * 5,
    "uneven": [25, 23, 13, 7, 5],  # no number of ranks but one divides them all
    "empty ranks": [3, 2, 1, 1, 2],  # fewer samples than ranks: their gradients are nan
}


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


class PlainSGD:
    """SGD without torch.optim, whose import costs every new process more than the five steps that are tested."""

    def __init__(self, parameters):
        self.parameters = list(parameters)

    def step(self):
        with torch.no_grad():
            for parameter in self.parameters:
                parameter -= 0.1 * parameter.grad


def given(network, lengths):
    images, labels = gpt.reversal(1500) if network == "gpt" else digits.training()
    order = iter(torch.randperm(len(images), generator=torch.Generator().manual_seed(3)).tolist())
    return NETWORKS[network](), images, labels, [[next(order) for _ in range(length)] for length in lengths]


def whole_batch(network, batches):
    """Five steps of torch's own SGD by one process: no function of the lesson takes part."""
    model, images, labels, batches = given(network, batches)
    optimiser = sgd(model.parameters())
    for batch in batches:
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimiser.step()
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def distance(run, wanted):
    assert all(result["weights"].dtype == torch.float64 for result in run.results)
    return max((result["weights"] - wanted).abs().max().item() for result in run.results)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("lengths", BATCHES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_virtual_ranks_are_one_process(network, lengths, size):
    wanted = whole_batch(network, BATCHES[lengths])
    run = ranks.run(training.steps, size, args=(*given(network, BATCHES[lengths]), sgd, average_gradients))
    assert distance(run, wanted) < 1e-12
    assert all(torch.equal(result["weights"], run.results[0]["weights"]) for result in run.results)


@pytest.mark.parametrize(
    ("size", "network", "lengths"),
    [(1, "mlp", "uneven"), (2, "cnn", "even"), (3, "cnn", "uneven"), (4, "mlp", "empty ranks"), (4, "mlp", "even")],
)
def test_real_ranks_are_one_process(size, network, lengths):
    wanted = whole_batch(network, BATCHES[lengths])
    arguments = (*given(network, BATCHES[lengths]), PlainSGD, average_gradients)
    run = ranks.run(training.steps, size, args=arguments, on="gloo", check=False)
    assert distance(run, wanted) < 1e-12


def with_ddp(model, images, labels, batches, dist):
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    optimiser = sgd(ddp.parameters())
    for batch in batches:
        mine = batch[dist.get_rank() :: dist.get_world_size()]
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(ddp(images[mine]), labels[mine]).backward()
        optimiser.step()
    return {"weights": training.flat(model)}


def test_the_yardstick_measures_ddp_as_well():
    run = ranks.run(with_ddp, 2, args=given("mlp", BATCHES["even"]), on="gloo", check=False)
    assert distance(run, whole_batch("mlp", BATCHES["even"])) < 1e-12


def test_the_yardstick_sees_a_sum_and_an_unweighted_average():
    def summed(gradients, samples, dist):
        for gradient in gradients:
            dist.all_reduce(gradient)

    def unweighted(gradients, samples, dist):
        summed(gradients, samples, dist)
        for gradient in gradients:
            gradient /= dist.get_world_size()

    for average, lengths in ((summed, "even"), (unweighted, "uneven")):
        wanted = whole_batch("mlp", BATCHES[lengths])
        run = ranks.run(training.steps, 4, args=(*given("mlp", BATCHES[lengths]), sgd, average))
        assert distance(run, wanted) > 1e-6


def test_the_lone_process_of_the_lesson_is_torchs_own_sgd():
    model, images, labels, batches = given("mlp", BATCHES["uneven"])
    found = training.alone(model, images, labels, batches, rate=0.1)["weights"]
    assert (found - whole_batch("mlp", BATCHES["uneven"])).abs().max() < 1e-14
