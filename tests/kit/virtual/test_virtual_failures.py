"""Failures: what is said, with which ranks and lines; and that nothing is left."""

import gc
import pickle
import threading
import time

import pytest
import torch

from labs.kit.virtual import (
    Deadlock,
    Mismatch,
    Misuse,
    RankDied,
    RankFailed,
    RunFailure,
    TimedOut,
    Unreceived,
    simulate,
    watchdog,
    work,
)


def place(function, offset):
    """How a line of a function of this file is named."""
    line = function.__code__.co_firstlineno + offset
    with open(__file__) as file:
        source = file.read().splitlines()[line - 1].strip()
    return f"test_virtual_failures.py:{line}, in {function.__name__}: {source}"


def test_both_send_first():
    def exchange(dist):
        t, peer = torch.zeros(10), 1 - dist.get_rank()
        dist.send(t, dst=peer)
        dist.recv(t, src=peer)

    with pytest.raises(Deadlock) as caught:
        simulate(exchange, 2)
    at = place(exchange, 2)
    assert str(caught.value).splitlines() == [
        "Deadlock after 0 s of virtual time: ranks 0 and 1 wait for each other.",
        f"  rank 0 waits in send to rank 1 (40 B) at {at}",
        f"  rank 1 waits in send to rank 0 (40 B) at {at}",
    ]
    assert caught.value.cycles == ((0, 1),)
    assert [(w.rank, w.peers, w.place.line) for w in caught.value.waiting] == [
        (0, (1,), exchange.__code__.co_firstlineno + 2),
        (1, (0,), exchange.__code__.co_firstlineno + 2),
    ]
    data = caught.value.as_data()
    assert data["kind"] == "deadlock" and data["cycles"] == [[0, 1]] and data["waiting"][0]["place"] == at
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_a_circle_a_returned_rank_and_a_lost_message():
    def program(dist):
        rank, t = dist.get_rank(), torch.zeros(1)
        if rank < 3:
            dist.recv(t, src=(rank + 1) % 3)
        if rank == 3:
            dist.irecv(t, src=4).wait()
        if rank == 4:
            dist.isend(t, dst=5, tag=3)

    with pytest.raises(Deadlock) as caught:
        simulate(program, 6)
    text = str(caught.value)
    assert caught.value.cycles == ((0, 1, 2),) and [w.rank for w in caught.value.waiting] == [0, 1, 2, 3]
    assert "ranks 0, 1 and 2 wait for one another in a circle" in text and "0 → 1 → 2 → 0" in text
    assert "\n  rank 3 waits for rank 4, which has returned" in text
    assert f"rank 3 waits in wait() for its recv from rank 4 (4 B) at {place(program, 5)}" in text
    assert "nobody received what rank 4 sent" in text and place(program, 7) in text and "tag 3" in text


def test_asking_for_ever_is_a_deadlock():
    def program(dist):
        w = dist.irecv(torch.zeros(1), src=1 - dist.get_rank())
        while not w.is_completed():
            pass

    with pytest.raises(Deadlock, match=r"is_completed\(\)"):
        simulate(program, 2)


def test_a_message_that_nobody_received():
    def program(dist):
        if dist.get_rank() == 0:
            dist.send(torch.zeros(3), dst=1, tag=5)

    with pytest.raises(Unreceived) as caught:
        simulate(program, 2, eager_bytes=100)
    assert "nobody received what rank 0 sent" in str(caught.value) and place(program, 2) in str(caught.value)
    assert len(simulate(program, 2, eager_bytes=100, allow_unreceived=True).unreceived) == 1


@pytest.mark.parametrize("send_first", [True, False])
def test_a_message_of_the_wrong_size(send_first):
    def program(dist):
        if dist.get_rank() == 0:
            work(0.0 if send_first else 1.0)
            dist.send(torch.ones(3), dst=1)
        else:
            work(1.0 if send_first else 0.0)
            dist.recv(torch.ones(4), src=0)

    with pytest.raises(Mismatch) as caught:
        simulate(program, 2)
    text = str(caught.value)
    assert f"rank 0 sends 3 x float32 at {place(program, 3)}" in text
    assert f"rank 1 receives into 4 x float32 at {place(program, 6)}" in text


def test_an_exception_comes_with_its_rank_and_lines():
    unwound = []

    def helper(x):
        return x / 0

    def program(dist):
        try:
            work(1e-3)
            if dist.get_rank() == 2:
                helper(1)
            dist.recv(torch.zeros(1), src=2)
        finally:
            unwound.append(dist.get_rank())

    with pytest.raises(RankFailed) as caught:
        simulate(program, 4)
    error = caught.value
    assert (error.rank, error.exception, error.message, error.time) == (
        2,
        "ZeroDivisionError",
        "division by zero",
        1e-3,
    )
    assert error.lines == (place(program, 4), place(helper, 1))
    assert "Rank 2" in str(error) and "labs/kit" not in str(error) and isinstance(error.__cause__, ZeroDivisionError)
    assert sorted(unwound) == [0, 1, 2, 3]


