"""The peers compute what ours computes: sums and simulated time of SimPy's ring, in both writings."""

import pytest
import torch

from bench import simpy_ring
from labs.kit.hardware import costs


@pytest.mark.parametrize("writing", [simpy_ring.Idiomatic, simpy_ring.Lean])
@pytest.mark.parametrize(("size", "numel"), [(1, 4), (2, 2), (3, 12), (5, 20), (8, 8)])
def test_simpy_ring_sums_and_takes_the_closed_form(writing, size, numel):
    tensors = [torch.arange(numel, dtype=torch.float64) + 100.0 * rank for rank in range(size)]
    expected = torch.stack(tensors).sum(0)
    results, seconds = simpy_ring.run(writing, tensors, 5e-6, 50e9)
    assert all(torch.equal(result, expected) for result in results)
    assert seconds == pytest.approx(costs.ring_all_reduce(size, 8 * numel, 5e-6, 50e9), rel=1e-9, abs=1e-18)
