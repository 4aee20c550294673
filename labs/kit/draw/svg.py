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
    body = _classes(_ids(_once("".join(_write(child) for child in root)), salt))
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
        elif value in _PAGE:  # a page's colour is a CSS variable, which only a style may hold
            key, value = "style", f"{key}:{_PAGE[value]}"
        elif key == "d":
            value = relative(value)
        elif key != "id" and not key.startswith("href"):
            value = _LONG_NUMBER.sub(_rounded, value)
        attributes.append(f' {key}="{html.escape(value)}"')
    if name == "g" and not attributes:
        return inside
    if name == "path" and attributes[1:] == [' style="fill:none"']:
        return ""  # a background that is not there
    if not inside:
        return f"<{name}{''.join(attributes)}/>"
    return f"<{name}{''.join(attributes)}>{inside}</{name}>"


def relative(path: str) -> str:
    """A path in relative commands with two decimals: about half as long, and without drift.

    Each difference is taken between rounded positions, so that errors do not add up along the path.
    """
    parts, last, start, position = [], "", (0, 0), (0, 0)
    for command, numbers in re.findall(r"([MLQCz])([^MLQCz]*)", path):
        if command == "z":
            parts.append("z")
            position, last = start, "z"
            continue
        values = [round(float(number) * 100) for number in numbers.split()]  # hundredths of a point
        points = list(zip(values[::2], values[1::2]))
        if command == "M":
            parts.append("M" + _pairs(points))
            start = position = points[-1]
            last = "M"
            continue
        steps = [(x - position[0], y - position[1]) for x, y in points]
        (dx, dy), position = steps[-1], points[-1]
        if command == "L" and dy == 0:
            parts.append("h" + _hundredths(dx))
            last = "h"
        elif command == "L" and dx == 0:
            parts.append("v" + _hundredths(dy))
            last = "v"
        else:
            letter, text = command.lower(), _pairs(steps)
            joint = "" if text.startswith("-") else " "
            parts.append(joint + text if letter == last else letter + text)
            last = letter
    return "".join(parts)


def _pairs(points) -> str:
    text = " ".join(_hundredths(value) for point in points for value in point)
    return text.replace(" -", "-")


def _hundredths(value: int) -> str:
    return _short(value / 100)


def _once(body: str) -> str:
    """Write a long path that is drawn twice (an arrow's rim and its line) once, and refer to it."""
    paths = Counter(re.findall(r'<path d="([^"]{200,})"', body))
    shared = [path for path, times in paths.items() if times > 1]
    for number, path in enumerate(shared):
        body = body.replace(f'<path d="{path}"', f'<use href="#shared{number}"')
    defined = "".join(f'<path id="shared{number}" d="{path}"/>' for number, path in enumerate(shared))
    return f"<defs>{defined}</defs>{body}" if defined else body


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
