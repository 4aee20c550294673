"""A pipeline gives the loss, the gradients and the gradient norm of one process on the whole batch: to 1e-10, for every
schedule, on virtual and on real ranks."""

import os
import runpy
from itertools import product
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit import ranks
from labs.kit.hardware import uniform
from labs.pipeline_parallel import batches, executor, halves
from labs.pipeline_parallel.actions import BadSchedule, placement_of, schedule_from, shape_of
from labs.pipeline_parallel.activations import peaks
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.executor import run_pipeline
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.plan import forms_of, plans_of
from labs.pipeline_parallel.post import Post
from labs.pipeline_parallel.schedules import gpipe, one_f_one_b
from labs.pipeline_parallel.simulation import simulate
from labs.pipeline_parallel.zero_bubble import zb_h1, zbv

CASES = runpy.run_path(str(Path(__file__).with_name("pipeline_cases.py")))
network, batch, distance, SCHEDULES = (CASES[name] for name in ("network", "batch", "distance", "schedules"))
SOAK = os.environ.get("LABS_SOAK") == "1"

MAKERS = {
    "GPipe": gpipe,
    "1F1B": one_f_one_b,
    "ZB-H1": zb_h1,
    "ZBV": zbv,
    "interleaved 2": lambda p, m: interleaved(2, p, m),
    "interleaved 3": lambda p, m: interleaved(3, p, m),
}
MICRO_BATCHES = (1, 2, 3, 4, 8, 16)
LOSSES = {reduction: torch.nn.MSELoss(reduction=reduction) for reduction in ("mean", "sum")}
TOLERANCE = 1e-10


def samples_for(micro_batches, smaller):
    """Three samples a micro-batch; the last one has two."""
    return 3 * micro_batches - (smaller and micro_batches > 1)


def whole_batch(stages, inputs, targets, loss):
    """One backward through all layers by torch alone: no function of the lesson takes part."""
    model = torch.nn.Sequential(*stages)
    model.zero_grad()
    total = loss(model(inputs), targets)
    total.backward()
    gradients = {number: [p.grad.clone() for p in stage.parameters()] for number, stage in enumerate(stages)}
    return executor.Result(total.item(), gradients)


def compare(schedule, samples, reduction, result):
    stages = network(shape_of(schedule).stages)
    wanted = whole_batch(stages, *batch(samples), LOSSES[reduction])
    flat = torch.cat([g.flatten() for gradients in wanted.gradients.values() for g in gradients])
    assert wanted.norm == pytest.approx(flat.norm().item(), rel=1e-14) and flat.norm() > 0.01
    assert distance(result, wanted) < TOLERANCE


# ---- virtual ranks

VIRTUAL = list(product(MAKERS, range(1, 17) if SOAK else (1, 2, 3, 4, 7, 16), MICRO_BATCHES))


@pytest.mark.parametrize(("name", "size", "micro_batches"), VIRTUAL if SOAK else VIRTUAL[::5])
def test_virtual_ranks_are_one_process(name, size, micro_batches):
    schedule = MAKERS[name](size, micro_batches)
    for reduction, smaller in product(LOSSES, (False, True)) if SOAK else [("mean", True), ("sum", False)]:
        samples = samples_for(micro_batches, smaller)
        stages = network(shape_of(schedule).stages)
        result = run_pipeline(schedule, stages, *batch(samples), LOSSES[reduction], reduction=reduction)
        compare(schedule, samples, reduction, result)
        assert result.peaks == peaks(schedule)
        assert list(result.spans) == simulate(schedule).spans, "virtual times are those of the simulator"


@settings(max_examples=200 if SOAK else 40)
@given(SCHEDULES(), st.sampled_from(sorted(LOSSES)))
def test_any_order_that_can_run_gives_the_same_gradients(schedule, reduction):
    samples = 2 * shape_of(schedule).micro_batches
    stages = network(shape_of(schedule).stages)
    result = run_pipeline(schedule, stages, *batch(samples), LOSSES[reduction], reduction=reduction)
    compare(schedule, samples, reduction, result)
    assert result.peaks == peaks(schedule)


