"""Attacks on the grader: none scores a point that it does not deserve, none hurts another exercise or the grader.

The default run takes a sample; LABS_SOAK=1 takes all of them.
"""

import os
import socket

import pytest
from tiny_course import attacks
from tiny_course.attacks import BAD, merge
from tiny_course.notebooks import ANSWERS, POINTS, code, learner

from labs.kit.exercise.exercise import public_seed

SOAK = os.environ.get("LABS_SOAK") == "1"
FULL = tuple(POINTS.values())


def some(names, sample):
    """All names in a soak run; else the sample, the others skipped with a reason that is printed once for each list."""
    skip = pytest.mark.skip(reason="one of the attacks that only LABS_SOAK=1 runs")
    return [name if SOAK or name in sample else pytest.param(name, marks=skip) for name in names]


def public_answers():
    """What a learner can note down: each public case of sort_merge with its right value."""
    from tiny_course.merging.exercises import sort_merge

    rows = [(case.inputs["a"].tolist(), case.inputs["b"].tolist()) for case in sort_merge.cases(public_seed())]
    return {str((a, b)): sorted(a + b) for a, b in rows}


def points(result):
    return tuple(mark.points for mark in result.marks)


@pytest.mark.parametrize(
    "name",
    some(
        attacks.EDITS,
        {
            "deleted",
            "retyped",
            "points",
            "renamed",
            "duplicated_edited",
            "same_id",
            "setup_edited",
            "no_kernelspec",
            "binary_outputs",
        },
    ),
)
@pytest.mark.parametrize("answer", ["right", "wrong"])
def test_edited_checks(mark, name, answer):
    wrong = {"sort_merge": BAD, "ring_buffer": ANSWERS["ring_buffer"].replace("[-self.size:]", "")}
    result = mark(learner({} if answer == "right" else wrong, edit=attacks.EDITS[name]))
    assert points(result) == (FULL if answer == "right" else (0, 0, *FULL[2:]))


@pytest.mark.parametrize("name", some(attacks.FILES, set(attacks.FILES) - {"surrogate", "nul"}))
def test_files(mark, name):
    result = mark(attacks.FILES[name])
    assert result.points == 0
    assert result.refused or name in ("version_3", "surrogate", "nul")


def test_a_notebook_of_200_mb(mark, tmp_path):
    with open(tmp_path / "03_merging.ipynb", "wb") as f:
        f.write(b'{"nbformat":4,"cells":[]')
        f.truncate(200 << 20)
    assert "200 MB" in mark(tmp_path / "03_merging.ipynb").refused


def test_file_is_a_pipe_or_a_link(mark, tmp_path, course):
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a/03_merging.ipynb")
    assert "not a file" in mark(tmp_path / "a/03_merging.ipynb").refused
    (tmp_path / "b").mkdir()
    os.symlink(course.source_dir / "03_merging.ipynb", tmp_path / "b/03_merging.ipynb")
    assert "a link" in mark(tmp_path / "b/03_merging.ipynb").refused


@pytest.mark.parametrize("name", attacks.LOOKING)
def test_looking_for_what_is_outside(mark, name):
    result = mark(learner({"sort_merge": merge(attacks.LOOKING[name])}))
    assert points(result) == (0, *FULL[1:])
    if name != "escape":  # its attempts may end the answer's own process
        assert "found []" in result.marks[0].question, result.marks[0]


@pytest.mark.parametrize(
    "name",
    some(
        attacks.FORGED_CELLS,
        {"patch_remote", "patch_unittest", "patch_torch", "claims_ok", "forged_object", "wire_big"},
    ),
)
def test_forging_cells(mark, name):
    result = mark(learner({"sort_merge": BAD}, first=attacks.FORGED_CELLS[name]))
    assert points(result)[0] == 0


@pytest.mark.parametrize("name", some(attacks.FORGED_ANSWERS, {"eq_array", "in_place", "cache", "cache_by_id", "nan",
                                                               "public_cases", "expected_value", "import_oracle",
                                                               "weird_error", "system_exit"}))  # fmt: skip
def test_forging_answers(mark, name):
    body = attacks.FORGED_ANSWERS[name].replace("PUBLIC", repr(public_answers()))
    result = mark(learner({"sort_merge": merge(body)}))
    assert points(result) == (0, *FULL[1:])


