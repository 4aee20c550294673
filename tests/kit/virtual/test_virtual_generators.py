"""Random generators: every rank has its own, whichever way they are watched, and the process keeps its own."""

import ctypes
import random

import numpy as np
import pytest
import torch

from labs.kit.virtual import generators, simulate


@pytest.fixture(params=["a glance at memory", "public functions"])
def watched(request, monkeypatch):
    """Both ways to see whether a generator was used. The first must work on the machines that test this course."""
    if request.param == "public functions":
        monkeypatch.setattr(generators, "memory_words", lambda: None)
        generators._words_of.cache_clear()
        yield
        generators._words_of.cache_clear()
    else:
        assert generators.memory_words() is not None
        yield


def draw():
    return torch.rand(1).item(), torch.randn(1).item(), random.random(), random.gauss(0, 1), float(np.random.randn())  # noqa: NPY002


@pytest.mark.parametrize("n", [1, 3, 70])
def test_each_rank_has_its_own_generators(n, watched):
    def program(dist):
        rank, drawn = dist.get_rank(), []
        torch.manual_seed(rank)
        random.seed(rank)
        np.random.seed(rank)  # noqa: NPY002
        for _ in range(3):
            dist.barrier()
            drawn.append(draw())
        return drawn

    torch.manual_seed(77)
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    results = simulate(program, n).results
    after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert torch.equal(before[0], after[0]) and before[1:] == after[1:]
    for rank in (0, n - 1):
        torch.manual_seed(rank)
        random.seed(rank)
        np.random.seed(rank)  # noqa: NPY002
        assert results[rank] == [draw() for _ in range(3)]


def test_unseeded_ranks_all_draw_the_same_numbers_in_every_run(watched):
    def program(dist):
        first = draw()
        dist.barrier()
        return first, draw()

    torch.manual_seed(5)
    one = simulate(program, 3).results
    random.seed(9)
    assert one == simulate(program, 3).results and one[0] == one[2]


GENERATORS = {
    "torch": (torch.manual_seed, lambda: torch.rand(1).item()),
    "random": (random.seed, random.random),
    "numpy": (np.random.seed, np.random.random),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_one_generator_used_between_messages(name, watched):
    seed, one = GENERATORS[name]

    def program(dist):
        rank, n, drawn = dist.get_rank(), dist.get_world_size(), []
        for step in range(6):
            if step >= rank:  # rank by rank they begin to use it
                drawn.append(one())
            if step == 4 and rank == 1:
                seed(0)  # as at first: also that is a change
            sending = dist.isend(torch.zeros(1), dst=(rank + 1) % n)
            dist.recv(torch.zeros(1), src=(rank - 1) % n)
            sending.wait()
        return drawn

    results = simulate(program, 3).results
    state = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    seed(0)
    expected = [one() for _ in range(6)]
    torch.set_rng_state(state[0]), random.setstate(state[1]), np.random.set_state(state[2])  # noqa: NPY002
    assert results == (expected, expected[:4] + expected[:1], expected[:4])


@pytest.mark.parametrize("draws", [624, 1248])
def test_whole_blocks_of_numbers_are_noticed(draws, watched):
    def program(dist):
        if dist.get_rank() == 0:
            for _ in range(draws // 2):
                random.random()  # two numbers of the generator each
        dist.barrier()
        return random.random()

    own = random.Random(0)
    first = own.random()
    for _ in range(draws // 2 - 1):
        own.random()
    assert simulate(program, 2).results == (own.random(), first)


@pytest.mark.parametrize("address", [lambda: ctypes.addressof(STILL), lambda: None, lambda: b"".index(b"x")])
def test_another_layout_is_not_believed(address):
    class Elsewhere(generators._Python):
        pass

    Elsewhere.address = staticmethod(address)
    before = random.getstate()
    assert generators.memory_words((generators._Torch, Elsewhere)) is None
    assert generators.memory_words((generators._Torch, generators._Python)) is not None
    assert random.getstate() == before


STILL = ctypes.create_string_buffer(16)


@pytest.mark.parametrize("name", GENERATORS)
def test_both_ways_notice_every_change(name):
    seed, one = GENERATORS[name]
    outside = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        for public in (False, True):
            run = generators.Generators(public)
            try:
                assert run.untouched()
                for change in (one, lambda: seed(1)):
                    change()
                    assert not run.untouched()
                    seed(0)
                    assert run.untouched()
            finally:
                run.close()
    finally:
        torch.set_rng_state(outside[0]), random.setstate(outside[1]), np.random.set_state(outside[2])  # noqa: NPY002
