"""References gather what lessons name; the page of benchmarks says what was measured."""

import json
import re
from dataclasses import replace

import pytest
from builder.benchmarks import benchmarks_page, dots, kept, renew
from builder.references import Work, gathered, references_page, sources, unknown, works


@pytest.fixture(scope="module")
def known(root):
    return works(root / "book" / "references.yml")


def test_every_source_of_every_lesson_is_on_the_page_with_a_link_back(root, entries, known):
    page = gathered(entries, root)
    for entry in entries:
        bullets = sources(root / "solutions" / f"{entry.name}.ipynb")
        assert len(bullets) >= 3, entry.name
        assert unknown(bullets, known) == []
        for bullet in bullets:
            for work in known:
                if work.named_in(bullet):
                    line = next(line for line in page.splitlines() if f"*{work.title}*" in line)
                    assert f"(lessons/{entry.name}.ipynb#sources)" in line


def test_a_work_that_two_lessons_name_stands_once(root, entries):
    page = gathered(entries, root)
    line = [line for line in page.splitlines() if "Roofline: an insightful" in line]
    assert len(line) == 1 and "03 ·" in line[0] and "06 ·" in line[0]
    titles = re.findall(r"(?m)^- .*?\*([^*]+)\*", page)
    assert len(titles) == len(set(titles)) > 40


def test_each_kind_is_sorted_by_the_first_authors_name(known):
    papers = [work.authors for work in known if work.kind == "Papers and books"]
    names = [re.sub(r"^(?:\w\.[- ]?)+", "", who.split(",")[0].removesuffix(" and others")) for who in papers]
    assert names == sorted(names, key=str.casefold)


def test_a_source_that_is_not_known_stops_the_build(entries, known):
    bullet = "N. Obody: *A paper that nobody knows*, 2031: why."
    assert unknown([bullet], known) == [bullet, "A paper that nobody knows"]
    with pytest.raises(SystemExit, match=r"references\.yml does not have"):
        references_page(known, {entries[0]: [bullet]})


def test_a_work_that_no_lesson_names_stops_the_build(entries):
    with pytest.raises(SystemExit, match="no lesson"):
        references_page([Work("Papers", "A", "Title one")], {entries[0]: []})


def test_stars_of_works_not_read_again_are_no_titles(known):
    bullet = (
        "M. Li and others: *Scaling distributed machine learning with the parameter server*, OSDI 2014 *: the server."
    )
    assert unknown([bullet], known) == []
    assert unknown([bullet], [replace(work, title="X") for work in known if "Scaling" in work.title])


def series(*runs):
    return {
        "min": min(runs),
        "median": sorted(runs)[len(runs) // 2],
        "max": max(runs),
        "spread": 0.1,
        "runs": list(runs),
    }


def record(measured="2030-01-02T03:04:05+00:00", name="ring", ratio=(2.0, 3.0, 4.0), quick=False):
    row = {
        "what": "4 ranks, 1 MB", "unit": "s", "ours": series(0.01, 0.02, 0.03), "peer": "gloo_x",
        "theirs": series(0.05, 0.06, 0.07), "ratio": series(*ratio), "aim": 2.5, "aim_met": True,
    }  # fmt: skip
    limit = row | {"what": "peak", "unit": "MB", "ours": series(800.0), "peer": None, "theirs": None, "ratio": None}
    machine = {
        "cpu": "A CPU", "cores": 2, "memory_bytes": 8e9, "system": "Linux", "python": "3.11.7", "load_before": 0.1,
        "packages": {"torch": "2.13.0"}, "revision": "abc",
    }  # fmt: skip
    figure = {"name": name, "title": "A ring", "notes": "By turns.", "seconds": 1.0, "load_after": 1.0}
    return {
        "format": 1, "measured": measured, "quick": quick, "machine": machine, "failures": {},
        "figures": [figure | {"rows": [row, limit | {"aim": 900}]}],
    }  # fmt: skip


def test_the_page_has_both_times_the_ratio_with_its_range_the_aim_and_the_machine():
    page = benchmarks_page(kept([record()]))
    assert "20 ms (10 to 30)" in page and "60 ms (50 to 70)" in page
    assert "**3** (2 to 4, 3 runs)" in page
    assert "at least 2.5: met" in page and "below 900 MB: met" in page
    assert (
        "gloo\\_x" in page and "A CPU, 2 cores, 8 GB, Linux" in page and "torch 2.13.0" in page and "2030-01-02" in page
    )


def test_the_picture_has_a_dot_for_each_comparison_in_order_and_words():
    slow, fast = record(ratio=(0.4, 0.5, 0.6)), record(name="other", ratio=(30.0, 40.0, 50.0))
    rows = [kept([r])["figures"][0]["rows"][0] for r in (slow, fast)]
    picture = dots({"rows": rows})
    middles = [float(x) for x in re.findall(r'class="bench-dot" cx="([\d.]+)"', picture)]
    one = float(re.search(r'class="bench-one" d="M([\d.]+)', picture)[1])
    assert len(middles) == 2 and middles[0] < one < middles[1]
    assert 'role="img"' in picture and "4 ranks, 1 MB, beside gloo_x: 0.5 times" in picture


def test_the_newest_of_each_figure_is_kept_whatever_the_order(tmp_path):
    old, new = record(), record("2031-01-01T00:00:00+00:00", ratio=(5.0, 6.0, 7.0))
    for order in ([old, new], [new, old]):
        figures = kept([*order, record(name="other")])["figures"]
        assert [figure["name"] for figure in figures].count("ring") == 1 and len(figures) == 2
        assert next(f for f in figures if f["name"] == "ring")["rows"][0]["ratio"]["median"] == 6.0
    file, target = tmp_path / "bench.json", tmp_path / "benchmarks.json"
    file.write_text(json.dumps(new))
    target.write_text(json.dumps(kept([old, record(name="other")])))
    assert renew([file], target) == 2
    assert "**6** (5 to 7, 3 runs)" in benchmarks_page(json.loads(target.read_text()))


def test_quick_or_missing_measurements_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="--quick"):
        kept([record(quick=True)])
    with pytest.raises(SystemExit, match="make bench"):
        renew([tmp_path / "no.json"], tmp_path / "x.json")


def test_the_page_in_the_repository_has_every_figure_that_is_measured(root):
    stored = json.loads((root / "book" / "benchmarks.json").read_text())
    assert {"virtual-ring", "start-up", "ring-on-gloo"} <= {figure["name"] for figure in stored["figures"]}
    page = benchmarks_page(stored)
    assert page.count("## ") == len(stored["figures"])
