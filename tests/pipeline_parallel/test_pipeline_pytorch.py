"""torch.distributed.pipelining beside ours: the same order of actions, the same numbers, and what it refuses."""

import os
import runpy
from itertools import product
from pathlib import Path

import pytest
import torch

from labs.kit import ranks
from labs.pipeline_parallel import executor, pytorch
from labs.pipeline_parallel.checking import check
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.schedules import gpipe, one_f_one_b
from labs.pipeline_parallel.zero_bubble import zbv

CASES = runpy.run_path(str(Path(__file__).with_name("pipeline_cases.py")))
network, batch, distance = (CASES[name] for name in ("network", "batch", "distance"))
SOAK = os.environ.get("LABS_SOAK") == "1"

OURS = {"GPipe": gpipe, "1F1B": one_f_one_b, "Interleaved1F1B": lambda p, m: interleaved(2, p, m), "ZBV": zbv}
MICRO_BATCHES = (1, 2, 3, 4, 8, 16)


def refuses(name, size, micro_batches):
    """What PyTorch 2.13 refuses when a schedule is made, as far as this lesson says it."""
    if name == "1F1B":
        return micro_batches < size
    if name == "DualPipeV":
        return micro_batches < 2 * size
    if name in ("Interleaved1F1B", "InterleavedZeroBubble"):
        return micro_batches % max(1, micro_batches // size) != 0
    return False


class Recorded:
    """A schedule's stages note what they really compute: Schedule1F1B runs another order than it lists."""

    def __init__(self, stage, notes):
        for kind, method in (("F", "forward_one_chunk"), ("B", "backward_one_chunk")):
            setattr(stage, method, self.noting(getattr(stage, method), kind, stage.stage_index, notes))

    @staticmethod
    def noting(method, kind, stage, notes):
        def noted(micro_batch, *arguments, **options):
            notes.append((kind, stage, micro_batch))
            return method(micro_batch, *arguments, **options)

        return noted


def everything(lists, cases, stages, inputs, targets, dist):
    """Rank program: orders and refusals of many cases, a step of others, the order that 1F1B really runs, and the
    gradients after one step of it, and after two."""
    size, rank = dist.get_world_size(), dist.get_rank()
    orders = pytorch.orders_and_refusals(lists, dist)
    steps = []
    for name, micro_batches, reduction in cases:
        own, first, last = pytorch.share_of(
            rank, name, size, stages[: len(pytorch.homes_of(name, size))], inputs, targets
        )
        samples = 3 * micro_batches
        first, last = (None if part is None else part[:samples] for part in (first, last))
        loss = torch.nn.MSELoss(reduction=reduction)
        done = pytorch.one_torch_step(name, own, first, last, loss, micro_batches, reduction, dist)
        done["gradients"] = {stage: [g.clone() for g in found] for stage, found in done["gradients"].items()}
        steps.append(done)
    own, first, last = pytorch.share_of(rank, "1F1B", size, stages[:size], inputs, targets)
    made, ran = pytorch.scheduler("1F1B", own, torch.nn.MSELoss(), 8, "mean", dist), []
    Recorded(made._stage, ran)
    for module in own.values():
        module.zero_grad(set_to_none=True)
    pytorch.losses_of_step(made, first, last)
    order, once = tuple(ran), gradients_in(own)
    pytorch.losses_of_step(made, first, last)
    return orders, steps, order, (once, gradients_in(own))


def gradients_in(modules):
    """A copy of all gradients in one dimension."""
    return torch.cat([p.grad.flatten() for module in modules.values() for p in module.parameters()])


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def answers(request):
    """(ranks, lists asked for, cases run, what each rank returned); one crew of processes for each size."""
    size = request.param
    lists = list(product(pytorch.KINDS, MICRO_BATCHES))
    cases = [(n, m, r) for n, m, r in product(pytorch.KINDS, MICRO_BATCHES, ("mean", "sum")) if not refuses(n, size, m)]
    cases = cases if SOAK else [case for case in cases if case[0] in OURS][size::5]
    arguments = (lists, cases, network(2 * size), *batch(48))
    run = ranks.run(everything, size, arguments, on="gloo", check=False, timeout=120, stream=False)
    return size, lists, cases, run.results


def test_orders_are_ours_action_by_action(answers):
    size, lists, _, results = answers
    compared = 0
    for (name, micro_batches), order in zip(lists, results[0][0]):
        if name in OURS and name != "1F1B" and not isinstance(order, str):
            assert order == OURS[name](size, micro_batches), (name, micro_batches)
            compared += 1
        elif not isinstance(order, str) and name in ("LoopedBFS", "InterleavedZeroBubble", "DualPipeV"):
            assert check(order) == (), "our checker takes PyTorch's other schedules"
    assert compared >= 15


def test_1f1b_really_runs_in_our_order(answers):
    size, _, _, results = answers
    assert tuple(ran for _, _, ran, _ in results) == one_f_one_b(size, 8)


def test_a_second_step_without_emptying_scales_the_first_again(answers):
    """What the lesson says about ``scale_grads``: (g + 8 g)/8 instead of 2 g."""
    _, _, _, results = answers
    for once, twice in (found for *_, found in results):
        assert once.abs().max() > 1e-4
        assert torch.allclose(twice, (once + 8 * once) / 8, rtol=1e-12, atol=1e-14)


def test_refusals_are_those_that_the_lesson_states(answers):
    size, lists, _, results = answers
    for (name, micro_batches), order in zip(lists, results[0][0]):
        assert isinstance(order, str) == refuses(name, size, micro_batches), (name, size, micro_batches, order)
    found = dict(zip(lists, results[0][0]))
    if size == 3:
        assert "multiple of the number of rounds (5), but got 16" in found["Interleaved1F1B", 16]
        assert check(interleaved(2, 3, 16)) == (), "ours makes rounds of 4, 3, 3, 3 and 3"
    if size == 4:
        assert "must be greater than or equal to the number of stages (4)" in found["1F1B", 3]
        assert not isinstance(found["ZBV", 1], str), "ZBV takes fewer micro-batches than stages"


def test_numbers_are_those_of_one_process_and_so_of_ours(answers):
    size, _, cases, results = answers
    inputs, targets = batch(48)
    assert len(cases) >= 5
    for number, (name, micro_batches, reduction) in enumerate(cases):
        outcomes = [result[1][number] for result in results]
        (total,) = [outcome["loss"] for outcome in outcomes if outcome["loss"] is not None]
        gradients = {stage: found for outcome in outcomes for stage, found in outcome["gradients"].items()}
        stages, samples = network(2 * size)[: len(gradients)], 3 * micro_batches
        loss = torch.nn.MSELoss(reduction=reduction)
        wanted = executor.one_process(stages, inputs[:samples], targets[:samples], loss)
        theirs = executor.Result(total, dict(sorted(gradients.items())))
        assert distance(theirs, wanted) < 1e-10, (name, micro_batches, reduction)
        if name in OURS:
            part = inputs[:samples], targets[:samples], loss
            ours = executor.run_pipeline(OURS[name](size, micro_batches), stages, *part, reduction=reduction)
            assert distance(ours, theirs) < 1e-10, (name, micro_batches, reduction)


def test_a_smaller_last_micro_batch_is_refused_at_the_first_step():
    with pytest.raises(ranks.RankFailed, match="shape mismatch"):
        pytorch.run_torch("GPipe", 2, network(2), *batch(11), torch.nn.MSELoss(), 4)


def test_one_call_runs_a_step_and_one_asks_for_a_refusal():
    result = pytorch.run_torch("1F1B", 2, network(2), *batch(8), torch.nn.MSELoss(), 4)
    assert distance(result, executor.one_process(network(2), *batch(8), torch.nn.MSELoss())) < 1e-10
    assert "number of stages (2)" in pytorch.refusal("1F1B", 2, 1)
    with pytest.raises(ValueError, match="ZBV on 2 ranks takes 4 stages here, not 3"):
        pytorch.run_torch("ZBV", 2, network(3), *batch(8), torch.nn.MSELoss(), 4)