def test_sys_exit_in_a_rank_does_not_end_the_process():
    with pytest.raises(RankFailed, match="SystemExit"):
        simulate(lambda dist: exit(3), 2)


@pytest.mark.parametrize("block", [lambda d: d.recv(torch.zeros(1), src=0), lambda d: d.barrier()])
def test_ranks_that_refuse_to_end_are_ended(block):
    def program(dist):
        if dist.get_rank() == 0:
            work(1.0)
            raise KeyError("x")
        try:
            block(dist)
        finally:
            block(dist)

    with pytest.raises(RankFailed, match="KeyError"):
        simulate(program, 3)


def test_a_rank_that_catches_everything_is_ended():
    ended = []

    def program(dist):
        if dist.get_rank() == 0:
            work(1.0)
            raise KeyError("x")
        try:
            while True:
                try:
                    dist.recv(torch.zeros(1), src=0)
                except BaseException:
                    pass
        finally:
            ended.append(dist.get_rank())

    with pytest.raises(RankFailed, match="KeyError") as caught:
        simulate(program, 3)
    assert ended == [1, 2] and not hasattr(caught.value, "__notes__")
    assert simulate(lambda dist: dist.get_rank(), 2).results == (0, 1)


def test_a_rank_that_cannot_be_ended_is_named():
    def program(dist):
        if dist.get_rank() == 0:
            work(1.0)
            raise KeyError("x")
        while True:
            try:
                while True:
                    try:
                        dist.recv(torch.zeros(1), src=0)
                    except BaseException:
                        pass
            except BaseException:
                pass

    with pytest.raises(RankFailed, match="KeyError") as caught:
        simulate(program, 2)
    (note,) = caught.value.__notes__
    assert note.startswith("Rank 1 catches every exception") and place(program, 8) in note
    assert note in caught.value.as_data()["text"] and note in caught.value._render_traceback_()
    del caught
    gc.collect()  # what is left of the rank does not disturb the next run
    assert simulate(lambda dist: dist.get_rank(), 2).results == (0, 1)


def loop_for_ever(dist):
    if dist.get_rank() == 1:
        while True:
            pass
    dist.recv(torch.zeros(1), src=1)


def test_an_endless_loop_is_stopped():
    with pytest.raises(TimedOut) as caught:
        simulate(loop_for_ever, 2, timeout=0.3)
    assert "rank 1 was still computing, at test_virtual_failures.py" in str(caught.value)
    assert caught.value.running == 1 and [w.rank for w in caught.value.waiting] == [0]


def test_the_watching_thread_ends_when_there_are_no_runs(monkeypatch):
    monkeypatch.setattr(watchdog, "_LINGER", 0.05)
    for _ in range(2):  # and starts again
        simulate(lambda dist: None, 2, timeout=0.2)
        watchers = [t for t in threading.enumerate() if t.name == "labs-virtual-watchdog"]
        assert len(watchers) == 1
        watchers[0].join(10)
        assert not watchers[0].is_alive()


def test_runs_in_several_threads_have_their_own_limits():
    patient, limit = [], watchdog.Watchdog(60.0)

    def run():
        with watchdog.Watchdog(60.0):
            time.sleep(0.5)
            patient.append(True)

    thread = threading.Thread(target=run)
    with limit:
        thread.start()
        with pytest.raises(watchdog.OutOfTime), watchdog.Watchdog(0.1):
            while True:
                pass
        thread.join(10)
    assert patient == [True] and limit.raised == 0


def test_an_endless_loop_is_stopped_outside_the_main_thread():
    caught = []

    def run():
        try:
            simulate(loop_for_ever, 2, timeout=0.3)
        except RunFailure as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert [type(error) for error in caught] == [TimedOut]


def test_endless_messages_are_stopped():
    def program(dist):
        t, peer = torch.zeros(1), 1 - dist.get_rank()
        while True:
            w = dist.isend(t, dst=peer)
            dist.recv(t, src=peer)
            w.wait()

    with pytest.raises(TimedOut):
        simulate(program, 2, timeout=0.3)


def test_except_exception_does_not_swallow_the_time_limit():
    def program(dist):
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                pass

    with pytest.raises(TimedOut) as caught:
        simulate(program, 1, timeout=0.2)
    assert "catches every exception" not in str(caught.value)


