"""Every picture is small, well formed, the same each time, and leaves the learner's matplotlib alone."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.kit import draw
from labs.kit.draw.style import KINDS, LINES, OWNERS, RAMP, contrast, ink_on
from labs.kit.draw.svg import relative
from labs.kit.hardware import a5000_pair, cluster, ethernet_pair, nvswitch_node, pcie_box, uniform

PICTURES = {
    "timeline": lambda ring: draw.timeline(ring(), name="Ring"),
    "timeline, until": lambda ring: draw.timeline(ring(), until=600e-6, name="Ring"),
    "timeline, many ranks": lambda ring: draw.timeline(ring(70), name="Ring"),
    "chunks": lambda ring: draw.chunks([[1, 2], [0, None]], marks=[(0, 1), (1, 1, "wrong"), (0, 0, "sent")], step=1),
    "chunks, large": lambda ring: draw.chunks([[(r + c) % 41 for c in range(40)] for r in range(40)]),
    "holdings": lambda ring: draw.collective("reduce_scatter"),
    "holdings, long name": lambda ring: draw.holdings([["rank 0's"]], [["other"]], name="Before, and after exchanging"),
    "between": lambda ring: draw.between([(0, 1, 10), (1, 0, 20), (2, 0, 5)], 4),
    "curves": lambda ring: draw.curves(
        {
            "one": ([1, 10, 100], [1e-6, 2e-6, 1e-3], [5e-7, 1e-6, 5e-4], [2e-6, 3e-6, 2e-3]),
            '<two> & "more"': ([1, 100], [1e-5, 1e-5]),
        },
        xlabel="size (B)", ylabel="time (s)", logx=True, logy=True, name="Time", marks=[(10, "here")],
    ),
    "topology, pair": lambda ring: draw.topology(a5000_pair()),
    "topology, node": lambda ring: draw.topology(nvswitch_node()),
    "topology, box": lambda ring: draw.topology(pcie_box()),
    "topology, cluster": lambda ring: draw.topology(cluster(128)),
    "topology, ethernet": lambda ring: draw.topology(ethernet_pair()),
    "topology, uniform": lambda ring: draw.topology(uniform(1024)),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_accessible_self_contained_and_the_same_each_time(name, ring_events, check_svg):
    picture = PICTURES[name](ring_events)
    check_svg(picture)
    assert picture.svg() == PICTURES[name](ring_events).svg() == picture.svg()
    assert "currentColor" in picture.svg()
    assert ("#d55e00" in picture.svg()) == (name == "chunks"), "red means wrong and nothing else"
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"} and bundle["text/plain"] == picture.alt
    assert 'tabindex="0"' in bundle["text/html"] and "overflow-x:auto" in bundle["text/html"]


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=2, max_size=40))
def test_a_relative_path_ends_where_the_absolute_one_does(points):
    path = "M {} {}".format(*points[0]) + "".join(f" L {x} {y}" for x, y in points[1:])
    path = re.sub(r"-?\d[\d.e-]*", lambda m: f"{float(m[0]):.6f}", path)
    x = y = 0.0
    where = []
    for command, rest in re.findall(r"([Mlhvz])([^Mlhvz]*)", relative(path)):
        numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", rest)]
        while numbers:
            if command == "M":
                x, y = numbers.pop(0), numbers.pop(0)
            elif command == "h":
                x += numbers.pop(0)
            elif command == "v":
                y += numbers.pop(0)
            else:
                x, y = x + numbers.pop(0), y + numbers.pop(0)
            where.append((x, y))
    assert len(where) == len(points)
    for got, want in zip(where, points):
        assert got == pytest.approx(want, abs=0.0051)


def test_equal_frames_get_ids_of_their_own(ring_events):
    picture = draw.timeline(ring_events(), name="Ring")
    ids = [set(re.findall(r' id="([^"]*)"', picture.svg(salt=salt))) for salt in ("one", "two")]
    assert ids[0] and ids[1] and not ids[0] & ids[1]


def test_contrast():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # WCAG's best-known near miss
    fills = [*RAMP, *OWNERS, "#E69F00", *(fill for fill, _ in KINDS.values() if fill != "#030201")]
    assert min(contrast(fill, ink_on(fill)) for fill in fills) >= 4.5, "text on a fill: WCAG AA"
    for paper in ("#ffffff", "#14181e", "#111111"):
        assert min(contrast(colour, paper) for colour, _, _ in LINES) >= 3, "lines on light and dark pages: WCAG AA"


def test_png_is_the_same_each_time_and_has_no_paper_left(ring_events):
    import io

    from PIL import Image

    picture = draw.timeline(ring_events(), name="Ring")
    before, png = picture.svg(), picture.png(dpi=72)
    assert png == picture.png(dpi=72) and png.startswith(b"\x89PNG") and b"tEXt" not in png
    assert Image.open(io.BytesIO(png)).size[0] == 504
    assert picture.svg() == before, "the page's colours are back afterwards"


def test_a_picture_without_words_is_refused():
    with pytest.raises(ValueError, match="text alternative"):
        draw.Picture(None, " ")


def test_drawing_touches_neither_pyplot_nor_settings():
    code = """
import sys
from labs.kit import draw
for heavy in ("matplotlib", "ipywidgets", "torch", "PIL"):
    assert heavy not in sys.modules, heavy
import matplotlib
matplotlib.rcParams["font.size"] = 31
matplotlib.rcParams["axes.facecolor"] = "pink"
matplotlib.rcParams["svg.fonttype"] = "path"
settings = lambda: {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
strange = draw.chunks([[1, 2], [0, 1]]).svg()
assert settings() == before
matplotlib.rcdefaults()
assert draw.chunks([[1, 2], [0, 1]]).svg() == strange
assert "matplotlib.pyplot" not in sys.modules, "pyplot"
assert "IPython" not in sys.modules, "IPython"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
