"""Every way to fail, on virtual ranks and on real ones: the kind, the rank and the line are named."""

import time

import pytest
import torch

from labs.kit import ranks

FABRICS = ["virtual", "gloo"]
pytestmark = pytest.mark.parametrize("on", FABRICS)


def failure_of(program, on, world_size=2, **options):
    options.setdefault("timeout", 20)
    with pytest.raises(ranks.RunFailure) as caught:
        ranks.run(program, world_size, on=on, **options)
    return caught.value


def both_send_first(dist):
    other = 1 - dist.get_rank()
    tensor = torch.ones(2)
    dist.send(tensor, dst=other)
    dist.recv(tensor, src=other)


def test_both_ranks_send_first(on):
    failure = failure_of(both_send_first, on)
    assert isinstance(failure, ranks.Deadlock)
    assert [w.rank for w in failure.waiting] == [0, 1]
    assert [tuple(w.peers) for w in failure.waiting] == [(1,), (0,)]
    assert [tuple(cycle) for cycle in failure.cycles] == [(0, 1)]
    for word in ("rank 0", "rank 1", "send", "dist.send(tensor, dst=other)"):
        assert word in str(failure)
    line = both_send_first.__code__.co_firstlineno + 3
    assert {w.place.line for w in failure.waiting} == {line}


def one_skips_the_collective(dist):
    if dist.get_rank() != 1:
        dist.all_reduce(torch.ones(3))


def test_one_rank_skips_a_collective(on):
    failure = failure_of(one_skips_the_collective, on, 3)
    assert isinstance(failure, ranks.Deadlock)
    assert [w.rank for w in failure.waiting] == [0, 2]
    assert all(tuple(w.peers) == (1,) for w in failure.waiting)
    assert "all_reduce" in str(failure) and "has returned" in str(failure)


def sizes_differ(dist):
    dist.all_reduce(torch.ones(3 + dist.get_rank()))


def dtypes_differ(dist):
    dist.all_reduce(torch.ones(3, dtype=[torch.float32, torch.float64][dist.get_rank()]))


def operations_differ(dist):
    if dist.get_rank() == 0:
        dist.broadcast(torch.ones(3), src=0)
    else:
        dist.all_reduce(torch.ones(3))


def roots_differ(dist):
    dist.broadcast(torch.ones(3), src=dist.get_rank())


def message_is_too_long(dist):
    if dist.get_rank() == 0:
        dist.send(torch.ones(4), dst=1)
    else:
        dist.recv(torch.ones(3), src=0)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (sizes_differ, ["all_reduce", "3", "4"]),
        (dtypes_differ, ["all_reduce", "float32", "float64"]),
        (operations_differ, ["broadcast", "all_reduce"]),
        (roots_differ, ["broadcast"]),
        (message_is_too_long, []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_ranks_disagree(program, words, on):
    failure = failure_of(program, on)
    assert isinstance(failure, ranks.Mismatch), failure
    text = str(failure)
    for word in [*words, "test_ranks_failures.py:"]:
        assert word in text
    assert "rank 1" in text.lower()
    assert "CollectiveFingerPrint" not in text


def inner(value):
    return 1 / value


def one_raises(dist):
    if dist.get_rank() == 1:
        inner(0)
    dist.barrier()


def test_one_rank_raises(on):
    failure = failure_of(one_raises, on, 3)
    assert isinstance(failure, ranks.RankFailed)
    assert (failure.rank, failure.exception, failure.message) == (1, "ZeroDivisionError", "division by zero")
    assert len(failure.lines) == 2, "the learner's own lines only"
    assert "in one_raises: inner(0)" in failure.lines[0]
    assert "in inner: return 1 / value" in failure.lines[1]
    assert failure.as_data()["kind"] == "error"
    shown = "\n".join(failure._render_traceback_())
    assert "worker.py" not in shown and "distributed_c10d" not in shown


def all_raise(dist):
    return {}["weights"]


def test_all_ranks_raise_the_same(on):
    failure = failure_of(all_raise, on, 3)
    assert (failure.rank, failure.exception) == (0, "KeyError")


def raises_in_a_collective(dist):
    dist.all_reduce(torch.ones(2), op=dist.ReduceOp.BAND)


def test_torch_refuses_an_operation(on):
    failure = failure_of(raises_in_a_collective, on)
    assert "raises_in_a_collective" in str(failure)


def loops_for_ever(dist):
    if dist.get_rank() == 1:
        while True:
            time.sleep(0)
    dist.recv(torch.ones(1), src=1)


def test_one_rank_loops_for_ever(on):
    failure = failure_of(loops_for_ever, on, timeout=1.5)
    assert isinstance(failure, ranks.TimedOut)
    text = str(failure)
    assert "1.5 s" in text
    assert "recv" in text, "what rank 0 waits in"
    assert "loops_for_ever" in text


def dies(dist):
    if dist.get_rank() == 1:
        raise SystemExit(3)
    return dist.get_rank()


def test_an_expected_death_leaves_the_others_alone(on):
    def program(dist):
        if dist.get_rank() == 1:
            raise OSError("the node is gone")
        pair = torch.full((1,), float(dist.get_rank()))
        if dist.get_rank() == 0:
            dist.send(pair, dst=2)
            try:
                dist.recv(pair, src=1)
            except RuntimeError:
                return "noticed"
        else:
            dist.recv(pair, src=0)
        return pair.item()

    run = ranks.run(program, 3, on=on, expect_dead={1}, timeout=20)
    assert run.results == ("noticed", None, 0.0)


def test_a_death_that_nobody_expected_is_a_failure(on):
    failure = failure_of(dies, on)
    assert isinstance(failure, ranks.RunFailure)
    assert "SystemExit" in str(failure)


def test_the_run_after_a_failure_works(on):
    for program in (both_send_first, all_raise):
        failure_of(program, on)
    assert ranks.run(lambda dist: dist.get_rank(), 2, on=on).results == (0, 1)


def test_a_failure_is_plain_data(on):
    data = ranks.outcome(both_send_first, 2, on=on)
    assert set(data) == {"failure"}
    assert data["failure"]["kind"] == "deadlock"
    assert [w["rank"] for w in data["failure"]["waiting"]] == [0, 1]
