"""`completed`: the failure of a run becomes a question, whatever an untrusted process put into it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.kit.exercise import Wrong, completed

DEADLOCK = {"kind": "deadlock", "text": "rank 0 waits in send at line 7", "cycles": [[0, 1, 2]], "waiting": []}


def wrong(failure, **overrides):
    with pytest.raises(Wrong) as caught:
        completed({"failure": failure}, **overrides)
    return caught.value


def test_a_completed_run_passes_through():
    output = {"results": [1], "time": 0.5}
    assert completed(output) is output


def test_a_deadlock_asks_about_its_cycle_and_shows_who_waits():
    got = wrong(DEADLOCK)
    assert got.hint == "deadlock" and "0 → 1 → 2 → 0" in got.question and got.question.endswith("?")
    assert got.evidence == "rank 0 waits in send at line 7" and got.then


def test_a_deadlock_without_a_cycle():
    assert "nobody will do" in wrong({"kind": "deadlock", "text": "t"}).question


@pytest.mark.parametrize("kind", ["deadlock", "mismatch", "unreceived", "error", "timeout", "died", "misuse", "newer"])
def test_every_kind_has_its_hint_and_a_question(kind):
    got = wrong({"kind": kind, "text": "the evidence"})
    assert got.hint == kind and "?" in got.question and got.evidence == "the evidence"


def test_an_error_names_rank_exception_and_line():
    got = wrong(
        {"kind": "error", "text": "Rank 2 raised ...", "rank": 2, "exception": "IndexError", "message": "out of range",
         "lines": ["line 3 of your cell, in f: x[9]"]}
    )  # fmt: skip
    assert "Rank 2" in got.question and "IndexError: out of range" in got.question
    assert got.evidence == "at line 3 of your cell, in f: x[9]"


def test_a_stub_inside_a_rank_is_unsolved():
    assert wrong({"kind": "error", "exception": "NotImplementedError", "text": "t"}).hint == "unsolved"


def test_overrides():
    assert wrong(DEADLOCK, deadlock="Who is receiving?").question == "Who is receiving?"
    got = wrong(DEADLOCK, deadlock=("both_send", "Who is receiving?", "Start one.", "isend"))
    assert (got.hint, got.question, got.then) == ("both_send", "Who is receiving?", ("Start one.", "isend"))
    assert got.evidence == "rank 0 waits in send at line 7"
    assert wrong({"kind": "timeout", "text": ""}, timeout="When does it end?").question == "When does it end?"
    assert wrong({"kind": "mismatch", "text": ""}, deadlock="Who?").hint == "mismatch"


@pytest.mark.parametrize("output", [None, 3, [], "text"], ids=str)
def test_what_is_no_outcome_is_a_shape(output):
    with pytest.raises(Wrong) as caught:
        completed(output)
    assert caught.value.hint == "shape"


def test_long_evidence_is_cut():
    lines = wrong({"kind": "deadlock", "text": "\n".join(f"rank {k} waits" for k in range(1000))}).evidence.splitlines()
    assert len(lines) == 40 and "more lines" in lines[-1]


anything = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KINDS = ["deadlock", "mismatch", "unreceived", "error", "timeout", "died", "misuse"]
KEYS = ["text", "cycles", "waiting", "rank", "exception", "message", "lines", "messages"]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(KINDS) | anything, st.dictionaries(st.sampled_from(KEYS), anything) | anything)
def test_forged_failures_still_give_a_question(kind, failure):
    if isinstance(failure, dict):
        failure = {**failure, "kind": kind}
    got = wrong(failure)
    assert got.question and got.hint.isidentifier() and len(got.message) < 6000


def test_the_failures_of_virtual_ranks_themselves():
    failures = pytest.importorskip("labs.kit.virtual.failures", reason="labs.kit.virtual is not there")
    waiting = [failures.Waiting(0, "send to rank 1", (1,), None), failures.Waiting(1, "send to rank 0", (0,), None)]
    data = failures.Deadlock("Both wait.", waiting, [(0, 1)], ["one message"]).as_data()
    assert "0 → 1 → 0" in wrong(data).question and "Both wait." in wrong(data).evidence
    data = failures.RankFailed(3, "ValueError", "bad", ["line 2 of your cell"]).as_data()
    assert "Rank 3 stopped with ValueError: bad" in wrong(data).question


def test_a_function_that_lacks_a_parameter_is_told_so():
    """No line of the answer has run, so the question must not speak of one."""
    from labs.kit.ranks import outcome

    with pytest.raises(Wrong) as caught:
        completed(outcome(lambda value: value, 2, args=(1.0,)))
    assert "could not even start" in caught.value.question
    assert "line" not in caught.value.question


def test_a_message_that_ends_in_a_question_mark_keeps_it_alone():
    failure = {"kind": "error", "rank": 0, "exception": "E", "message": "did you mean all_reduce?", "lines": ["line 1"]}
    with pytest.raises(Wrong) as caught:
        completed({"failure": failure})
    assert "all_reduce? What" in caught.value.question
