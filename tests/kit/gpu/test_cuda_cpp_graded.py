"""A %%cuda answer in the grader's sandbox: built there, run there, judged outside."""

import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from labs.course.grade.course import Course
from labs.course.grade.grade import grade_notebook
from labs.course.grade.sandbox import sandbox
from labs.course.grade.verdict import Limits
from labs.kit.gpu.cplusplus import prepare

EXERCISES = '''"""One exercise in CUDA C++."""

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong


def cases(seed):
    random = np.random.default_rng(seed)
    return [Case(f"{n} numbers", {"x": random.integers(-9, 9, n).astype(np.float32)}) for n in (1, 255, 1000)]


def run(answers, inputs):
    from labs.kit.gpu.cplusplus.failures import KernelFailure

    x = inputs["x"].copy()
    try:
        answers[0][-(-len(x) // 128), 128](x, 3.0, len(x))
    except KernelFailure as failure:
        return {"failure": failure.as_data()}
    return {"x": x}


def verify(case, output):
    if "failure" in output:
        raise Wrong(output["failure"]["kind"], "What does your kernel touch?\\n" + output["failure"]["text"])
    if not np.array_equal(output["x"], 3 * case.inputs["x"]):
        raise Wrong("value", "Is every number tripled?")


scale = Exercise("scale", "Scale", 2, cases, run, verify)
'''
RIGHT = """%%cuda scale
__global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}"""
OVERRUN = RIGHT.replace("if (i < n) ", "")
WRONG = RIGHT.replace("*= by", "+= by")
UNSOLVED = '%%cuda scale\n__global__ void scale(float* x, float by, int n) {\n  #error "not solved yet"\n}'
NO_CUDA = RIGHT.replace("int i", "integer i")
HOSTILE = RIGHT.replace("  if", "  if (i == 3) *(volatile int*)0 = 1;\n  if")


def notebook(answer):
    def cell(text, name, **more):
        base = {"schema_version": 3, "grade_id": name, "cell_type": "code", "grade": False, "solution": False}
        return new_code_cell(text, id=name, metadata={"nbgrader": base | {"locked": False, "task": False} | more})

    setup = "from cuda_course.scaling import exercises\n%load_ext labs.kit.gpu"
    return new_notebook(
        cells=[
            cell(setup, "setup", locked=True),
            cell(answer, "scale", solution=True),
            cell("exercises.scale(scale)", "check-scale", grade=True, locked=True, points=2),
        ]
    )


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """graded(answer) -> Mark, by a sandbox with namespaces."""
    wish = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "--mount-proc"]
    try:
        done = subprocess.run([*wish, *(["--map-root-user"] * (os.geteuid() != 0)), "true"], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no program unshare on this machine")
    if done.returncode:
        pytest.skip(f"no namespaces on this machine: {done.stderr.decode().strip()}")
    root = tmp_path_factory.mktemp("graded")
    lesson = root / "packages" / "cuda_course" / "scaling"
    lesson.mkdir(parents=True)
    (lesson.parent / "__init__.py").write_text('"""A course of one lesson."""\n')
    (lesson / "__init__.py").write_text('"""Its lesson."""\n')
    (lesson / "exercises.py").write_text(EXERCISES)
    (root / "solutions").mkdir()
    nbformat.write(notebook(RIGHT), root / "solutions" / "03_scaling.ipynb")
    sys.path.insert(0, str(root / "packages"))
    prepare()
    course = Course(root / "solutions", "cuda_course")
    limits = Limits(cell=60, exercise=30, total=180, verify=5)
    try:
        with sandbox(("cuda_course",), course.hidden, isolate=True) as box:

            def grade(answer):
                path = root / "03_scaling.ipynb"
                nbformat.write(notebook(answer), path)
                result = grade_notebook(path, course, b"secret", box, limits=limits)
                print(result)
                return result.marks[0]

            yield grade
    finally:
        sys.path.remove(str(root / "packages"))


def test_a_right_answer_gets_all_points(graded):
    assert graded(RIGHT).points == 2


@pytest.mark.parametrize(
    ("answer", "hint"),
    [(OVERRUN, "out_of_bounds"), (WRONG, "value"), (HOSTILE, "out_of_bounds")],
    ids=["overrun", "value", "hostile"],
)
def test_a_wrong_answer_gets_its_hint(graded, answer, hint):
    mark = graded(answer)
    assert (mark.points, mark.status, mark.hint) == (0, "wrong", hint)


@pytest.mark.parametrize("answer", [UNSOLVED, NO_CUDA], ids=["unsolved", "does not compile"])
def test_no_answer_gets_nothing(graded, answer):
    mark = graded(answer)
    assert mark.points == 0 and mark.status != "correct"
