"""Everything that a run leaves in its folder, made first and written then, each file whole."""

import json
import re
from pathlib import Path

from labs.course.grade import feedback, gradebook, junit, overview, report, store, summary

FEEDBACK = "feedback"


def write(folder, grades):
    """Write all files of a run.

    Parameters
    ----------
    folder : path-like
    grades : labs.course.grade.grades.Grades

    Returns
    -------
    dict of str to pathlib.Path
        What was written, by name.
    """
    folder = Path(folder)
    texts = {
        "junit.xml": junit.junit(grades.results),
        "gradebook.csv": gradebook.as_csv(grades),
        "summary.md": summary.as_markdown(grades),
        "index.html": overview.overview(grades),
    }
    for learner in grades.learners:
        own = grades.of_learner(learner.key)
        texts[f"{FEEDBACK}/{learner.page}.html"] = feedback.feedback(learner, own, grades.titles)
    texts["results.json"] = report.as_json(grades)  # last: it says that the others are there
    before = _pages(folder)
    for name, text in texts.items():
        store.write(folder / name, text)
    for name in before - set(texts):  # pages of learners who are not in this run
        (folder / name).unlink(missing_ok=True)
    return {name: folder / name for name in texts}


def _pages(folder):
    """The feedback pages that an earlier run says it wrote."""
    try:
        learners = json.loads((folder / "results.json").read_text(encoding="utf-8"))["learners"]
        names = {str(learner["feedback"]) for learner in learners}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {name for name in names if re.fullmatch(rf"{FEEDBACK}/[\w-]+\.html", name)}
