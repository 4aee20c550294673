"""Pictures, widgets and numbers of lesson 06, without a GPU and without the optional packages."""

import math
from pathlib import Path

import nbformat
import numpy as np
import pytest

from labs.course.stubs import clear_source
from labs.kit.exercise.testing import outcomes_of
from labs.kit.gpu import compile_cuda, numerics
from labs.kit.gpu.inspect import MissingPackage
from labs.tensor_cores import accumulation, exercises, exercises_tiled, figures, kernels, pictures, roofs, trial
from labs.tensor_cores.lanes import INSTRUCTIONS, held

SOURCE = Path(__file__).parents[2] / "solutions" / "06_tensor_cores.ipynb"


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch):
    monkeypatch.setenv("LABS_GPU", "virtual")


def published(cell_id):
    """What a learner finds in an answer cell: the text below the magic line."""
    cell = next(cell for cell in nbformat.read(SOURCE, 4).cells if cell.id == cell_id)
    return clear_source(cell.source).partition("\n")[2]


@pytest.mark.parametrize(
    ("cell", "name", "hint"), [("tiled-grid", "tiled_grid", "one_block"), ("dot-rows", "dot_rows", "half_sum")]
)
def test_a_broken_start_compiles_and_meets_its_hint(cell, name, hint):
    source = f"from labs.kit.gpu import compile_cuda\n{name} = compile_cuda({published(cell)!r}, {name!r})\n"
    outcomes = outcomes_of(getattr(exercises, name), source)
    assert outcomes[0].passed
    assert next(outcome for outcome in outcomes if not outcome.passed).wrong.hint == hint


@pytest.mark.parametrize(("cell", "stubs"), [("wmma-product", 3), ("wmma-any", 1)])
def test_an_answer_to_write_is_unsolved(cell, stubs):
    text = published(cell)
    assert text.count('#error "not solved yet"') == stubs and "mma_sync(c, a, b, c)" not in text.replace(
        "wmma::mma_sync(c, a, b, c);\n  }", "" if cell == "wmma-any" else "?"
    )
    with pytest.raises(NotImplementedError):
        compile_cuda(text, "wmma_any<0, 0>" if cell == "wmma-any" else "wmma_product")[1, 32](None)


def test_the_check_names_each_wrong_stride_whatever_block_comes_last():
    """Made here with NumPy, blocks in reverse order: on a GPU any block may be the last to write."""
    case = exercises_tiled.cases(1)[1]
    a, b = case.inputs["a"], case.inputs["b"]
    for strides in ((16, 32, 32), (32, 16, 32), (32, 32, 16), (16, 16, 16)):
        c = np.full(1024, np.nan, np.float32)
        for row in reversed(range(32)):
            for column in reversed(range(32)):
                total = sum(
                    float(a.flat[row * strides[0] + k]) * float(b.flat[k * strides[1] + column]) for k in range(32)
                )
                c[row * strides[2] + column] = total
        assert exercises_tiled.strides_of(a, b, c.reshape(32, 32)) == strides


def test_errors_at_a_depth_of_1024():
    """The claim of the lesson: uniform inputs, fixed seed, largest element."""
    rng = np.random.default_rng(0)
    a, b = rng.random((64, 1024)), rng.random((1024, 64))
    assert numerics.errors(numerics.product(a, b, sums="float32"), a, b)["largest"] < 1e-5
    assert numerics.errors(numerics.product(a, b, sums="float16"), a, b)["largest"] > 1e-2


def test_errors_by_depth_grow_and_end_at_an_eighth():
    found = accumulation.errors_by_depth("uniform", "largest")
    assert all(low < high for low, high in zip(found["float16"], found["float16"][1:]))
    assert found["float32"][accumulation.DEPTHS.index(1024)] < 1e-5
    assert found["float16"][accumulation.DEPTHS.index(1024)] > 1e-2
    assert math.isclose(1 - found["float16"][-1], 1 / 8, rel_tol=0.02)  # the sum stops at 2,048 of 16,384
    picture = accumulation.error_curves("uniform", 65536)
    assert "correct digits" in picture.alt and "sums in float16" in picture.alt


