"""axe-core, the checker of accessibility, fetched once from npm into build/ (MPL-2.0; for tests, never published)."""

import fcntl
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

AXE = "axe-core@4.14.1"
KEPT = Path(__file__).resolve().parents[2] / "build" / AXE / "axe.min.js"
# WCAG 2.0 to 2.2, A and AA, and what axe calls best practices; those of 2.2 are off unless they are named.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Findings that stay, (rule, part of the element's selector): reason. None at present.
ALLOWED = {}
# A picture is one thing with a name, and axe cannot tell what is painted under its text (`contrast.js` does that): its
# parts are taken out, which makes axe several times as fast.
EMPTY = "document.querySelectorAll('svg[role=img]').forEach((svg) => svg.replaceChildren())"
RUN = """async ([tags, rules]) => {
  const only = rules ? { type: "rule", values: rules } : { type: "tag", values: tags };
  const options = { runOnly: only, resultTypes: ["violations"], preload: false };
  if (!rules) options.rules = { "target-size": { enabled: true } };
  const found = await axe.run(document, options);
  return found.violations.flatMap((v) => v.nodes.map((n) =>
    [v.id, v.impact, n.target.join(" "), n.failureSummary.split("\\n").slice(1).join(" ").trim()]));
}"""


def script():
    """The text of axe-core; fetched by the first test that asks."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, which brings the accessibility checker axe-core: install Node.js")
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with open(KEPT.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not KEPT.exists():
            subprocess.run(["npm", "pack", AXE, "--silent"], cwd=KEPT.parent, check=True, capture_output=True)
            with tarfile.open(next(KEPT.parent.glob("*.tgz"))) as tar:
                member = tar.extractfile("package/axe.min.js")
                KEPT.with_suffix(".part").write_bytes(member.read())
            KEPT.with_suffix(".part").rename(KEPT)
    return KEPT.read_text(encoding="utf-8")


def findings(page, rules=None):
    """What axe finds on the page as it is now: a list of sentences; `rules` limits it to these."""
    found = page.evaluate(RUN, [TAGS, rules])
    return [
        f"{rule} ({impact}) at {where}: {why}"
        for rule, impact, where, why in found
        if not any(rule == allowed and part in where for allowed, part in ALLOWED)
    ]


def check(page, site, width, dark=True, soak=False):
    """Every page of the site at this width, unfolded. Returns the findings as text, a line each.

    Folded text is judged where it is unfolded: axe skips what nobody sees. With `dark` the colours of the dark theme
    are judged, too. With `soak`, each page is also judged as it is loaded, and the dark theme by every rule.
    """
    text, told = script(), []
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(reduced_motion="reduce")  # nothing is judged while it fades in
    for name in site.pages:
        page.goto(site.address + name, wait_until="load")
        page.wait_for_function("!window.MathJax || MathJax.startup?.promise")
        page.evaluate("window.MathJax ? MathJax.startup.promise.then(() => 0) : 0")
        page.evaluate(text)
        page.evaluate(EMPTY)
        page.wait_for_timeout(500)  # the page decides after 400 ms which boxes the keyboard stops at
        for unfolded in (False, True) if soak else (True,):
            if unfolded:
                page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
                page.wait_for_timeout(50)
            for theme in ("light", "dark") if dark or soak else ("light",):
                page.evaluate("(t) => { document.documentElement.dataset.theme = t; }", theme)
                found = findings(page, None if soak or theme == "light" else ["color-contrast"])
                told += [f"{name}, {theme}{', unfolded' if unfolded else ''}: {each}" for each in found]
    return "\n".join(told)
