"""The front page's moving picture follows from a real run of lesson 08's ring."""

import re

import pytest
from builder.ring_picture import FLIGHT, describe, moving_picture
from builder.ring_run import ring_of_the_lesson, run_ring


@pytest.fixture(scope="module")
def run(root):
    return run_ring(ring_of_the_lesson(root / "solutions" / "08_all_reduce.ipynb"))


def other_ring(tensor, dist):
    """A ring that begins with each rank's own chunk, so that rank r finishes chunk r + 1 first."""
    import torch

    rank, size = dist.get_rank(), dist.get_world_size()
    for step in range(2 * (size - 1)):
        adding = step < size - 1
        out = (rank - step) % size if adding else (rank + 1 - (step - size + 1)) % size
        into = (out - 1) % size
        buffer = torch.empty_like(tensor[:1])
        work = dist.isend(tensor[out : out + 1], dst=(rank + 1) % size)
        dist.recv(buffer, src=(rank - 1) % size)
        work.wait()
        tensor[into] = tensor[into] + buffer[0] if adding else buffer[0]


def test_the_run_sums_all_ranks_in_the_time_of_the_formula(run):
    assert run.after == ((1111,) * 4,) * 4
    # 2(n - 1) rounds, each with its latency and a chunk of 25 MB at 50 GB/s.
    assert run.time == pytest.approx(6 * (5e-6 + 25e6 / 50e9))
    assert len(run.messages) == 4 * 6
    assert all(message.receiver == (message.sender + 1) % 4 for message in run.messages)


def test_replaying_the_messages_gives_what_the_picture_ends_with(run):
    holds = [list(row) for row in run.before]
    for message in sorted(run.messages, key=lambda m: m.end):
        before = holds[message.receiver][message.chunk]
        assert message.result in (message.value, before + message.value)
        holds[message.receiver][message.chunk] = message.result
    assert tuple(map(tuple, holds)) == run.after


def test_a_token_flies_for_every_message_and_lands_on_its_rank_in_its_time(run):
    page = moving_picture(run)
    assert page.count('class="ring-token"') == len(run.messages)
    total = float(re.search(r"--ring-time:([\d.]+)s", page)[1])
    shares = {}
    for number in range(1, run.rounds + 1):
        keys = re.search(rf"@keyframes ring-m{number}{{(.*?)}}}}", page)[1]
        percent = [float(found) for found in re.findall(r"([\d.]+)%", keys)]
        shares[number] = (percent[1], percent[4])  # it leaves, it may be read
        assert percent[3] == pytest.approx(percent[1] + FLIGHT * (percent[4] - percent[1]), abs=0.02)
    # On the page a round takes the share of the animation that it took of the run: all six are equally long.
    lengths = [end - start for start, end in shares.values()]
    assert max(lengths) - min(lengths) < 0.03
    assert 100 * 1.5 / total == pytest.approx(lengths[0], abs=0.03)
    assert all(shares[n][1] == pytest.approx(shares[n + 1][0], abs=0.02) for n in range(1, run.rounds))


def test_every_value_of_the_run_and_no_other_is_drawn(run):
    page = moving_picture(run)
    svg = page[page.index("<svg") : page.index("</svg>")]
    drawn = {int(text) for text in re.findall(r">(\d+)</text>", svg)}
    held = {value for row in run.before for value in row} | {message.result for message in run.messages}
    assert drawn == held


def test_the_picture_has_words_a_pause_button_and_respects_reduced_motion(run):
    page = moving_picture(run)
    assert f'aria-label="{describe(run)}"' in page
    assert "3.03 milliseconds" in describe(run) and "first 3 rounds" in describe(run)
    assert "Pause</button>" in page and "prefers-reduced-motion:reduce" in page
    assert not re.search(r"(?:src|href)=.https?:|url\(http", page)


def test_another_ring_gives_another_picture(run):
    other = run_ring(other_ring)
    assert (other.after, other.time) == (run.after, run.time)
    assert moving_picture(other) != moving_picture(run)


def test_a_program_that_is_no_ring_is_refused():
    def only_one_sends(tensor, dist):
        if dist.get_rank() == 0:
            dist.send(tensor[:1], dst=1)
        if dist.get_rank() == 1:
            dist.recv(tensor[:1], src=0)

    with pytest.raises(SystemExit, match="as many messages"):
        run_ring(only_one_sends)


def test_a_ring_that_hangs_is_named():
    def stuck(tensor, dist):
        dist.recv(tensor, src=(dist.get_rank() - 1) % dist.get_world_size())

    with pytest.raises(SystemExit, match="front page failed"):
        run_ring(stuck)
