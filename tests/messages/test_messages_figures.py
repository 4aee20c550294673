"""The pictures of lesson 01 show what they say, and give nothing away."""

import pytest

from labs.kit.draw import collective
from labs.messages import figures
from labs.messages.exercises_collectives import NAMES, SHOWN


@pytest.mark.parametrize("letter", SHOWN)
def test_a_picture_shows_its_collective_without_naming_it(letter):
    shown = figures.picture(letter)
    named = collective(SHOWN[letter], world_size=3)
    assert not any(name in shown.alt for name in NAMES)
    # The same tables: only the name differs between the two texts.
    assert shown.alt.split(":", 1)[1] == named.alt.split(":", 1)[1]


def test_the_gallery_has_all_eight():
    html = figures.collectives()._repr_mimebundle_()["text/html"]
    assert all(f"Picture {letter}." in html for letter in SHOWN)


@pytest.mark.parametrize(
    "message_bytes, eager_bytes, through", [(8, 0, False), (64, 64, True), (65, 64, False), (8, 512, True)]
)
def test_two_that_both_send_first_get_through_only_when_buffered(message_bytes, eager_bytes, through):
    alt = figures.both_send_first(message_bytes, eager_bytes).alt
    assert ("Deadlock" in alt) != through
    assert ("2 messages" in alt) == through


def test_watching_an_unsolved_answer_says_what_to_do(capsys):
    def exchange(mine, dist):
        raise NotImplementedError

    assert figures.watch_exchange(exchange) is None
    assert "Solve `exchange` first" in capsys.readouterr().out


def test_watching_shows_the_learner_s_own_messages():
    def scatter(out, pieces, root, dist):
        if pieces is None:
            dist.recv(out, src=root)
        else:
            for rank in (3, 1, 2):
                dist.send(pieces[rank], dst=rank)

    html = figures.watch_scatter(scatter)._repr_mimebundle_()["text/html"]
    assert html.index("rank 3") < html.rindex("rank 2")
    assert "1 MB" in html


def test_a_wait_that_never_ends_is_drawn_and_told_as_one():
    picture = figures.endless([(0, "send to rank 1 (8 B)"), (1, "send to rank 0 (8 B)")])
    axes = picture.figure.axes[0]
    assert [text.get_text() for text in axes.texts if text.get_text()] == [
        "waits in send to rank 1 (8 B) … for ever",
        "waits in send to rank 0 (8 B) … for ever",
    ]
    assert not axes.get_xticks().size, "a time scale would suggest an end"
    assert picture.alt.count("never ends") == 2


def test_a_deadlock_in_a_check_brings_its_picture():
    from labs.kit.exercise.testing import outcomes_of
    from labs.messages import exercises

    source = """
def exchange(mine, dist):
    theirs, rank, size = mine.clone(), dist.get_rank(), dist.get_world_size()
    dist.send(mine, dst=(rank + 1) % size)
    dist.recv(theirs, src=(rank - 1) % size)
    return theirs
"""
    wrong = outcomes_of(exercises.exchange, source)[0].wrong
    assert "Rank 3 waits in send to rank 0" in wrong.picture().alt
