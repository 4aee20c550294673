"""pyproject.toml, the lock and the conda environments say the same, and nothing of where they were made."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CORE = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {name: [Requirement(t) for t in texts] for name, texts in PROJECT["optional-dependencies"].items()}


def locked():
    """Name -> version of every line of the lock."""
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    pairs = dict(line.split("==") for line in lines if line)
    return {canonicalize_name(name): version.strip() for name, version in pairs.items()}


ENVIRONMENTS = {"environment.yml": [], "environment-gpu.yml": EXTRAS["gpu"]}


def conda_pip_entries(name):
    """The pip section of a conda environment."""
    spec = yaml.safe_load((ROOT / name).read_text())
    return next(d["pip"] for d in spec["dependencies"] if isinstance(d, dict))


@pytest.mark.parametrize("requirement", [r for rs in [CORE, *EXTRAS.values()] for r in rs], ids=str)
def test_every_requirement_is_locked_to_a_version_that_it_allows(requirement):
    version = locked().get(canonicalize_name(requirement.name))
    assert version, f"{requirement.name} is not in requirements.txt; run `make lock`"
    assert requirement.specifier.contains(version, prereleases=True)


def test_torch_is_locked_without_a_build_name_or_hashes():
    text = (ROOT / "requirements.txt").read_text()
    assert locked()["torch"] == "2.13.0"
    assert "--hash" not in text and "://" not in text


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_conda_installs_the_core_in_the_locked_versions(name):
    entries = conda_pip_entries(name)
    pinned = [Requirement(e) for e in entries if not e.startswith("-")]
    wanted = {canonicalize_name(r.name): r.extras for r in [*CORE, *ENVIRONMENTS[name]]} | {"nbval": set()}
    assert {canonicalize_name(r.name): r.extras for r in pinned} == wanted
    assert all(str(r.specifier) == f"=={locked()[canonicalize_name(r.name)]}" for r in pinned)
    assert entries[-1] == "-e ."


def test_only_the_cpu_environment_takes_pytorch_from_its_index_of_cpu_wheels():
    assert [e for e in conda_pip_entries("environment.yml") if e.startswith("--")] == [
        "--extra-index-url https://download.pytorch.org/whl/cpu"
    ]
    assert not [e for e in conda_pip_entries("environment-gpu.yml") if e.startswith("--")]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_python_versions_agree(name):
    spec = yaml.safe_load((ROOT / name).read_text())
    python = next(d for d in spec["dependencies"] if isinstance(d, str) and d.startswith("python="))
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(python.split("=")[1])


def test_what_is_locked_installs_on_the_first_python_that_the_course_takes():
    """Debian 12 has Python 3.11.2; a package that wants 3.11.5 stops `make lab` there, after half the download."""
    lock, wrong = locked(), []
    for found in distributions():
        needs = found.metadata.get("Requires-Python")
        same = lock.get(canonicalize_name(found.metadata["Name"])) == found.version.split("+")[0]
        if same and needs and not SpecifierSet(needs).contains("3.11.0"):
            wrong.append(f"{found.metadata['Name']} {found.version} needs Python {needs}")
    assert not wrong


def test_this_environment_follows_the_lock():
    """What is tested is what a learner installs."""
    from importlib.metadata import PackageNotFoundError, version

    lock, wrong = locked(), []
    for requirement in CORE:
        try:
            here = version(requirement.name).split("+")[0]
        except PackageNotFoundError:
            here = "missing"
        if here != lock[canonicalize_name(requirement.name)]:
            wrong.append(f"{requirement.name}: {here} here, {lock[canonicalize_name(requirement.name)]} in the lock")
    assert not wrong


def test_the_repository_names_no_registry_and_no_machine():
    """Registry hosts and paths of one machine would break for everybody else."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    # assembled here so that this file does not find itself
    patterns = [
        "pypi" + r"\.org",
        "registry" + r"\.npmjs",
        "files\\." + "pythonhosted",
        "/opt/" + "wheels",
        "/work/" + "main",
        "/work/" + "shared",
    ]
    bad = []
    for name in filter(None, files):
        path = ROOT / name.decode()
        if path.is_file() and path.suffix not in {".png"}:
            text = path.read_text(errors="replace")
            bad += [f"{path.relative_to(ROOT)}: {p}" for p in patterns if re.search(p, text)]
    assert not bad


@pytest.mark.parametrize("module", ["labs", "labs.kit.exercise", "labs.kit.draw", "labs.kit.hardware"])
def test_light_packages_import_nothing_heavy(module):
    """A machine without one of the big packages still runs the rest, and every import is quick."""
    code = f"import sys, {module}; print(sorted({{'torch', 'matplotlib', 'ipywidgets'}} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == "[]"
