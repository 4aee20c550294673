"""Build the book: python book/build.py [--all]

Lessons come from solutions/ with their stored outputs; nothing is executed. Answers are folded. Warnings are errors.
MathJax comes from npm at build time and is served with the book, so that a page asks no other host for anything.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
MATHJAX = "mathjax@3.2.2"


def vendor_mathjax(target: Path = BOOK / "vendor" / "mathjax") -> None:
    """Fetch MathJax (one script and its fonts) once; a later build finds it there."""
    if (target / "tex-mml-chtml.js").exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("The book shows formulas with MathJax, which npm brings; npm is not here. Install Node.js.")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([npm, "pack", MATHJAX, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        archive = next(Path(folder).glob("*.tgz"))
        with tarfile.open(archive) as tar:
            # Debian 12's Python 3.11.2 has no filters yet.
            tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        es5 = Path(folder) / "package" / "es5"
        fonts = Path("output/chtml/fonts/woff-v2")
        shutil.copytree(es5 / fonts, target / fonts, dirs_exist_ok=True)
        shutil.copy(es5 / "tex-mml-chtml.js", target)
        shutil.copy(Path(folder) / "package" / "LICENSE", target)


def folded(notebook: dict) -> dict:
    """The lesson as the book shows it: answers, set-up and checks folded away, no editing metadata.

    Parameters
    ----------
    notebook : dict
        A notebook (nbformat 4) as JSON.

    Returns
    -------
    dict
        A new notebook; the given one is left alone.
    """
    cells = []
    for cell in notebook["cells"]:
        role = cell["metadata"].get("nbgrader", {})
        tags = list(cell["metadata"].get("tags", []))
        if cell["cell_type"] == "code" and role.get("solution") and "hide-input" not in tags:
            tags.append("hide-input")
        cells.append(cell | {"metadata": {"tags": tags} if tags else {}})
    return notebook | {"cells": cells}


def copy_lessons(source: Path = ROOT / "solutions", target: Path = BOOK / "lessons") -> list[Path]:
    """Copy every lesson into the book and drop the ones that are gone."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    copied = []
    for path in sorted(source.glob("[0-9][0-9]_*.ipynb")):
        copied.append(target / path.name)
        copied[-1].write_text(json.dumps(folded(json.loads(path.read_text()))))
    return copied


def write_front_page(
    lesson: Path = ROOT / "solutions" / "08_all_reduce.ipynb",
    cell_id: str = "watch-reduce-scatter",
    target: Path = BOOK / "lessons" / "front.html",
) -> None:
    """The moving picture of the front page: a player that a lesson has stored, so that it shows real code's run."""
    for cell in json.loads(lesson.read_text())["cells"]:
        if cell["id"] == cell_id:
            for output in cell["outputs"]:
                if html := output.get("data", {}).get("text/html"):
                    target.write_text("".join(html))
                    return
    raise SystemExit(f"{lesson.name}: no picture in cell {cell_id!r} for the front page. Run: make solutions")


def build(builder_arguments: list[str]) -> int:
    """Run Jupyter Book with warnings as errors; returns its exit code."""
    builder = Path(sys.executable).with_name("jupyter-book")
    command = [str(builder), "build", str(BOOK), "-W", "-n", "-q", "--keep-going"]
    done = subprocess.run(command + builder_arguments, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-6000:], sep="\n", file=sys.stderr)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="build every page anew")
    options = parser.parse_args()
    began = time.monotonic()
    vendor_mathjax()
    lessons = copy_lessons()
    write_front_page()
    status = build(["--all"] if options.all else [])
    if status == 0:
        page = BOOK / "_build" / "html" / "index.html"
        seconds = time.monotonic() - began
        print(f"The book is built: {len(lessons)} lessons, {seconds:.0f} s. Open {page.relative_to(ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
