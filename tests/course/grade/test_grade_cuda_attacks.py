"""Attacks through a kernel in CUDA C++, in lesson 06: each costs its own exercise and no more.

A sample runs always; LABS_SOAK=1 takes all.
"""

import json
import os
from pathlib import Path

import nbformat
import pytest
from tiny_course.attacks_cpp import CPP

from labs.course.grade import compiled
from labs.course.grade.course import Course
from labs.course.grade.fault import CourseError
from labs.course.grade.grade import grade_notebook
from labs.course.grade.sandbox import sandbox
from labs.course.grade.verdict import Limits
from labs.course.testing import answers_of, filled

ROOT = Path(__file__).resolve().parents[3]
LESSON = "06_tensor_cores"
COURSE = Course(ROOT / "solutions")
SOAK = os.environ.get("LABS_SOAK") == "1"
SAMPLE = {"kill_parent", "write_past"}
SKIP = pytest.mark.skip(reason="one of the attacks in CUDA C++ that only LABS_SOAK=1 runs")

_OF_THE_WRAPPER = {"write_inputs", "write_past", "other_wrapper", "own_module"}  # of %%cpp's own names and arrays
CUDA = {name: attack for name, attack in CPP.items() if name not in _OF_THE_WRAPPER} | {
    "write_inputs": ("", "auto* p = const_cast<half*>(A); for (int i = 0; i < 256; ++i) p[i] = __float2half(0.0f);"),
    "write_past": ("", "for (long i = -600; i < 100000; ++i) C[i] = 0;"),
    "own_entry": ('extern "C" int launch(...) { return 0; }\nint main() { return 0; }', ""),
    "other_coordinates": ("#define gridDim huge\n#define threadIdx nowhere", ""),
}
NAMES = [name if SOAK or name in SAMPLE else pytest.param(name, marks=SKIP) for name in CUDA]


def cell(name):
    """The answer to tiled_grid that attacks, and computes nothing right."""
    before, body = CUDA[name]
    headers = "cuda_fp16.h cstdlib stdexcept vector unistd.h signal.h fcntl.h sys/socket.h".split()
    text = "".join(f"#include <{header}>\n" for header in headers)
    text += f"{before}\n__global__ void tiled_grid(const half* A, const half* B, float* C) {{\n{body}\nC[0] = 7;\n}}\n"
    return f"from labs.kit.gpu import compile_cuda\ntiled_grid = compile_cuda({text!r}, 'tiled_grid')\n"


@pytest.fixture(scope="module")
def jail():
    try:
        compiled.prepare(COURSE, [LESSON])
    except CourseError as error:
        pytest.skip(str(error))
    with sandbox((COURSE.package,), COURSE.hidden) as made:
        yield made


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_in_cuda_costs_its_own_exercise_only(jail, tmp_path, name):
    right = {
        exercise: next(answer.source for answer in known if answer.right)
        for exercise, known in answers_of(ROOT, "tensor_cores").items()
    }
    path = tmp_path / f"{LESSON}.ipynb"
    nbformat.write(filled(ROOT / "notebooks" / path.name, right | {"tiled_grid": cell(name)}), path)
    result = grade_notebook(path, COURSE, b"the first term", jail, limits=Limits(cell=30, exercise=20, total=300))
    marks = {mark.exercise: mark for mark in result.marks}
    attacked = marks.pop("tiled_grid")
    assert attacked.points == 0 and (attacked.question or result.notes), attacked
    assert all(mark.points == mark.of for mark in marks.values()), result
    told = json.dumps([attacked.question, attacked.evidence, *result.notes])
    assert "root:" not in told and "found" not in told
