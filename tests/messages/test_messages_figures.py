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