@pytest.mark.parametrize("name", some(attacks.HOGS, {"os_exit", "kill_all", "threads", "daemon"}))
def test_hog_in_a_cell_of_its_own(mark, name):
    result = mark(learner(first=attacks.HOGS[name]))
    assert points(result) == FULL


@pytest.mark.parametrize("name", some(attacks.HOGS, {"loop_deaf", "segfault", "exec_other"}))
def test_hog_in_an_answer_costs_that_exercise_only(mark, name):
    result = mark(learner({"sort_merge": merge(attacks.HOGS[name] + "\nreturn np.sort(np.concatenate([a, b]))")}))
    assert points(result)[1:] == FULL[1:]
    if name in ("loop_deaf", "segfault", "alloc_many"):
        assert (result.marks[0].points, result.marks[0].status) == (0, "lost")


def test_too_much_memory_is_named(mark):
    result = mark(learner(first=attacks.HOGS["alloc_many"]))
    assert points(result) == FULL
    assert "MB of memory" in result.notes[0] or "did not finish" in result.notes[0]


@pytest.mark.parametrize("megabytes", some([1, 12, 1000], {12}))
def test_huge_output(mark, megabytes):
    assert points(mark(learner({"sort_merge": merge(f"return np.zeros({megabytes} << 17)")}))) == (0, *FULL[1:])


@pytest.mark.parametrize("name", some(attacks.FORGED_TEXTS, {"many_lists"}))
def test_forged_text(mark, name):
    text = attacks.FORGED_TEXTS[name]
    cell = f"import labs_sandbox.remote as r\nT = {text}\nr.call = lambda *a: r.Frame(T)"
    assert points(mark(learner({"sort_merge": BAD}, first=cell))) == (0, 0, 0, 0, 0)


def test_an_output_that_keeps_the_verdict_busy(mark):
    result = mark(learner({"patience": "def patience(n):\n    return 'for ever'"}))
    assert points(result) == (*FULL[:3], 0, FULL[4])
    assert "to compare" in result.marks[3].question


def test_socket_swapped_for_one_of_the_hosts(mark, tmp_path):
    """The kernel closes its socket and leaves a link to one of ours in its place: nobody may connect to that."""
    victim_path = f"/tmp/labs-victim-{os.getpid()}"
    swap = (
        "import os\nfor f in os.listdir('/ipc'):\n    os.rename('/ipc/' + f, '/ipc/_' + f)\n"
        f"    os.symlink('{victim_path}', '/ipc/' + f)\n"
    )
    with socket.socket(socket.AF_UNIX) as victim:
        victim.bind(victim_path)
        try:
            victim.listen()
            victim.settimeout(0.1)
            body = f"try:\n    exec({swap!r})\nexcept OSError:\n    pass\n" + attacks.HOGS["close_wire"]
            mark(learner({"sort_merge": merge(body + "\nimport time; time.sleep(100)")}))
            with pytest.raises(TimeoutError):
                victim.accept()
        finally:
            os.unlink(victim_path)


def test_many_cells_that_hang_end_with_the_notebooks_time(mark):
    def edit(notebook):
        notebook["cells"][3:3] = [code(f"while True: {n}") for n in range(20)]

    from labs.course.grade.verdict import Limits

    result = mark(learner(edit=edit), limits=Limits(cell=1, exercise=1, total=3))
    assert result.points == 0
    assert any(note.startswith("stopped") for note in result.notes)


# ---- limits that are documented, each recorded here ----------------------------------------------------------------
def test_limit_a_copied_oracle_scores(mark):
    """Code copied from the public check's own oracle is a right answer; nobody can tell."""
    assert points(mark(learner({"sort_merge": merge("return np.sort(np.concatenate([a, b]))")}))) == FULL


def test_limit_a_forged_cost_scores(mark):
    """What an answer costs is known only from its own process: here the text travels past the count of letters."""
    smuggle = (
        "kept = []\ndef encode(text):\n    kept.append(text)\n    return ''\ndef decode(coded):\n    return kept[-1]"
    )
    assert points(mark(learner({"coder": smuggle}))) == FULL
