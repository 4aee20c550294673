"""Results as a table for a terminal, and as JSON for programs."""

import json

from labs.course.grade.grades import number

SIGNS = {"solved": "✔", "partly": "◐", "wrong": "✘", "lost": "✘", "unsolved": "○", "not graded": "○"}
NOT_SOLVED = "Not solved yet."
FORMAT = 2
MOST_HINTS = 5


def table(grades, detailed=True):
    """Return the results as text.

    Parameters
    ----------
    grades : labs.course.grade.grades.Grades
    detailed : bool
        A line for each exercise, with its hint's question; else, for several learners, only a line for each learner.
    """
    several = len(grades.learners) > 1
    blocks = [_notebook(result) for result in grades.results] if detailed or not several else []
    if several:
        blocks += [_learners(grades), _hints(grades)]
    if len(grades.results) > 1:
        blocks.append(f"{len(grades.results)} notebooks, {number(grades.points)} of {number(grades.of)} points")
    blocks += ["\n".join(f"· {note}" for note in grades.notes), *grades.isolation]
    return "\n\n".join(filter(None, blocks))


def _notebook(result):
    head = f"{result.notebook}: {number(result.points)} of {number(result.of)} points ({result.seconds:.1f} s)"
    if result.refused:
        return f"{head}\n  ✘ {result.refused}"
    width = max([len(mark.exercise) for mark in result.marks], default=0)
    lines = [head]
    for mark in result.marks:
        score = f"{number(mark.points):>4} of {number(mark.of):<4}"
        says = {"solved": "", "unsolved": NOT_SOLVED}.get(mark.status, mark.question)
        hint = f"  [{mark.hint}]" if mark.hint and mark.status not in ("solved", "unsolved") else ""
        lines.append(f"  {SIGNS[mark.status]} {mark.exercise:<{width}} {score} {says}{hint}".rstrip())
    lines += [f"  · {note}" for note in result.notes]
    return "\n".join(lines)


def _learners(grades):
    lessons = grades.lessons
    short = [lesson[:2] for lesson in lessons]
    width = max(len(learner.name) for learner in grades.learners)
    lines = [f"{'':<{width}} " + "".join(f"{name:>6}" for name in short) + f"{'total':>8}"]
    for learner in grades.learners:
        found = [grades.found(learner.key, lesson) for lesson in lessons]
        cells = ["✘" if r and r.refused else number(r.points) if r else "" for r in found]
        lines.append(f"{learner.name:<{width}} " + "".join(f"{cell:>6}" for cell in cells)
                     + f"{number(grades.reached(learner.key)):>8}")  # fmt: skip
    lines.append(f"{'of':<{width}} " + "".join(f"{number(grades.possible(lesson)):>6}" for lesson in lessons)
                 + f"{number(grades.total):>8}")  # fmt: skip
    refused = [f"✘ {result.notebook}: {result.refused}" for result in grades.results if result.refused]
    return "\n".join([*lines, *refused])


def _hints(grades):
    hints = grades.hints()[:MOST_HINTS]
    lines = [f"  {len(h.learners)} of {h.asked}  {h.lesson[:2]} {h.exercise} [{h.hint}]  {h.question}" for h in hints]
    return "\n".join(["Most common:", *lines]) if lines else ""


def as_json(grades):
    """Return the results as JSON text: no pictures, no absolute paths, no secret.

    Parameters
    ----------
    grades : labs.course.grade.grades.Grades
    """
    names = {learner.key: learner.name for learner in grades.learners}
    notebooks = []
    for result in grades.results:
        data = result.as_data() | {"learner": names[result.learner]}
        data["marks"] = [{key: value for key, value in mark.items() if key != "picture"} for mark in data["marks"]]
        notebooks.append(data)
    learners = [
        {"learner": learner.name, "points": grades.reached(learner.key), "of": grades.total,
         "feedback": f"feedback/{learner.page}.html"}
        for learner in grades.learners
    ]  # fmt: skip
    data = {"format": FORMAT, "points": grades.points, "of": grades.of, "learners": learners, "notes": grades.notes,
            "notebooks": notebooks}  # fmt: skip
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
