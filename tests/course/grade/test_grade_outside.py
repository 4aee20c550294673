"""Nothing of the instructor's, of another learner's or of the host is within an answer's reach.

Each attack runs with namespaces and, where Landlock and filtered system calls must do, without.
"""

import json
import os
import socket
import subprocess
import sys

import pytest
from tiny_course.attacks import merge
from tiny_course.attacks_outside import OUTSIDE
from tiny_course.notebooks import POINTS, learner

from labs.course.grade import landlock, syscalls
from labs.course.grade.grade import grade_many, grade_notebook
from labs.course.grade.verdict import Limits

FULL = tuple(POINTS.values())
QUICK = Limits(cell=5, exercise=8, total=60, verify=1)


@pytest.fixture
def instructors(course, tmp_path):
    """What lies on an instructor's disk while answers run: results, the secret, the sources and their history."""
    repository = course.source_dir.parent
    known = [tmp_path / "grades/results.json", tmp_path / "grades/gradebook.csv", tmp_path / "state/grading-secret"]
    known += [repository / ".git/HEAD", repository / "tests/answers.py"]
    for path in known:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("for nobody else")
    known.append(course.source_dir / "03_merging.ipynb")
    yield [str(path) for path in known]
    for path in known:  # the course is there for other tests, too: each must be able to leave something there anew
        path.with_name("left.txt").unlink(missing_ok=True)


@pytest.fixture
def body(tmp_path, instructors):
    """body(name): the attack with what there is on this machine to find: sockets that listen, files, this process."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        name = f"labs-attack-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()
        facts = {"PORT": server.getsockname()[1], "ABSTRACT": repr(name), "SOCKET_FILE": repr(str(tmp_path / "socket")),
                 "HOST_PID": os.getpid(), "INSTRUCTORS": instructors}  # fmt: skip

        def made(attack):
            text = OUTSIDE[attack]
            for word, value in facts.items():
                text = text.replace(word, str(value))
            return text

        yield made


def test_the_instructors_files_are_found_where_nothing_holds_an_answer_back(body, instructors):
    done = subprocess.run([sys.executable, "-c", body("instructors")], capture_output=True, text=True)
    missed = [path for path in instructors if f"'{path}'" not in done.stderr]
    assert not missed and "left.txt" in done.stderr


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_is_found_in_a_jail(mark, monkeypatch, body, name):
    monkeypatch.setenv("LABS_SEED", "SECRET_FOR_TESTS")
    result = mark(learner({"sort_merge": merge(body(name))}), limits=QUICK)
    assert tuple(m.points for m in result.marks) == (0, *FULL[1:])
    assert "found []" in result.marks[0].question, result.marks[0].question


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_is_found_without_namespaces(course, open_box, tmp_path, monkeypatch, body, name):
    if landlock.version() < 6 or not syscalls.available():
        pytest.skip("this system has neither namespaces in this test nor Landlock 6 and filtered system calls")
    monkeypatch.setenv("LABS_SEED", "SECRET_FOR_TESTS")
    path = tmp_path / "03_merging.ipynb"
    path.write_text(json.dumps(learner({"sort_merge": merge(body(name))})))
    result = grade_notebook(path, course, b"only the grader", open_box, limits=QUICK)
    assert tuple(m.points for m in result.marks) == (0, *FULL[1:])
    assert "found []" in result.marks[0].question, result.marks[0].question


LEAVE = "import os, tempfile, time\nfor folder in (os.getcwd(), tempfile.gettempdir(), '/dev/shm'):\n    try:\n"
LEAVE += "        open(folder + '/mine.txt', 'w').write('the answer')\n    except OSError: pass\ntime.sleep(0.3)\n"
LEAVE += "return np.sort(np.concatenate([a, b]))"
TAKE = """
import os, time
found, until = [], time.monotonic() + 1.5
while time.monotonic() < until:
    for top in ('/tmp', '/home', '/dev/shm', '/proc', '/ipc'):
        for where, folders, files in os.walk(top):
            found += [where for name in files if name == 'mine.txt']
            if where.count('/') > 4: folders.clear()
raise ValueError('found ' + str(found))
"""


@pytest.mark.parametrize("where", ["box", "open_box"])
def test_another_learners_file_while_both_are_graded(course, request, tmp_path, where):
    box = request.getfixturevalue(where)
    if where == "open_box" and landlock.version() == 0:
        pytest.skip("no Landlock here: without namespaces files can be read, which the result says")
    paths = []
    for name, text in (("ada", LEAVE), ("bob", TAKE)):
        paths.append(tmp_path / name / "03_merging.ipynb")
        paths[-1].parent.mkdir()
        paths[-1].write_text(json.dumps(learner({"sort_merge": merge(text)})))
    ada, bob = grade_many(paths, course, b"secret", box, jobs=2, limits=Limits(cell=9, exercise=20, total=60))
    assert ada.full
    assert "found []" in bob.marks[0].question, bob.marks[0].question
    assert tuple(m.points for m in bob.marks[1:]) == FULL[1:]
