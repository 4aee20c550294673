"""nbgrader on the course's notebooks: a course folder with their sources, and a configuration that publishes as we do.

nbgrader's own ``generate_assignment`` knows neither repair exercises nor C++ cells, so the configuration puts
`publish_lesson` in its place. The rest (releasing, collecting, autograding, feedback, Formgrader) is nbgrader's own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from labs.course.catalogue import course_root, sources
from labs.course.publish import publish

CONFIG = '''"""nbgrader for Warp to Cluster. Written by `python -m labs nbgrader`, which leaves it alone from now on."""

c = get_config()  # noqa: F821  (nbgrader defines it)
c.CourseDirectory.course_id = "warp_to_cluster"

# The release version of a lesson is exactly the learner's notebook that the course publishes.
c.GenerateAssignment.preprocessors = ["labs.course.nbgrader.publish_lesson", "nbgrader.preprocessors.SaveCells"]

# Checks that a learner deleted come back; edited ones always do.
c.OverwriteCells.add_missing_cells = True

# Seconds for one cell, when nbgrader runs a notebook.
c.Execute.timeout = 60
'''


def publish_lesson(notebook, resources):
    """Turn a source into the learner's notebook; one of nbgrader's preprocessors.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
    resources : dict
        Of nbgrader; ``resources["nbgrader"]["notebook"]`` names the lesson.

    Returns
    -------
    nbformat.NotebookNode, dict
    """
    return publish(notebook, f"{resources['nbgrader']['notebook']}.ipynb"), resources


def write_course(folder, names=(), root=None):
    """Write a course folder of nbgrader: an assignment for each lesson, and the configuration where there is none.

    Parameters
    ----------
    folder : path-like
        Made when it does not exist; what else lies in it stays as it is.
    names : sequence of str
        Lessons as for `labs.course.catalogue.sources`; all by default.
    root : path-like, optional
        Folder of the course.

    Returns
    -------
    list of str
        Names of the assignments.
    """
    folder, lessons = Path(folder), sources(course_root(root), names)
    for lesson in lessons:
        assignment = folder / "source" / lesson.stem
        assignment.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(lesson, assignment / lesson.name)
    config = folder / "nbgrader_config.py"
    if not config.exists():
        config.write_text(CONFIG, encoding="utf-8")
    return [lesson.stem for lesson in lessons]
