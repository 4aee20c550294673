"""Make a machine of Google Colab ready: what its packages lack, and `labs` where every process finds it.

Run by the first cell of the lessons' copies for Colab (see `labs.course.colab`), with %run, so in the notebook's own
process. Uses only the standard library. Colab's own packages stay unless one is too old. What serves notebooks is left
out: replacing a front end that runs would break it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import site
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRONT_END = {"ipykernel", "ipywidgets", "jupyterlab", "nbgrader"}
NAME = re.compile(r"[\w.-]+")


def main():
    """Install, make `labs` importable here and in new processes, and say what to do next."""
    wanted = requirements(ROOT / "pyproject.toml")
    before = versions(wanted)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *wanted])
    if done.returncode:
        print("The course's packages could not be installed; pip says why above. Run this cell again to try once more.")
        return
    Path(site.getsitepackages()[0], "warp-to-cluster.pth").write_text(f"{ROOT}\n")
    sys.path.insert(0, str(ROOT))
    importlib.invalidate_caches()
    if renewed := in_use(before, versions(wanted)):
        print(f"Packages that this notebook has loaded were renewed ({', '.join(renewed)}).")
        print("Choose Runtime, Restart session. Then go on with the next cell.")
    else:
        print("The course is here. Go on with the next cell.")


def requirements(pyproject):
    """What the lessons import, as pip writes it."""
    project = tomllib.loads(Path(pyproject).read_text(encoding="utf-8"))["project"]
    return [text for text in project["dependencies"] if NAME.match(text)[0] not in FRONT_END]


def versions(wanted):
    """Name -> installed version; None where it is missing."""
    found = {}
    for name in (NAME.match(text)[0] for text in wanted):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def in_use(before, after):
    """Names of packages that changed although this process has imported the old ones."""
    return [
        name for name, old in before.items() if old and old != after[name] and name.replace("-", "_") in sys.modules
    ]


if __name__ == "__main__":
    main()
