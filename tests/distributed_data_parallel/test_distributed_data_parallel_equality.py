"""DDP with buckets and overlap is one process on the whole batch: to 1e-12, where a careless one is not."""

import copy
import runpy
from pathlib import Path

import pytest
import torch

from labs.data_parallel import digits, networks, training
from labs.distributed_data_parallel import models
from labs.kit import ranks

SCOPE: dict = {"__name__": "__main__"}  # as in a notebook, so that its class travels by value
exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))["DDP"], SCOPE)
exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))["PIECES"], SCOPE)
DDP, in_pieces = SCOPE["DDP"], SCOPE["in_pieces"]

NETWORKS = {
    "mlp": networks.mlp,
    "cnn": networks.cnn,
    "tied": models.tied,
    "frozen": models.frozen,
    "unused": models.unused,
}


def small_buckets(module, dist):
    return DDP(module, dist, 10_000)


def given(network):
    images, labels = digits.training()
    return NETWORKS[network](), images, labels, training.batches_of(len(images), 24, number=5, seed=4)


def whole_batch(network):
    """Five steps of torch's own SGD by one process: no function of the lesson takes part."""
    model, images, labels, batches = given(network)
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for batch in batches:
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimiser.step()
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach()


def distance(results, wanted):
    assert all(weights.dtype == torch.float64 for weights in results)
    return max((weights - wanted).abs().max().item() for weights in results)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_virtual_ranks_are_one_process(network, pieces, size):
    run = ranks.run(models.train, size, args=(small_buckets, *given(network), pieces))
    assert distance(run.results, whole_batch(network)) < 1e-12
    assert all(torch.equal(weights, run.results[0]) for weights in run.results)


def both(data, dist):
    """Train each network with the learner's DDP and with PyTorch's, in one crew of processes."""
    found = {}
    for name, module, images, labels, batches, pieces in data:
        for who, ddp in (("mine", small_buckets), ("torch", models.torch_ddp)):
            found[name, who] = models.train(ddp, copy.deepcopy(module), images, labels, batches, pieces, dist)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_real_ranks_are_one_process_with_mine_and_with_pytorchs(size):
    data = [(name, *given(name), 2 if size in (2, 4) else 1) for name in NETWORKS]
    run = ranks.run(both, size, args=(data,), on="gloo", check=False, timeout=60)
    for name in NETWORKS:
        wanted = whole_batch(name)
        for who in ("mine", "torch"):
            assert distance([result[name, who] for result in run.results], wanted) < 1e-12, (name, who)


def test_the_lone_process_of_the_lesson_is_torchs_own_sgd():
    for network in NETWORKS:
        assert (models.alone(*given(network)) - whole_batch(network)).abs().max() < 1e-14


def test_the_networks_are_what_they_are_called():
    tied, frozen, unused = models.tied(), models.frozen(), models.unused()
    assert tied.first.weight is tied.second.weight
    assert any(not parameter.requires_grad for parameter in frozen.parameters())
    unused(torch.zeros(1, 64, dtype=torch.float64)).sum().backward()
    assert unused.spare.weight.grad is None


def test_ranks_that_begin_with_different_weights_follow_rank_0():
    def program(images, labels, dist):
        ddp = DDP(networks.mlp(seed=dist.get_rank()), dist, 10_000)
        return training.flat(ddp.module)

    run = ranks.run(program, 3, args=(None, None))
    assert all(torch.equal(weights, training.flat(networks.mlp(seed=0))) for weights in run.results)


def accumulated(gradients, loop, dist):
    module = torch.nn.Linear(1, 1, bias=False)
    ddp = DDP(module, dist)
    loop(ddp, [torch.tensor([[gradient]]) for gradient in gradients[dist.get_rank()]], lambda output: output.sum())
    return module.weight.grad.item()


def first_instead_of_last(ddp, pieces, loss):
    for number, piece in enumerate(pieces):
        if number == 0:
            ddp.backward(loss(ddp(piece)))
        else:
            with ddp.no_sync():
                ddp.backward(loss(ddp(piece)))


@pytest.mark.parametrize("fabric", ["virtual", "gloo"])
def test_no_sync_wrong_by_one_step_gives_4_and_7(fabric):
    options = {} if fabric == "virtual" else {"on": "gloo", "check": False}
    for loop, wanted in ((in_pieces, (5.5, 5.5)), (first_instead_of_last, (4.0, 7.0))):
        run = ranks.run(accumulated, 2, args=([[1.0, 2.0], [3.0, 5.0]], loop), **options)
        assert run.results == wanted


def test_the_yardstick_sees_a_sum_and_a_missing_average():
    class Summed(DDP):
        def finish(self):
            super().finish()
            for parameter in self.trained:
                parameter.grad *= self.dist.get_world_size()

    class Alone(DDP):
        def backward(self, loss):
            self.averaging = False
            super().backward(loss)

    for wrong in (Summed, Alone):
        run = ranks.run(models.train, 2, args=(wrong, *given("mlp"), 1))
        assert distance(run.results, whole_batch("mlp")) > 1e-6
