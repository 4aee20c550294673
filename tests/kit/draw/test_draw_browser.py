"""A player in a real browser: by keyboard, by number box, without JavaScript, on a phone."""

import pytest

from labs.kit import draw


@pytest.mark.browser
def test_a_player_steps_by_keyboard_in_a_browser(ring_events, tmp_path, browser):
    player = draw.messages(ring_events(), name="Ring")
    page_file = tmp_path / "player.html"
    page_file.write_text(f"<!doctype html><meta charset=utf-8><title>x</title>{player.html}", encoding="utf-8")
    last = len(player.frames) - 1
    page = browser.new_page(viewport={"width": 740, "height": 800}, reduced_motion="reduce")
    asked, problems = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(page_file.as_uri())
    said = lambda: page.locator(".labs-say").inner_text()
    assert said() == f"Step 0 of {last}: {player.captions[0]}"
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    assert said() == f"Step 1 of {last}: {player.captions[1]}"
    page.keyboard.press("ArrowRight")
    assert said() == f"Step 2 of {last}: {player.captions[2]}"
    page.keyboard.press("End")
    assert said() == f"Step {last} of {last}: {player.captions[last]}"
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    page.keyboard.press("Home")
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    assert said() == f"Step 1 of {last}: {player.captions[1]}"
    box = page.get_by_role("spinbutton")
    box.fill("3")
    box.press("Enter")
    assert said() == f"Step 3 of {last}: {player.captions[3]}"
    assert page.get_by_role("slider", name="Step").get_attribute("aria-valuetext") == f"Step 3 of {last}"
    assert page.locator("figure:visible").count() == 1 and page.locator("figure:visible svg").count() == 2
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    assert page.locator("tr[aria-current=step]").count() == len(player.events[3])
    animation = page.locator("figure.labs-now").evaluate("figure => getComputedStyle(figure).animationName")
    assert animation == "none", "motion respects the reader's setting"
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert asked == [page_file.as_uri()] and problems == []
    page.close()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page_file.as_uri())
    assert plain.locator("figure:visible").count() == last + 1 and plain.locator(".labs-bar:visible").count() == 0
    context.close()
