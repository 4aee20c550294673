"""Players are complete without anything else, step by keyboard, and say what each step shows."""

import re
from html.parser import HTMLParser

import pytest

from labs.kit import draw


class Page(HTMLParser):
    """The elements of a piece of HTML as (name, attributes), and the texts by element."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("input", "path", "use"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag, **wanted):
        return [found for name, found in self.elements if name == tag and wanted.items() <= found.items()]


def chunk_player(size=4, steps=8):
    frames, events = [], []
    for step in range(steps):
        values = [[min(size, 1 + (step + rank + chunk) % size) for chunk in range(size)] for rank in range(size)]
        marks = [(rank, (rank + step) % size) for rank in range(size)] if step else []
        frames.append(draw.chunks(values, marks=marks, name="Ring", step=step))
        events.append([{"from": f"rank {r}", "chunk": c} for r, c in marks])
    captions = [f"After step {step}: <b> & so on" for step in range(steps)]
    return draw.player(frames, captions, events, label='A "ring", step by step')


def test_structure_of_a_player():
    player = chunk_player()
    page = Page(player.html)
    (root,) = [found for found in page.all("div") if "labs-player" in found.get("class", "")]
    assert root["role"] == "group" and root["aria-label"] == player.label
    assert root["data-lm-suppress-shortcuts"] == "true", "JupyterLab would take the arrow keys"
    assert [found["data-say"] for found in page.all("figure")] == list(player.captions)
    assert len(page.all("svg", role="img")) == 8
    (slider,) = page.all("input", type="range")
    (box,) = page.all("input", type="number")
    assert (slider["min"], slider["max"]) == (box["min"], box["max"]) == ("0", "7")
    assert slider["aria-label"] == "Step" and ("label", "Step ") in page.texts
    assert [found["data-do"] for found in page.all("button", type="button")] == ["back", "next", "play"]
    assert len(page.all("div", role="status")) == 1 and page.all("div", role="status")[0]["aria-live"] == "polite"
    rows = [int(found["data-step"]) for found in page.all("tr") if "data-step" in found]
    assert rows == [step for step in range(1, 8) for _ in range(4)]
    heads = [text for tag, text in page.texts if tag == "th"]
    assert heads[:3] == ["step", "from", "chunk"]
    assert len(page.all("script")) == 1 and "src" not in page.all("script")[0]


def test_a_player_is_self_contained_small_and_the_same_each_time():
    html = chunk_player().html
    assert html == chunk_player().html
    assert len(html) < 60_000
    assert not re.search(
        r"(?:src|href)=.(?!#)|@import|//[a-z]+\.|url\((?!#)", html.replace("http://www.w3.org/2000/svg", "")
    )
    assert "prefers-reduced-motion" in html and "@media print" in html
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert len(ids) == len(set(ids)), "no two frames share an id"


def test_a_player_reads_as_text():
    bundle = chunk_player(2, 3)._repr_mimebundle_()
    assert bundle["text/plain"].splitlines()[1] == "  step 0: After step 0: <b> & so on"
    assert set(bundle) == {"text/html", "text/plain"}
    alone = draw.player([draw.chunks([[1]], name="One"), draw.chunks([[2]], name="Two")], label="No captions")
    assert alone.captions[1].startswith("Two: table of 1 rank by 1 chunk")


@pytest.mark.parametrize(
    ("frames", "captions", "events", "message"),
    [
        (1, ["a"], None, "2 to 12 frames"),
        (13, ["a"] * 13, None, "2 to 12 frames"),
        (2, ["a"], None, "2 frames but 1 captions"),
        (2, ["a", "b"], [[]], "2 frames but 1 lists of events"),
    ],
)
def test_a_player_that_does_not_fit_is_explained(frames, captions, events, message):
    picture = draw.Picture(None, "a picture")
    with pytest.raises(ValueError, match=message):
        draw.player([picture] * frames, captions, events, label="x")
    with pytest.raises(ValueError, match="Frame 0 must be a Picture"):
        draw.player(["no picture", picture], ["a", "b"], label="x")


def test_messages_step_through_every_arrival(ring_events):
    events = ring_events()
    player = draw.messages(events, name="Step", frames=12)
    arrivals = sorted({round(event[5], 12) for event in events if event[1] == "send"})
    assert len(player.frames) == 1 + len(arrivals)
    assert player.captions[0] == "At 442.5 µs: 2 messages are on the way, none has arrived yet."
    assert player.captions[-1].endswith("24 of 24 so far.")
    assert sum(len(step) for step in player.events) == 24
    for caption, step, at in zip(player.captions[1:], player.events[1:], arrivals):
        now = [event for event in events if event[1] == "send" and event[5] == pytest.approx(at)]
        assert len(step) == len(now) and all(f"{event[0]} → {event[2]} (4 MB)" in caption for event in now)
        assert {row["to"] for row in step} == {f"rank {event[2]}" for event in now}
    assert "rank 1 to rank 2: 4 MB" in " ".join(picture.alt for frame in player.frames for picture in frame)


def test_messages_of_a_long_run_share_steps(ring_events):
    player = draw.messages(ring_events(8), frames=6)
    assert len(player.frames) <= 6 and player.captions[-1].endswith("112 of 112 so far.")
    seen = [int(re.search(r"(\d+) of 112", caption)[1]) for caption in player.captions[1:]]
    assert seen == sorted(seen) and len(set(seen)) == len(seen)
    wide = draw.messages(ring_events(20), frames=3)
    assert all(len(frame) == 1 for frame in wide.frames), "beyond 16 ranks only the timeline is drawn"
    assert len(wide.html) < 120_000


def test_messages_without_messages():
    work = [(0, "work", None, 0, 0.0, 1e-3, ""), (1, "collective", None, 8, 1e-3, 2e-3, "barrier")]
    player = draw.messages(work)
    assert player.captions[-1] == "At 2 ms. No rank sends a message." and player.events is None
    with pytest.raises(ValueError, match="Nothing happened"):
        draw.messages([], world_size=2)


def test_equal_frames_do_not_share_ids(ring_events):
    same = draw.timeline(ring_events(), name="Ring")
    ids = re.findall(r'<\w+ id="([^"]*)"', draw.player([same, same], ["one", "two"], label="x").html)
    assert ids and len(ids) == len(set(ids)), "a hatch of a hidden frame would be missing in the one that is shown"