@pytest.mark.parametrize("name", MAKERS)
def test_messages_take_their_time_on_a_topology(name):
    """Short messages are on their way while ranks compute: times are those of the simulator with communication."""
    schedule = MAKERS[name](3, 4)
    stages = network(shape_of(schedule).stages)
    durations = Durations(1.0, 1.5, 0.5)
    topology = uniform(3, latency=0.25, bandwidth=executor.INSTANT)
    result = run_pipeline(schedule, stages, *batch(8), LOSSES["mean"], durations=durations, topology=topology)
    wanted = simulate(schedule, durations, communication=0.25)
    assert [s.start for s in result.spans] == pytest.approx([s.start for s in wanted.spans], abs=1e-9)
    assert result.time == pytest.approx(wanted.makespan)
    slower = run_pipeline(schedule, stages, *batch(8), LOSSES["mean"], durations=durations, topology=uniform(3, 1.0))
    assert slower.time > result.time


def test_bytes_are_those_of_activations_and_gradients_and_nothing_else():
    run = run_pipeline(one_f_one_b(3, 4), network(3), *batch(8), LOSSES["mean"]).run
    assert [run.messages_sent(rank) for rank in range(3)] == [4, 8, 4]
    assert [run.bytes_sent(rank) for rank in range(3)] == [320, 640, 320], "8 samples of 5 numbers of 8 bytes"


# ---- real ranks


def many_steps(cases, stages, inputs, targets, dist):
    """Rank program: a step of each case, in one crew of processes."""
    found = []
    for schedule, samples, reduction in cases:
        number = shape_of(schedule).stages
        plans = plans_of(schedule, forms_of(stages[:number], inputs), samples)
        rank, homes = dist.get_rank(), placement_of(schedule)
        own = {stage: stages[stage] for stage in range(number) if homes[stage] == rank}
        outcome = executor.Worker(plans[rank], own, dist).step(
            inputs[:samples] if homes[0] == rank else None,
            targets[:samples] if homes[-1] == rank else None,
            torch.nn.MSELoss(reduction=reduction),
            reduction,
        )
        gradients = {stage: [g.clone() for g in executor.gradients_of(module)] for stage, module in own.items()}
        found.append((outcome["loss"], outcome["peak"], gradients))
    return found


def real_cases(size):
    """All of them in `make soak`; else every fifth, which takes turns in all four lists."""
    every = list(product(MAKERS, MICRO_BATCHES, LOSSES, (False, True)))
    for name, micro_batches, reduction, smaller in every if SOAK else every[size::5]:
        yield name, MAKERS[name](size, micro_batches), samples_for(micro_batches, smaller), reduction


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_real_ranks_are_one_process(size):
    names, *cases = zip(*real_cases(size))
    cases = list(zip(*cases))
    inputs, targets = batch(3 * max(MICRO_BATCHES))
    run = ranks.run(many_steps, size, (cases, network(3 * size), inputs, targets), on="gloo", check=False, timeout=120)
    for number, (name, (schedule, samples, reduction)) in enumerate(zip(names, cases)):
        outcomes = [result[number] for result in run.results]
        (total,) = [loss for loss, _, _ in outcomes if loss is not None]
        gradients = {stage: found for _, _, part in outcomes for stage, found in part.items()}
        stages = network(3 * size)[: shape_of(schedule).stages]
        wanted = whole_batch(stages, inputs[:samples], targets[:samples], LOSSES[reduction])
        assert distance(executor.Result(total, gradients), wanted) < TOLERANCE, (name, reduction, samples)
        assert tuple(peak for _, peak, _ in outcomes) == peaks(schedule)


