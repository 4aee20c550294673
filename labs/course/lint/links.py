"""What a page links to or names is there: files, headings, and web addresses of good form."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from labs.course.canonical import read, where
from labs.course.lint.prose import PAGES, headings, without_code

CODE = ("labs/**/*.py", "book/*.py", "bench/*.py")

_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'][^)]*)?\)")
_IMAGE = re.compile("!" + _LINK.pattern)
_REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
_SOURCE = re.compile(r"<(?:img|a)\b[^>]*\b(?:src|href)=[\"']([^\"']+)[\"']", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://[^\s<>()\"'`\]]*[^\s<>()\"'`\].,;:!?]")
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_NAMED = re.compile(r"(?<![\w/.<-])(?:labs|tests|book|bench|solutions|notebooks)/[\w./-]*\w")
_LOCAL_HOST = re.compile(r"^(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[|.*\.local$)")
_HOST = re.compile(r"^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$")
# Names that stand for any lesson, and folders that are built.
_PLACEHOLDER = re.compile(r"NN|/topic\b|^book/(?:lessons|_build)")


@dataclass(frozen=True)
class Passage:
    """A piece of text that may link.

    Attributes
    ----------
    place : str
        How a person finds it, for example ``README.md``.
    folder : pathlib.Path
        Relative links begin here.
    text : str
    markdown : bool
        Whether ``[words](target)`` is a link in it; in a docstring it is code.
    """

    place: str
    folder: Path
    text: str
    markdown: bool = True


def check_links(root):
    """Check the links of every page, lesson and docstring of a course.

    Parameters
    ----------
    root : path-like
        The checkout.

    Returns
    -------
    list of str
        A sentence for each link that leads nowhere.
    """
    root = Path(root)
    faults, spellings = [], {}
    for passage in [*_pages(root), *_lessons(root), *_docstrings(root)]:
        for line, target in _targets(passage):
            place = f"{passage.place}, line {line}"
            fault = _check_target(target, passage.folder, root)
            if fault:
                faults.append(f"{place}: {fault}")
            elif "://" in target:
                first, before = spellings.setdefault(_key(target), (target, place))
                if first != target:
                    faults.append(f"{place}: {target} is written {first} at {before}. Write both the same way.")
        faults += [
            f"{passage.place}, line {line}: it names {name}, and there is no such file."
            for line, name in _named(passage) if not (root / name).exists()
        ]  # fmt: skip
    return faults


def _pages(root):
    for path in sorted(path for pattern in PAGES for path in root.glob(pattern)):
        yield Passage(str(path.relative_to(root)), path.parent, path.read_text(encoding="utf-8"))


def _lessons(root):
    for path in sorted(root.glob("solutions/*.ipynb")):
        for index, cell in enumerate(read(path).cells):
            if cell.cell_type == "markdown":
                yield Passage(where(path.name, index, cell), path.parent, cell.source)


def _docstrings(root):
    for path in sorted(path for pattern in CODE for path in root.glob(pattern)):
        if "_build" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node, clean=False)
                if text:
                    first = node.body[0].lineno
                    yield Passage(str(path.relative_to(root)), path.parent, "\n" * (first - 1) + text, markdown=False)


def _targets(passage):
    """Every link of a passage with its line: Markdown links, images, HTML and bare addresses, but not code."""
    for number, line in enumerate(without_code(passage.text), 1):
        line = _CODE_SPAN.sub("", line)
        if passage.markdown:
            images = _IMAGE.findall(line)
            line = _IMAGE.sub("", line)  # a link may stand around one
            found = [*images, *_LINK.findall(line), *_REFERENCE.findall(line), *_SOURCE.findall(line)]
        else:
            found = []
        found += [address for address in _ADDRESS.findall(line) if not any(address in target for target in found)]
        yield from ((number, target) for target in found)


def _named(passage):
    """Every file of the course that a passage names: in code spans of a page, anywhere in a docstring."""
    for number, line in enumerate(without_code(passage.text), 1):
        words = [match[2].strip() for match in _CODE_SPAN.finditer(line)] if passage.markdown else [line]
        for text in words:
            for match in _NAMED.finditer(text):
                after = text[match.end() : match.end() + 1]
                if after not in ("*", "<", "{") and not _PLACEHOLDER.search(match[0]):
                    yield number, match[0]


def _check_target(target, folder, root):
    """Say what is wrong with one link; None when nothing is."""
    if "://" in target or target.startswith("mailto:"):
        return _check_address(target)
    if target.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]:", target):
        return f"the link {target} leads to a place on one machine. Link relative to this file."
    name, _, anchor = target.partition("#")
    file = (folder / unquote(name)).resolve() if name else None
    if file is not None and not file.is_relative_to(root.resolve()):
        return f"the link {target} leads out of the course."
    if file is not None and not file.exists():
        return f"the link {target} leads nowhere: there is no {file.relative_to(root.resolve())}."
    if anchor and file is not None and file.suffix in (".md", ".ipynb") and anchor not in _anchors(file):
        return f"the link {target} leads to no heading of {file.name}."
    return None


def _anchors(file):
    """The anchors of a page: its headings as GitHub and MyST spell them, and MyST's own ``(label)=``."""
    if file.suffix == ".ipynb":
        text = "\n".join(cell.source for cell in read(file).cells if cell.cell_type == "markdown")
    else:
        text = file.read_text(encoding="utf-8")
    labels = set(re.findall(r"(?m)^\(([\w-]+)\)=$", text))
    return labels | {re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-") for _, _, words in headings(text)}


def _check_address(address):
    """A web address is https and leads to a host that everybody sees."""
    if address.startswith("mailto:"):
        return None
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
        _ = parts.port  # raises for one that is none
    except ValueError as error:
        return f"{address} is no address ({error})."
    if parts.scheme == "file" or _LOCAL_HOST.match(host):
        return f"{address} leads to a place on one machine; nobody else can follow it."
    if not _HOST.match(host):
        return f"{address} names no host."
    if parts.scheme != "https":
        return f"{address} is not https."
    return None


def _key(address):
    """What two spellings of one address have in common."""
    parts = urlsplit(address)
    return (parts.hostname or "").lower().removeprefix("www."), parts.path.rstrip("/"), parts.query, parts.fragment
