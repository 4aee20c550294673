"""`python -m bench`: a small run of everything quick, the form of its record, and what happens when a figure fails."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import command

ROOT = Path(__file__).parents[2]
SERIES = {"min", "median", "max", "spread", "runs"}


def measure(names, folder):
    """Run the command in a process of its own; its text and its record."""
    words = [sys.executable, "-m", "bench", *names, "--quick", "--out", str(folder / "bench.json")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads((folder / "bench.json").read_text(encoding="utf-8"))


def check_form(record, names):
    assert record["format"] == 1 and record["quick"] is True and record["failures"] == {}
    assert record["machine"]["cores"] >= 1 and record["machine"]["packages"]["torch"]
    assert [figure["name"] for figure in record["figures"]] == list(names)
    for figure in record["figures"]:
        assert figure["rows"] and figure["title"] and figure["notes"] and figure["seconds"] > 0
        for row in figure["rows"]:
            assert set(row) == {"what", "unit", "ours", "peer", "theirs", "ratio", "aim", "aim_met"}
            assert set(row["ours"]) == SERIES
            assert 0 < row["ours"]["min"] <= row["ours"]["median"] <= row["ours"]["max"]
            assert (row["peer"] is None) == (row["theirs"] is None) == (row["ratio"] is None)
            if row["peer"]:
                pairs = zip(row["ours"]["runs"], row["theirs"]["runs"], strict=True)
                assert row["ratio"]["runs"] == [theirs / ours for ours, theirs in pairs]


def test_a_quick_run_prints_tables_and_writes_its_record(tmp_path):
    names = ("virtual-ring", "ring-on-gloo", "scale", "ddp-step", "multi-gpu-sort", "pipeline")
    text, record = measure(names, tmp_path)
    check_form(record, names)
    for wanted in (
        "Machine ",
        "Versions ",
        "do not cite",
        "SimPy, usual",
        "gloo all_reduce",
        "tree of 512 ranks",
        "PyTorch's DDP",
        "concatenate and sort",
        "M events/s",
    ):
        assert wanted in text
    limits = [row for row in record["figures"][2]["rows"] if row["unit"] == "MB"]
    assert len(limits) == 2 and all(row["ours"]["max"] > 10 for row in limits), "peak memory is in MB"


@pytest.mark.skipif("LABS_SOAK" not in os.environ, reason="torch.multiprocessing.spawn takes long; make soak runs it")
def test_a_quick_start_up(tmp_path):
    _, record = measure(["start-up"], tmp_path)
    check_form(record, ["start-up"])


@pytest.mark.skipif("LABS_SOAK" not in os.environ, reason="nbclient takes long for a lesson; make soak runs it")
def test_a_quick_class_is_graded(tmp_path):
    _, record = measure(["grading"], tmp_path)
    check_form(record, ["grading"])


def test_one_figure_that_fails_does_not_take_the_others_with_it(tmp_path, monkeypatch, capsys):
    from bench.measure import Row, Series

    def broken(quick):
        raise OSError("no such network")

    fine = SimpleNamespace(TITLE="Fine", NOTES=("a note",), rows=lambda quick: [Row("x", Series((1.0,)), "s", aim=0.5)])
    modules = {"broken": SimpleNamespace(TITLE="Broken", NOTES=(), rows=broken), "fine": fine}
    monkeypatch.setattr(command, "FIGURES", {name: name for name in modules})
    monkeypatch.setattr(command.importlib, "import_module", modules.__getitem__)
    assert command.main(["--out", str(tmp_path / "deep" / "bench.json")]) == 1
    record = json.loads((tmp_path / "deep" / "bench.json").read_text(encoding="utf-8"))
    assert record["failures"] == {"broken": "OSError: no such network"}
    assert [figure["name"] for figure in record["figures"]] == ["fine"]
    shown = capsys.readouterr().out
    assert "broken could not be measured" in shown and "< 0.5 s: MISSED" in shown


def test_an_unknown_figure_is_named(capsys):
    with pytest.raises(SystemExit):
        command.main(["virtual-rings"])
    assert "no figure is called virtual-rings; there are: virtual-ring, start-up" in capsys.readouterr().err