def test_the_peaks_are_those_of_the_data_sheet():
    assert math.isclose(roofs.SCALAR, 19.5e12, rel_tol=1e-3) and math.isclose(roofs.TENSOR, 312e12, rel_tol=1e-3)
    assert roofs.intensity(4096, 4096, 4096) == 1024
    assert roofs.intensity(4096, 1, 4096) < 1
    picture = roofs.product_on_roofs(4096, 1, 4096)
    assert picture.alt.count("bandwidth-bound") == 3  # both points, and the sentence about the roof


@pytest.mark.parametrize("name", ["explore_tile", "explore_lanes", "explore_error", "explore_roofline"])
def test_a_widget_has_a_static_twin(name):
    explorer = getattr(figures, name)()
    assert 2 <= len(explorer.frames) <= 12
    assert "<svg" in explorer.static.html
    assert len(explorer.static.html) < 200_000


@pytest.mark.parametrize("unit", INSTRUCTIONS)
def test_the_lanes_of_a_step(unit):
    told = held(unit, "C", 5).alt
    assert ("c3 is (9, 3)" in told) == unit.startswith("NVIDIA")
    assert "no lane 40" in held("NVIDIA mma.sync.m16n8k16", "A", 40).alt


def test_a_tile_that_hangs_together_has_no_mark():
    assert "Wrong" not in pictures.tile_in_memory(48, 64, "row", 16 * 64 + 16, 64, wanted=(1, 1)).alt
    assert "Wrong" not in pictures.tile_in_memory(48, 64, "col", 16 * 48 + 16, 48, wanted=(1, 1)).alt
    assert "Wrong" in pictures.tile_in_memory(48, 64, "col", 16 * 48 + 16, 64, wanted=(1, 1)).alt


def test_a_result_tells_what_is_wrong_and_what_is_missing():
    want = np.ones((32, 16), np.float32)
    c = want.copy()
    c[0, :3], c[31] = 2, np.nan
    assert "493 are right, 3 wrong, 16 were never written" in pictures.result(c, want, name="C").alt


def test_without_the_compilers_the_stored_listings_are_shown(monkeypatch, capsys):
    """The optional packages are missing: every table is there, and a sentence says what is missed."""
    from labs.kit.gpu.inspect import devices, microscope

    monkeypatch.setattr(microscope, "missing", lambda language, format: ("a package",))
    monkeypatch.setattr(devices, "missing", lambda language, format: ("a package",))
    mine = kernels.WMMA.replace("// of", "")
    table = figures.scalar_and_tensor(kernels.TILED, mine)
    assert "HMMA.16816" in repr(table) and any("Stored" in note for note in table.notes)
    assert "v_mfma" in repr(figures.triton()) and figures.mfma().stored
    said = capsys.readouterr().out
    assert "not installed" in said and "pip install triton" in said
    assert len(figures.real_listings()) == 7
    with pytest.raises(MissingPackage):
        microscope.machine_code(mine, "sm_86")


def test_an_unsolved_kernel_shows_the_courses_listing(capsys):
    unsolved = compile_cuda('__global__ void wmma_product(float* x) {\n#error "not solved yet"\n}')
    assert figures.wmma_listing(unsolved).count("HMMA") > 0
    assert "not solved yet" in capsys.readouterr().out
    assert figures.measure(unsolved, unsolved) is None and "Solve" in capsys.readouterr().out


def test_without_a_gpu_nothing_is_timed(capsys):
    assert figures.measure(compile_cuda(kernels.TILED), compile_cuda(kernels.WMMA)) is None
    assert "No GPU here" in capsys.readouterr().out


def test_without_a_compiler_the_broken_kernel_is_not_run(monkeypatch, capsys):
    from labs.kit import gpu
    from labs.kit.native.failures import NoCompiler

    def refuse(*_, **__):
        raise NoCompiler("There is no C++ compiler here.")

    monkeypatch.setattr(gpu, "compile_cuda", refuse, raising=False)
    assert trial.broken(2) is None and "no C++ compiler" in capsys.readouterr().out
