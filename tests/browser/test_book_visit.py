"""A visit to the book by mouse and by keyboard alone; on paper, in a narrow window, and without motion."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
# What has the focus: its kind and name, whether it is to be seen, and whether something shows that it has the focus.
FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return null;
  e.dataset.seen = e.dataset.seen || String(window.count = (window.count || 0) + 1);
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  const opaque = (x) => !x || (getComputedStyle(x).opacity !== "0" && opaque(x.parentElement));
  return { number: +e.dataset.seen, tag: e.localName, ring, class: String(e.className.baseVal ?? e.className),
           seen: box.width > 0 && box.height > 0 && opaque(e),
           name: e.getAttribute("aria-label") || e.innerText || "" };
}"""
OPEN = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"


def lesson(site, number):
    return site.address + next(page for page in site.lessons if page.startswith(f"lessons/{number}_"))


def test_a_visit_by_mouse(reader, site):
    page = reader
    page.goto(site.address, wait_until="load")
    page.locator("nav.bd-links, .bd-sidebar-primary").first.get_by_role("link", name="08 · All-reduce").first.click()
    page.wait_for_url("**/08_all_reduce.html")
    player = page.locator(".labs-player.labs-on").first
    say, slider, box = (player.locator(s) for s in (".labs-say", "input[type=range]", "input[type=number]"))
    slider.scroll_into_view_if_needed()
    place = slider.bounding_box()
    page.mouse.click(place["x"] + place["width"] - 4, place["y"] + place["height"] / 2)
    last = int(slider.get_attribute("max"))
    assert say.inner_text().startswith(f"Step {last} of {last}")
    box.fill("1")
    box.press("Enter")
    assert say.inner_text().startswith("Step 1 of") and slider.input_value() == "1"
    assert player.locator("figure:visible").count() == 1

    answer = page.locator("details.hide.above-input").first
    code = answer.locator("pre").first
    assert not code.is_visible()
    answer.locator("summary").click()
    code.wait_for(state="visible")
    assert "SOLUTION" in code.inner_text()

    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.address)
    answer.locator(".highlight").first.hover()
    answer.locator("button.copybtn").first.click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text.includes('SOLUTION'))")

    page.locator("a.right-next").click()
    page.wait_for_url("**/09_parameter_server.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("rendezvous")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=rendezvous*")
    found = page.locator("ul.search li a").first
    found.wait_for(timeout=20_000)
    found.click()
    page.wait_for_load_state("load")
    assert "search.html" not in page.url
    assert "rendezvous" in page.locator("article").inner_text().lower()
    assert page.elsewhere == [] and page.errors == []


def test_the_keyboard_reaches_everything_and_leaves_again(reader, site):
    page = reader
    page.emulate_media(reduced_motion="reduce")
    page.goto(lesson(site, "00"), wait_until="load")
    page.wait_for_timeout(700)
    stops = []
    for _ in range(600):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None or focus["number"] <= len(stops):
            break  # through the page and out of it
        stops.append(focus)
    else:
        pytest.fail(f"the keyboard does not leave the page: {stops[-3:]}")
    text = [f"{stop['tag']} {stop['class']} {stop['name']}".lower() for stop in stops]
    assert "skip to main content" in text[0]
    wanted = ("search", "color mode", "01 · messages", "summary", "back", "next", "play", "input", "copy")
    assert [word for word in wanted if not any(word in stop for stop in text)] == []
    assert [stop for stop in stops if not stop["seen"]] == []
    assert [stop for stop in stops if not stop["ring"]] == []


def test_an_answer_unfolds_and_a_player_steps_by_keyboard(reader, site):
    page = reader
    page.goto(lesson(site, "08"), wait_until="load")
    answer = page.locator("details.hide.above-input").first
    answer.locator("summary").focus()
    page.keyboard.press("Enter")
    answer.locator("pre").first.wait_for(state="visible")
    player = page.locator(".labs-player").first
    player.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert re.match(r"Step 2\b", player.locator(".labs-say").inner_text())
    player.get_by_role("button", name="Back").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Home")
    assert re.match(r"Step 0\b", player.locator(".labs-say").inner_text())


def test_the_menu_of_a_phone_opens_and_closes_by_keyboard(reader, site):
    page = reader
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(lesson(site, "00"), wait_until="load")
    button = page.locator("button.primary-toggle:visible").first
    button.focus()
    page.keyboard.press("Enter")
    link = page.locator(".bd-sidebar-primary a, dialog a", has_text="01 · Messages").locator("visible=true").first
    link.wait_for()
    page.keyboard.press("Escape")
    link.wait_for(state="hidden", timeout=5_000)
    page.wait_for_function("document.activeElement.matches('.primary-toggle')", timeout=5_000)


def test_text_in_pictures_can_be_read_in_both_themes(reader, site):
    page, low, count = reader, [], 0
    page.set_viewport_size({"width": 1280, "height": 3000})
    page.emulate_media(reduced_motion="reduce")
    for name in site.pages:
        page.goto(site.address + name, wait_until="load")
        page.evaluate(OPEN)
        page.evaluate("document.querySelectorAll('.labs-on').forEach((p) => p.classList.remove('labs-on'))")
        for theme in ("light", "dark"):
            page.evaluate("(t) => { document.documentElement.dataset.theme = t; }", theme)
            found = page.evaluate(CONTRAST)
            count += found["count"]
            low += [(name, theme, *each.values()) for each in found["low"]]
    assert count > 1000
    assert low[:5] == []


def test_the_check_of_pictures_finds_what_cannot_be_read(reader, site):
    reader.goto(site.address, wait_until="load")
    reader.set_content(
        "<body style='background:#fff'><svg role='img' aria-label='x' viewBox='0 0 200 40' width='200'>"
        "<rect width='100' height='40' fill='#000'/><text x='10' y='25' fill='#111'>hidden</text>"
        "<text x='110' y='25' fill='#111'>plain</text></svg>"
    )
    found = reader.evaluate(CONTRAST)
    assert found["count"] == 2 and [each["text"] for each in found["low"]] == ["hidden"]


def test_a_window_of_320_px_needs_no_scrolling_sideways(reader, site):
    """Also what a desktop of 1280 px shows at a zoom of 400 % (WCAG 1.4.10)."""
    wide = []
    reader.set_viewport_size({"width": 320, "height": 800})
    for name in site.pages:
        reader.goto(site.address + name, wait_until="load")
        reader.evaluate(OPEN)
        if (excess := reader.evaluate("document.documentElement.scrollWidth - window.innerWidth")) > 0:
            wide.append(f"{name}: {excess} px")
    assert wide == []


def test_nothing_moves_for_those_who_ask_for_it(reader, site):
    reader.emulate_media(reduced_motion="reduce")
    for name in ("index.html", site.lessons[0]):
        reader.goto(site.address + name, wait_until="load")
        reader.wait_for_timeout(300)
        moving = "document.getAnimations().filter((a) => a.playState === 'running').length"
        assert reader.evaluate(moving) == 0, name
        assert reader.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


def test_paper_shows_the_text_and_every_frame_of_a_player(reader, site):
    reader.goto(lesson(site, "08"), wait_until="load")
    frames = reader.locator(".labs-player").first.locator("figure")
    assert frames.locator("visible=true").count() >= 1
    reader.emulate_media(media="print")
    assert reader.locator("article p").first.is_visible()
    assert all(frames.nth(i).is_visible() for i in range(frames.count())) and frames.count() >= 2
    assert not reader.locator(".labs-bar").first.is_visible()
    assert not reader.locator(".bd-sidebar-primary").first.is_visible()
