"""Events made by hand, and readings of a picture that do not use the code under test."""

import re
from xml.etree import ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"


def ring(size=4, work=400e-6, latency=5e-6, seconds=80e-6, nbytes=4_000_000):
    """Events of a ring all-reduce after some work; rank 1 works a quarter longer, so that others wait."""
    events, clock = [], [work * (1.25 if rank == 1 else 1) for rank in range(size)]
    for rank in range(size):
        events.append((rank, "work", None, 0, 0.0, clock[rank], "backward"))
    for _ in range(2 * size - 2):
        after = list(clock)
        for rank in range(size):
            right = (rank + 1) % size
            start = max(clock[rank], clock[right])
            end = start + latency + seconds
            if start > clock[rank]:
                events.append((rank, "wait", None, 0, clock[rank], start, ""))
            events.append((rank, "send", right, nbytes, start, end, ""))
            events.append((right, "recv", rank, nbytes, start, end, ""))
            after[rank], after[right] = max(after[rank], end), max(after[right], end)
        clock = after
    return events


@pytest.fixture
def ring_events():
    return ring


def parse(svg):
    """The picture as an XML tree; raises if it is not well formed."""
    return ElementTree.fromstring(svg)


@pytest.fixture
def texts():
    """The texts in a picture, in the order in which they are drawn."""
    return lambda picture: [node.text for node in parse(picture.svg()).iter(f"{SVG}text")]


@pytest.fixture
def check_svg():
    """Asserts what holds for every picture; returns the tree."""

    def check(picture):
        svg = picture.svg()
        root = parse(svg)
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == picture.alt
        assert not re.search(r"""(?:src|href)=["'](?!#)|@import|url\((?!#)""", svg), "a picture fetches nothing"
        assert svg.count("http") == 1, "only the name space is an address"
        for style in root.iter(f"{SVG}style"):
            assert re.fullmatch(r"(\.s[0-9a-f]{8}\{[^{}]*\})+", style.text), "no style may reach the page"
        defined = {node.attrib["id"] for node in root.iter() if "id" in node.attrib}
        used = set(re.findall(r"#(p[\w]+)", svg))
        assert used == defined, "each id is used, and each reference has its target"
        assert not re.search(r"\d\.\d{3}", re.sub(r"aria-label=\"[^\"]*\"", "", svg)), "two decimals are enough"
        assert "#010203" not in svg and "#030201" not in svg, "the page's own colours are not fixed ones"
        width, height = map(float, root.attrib["viewBox"].split()[2:])
        for node in root.iter(f"{SVG}text"):
            if "x" in node.attrib:
                assert -2 <= float(node.attrib["x"]) <= width + 2 and -2 <= float(node.attrib["y"]) <= height + 2
        return root

    return check
