"""A matplotlib figure as one small, accessible <svg> to put into a page.

The same figure always gives the same text: no date, fixed salt, two decimals, ids made from the content. INK and PAPER
(see `style`) become the page's own colours. There is no style that could leak into the page, and nothing to fetch.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from collections import Counter
from xml.etree import ElementTree

from .style import INK, LARGEST, PAPER, SMALLEST, drawing

_PAGE = {INK: "currentColor", PAPER: "var(--picture-paper,var(--jp-layout-color0,Canvas))"}
_DROPPED = {"metadata", "style", "title", "desc"}
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?|-?\d+(?:\.\d+)?e-\d+")
_NO_ROTATION = re.compile(r"^rotate\(-?0 ")


def to_svg(figure, alt: str, *, salt: str = "") -> str:
    """`figure` as the text of one <svg> element.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    alt : str
        The text alternative; it becomes the element's accessible name.
    salt : str
        Makes the ids of two otherwise equal pictures on one page different.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    with drawing():
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(buffer, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    body = _classes(_ids("".join(_write(child) for child in root), salt))
    width, height = (figure.get_size_inches() * 72).tolist()
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_short(width)} {_short(height)}" role="img" '
        f'aria-label="{html.escape(alt)}" stroke-linejoin="round" style="width:100%;height:auto;display:block">'
    )
    return head + body + "</svg>"


def framed(svg: str, width: float) -> str:
    """`svg`, `width` points wide, in a box that keeps its text readable: it scrolls sideways on a narrow page."""
    return (
        f'<div class="labs-picture" tabindex="0" role="group" aria-label="Picture" '
        f'style="max-width:{round(width * LARGEST)}px;overflow-x:auto;margin:.5em 0;color:inherit">'
        f'<div style="min-width:{round(width * SMALLEST)}px">{svg}</div></div>'
    )


def _write(node) -> str:
    """One element without what says nothing: metadata, empty groups, groups without attributes, long numbers."""
    name = node.tag.rpartition("}")[2]
    if name in _DROPPED:
        return ""
    inside = "".join(_write(child) for child in node)
    if name == "text":
        inside = html.escape(node.text or "", quote=False) + inside
    elif name == "tspan":
        inside = html.escape(node.text or "", quote=False)
    if name in ("g", "defs") and not inside:
        return ""
    attributes = []
    for key, value in node.attrib.items():
        key = key.rpartition("}")[2]
        value = " ".join(value.split())
        if (key == "transform" and _NO_ROTATION.match(value)) or (key == "id" and name == "g"):
            continue
        if key == "style":
            value = _style(value)
        elif key == "d":
            value = re.sub(r" ?([MLQCz]) ?", r"\1", _LONG_NUMBER.sub(_rounded, value))
        elif key != "id" and not key.startswith("href"):
            value = _LONG_NUMBER.sub(_rounded, value)
        attributes.append(f' {key}="{html.escape(value)}"')
    if name == "g" and not attributes:
        return inside
    if not inside:
        return f"<{name}{''.join(attributes)}/>"
    return f"<{name}{''.join(attributes)}>{inside}</{name}>"


def _style(text: str) -> str:
    """A style attribute with the page's colours and fonts, canonically spaced."""
    rules = []
    for rule in text.split(";"):
        key, _, value = rule.partition(":")
        key, value = key.strip(), value.strip()
        if not key or (key, value) in {("stroke-linejoin", "miter"), ("stroke-miterlimit", "100000")}:
            continue
        if key == "font-family":
            value = "sans-serif"
        elif key == "font":
            value = re.sub(r"(\S+px) .*", r"\1 sans-serif", value)
        value = _LONG_NUMBER.sub(_rounded, value)
        rules.append(f"{key}:{_PAGE.get(value, value)}")
    return ";".join(rules)


def _rounded(match: re.Match) -> str:
    return _short(float(match[0]))


def _short(value: float) -> str:
    """Two decimals at most, and never "-0"."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _ids(body: str, salt: str) -> str:
    """Keep the ids that are referred to, and name them after the content: ids belong to the whole page."""
    found = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', body)
    used = list(dict.fromkeys(one or other for one, other in found))
    prefix = "p" + hashlib.sha256((salt + re.sub(r'id="[^"]*"|#[\w-]+', "", body)).encode()).hexdigest()[:8]
    names = {old: f"{prefix}{number}" for number, old in enumerate(used)}
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", body)
    body = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{names[m[1]]})", body)
    return re.sub(r'href="#([^"]+)"', lambda m: f'href="#{names[m[1]]}"', body)


def _classes(body: str) -> str:
    """Write a style that occurs three times or more once, as a class with a name of its own."""
    often = [style for style, times in Counter(re.findall(r' style="([^"]*)"', body)).items() if times > 2]
    rules = []
    for style in often:
        name = "s" + hashlib.sha256(style.encode()).hexdigest()[:8]
        rules.append(f".{name}{{{html.unescape(style)}}}")
        body = body.replace(f' style="{style}"', f' class="{name}"')
    return f"<style>{''.join(rules)}</style>{body}" if rules else body
