"""nbgrader's own tools on the course's notebooks: what they do right, and what they cannot do (version 0.9.6).

The notebooks are lessons cut down to the cells that nbgrader knows, so that a submission runs in seconds; LABS_SOAK=1
takes whole lessons as well.
"""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from labs.course.command import main
from labs.course.testing import answers_of, filled
from labs.kit.native import NoCompiler, compiler

ROOT = Path(__file__).resolve().parents[3]
SOAK = os.environ.get("LABS_SOAK") == "1"
TIMEOUT = 15  # s for one cell


def known(topic):
    """Sources by exercise and style, and the first right one of each exercise."""
    answers = answers_of(ROOT, topic)
    return (
        {exercise: {answer.style: answer.source for answer in some} for exercise, some in answers.items()},
        {exercise: next(answer.source for answer in some if answer.right) for exercise, some in answers.items()},
    )


STYLES, RIGHT = known("welcome")


def cell(notebook, name):
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)


class CourseFolder:
    """A course folder of nbgrader, driven by its command line."""

    def __init__(self, root):
        self.root = root

    def nbgrader(self, *arguments, check=True):
        command = [sys.executable, "-m", "nbgrader", *arguments]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls alembic by its name
        environment = os.environ | {"LABS_STATE": str(self.root / "state"), "OMP_NUM_THREADS": "1", "PATH": path}
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=600)
        assert not check or done.returncode == 0, done.stderr
        return done

    def shorten(self, lesson):
        """An assignment of the cells that nbgrader knows: set-up, answers and checks."""
        notebook = nbformat.read(ROOT / "solutions" / f"{lesson}.ipynb", 4)
        notebook.cells = [
            c for c in notebook.cells if "nbgrader" in c.metadata and "choose" not in c.metadata.get("tags", [])
        ]
        path = self.root / "source" / "short" / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)

    def submit(self, learner, assignment, lesson, answers, edit=None):
        notebook = filled(self.root / "release" / assignment / f"{lesson}.ipynb", answers)
        if edit:
            edit(notebook)
        path = self.root / "submitted" / learner / assignment / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)

    def points(self, learner, assignment, lesson):
        """Points by check cell; None where nbgrader has none."""
        with Gradebook(f"sqlite:///{self.root}/gradebook.db", "warp_to_cluster") as book:
            notebook = book.find_submission_notebook(lesson, assignment, learner)
            return {grade.name: grade.auto_score for grade in notebook.grades}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A course folder with two whole lessons, one of them in C++, and a short assignment, all generated."""
    root = tmp_path_factory.mktemp("class")
    assert main(["nbgrader", str(root), "00", "21"]) == 0
    made = CourseFolder(root)
    made.shorten("00_welcome")
    made.shorten("21_cpp_data_formats")
    for assignment in ("00_welcome", "21_cpp_data_formats", "short"):
        made.nbgrader("generate_assignment", assignment)
    return made


@pytest.mark.parametrize("lesson", ["00_welcome", "21_cpp_data_formats"])
def test_the_release_version_is_what_the_course_publishes(folder, lesson):
    released = folder.root / "release" / lesson / f"{lesson}.ipynb"
    assert released.read_bytes() == (ROOT / "notebooks" / released.name).read_bytes()


def test_a_configuration_that_is_there_is_left_alone(tmp_path, capsys):
    (tmp_path / "nbgrader_config.py").write_text("# mine")
    assert main(["nbgrader", str(tmp_path), "8"]) == 0
    assert (tmp_path / "nbgrader_config.py").read_text() == "# mine"
    assert [path.name for path in tmp_path.glob("source/*/*.ipynb")] == ["08_all_reduce.ipynb"]
    assert "generate_assignment 08_all_reduce" in capsys.readouterr().out


def edit_checks(notebook):
    cell(notebook, "check-square").source = "pass"
    cell(notebook, "setup").source = "import os"
    notebook.cells.remove(cell(notebook, "check-average"))


PATCH = "import labs.kit.exercise\nlabs.kit.exercise.Exercise.__call__ = lambda *answers: None\nsquare = 1\n"
ESCAPE = "from pathlib import Path\nPath('{}').write_text(Path('{}').read_text())\n"


@pytest.fixture(scope="module")
def graded(folder):
    """The folder with its short assignment graded; gives also what nbgrader said."""
    wrong = {"square": STYLES["square"]["doubled"], "average": STYLES["average"]["sum_not_mean"]}
    lesson = folder.root / "source/short/00_welcome.ipynb"
    learners = {
        "solved": (RIGHT, edit_checks),
        "untouched": ({},),
        "wrong": (RIGHT | wrong, edit_checks),
        "slow": ({"square": "while True:\n    pass", "average": STYLES["average"]["gathers_everything"]},),
        "ends": (RIGHT | {"average": "import os\nos._exit(0)"},),
        "hostile": ({"square": PATCH + ESCAPE.format(folder.root / "stolen", lesson)},),
    }
    for learner, made in learners.items():
        folder.submit(learner, "short", "00_welcome", *made)
    done = folder.nbgrader("autograde", "short", "--notebook=00_welcome", f"--Execute.timeout={TIMEOUT}", check=False)
    return lambda learner: folder.points(learner, "short", "00_welcome"), done


FULL = {"check-square": 3, "check-average": 3, "check-add_one": 3}


def test_solved_and_untouched(graded):
    points, _ = graded
    assert points("solved") == FULL
    assert points("untouched") == dict.fromkeys(FULL, 0)


def test_edited_and_deleted_checks_are_restored(graded):
    points, done = graded
    assert points("wrong") == FULL | {"check-square": 0, "check-average": 0}
    assert points("solved") == FULL
    assert "Missing grade cell check-average" in done.stderr


def test_a_cell_that_hangs_is_interrupted_and_earns_nothing(graded):
    points, done = graded
    assert points("slow")["check-square"] == 0
    assert f"Timeout waiting for execute reply ({TIMEOUT}s)" in done.stderr


# ---- what nbgrader cannot do, and the course's own grader can
def test_limit_there_are_no_parts_of_points(graded):
    """The right average with too many bytes: three quarters from `python -m labs grade`, nothing here."""
    points, _ = graded
    assert points("slow")["check-average"] == 0


def test_limit_a_kernel_that_ends_costs_the_whole_notebook_but_nobody_else(graded):
    points, done = graded
    assert points("ends") == dict.fromkeys(FULL, None)
    assert done.returncode != 0 and "for student 'ends'" in done.stderr
    assert points("wrong")["check-add_one"] == 3  # graded later in the same run


def test_limit_an_answer_can_replace_the_check(graded):
    points, _ = graded
    assert points("hostile") == FULL


def test_limit_an_answer_can_read_and_write_the_instructors_files(graded, folder):
    assert "BEGIN SOLUTION" in (folder.root / "stolen").read_text()


# ---- C++, feedback, whole lessons
@pytest.fixture
def cpp():
    try:
        compiler()
    except NoCompiler as missing:
        pytest.skip(f"lesson 21 needs a compiler: {missing}")


def test_answers_in_cpp_are_graded(folder, cpp):
    _, right = known("cpp_data_formats")
    folder.submit("solved", "short", "21_cpp_data_formats", right)
    folder.submit("untouched", "short", "21_cpp_data_formats", {})
    folder.nbgrader("autograde", "short", "--notebook=21_cpp_data_formats", "--Execute.timeout=60")
    full = folder.points("solved", "short", "21_cpp_data_formats")
    assert sum(full.values()) == 13 and len(full) == 5
    assert folder.points("untouched", "short", "21_cpp_data_formats") == dict.fromkeys(full, 0)


def test_feedback_holds_the_report_and_its_hint(graded, folder):
    folder.nbgrader("generate_feedback", "short", "--student=wrong", "--notebook=00_welcome")
    page = (folder.root / "feedback/wrong/short/00_welcome.html").read_text()
    assert "How does a sum become an average?" in page and "<svg" in page


@pytest.mark.skipif(not SOAK, reason="only LABS_SOAK=1 grades whole lessons with nbgrader")
@pytest.mark.parametrize(("lesson", "topic"), [("00_welcome", "welcome"), ("21_cpp_data_formats", "cpp_data_formats")])
def test_whole_lessons(folder, lesson, topic, cpp):
    _, right = known(topic)
    folder.submit("solved", lesson, lesson, right)
    folder.submit("untouched", lesson, lesson, {})
    folder.nbgrader("autograde", lesson)
    full = folder.points("solved", lesson, lesson)
    assert all(full.values()) and sum(full.values()) == {"00_welcome": 9, "21_cpp_data_formats": 13}[lesson]
    assert folder.points("untouched", lesson, lesson) == dict.fromkeys(full, 0)