def test_one_call_runs_a_schedule_on_real_ranks():
    schedule = one_f_one_b(2, 3)
    result = run_pipeline(schedule, network(2), *batch(8), LOSSES["mean"], on="gloo")
    compare(schedule, 8, "mean", result)
    assert [span[:3] for span in result.spans] == [span[:3] for span in simulate(schedule).spans]
    assert all(0 <= span.start <= span.end for span in result.spans) and result.time > 0
    after = {span.action: span for span in result.spans}
    for k in range(3):
        forward, backward = (after[action] for action in [(kind, 1, k) for kind in "FB"])
        assert forward.end <= backward.start and after["F", 0, k].start <= forward.end


# ---- models that are not plain


def test_stages_of_different_widths_tokens_and_a_classification_loss():
    torch.manual_seed(3)
    stages = [
        torch.nn.Embedding(11, 6, dtype=torch.float64),
        torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(24, 7)).double(),
        torch.nn.Linear(7, 3).double(),
    ]
    tokens, classes = torch.randint(0, 11, (7, 4)), torch.randint(0, 3, (7,))
    loss = torch.nn.functional.cross_entropy
    for make in (gpipe, one_f_one_b, zb_h1):
        result = run_pipeline(make(3, 4), stages, tokens, classes, loss)
        assert distance(result, whole_batch(stages, tokens, classes, loss)) < TOLERANCE
        longer = [torch.nn.Identity(), *stages]  # whole numbers between two stages
        result = run_pipeline(make(4, 4), longer, tokens, classes, loss)
        assert distance(result, whole_batch(longer, tokens, classes, loss)) < TOLERANCE


def test_frozen_unused_and_shared_weights():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(5, 5).double()
            self.frozen = torch.nn.Linear(5, 5).double().requires_grad_(False)
            self.unused = torch.nn.Linear(5, 5).double()

        def forward(self, x):
            return self.first(torch.tanh(self.frozen(self.first(x))))

    torch.manual_seed(0)
    stages = [Odd(), torch.nn.Identity(), Odd()]
    inputs, targets = batch(8)
    wanted = executor.one_process(stages, inputs, targets, LOSSES["mean"])
    for make in (one_f_one_b, zb_h1):
        result = run_pipeline(make(3, 4), stages, inputs, targets, LOSSES["mean"])
        assert distance(result, wanted) < TOLERANCE
        assert result.gradients[0][2].abs().max() == 0 and result.gradients[1] == []


def test_a_frozen_prefix_sends_zeros_instead_of_nothing():
    stages = [stage.requires_grad_(number == 2) for number, stage in enumerate(network(3))]
    for make in (one_f_one_b, zb_h1):
        result = run_pipeline(make(3, 2), stages, *batch(4), LOSSES["mean"])
        assert distance(result, executor.one_process(stages, *batch(4), LOSSES["mean"])) < TOLERANCE
        assert result.gradients[2][0].abs().max() > 0


def test_the_modules_given_are_left_alone():
    stages = network(2)
    before = [p.clone() for stage in stages for p in stage.parameters()]
    run_pipeline(gpipe(2, 2), stages, *batch(4), LOSSES["mean"])
    executor.one_process(stages, *batch(4), LOSSES["mean"])
    assert all(p.grad is None for stage in stages for p in stage.parameters())
    assert all(torch.equal(p, q) for p, q in zip(before, (p for stage in stages for p in stage.parameters())))


def test_the_one_process_of_the_lesson_is_torchs_own_backward():
    stages = network(3)
    wanted = whole_batch(stages, *batch(7), LOSSES["sum"])
    assert distance(executor.one_process(stages, *batch(7), LOSSES["sum"]), wanted) == 0


# ---- parts


