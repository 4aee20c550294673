"""What the build does to a lesson: folded answers, the box "Run this lesson", links to lessons, a description."""

import json

import pytest
from builder.launch import repository, run_box
from builder.lesson_pages import description, lesson_page, linked

GITHUB = "https://github.com/someone/course"


@pytest.fixture(scope="module")
def source(root):
    return json.loads((root / "solutions" / "10_distributed_data_parallel.ipynb").read_text())


@pytest.fixture
def entry(entries):
    return next(entry for entry in entries if entry.number == 10)


def test_without_an_address_the_box_offers_jupyterlab_only():
    assert repository("") is None
    box = run_box("08_all_reduce", None)
    assert "`make lab`" in box and "`notebooks/08_all_reduce.ipynb`" in box
    assert "http" not in box and "Colab" not in box


@pytest.mark.parametrize("url", [GITHUB, GITHUB + "/", GITHUB + ".git"])
def test_with_an_address_the_box_links_colab_and_binder(url):
    box = run_box("08_all_reduce", repository(url, "a/b"))
    assert "(https://colab.research.google.com/github/someone/course/blob/colab/08_all_reduce.ipynb)" in box
    assert "(https://mybinder.org/v2/gh/someone/course/a%2Fb?urlpath=lab/tree/notebooks/08_all_reduce.ipynb)" in box
    assert "`make lab`" in box


@pytest.mark.parametrize("url", ["github.com/a/b", "https://github.com/a", "https://gitlab.com/a/b"])
def test_an_address_of_another_form_is_refused_with_the_form(url):
    with pytest.raises(SystemExit, match="form https://github"):
        repository(url)


def test_the_environment_names_the_repository_before_the_configuration(root, monkeypatch, tmp_path):
    import build

    config = tmp_path / "_config.yml"
    config.write_text("repository: {url: 'https://github.com/a/b', branch: next}")
    monkeypatch.delenv("LABS_REPOSITORY", raising=False)
    monkeypatch.delenv("LABS_REF", raising=False)
    assert build.configured_repository(config) == repository("https://github.com/a/b", "next")
    monkeypatch.setenv("LABS_REPOSITORY", GITHUB)
    assert build.configured_repository(config).project == "someone/course"
    monkeypatch.delenv("LABS_REPOSITORY")
    assert build.configured_repository(root / "book" / "_config.yml") is None


def test_the_page_has_the_box_once_right_after_the_opening(source, entry, entries):
    page = lesson_page(source, entry, entries, None)
    texts = ["".join(cell["source"]) for cell in page["cells"]]
    assert texts[0].startswith("# 10 ·") and texts[0].splitlines()[-1].startswith(">")
    assert "Run this lesson" in texts[1]
    assert sum("Run this lesson" in text for text in texts) == 1
    rest = "".join(source["cells"][0]["source"]).splitlines()[-1]
    assert rest in texts[2]
    assert len({cell["id"] for cell in page["cells"]}) == len(page["cells"])


def test_prerequisites_and_the_next_lesson_are_links(source, entry, entries):
    first = "".join(lesson_page(source, entry, entries, None)["cells"][0]["source"])
    assert "[07 Data parallel](07_data_parallel.ipynb), [08 All-reduce](08_all_reduce.ipynb)" in first
    assert linked("**Next:** 01 Messages.", entries) == "**Next:** [01 Messages](01_messages.ipynb)."
    assert linked("101 Messages, 01 Messagesx", entries) == "101 Messages, 01 Messagesx"


def test_answers_are_folded_outputs_kept_and_the_source_left_alone(source, entry, entries):
    before = json.dumps(source)
    page = lesson_page(source, entry, entries, None)
    assert json.dumps(source) == before
    answers = [c for c in source["cells"] if c["metadata"].get("nbgrader", {}).get("solution")]
    shown = {c["id"]: c for c in page["cells"]}
    assert answers
    for cell in answers:
        assert "hide-input" in shown[cell["id"]]["metadata"]["tags"]
        assert shown[cell["id"]]["outputs"] == cell["outputs"]


def test_every_lesson_has_a_description_of_its_own(entries):
    texts = [description(entry) for entry in entries]
    assert len(set(texts)) == len(entries)
    assert all(entry.title in text and 60 < len(text) <= 202 for entry, text in zip(entries, texts, strict=True))


def test_links_of_outputs_lead_to_pages(root, entries):
    welcome = json.loads((root / "solutions" / "00_welcome.ipynb").read_text())
    assert "08_all_reduce.ipynb" in json.dumps([cell.get("outputs") for cell in welcome["cells"]])
    page = lesson_page(welcome, entries[0], entries, None)
    outputs = json.dumps([cell.get("outputs") for cell in page["cells"]])
    assert "08_all_reduce.html" in outputs and ".ipynb" not in outputs


def test_no_lesson_stores_a_widget_that_the_book_could_not_show(root):
    """Every slider has a static twin: no output of a lesson is a widget's model or its bare name."""
    for path in sorted((root / "solutions").glob("*.ipynb")):
        notebook = json.loads(path.read_text())
        assert "widgets" not in notebook["metadata"], path.name
        for cell in notebook["cells"]:
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                assert not any("widget" in kind for kind in data), (path.name, cell["id"])
                text = "".join(data.get("text/plain", ""))
                assert "text/html" in data or not text.startswith(
                    ("FloatSlider(", "IntSlider(", "interactive(", "VBox(", "HBox(", "Output(", "Explorer(", "<labs.")
                ), (path.name, cell["id"], text[:60])
