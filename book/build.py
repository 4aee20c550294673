"""Build the book: python book/build.py [--all] [--benchmarks FILE ...]

Lessons come from solutions/ with their stored outputs; nothing in them is executed. Answers are folded. Warnings are
errors. MathJax comes from npm at build time and is served with the book, so that a page asks no other host.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import yaml
from builder.benchmarks import benchmarks_page, renew
from builder.launch import Repository, repository
from builder.lesson_map import lesson_map
from builder.lesson_pages import write_lessons
from builder.outline import outline
from builder.references import gathered
from builder.ring_picture import moving_picture
from builder.ring_run import ring_of_the_lesson, run_ring

from labs.course.doctor.table import table as traps

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


def configured_repository(config: Path = BOOK / "_config.yml") -> Repository | None:
    """The repository that LABS_REPOSITORY (and LABS_REF) or else book/_config.yml names, or None."""
    named = yaml.safe_load(config.read_text(encoding="utf-8")).get("repository") or {}
    url = os.environ.get("LABS_REPOSITORY") or named.get("url", "")
    return repository(url, os.environ.get("LABS_REF") or named.get("branch", "main"))


def write_parts(public: Repository | None, target: Path = BOOK / "generated") -> int:
    """Write what the pages include, and the lessons; returns the number of lessons."""
    entries = outline(ROOT)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    run = run_ring(ring_of_the_lesson(ROOT / "solutions" / "08_all_reduce.ipynb"))
    (target / "ring.html").write_text(moving_picture(run), encoding="utf-8")
    (target / "map.html").write_text(lesson_map(entries), encoding="utf-8")
    (target / "references.md").write_text(gathered(entries, ROOT), encoding="utf-8")
    (target / "trouble.md").write_text(traps(), encoding="utf-8")
    measured = json.loads((BOOK / "benchmarks.json").read_text(encoding="utf-8"))
    (target / "benchmarks.md").write_text(benchmarks_page(measured), encoding="utf-8")
    return len(write_lessons(entries, ROOT / "solutions", BOOK / "lessons", public))


def build(builder_arguments: list[str]) -> int:
    """Run Jupyter Book with warnings as errors; returns its exit code."""
    builder = Path(sys.executable).with_name("jupyter-book")
    command = [str(builder), "build", str(BOOK), "-W", "-n", "-q", "--keep-going"]
    done = subprocess.run(command + builder_arguments, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-6000:], sep="\n", file=sys.stderr)
    return done.returncode


def main() -> int:
    """Build what the command line asks for; 0 when there was no warning."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="build every page anew")
    parser.add_argument(
        "--benchmarks",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="take over what `make bench` measured (build/bench.json) into book/benchmarks.json, then build",
    )
    options = parser.parse_args()
    began = time.monotonic()
    if options.benchmarks:
        print(f"book/benchmarks.json has {renew(options.benchmarks, BOOK / 'benchmarks.json')} figures.")
    vendor_mathjax()
    public = configured_repository()
    lessons = write_parts(public)
    status = build(["--all"] if options.all else [])
    if status == 0:
        page = BOOK / "_build" / "html" / "index.html"
        seconds = time.monotonic() - began
        print(f"The book is built: {lessons} lessons, {seconds:.0f} s. Open {page.relative_to(ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
