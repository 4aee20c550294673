"""The calculator's formulas are what the simulator finds, action by action; the best choice is the best of all."""

from itertools import product

import pytest

from labs.pipeline_parallel import formulas
from labs.pipeline_parallel.calculator import DoesNotFit, Job, best, choices, simulated
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.simulation import simulate

SCHEDULES = [("GPipe", 1), ("1F1B", 1), ("ZB-H1", 1), ("interleaved", 2), ("interleaved", 3)]
JOBS = [
    Job(ranks, batch, 1e-3, overhead, 1e6, 2e6, 60e6)
    for ranks, batch, overhead in product((1, 2, 4), (12, 32), (0, 2e-3))
]


@pytest.mark.parametrize(("name", "pieces"), SCHEDULES)
@pytest.mark.parametrize("job", JOBS)
def test_formulas_stand_beside_equal_simulated_values(job, name, pieces):
    for choice in choices(job, name, pieces):
        found = simulated(job, name, choice.micro_batches, pieces)
        assert choice.seconds == pytest.approx(found.makespan, rel=1e-12)
        assert choice.bubble == pytest.approx(found.share, abs=1e-12)
        each = job.activation_bytes * job.batch / choice.micro_batches / pieces
        assert choice.bytes == pytest.approx(job.fixed_bytes + max(found.peaks) * each)
        assert choice.fits == (choice.bytes <= 60e6)


def test_the_best_choice_is_the_quickest_that_fits():
    job = Job(4, 96, 1e-3, 2e-3, 1e6, 2e6, 60e6)
    assert best(job, "1F1B").micro_batches == 16, "fewer have a larger bubble, more cost too much overhead"
    seconds = {c.micro_batches: c.seconds for c in choices(job, "1F1B")}
    assert seconds[16] < seconds[12] and seconds[16] < seconds[24]
    small = Job(4, 96, 1e-3, 2e-3, 1e6, 2e6, 15e6)
    assert best(small, "1F1B").micro_batches == 32, (
        "four micro-batches of three samples are what fits beside the weights"
    )
    assert best(Job(4, 96, 1e-3), "1F1B").micro_batches == 96, "without overhead, as many as there are"
    assert best(Job(1, 96, 1e-3), "GPipe").micro_batches == 1, "without a pipeline there is no bubble"


def test_gpipe_holds_the_whole_batch_however_it_is_cut():
    job = Job(4, 96, 1e-3, 0.0, 1e6, 2e6, 60e6)
    assert {choice.bytes for choice in choices(job, "GPipe")} == {98e6}
    assert best(Job(4, 96, 1e-3, 0.0, 1e6, 2e6, 98e6), "GPipe").fits, "exactly full is not too much"
    with pytest.raises(DoesNotFit, match=r"rank 0 needs 98,000,000 B \(2,000,000 B of them weights.*has 60,000,000 B"):
        best(job, "GPipe")
    with pytest.raises(DoesNotFit, match="no number of micro-batches divides a batch of 6"):
        best(Job(4, 6, 1e-3), "interleaved", 2)


def test_closed_forms():
    assert formulas.bubble_share(4, 4) == pytest.approx(3 / 7) and formulas.bubble_over_useful(4, 4) == 3 / 4
    assert [round(100 * formulas.bubble_share(4, 4, v)) for v in (1, 2, 4)] == [43, 27, 16]
    assert formulas.bubble_time("interleaved", 4, Durations(1, 2, 3), 2) == 9
    assert (
        formulas.bubble_time("1F1B", 4, Durations(1, 2, 3))
        == 18
        == formulas.bubble_time("GPipe", 4, Durations(1, 2, 3))
    )
    for name in ("GPipe", "1F1B"):
        assert formulas.bubble_share(1, 5) == formulas.bubble_time(name, 1) == 0
    for name, fitting, not_fitting in (("ZB-H1", 4, 3), ("interleaved", 8, 6)):
        assert formulas.holds(name, 4, fitting) and not formulas.holds(name, 4, not_fitting)
    with pytest.raises(ValueError, match="there are formulas for GPipe, 1F1B, interleaved, ZB-H1, not for 'ZBV'"):
        formulas.peak_activations("ZBV", 2, 2)


def test_interleaved_activations_of_every_rank():
    fitting = [(ranks, rounds * ranks) for ranks, rounds in product((1, 2, 4), (1, 2, 3))]
    fewer = [(4, 1), (4, 2), (4, 3), (5, 3)]
    for pieces, (ranks, micro_batches) in product((2, 3, 4), fitting + fewer):
        found = simulate(interleaved(pieces, ranks, micro_batches)).peaks
        wanted = [formulas.peak_activations("interleaved", ranks, micro_batches, rank, pieces) for rank in range(ranks)]
        assert list(found) == wanted