@given(st.integers(1, 60), st.integers(1, 20))
def test_micro_batches_cover_the_batch(samples, micro_batches):
    try:
        sizes = batches.sizes_of(samples, micro_batches)
    except ValueError as error:
        size = -(-samples // micro_batches)
        assert samples < micro_batches or size * (micro_batches - 1) >= samples
        assert "samples" in str(error)
    else:
        assert sum(sizes) == samples and len(sizes) == micro_batches
        assert len(set(sizes[:-1])) <= 1 and 1 <= sizes[-1] <= sizes[0]
        assert sum(batches.weights_of(sizes, "mean")) == pytest.approx(1)
        assert batches.weights_of(sizes, "sum") == (1.0,) * micro_batches


def test_what_cannot_run_is_refused_before_it_runs():
    inputs, targets = batch(4)
    with pytest.raises(BadSchedule, match="never computes the backward"):
        run_pipeline(schedule_from([[("F", 0)]]), network(1), inputs, targets, LOSSES["mean"])
    with pytest.raises(ValueError, match="has 2 stages, but there are 3 modules"):
        run_pipeline(gpipe(2, 2), network(3), inputs, targets, LOSSES["mean"])
    with pytest.raises(ValueError, match="4 samples cannot make 5 micro-batches"):
        run_pipeline(gpipe(2, 5), network(2), inputs, targets, LOSSES["mean"])
    with pytest.raises(ValueError, match="leave the last one empty; 3 micro-batches of 3 work"):
        batches.sizes_of(9, 4)
    with pytest.raises(TypeError, match="stage 1 must return one tensor whose first dimension is the batch"):
        summing = torch.nn.Flatten(0)
        run_pipeline(gpipe(2, 2), [torch.nn.Identity(), summing], inputs, targets, LOSSES["mean"])
    with pytest.raises(ranks.RankFailed, match='reduction is "mean" or "sum"'):
        run_pipeline(gpipe(2, 2), network(2), inputs, targets, LOSSES["mean"], reduction="none")


def test_backward_in_halves_is_backward_and_keeps_the_input_apart():
    stage, x = network(1)[0], batch(4)[0].requires_grad_()
    gradient = batch(4)[1]
    wanted = torch.autograd.grad(stage(x), [x, *stage.parameters()], gradient)
    root = stage(x)
    of_input = halves.of_input(root, x, gradient)
    assert torch.equal(of_input, wanted[0])
    assert all(p.grad is None for p in stage.parameters()) and x.grad is None
    halves.of_weights(root, stage.parameters(), gradient)
    assert all(torch.equal(p.grad, w) for p, w in zip(stage.parameters(), wanted[1:])) and x.grad is None


class Watched(Post):
    """Counts how many sent tensors a rank keeps."""

    most = 0

    def send(self, *arguments):
        super().send(*arguments)
        self.most = max(self.most, sum(map(len, self.sent.values())))


def kept(schedule, monkeypatch):
    """The most sent tensors that each rank keeps during a step, on virtual ranks."""
    posts = []
    monkeypatch.setattr("labs.pipeline_parallel.worker.Post", lambda *a: posts.append(Watched(*a)) or posts[-1])
    run_pipeline(schedule, network(shape_of(schedule).stages), *batch(64), LOSSES["mean"])
    return max(post.most for post in posts)


def test_sent_tensors_are_let_go_as_soon_as_they_must_have_arrived(monkeypatch):
    assert kept(one_f_one_b(3, 32), monkeypatch) <= 2 * 3
    assert kept(interleaved(2, 2, 32), monkeypatch) <= 10
    assert kept(gpipe(3, 32), monkeypatch) >= 32, "which is what is there to be saved"


@pytest.mark.parametrize("schedule", [one_f_one_b(3, 4), interleaved(2, 2, 4), zbv(2, 3)])
def test_a_group_for_each_direction_as_nccl_needs_it(schedule, monkeypatch):
    monkeypatch.setattr("labs.pipeline_parallel.worker.directions", lambda dist: (dist.new_group(), dist.new_group()))
    compare(schedule, 8, "mean", run_pipeline(schedule, network(shape_of(schedule).stages), *batch(8), LOSSES["mean"]))
