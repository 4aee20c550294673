"""The sorts take tensors as they take arrays; what runs on a GPU is run here on the CPU, by the same lines."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from labs.kit import ranks
from labs.multi_gpu_sort import local
from labs.multi_gpu_sort.heterogeneous import heterogeneous_sort
from labs.multi_gpu_sort.merge_sort import merge_sort
from labs.multi_gpu_sort.radix_partition import radix_partition
from labs.multi_gpu_sort.tensors import as_tensor

SORTS = [(merge_sort, 4), (radix_partition, 3), (heterogeneous_sort, 3)]


def sort_mine(sort, rows, values, dist):
    rank = dist.get_rank()
    found = sort(rows[rank], dist, None if values is None else values[rank], descending=True)
    return type(found.keys).__name__, np.asarray(found.keys), None if values is None else np.asarray(found.values)


@pytest.fixture(params=["CPU", "GPU"])
def branch(request, monkeypatch):
    """As on a CPU, and as on a GPU: torch sorts where NumPy cannot reach the memory."""
    if request.param == "GPU":
        monkeypatch.setattr(local, "on_cpu", lambda tensor: False)


@pytest.mark.parametrize("kind", ["Tensor", "ndarray"])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(("sort", "world_size"), SORTS)
def test_tensors_and_arrays_on_either_device(sort, world_size, pairs, kind, branch):
    keys = np.random.default_rng(0).integers(-9, 9, 60).astype(np.float32)
    keys[[3, 17, 40]] = np.nan, -np.inf, -0.0
    bounds = np.arange(world_size + 1) * 60 // world_size
    if sort is heterogeneous_sort:
        bounds[:-1] = 0  # the last rank, the CPU, brings all keys
    cut = [slice(start, end) for start, end in pairwise(bounds)]
    wrap = torch.from_numpy if kind == "Tensor" else lambda array: array
    rows, numbers = ([wrap(array[part].copy()) for part in cut] for array in (keys, np.arange(60)))
    run = ranks.run(sort_mine, world_size, args=(sort, rows, numbers if pairs else None))
    assert {result[0] for result in run.results} == {kind}
    found = np.concatenate([result[1] for result in run.results])
    assert np.array_equal(found, np.sort(keys)[::-1], equal_nan=True)
    if pairs:
        values = np.concatenate([result[2] for result in run.results])
        assert np.array_equal(np.sort(values), np.arange(60))
        assert np.array_equal(keys[values], found, equal_nan=True)


class Nccl:
    """What the sorts ask a process group whose messages go from GPU to GPU."""

    def __init__(self, world_size=2):
        self.get_world_size = lambda: world_size
        self.get_rank = lambda: world_size - 1
        self.get_backend = lambda: "nccl"


@pytest.mark.parametrize("sort", [merge_sort, radix_partition])
def test_arrays_are_refused_on_nccl_in_words(sort):
    with pytest.raises(TypeError, match=r"the keys of rank 1 are a ndarray in the CPU's memory. Pass torch tensors"):
        sort(np.arange(3), Nccl())
    with pytest.raises(TypeError, match="are a Tensor in the CPU's memory"):
        sort(torch.arange(3), Nccl())


def test_values_are_named_when_they_are_in_the_wrong_memory():
    assert as_tensor(None, Nccl()) is None
    with pytest.raises(TypeError, match="the values of rank 1 are a list"):
        as_tensor([1, 2], Nccl(), "values")


def test_the_heterogeneous_sort_says_why_it_does_not_run_on_nccl():
    with pytest.raises(ValueError, match=r"one rank is the CPU, and NCCL connects only GPUs.*radix_partition"):
        heterogeneous_sort(np.arange(3), Nccl())
