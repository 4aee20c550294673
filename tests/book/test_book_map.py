"""The map of lessons follows the catalogue, and its arrows follow the opening boxes."""

import html
import re
from dataclasses import replace

import pytest
from builder.lesson_map import arrows, depths, lanes, lesson_map
from builder.outline import Entry, outline, prerequisites, promise

from labs.course import catalogue


def entry(number, part="A", needs=(), helped_by=()):
    return Entry(number, f"{number:02}_x", f"Title {number}", part, 60, 10, "a thing.", needs, helped_by)


def test_every_lesson_is_a_card_with_its_link_minutes_and_points(entries, root):
    page = lesson_map(entries)
    lessons = catalogue.lessons(root)
    cards = re.findall(r'<a class="map-card[^>]*href="([^"]+)">(.*?)</a>', page)
    assert [link for link, _ in cards] == [f"lessons/{lesson.name}.html" for lesson in lessons]
    for lesson, (_, inside) in zip(lessons, cards, strict=True):
        words = html.unescape(re.sub(r"<[^>]+>", "", inside))
        assert f"{lesson.number:02} {lesson.title}" in words
        assert f"{lesson.minutes} min · {lesson.points:g} points" in words


def test_a_new_lesson_or_a_changed_time_changes_the_map(entries):
    assert "99 min" in lesson_map([replace(entries[0], minutes=99), *entries[1:]])
    new = Entry(99, "99_new", "Something new", "Systems", 45, 7, "it.", (entries[-1].number,))
    assert 'href="lessons/99_new.html"' in lesson_map([*entries, new])


def test_needs_are_read_from_the_opening_box():
    box = "**You will build** `a` *thing*. **You need** 01 Messages, 03 X (07 Data parallel helps) · **Time** 5 minutes"
    assert prerequisites(box) == ((1, 3), (7,))
    assert promise(box) == "a thing."


def test_arrows_leave_out_what_follows_from_others():
    chain = [entry(0), entry(1, needs=(0,)), entry(2, needs=(0, 1)), entry(5, needs=(1,)), entry(6, needs=(2, 5))]
    assert set(arrows(chain)) == {(0, 1), (1, 2), (1, 5), (2, 6), (5, 6)}
    assert depths(chain) == {0: 0, 1: 1, 2: 2, 5: 2, 6: 3}


def test_every_arrow_goes_to_the_right_and_reaches_all_prerequisites(entries):
    depth, drawn = depths(entries), arrows(entries)
    assert all(depth[first] < depth[later] for first, later in drawn)
    before = {e.number: set() for e in entries}
    for e in entries:  # in order, so that what comes before is complete
        for first, later in drawn:
            if later == e.number:
                before[later] |= {first} | before[first]
    assert all(set(e.needs) <= before[e.number] for e in entries)
    assert lesson_map(entries).count('class="map-arrow"') == len(drawn)


def test_cards_never_lie_on_one_another(entries):
    made = lanes(entries)
    spots = [(lane.places[n][0], round(lane.middle(n), 3)) for lane in made for n in lane.places]
    assert len(spots) == len(set(spots)) == len(entries)
    for one in made:
        for other in made:
            if (
                one is not other
                and one.column < other.column + other.columns
                and other.column < one.column + one.columns
            ):
                assert one.top + one.height <= other.top or other.top + other.height <= one.top


def test_a_lesson_that_needs_a_later_one_is_refused(root, monkeypatch):
    from builder import outline as module

    monkeypatch.setattr(module, "prerequisites", lambda box: ((77,), ()))
    with pytest.raises(SystemExit, match="needs lesson 77"):
        outline(root)
