"""pyproject.toml, the lock and environment.yml say the same, and nothing of where they were made."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
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


def conda_pip_entries():
    """The pip section of environment.yml."""
    spec = yaml.safe_load((ROOT / "environment.yml").read_text())
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


def test_conda_installs_the_core_in_the_locked_versions():
    entries = conda_pip_entries()
    pinned = {canonicalize_name(e.split("==")[0]): e.split("==")[1] for e in entries if "==" in e}
    wanted = {canonicalize_name(r.name) for r in CORE} | {"nbval"}
    assert set(pinned) == wanted
    assert all(locked()[name] == version for name, version in pinned.items())
    assert entries[-1] == "-e ."


def test_python_versions_agree():
    spec = yaml.safe_load((ROOT / "environment.yml").read_text())
    python = next(d for d in spec["dependencies"] if isinstance(d, str) and d.startswith("python="))
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(python.split("=")[1])


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
