"""The gradebook: a CSV that opens in a spreadsheet, a row for each learner.

Columns: ``learner``; for each lesson that somebody handed in ``NN_topic points`` (empty when this learner did not hand
it in) and ``NN_topic possible``; ``total points``, ``total possible``, ``percent``; ``notes`` (how many remarks stand
in the learner's feedback) and ``feedback`` (the page). UTF-8 with a byte order mark, by which Excel knows it.
"""

import csv
import io

from labs.course.grade.grades import number

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(grades):
    """Return the gradebook as text, with its byte order mark.

    Parameters
    ----------
    grades : labs.course.grade.grades.Grades
    """
    lessons, out = grades.lessons, io.StringIO()
    table = csv.writer(out, lineterminator="\r\n")
    pairs = [f"{lesson} {what}" for lesson in lessons for what in ("points", "possible")]
    table.writerow(["learner", *pairs, "total points", "total possible", "percent", "notes", "feedback"])
    for learner in grades.learners:
        row = [cell(learner.name)]
        for lesson in lessons:
            result = grades.found(learner.key, lesson)
            row += [number(result.points) if result else "", number(grades.possible(lesson))]
        reached, total = grades.reached(learner.key), grades.total
        percent = f"{100 * reached / total:.1f}" if total else ""
        remarks = sum(len(result.notes) + bool(result.refused) for result in grades.of_learner(learner.key))
        row += [number(reached), number(total), percent, remarks, cell(f"feedback/{learner.page}.html")]
        table.writerow(row)
    return "\ufeff" + out.getvalue()


def cell(text):
    """Text that no spreadsheet takes for a formula: what looks like one gets an apostrophe in front."""
    text = " ".join(str(text).split())
    return "'" + text if text.startswith(_FORMULA) else text