def test_a_bare_except_does_not_swallow_the_time_limit_for_ever():
    def program(dist):
        while True:
            try:
                time.sleep(0.001)
            except:  # noqa: E722 - as learners write it
                pass

    with pytest.raises(TimedOut, match="rank 0 was still computing") as caught:
        simulate(program, 1, timeout=0.2)
    assert "Rank 0 catches every exception" in str(caught.value) and "program: " in str(caught.value)
    assert simulate(lambda dist: dist.get_rank(), 2).results == (0, 1)


def test_an_interrupt_names_the_rank_and_the_next_run_works(ctrl_c):
    seen = []

    def program(dist):
        try:
            loop_for_ever(dist)
        finally:
            seen.append(dist.get_rank())

    ctrl_c(0.3)
    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(program, 3)
    assert "while rank 1 was running" in caught.value.__notes__[0]
    assert "test_virtual_failures.py:" in caught.value.__notes__[0] and {0, 1} <= set(seen)
    assert simulate(lambda dist: dist.get_rank(), 2).results == (0, 1)


def test_code_that_uses_the_real_module_is_told_so():
    def program(dist):
        import torch.distributed as real

        real.all_reduce(torch.ones(1))

    with pytest.raises(Misuse, match=r'real ranks only.*on="gloo"'):
        simulate(program, 2)

    def wrapped(dist):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))

    with pytest.raises(Misuse, match="DistributedDataParallel"):
        simulate(wrapped, 2)


@pytest.mark.parametrize(
    "failure, first",
    [
        (Deadlock("Deadlock after 0 s of virtual time: ..."), "Deadlock after 0 s of virtual time: ..."),
        (Deadlock("Deadlock: ranks 0 and 1 wait"), "Deadlock: ranks 0 and 1 wait"),
        (RankFailed(2, "KeyError", "'x'"), "Rank 2 raised an exception: KeyError: 'x'"),
        (RankDied("Rank 1 was killed."), "Rank 1 was killed."),
        (Mismatch("Ranks 0 and 1 disagree"), "Mismatch: Ranks 0 and 1 disagree"),
        (TimedOut("The run was stopped", 3.0), "TimedOut: The run was stopped"),
        (Unreceived(["a"]), "Unreceived: All ranks have returned, but something was left over:\n  a"),
        (Misuse("Rank 1 calls recv"), "Misuse: Rank 1 calls recv"),
        (Misuse(""), "Misuse: "),
    ],
)
def test_a_notebook_shows_no_word_twice(failure, first):
    assert failure._render_traceback_() == [first]


def test_failures_survive_pickling():
    for program in (loop_for_ever, lambda d: d.send(torch.zeros(1), dst=1 - d.get_rank()), lambda d: 1 / 0):
        with pytest.raises(RunFailure) as caught:
            simulate(program, 2, timeout=0.3)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and again.as_data() == caught.value.as_data()


# ---- ranks that die as planned


@pytest.mark.parametrize("mode", ["model", "messages"])
def test_survivors_of_a_planned_death_go_on(mode):
    def program(dist):
        rank, heard = dist.get_rank(), []
        if rank == 2:
            work(1.0)
            raise RuntimeError("the power is off")
        for attempt in (
            lambda: dist.recv(torch.zeros(1), src=2),
            lambda: dist.send(torch.zeros(1), dst=2),
            lambda: dist.isend(torch.zeros(1), dst=2).wait(),
            lambda: dist.all_reduce(torch.zeros(4)),
            lambda: dist.all_reduce(torch.zeros(4), async_op=True).wait(),
        ):
            try:
                attempt()
            except RankDied as error:
                heard.append(error.rank)
        alive = dist.new_group([0, 1, 3])
        t = torch.ones(1)
        dist.all_reduce(t, group=alive)
        return heard, t.item()

    run = simulate(program, 4, expect_dead={2}, collectives=mode)
    assert [run.results[r] for r in (0, 1, 3)] == [([2] * 5, 3.0)] * 3 and run.results[2] is None


@pytest.mark.parametrize("mode", ["model", "messages"])
def test_a_death_ends_a_collective_that_has_begun(mode):
    def program(dist):
        if dist.get_rank() == 1:
            work(1.0)
            return "gone"
        try:
            dist.all_reduce(torch.zeros(8))
        except RankDied as error:
            return error.rank

    run = simulate(program, 4, expect_dead={1}, collectives=mode)
    assert run.results == (1, "gone", 1, 1) and run.time == pytest.approx(1.0, abs=1e-3)


def test_a_death_that_nobody_handles_is_named():
    def program(dist):
        if dist.get_rank() == 0:
            dist.recv(torch.zeros(1), src=1)

    with pytest.raises(RankDied, match="Rank 0 cannot finish recv from rank 1"):
        simulate(program, 2, expect_dead={1})
