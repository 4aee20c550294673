"""HTML of a report: a card that is right in a light and in a dark theme, by keyboard and by screen reader."""

import html

STYLE = """
.lk{--ok:#1a7f37;--bad:#b42318;--wait:#57606a;--line:#d0d7de;--soft:#f6f8fa;--ink:#1f2328;--mute:#57606a;--tone:var(--wait);
color:var(--ink);border:1px solid var(--line);border-left:5px solid var(--tone);border-radius:6px;max-width:52em;margin:.4em 0;
padding:.7em 1em .8em;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;background:transparent}
.lk *{box-sizing:border-box}
[data-jp-theme-light="false"] .lk,html[data-theme="dark"] .lk,body.vscode-dark .lk{--ok:#56d364;--bad:#ff8b80;--wait:#a3adb8;
--line:#4a525c;--soft:rgba(255,255,255,.06);--ink:#e6edf3;--mute:#a9b4bf}
.lk-solved{--tone:var(--ok)}.lk-failed{--tone:var(--bad)}
.lk-head{display:flex;flex-wrap:wrap;align-items:baseline;gap:.1em .7em}
.lk-head b{color:var(--tone);font-size:1.05em}.lk-head .lk-p{margin-left:auto;color:var(--mute);font-variant-numeric:tabular-nums}
.lk-q{font-size:1.08em;margin:.55em 0 .1em;font-weight:600;max-width:46em}
.lk-m{color:var(--mute)}
.lk pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--soft);color:inherit;border:0;border-radius:4px;
margin:.5em 0;padding:.5em .8em;overflow-x:auto;white-space:pre}
.lk summary{cursor:pointer;color:var(--mute)}.lk :focus-visible{outline:2px solid #4c8dff;outline-offset:2px;border-radius:3px}
"""


def card(report) -> str:
    """The card of a report as HTML; everything that came from the learner is escaped."""
    e = html.escape
    parts = [f'<div class="lk-head"><b>{e(report.verdict().splitlines()[0])}</b></div>']
    if report.wrong:
        parts.append(f'<div class="lk-q">{e(report.wrong.question)}</div>')
    if report.details():
        parts.append(f'<pre tabindex="0">{e(report.details())}</pre>')
    return f'<style>{STYLE}</style><section class="lk lk-{report.state}" role="status">{"".join(parts)}</section>'
