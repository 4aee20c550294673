"""The class at a glance, for the teacher: who has what, and what to teach once more."""

from collections import Counter, defaultdict
from urllib.parse import quote

from labs.course.grade.grades import number
from labs.course.grade.page import WORDS, heading, listed, page, points
from labs.kit.exercise.markup import escape, inline

ORDER = ("solved", "partly", "wrong", "lost", "unsolved")
MOST = 4
"""Hints that are shown of one exercise."""


def overview(grades):
    """The page.

    Parameters
    ----------
    grades : labs.course.grade.grades.Grades

    Returns
    -------
    str
        HTML.
    """
    count = len(grades.learners)
    who = f"{count} learner{'' if count == 1 else 's'}"
    body = (
        f'<header><p class="over">Warp to Cluster</p><h1>The class at a glance</h1>'
        f"<p>{who}, {len(grades.results)} notebooks, {points(grades.points, grades.of)}. "
        '<a href="gradebook.csv">Gradebook</a> · <a href="results.json">results.json</a> · '
        '<a href="junit.xml">junit.xml</a></p></header>'
        f"<main>{_odd(grades)}{_table(grades)}{_lessons(grades)}</main>"
    )
    return page("The class at a glance", body, wide=True)


def _odd(grades):
    """What a person has to look at."""
    names = {learner.key: learner.name for learner in grades.learners}
    found = [
        f"{result.notebook} ({names[result.learner]}): {result.refused}" for result in grades.results if result.refused
    ]
    found += [*grades.notes, *grades.isolation]
    if not found:
        return ""
    return f'<section class="notes" aria-labelledby="odd"><h2 id="odd">Look at these</h2>{listed(found)}</section>'


# ---- learners by lessons -----------------------------------------------------------------------------------------
def _table(grades):
    lessons = grades.lessons
    heads = "".join(
        f'<th scope="col"><a href="#{lesson}">{escape(lesson[:2])}</a><small>{escape(grades.titles.get(lesson, ""))}'
        "</small></th>"
        for lesson in lessons
    )
    rows = "".join(_row(grades, learner, lessons) for learner in grades.learners)
    possible = "".join(f"<td>{number(grades.possible(lesson))}</td>" for lesson in lessons)
    means = "".join(f"<td>{_mean(grades, lesson)}</td>" for lesson in lessons)
    mean = sum(grades.reached(learner.key) for learner in grades.learners) / len(grades.learners)
    return (
        '<section aria-labelledby="learners"><h2 id="learners">Learners</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="learners"><table>'
        f'<thead><tr><th scope="col">Learner</th>{heads}<th scope="col">Total</th></tr></thead><tbody>{rows}</tbody>'
        f'<tfoot><tr><th scope="row">Possible</th>{possible}<td>{number(grades.total)}</td></tr>'
        f'<tr><th scope="row">Mean</th>{means}<td>{mean:.1f}</td></tr></tfoot></table></div>'
        '<p class="small mute">The mean of a lesson is of those who handed it in. ✘: could not be graded. '
        "*: there are notes in the feedback.</p></section>"
    )


def _row(grades, learner, lessons):
    cells = "".join(_cell(grades.found(learner.key, lesson)) for lesson in lessons)
    link = f'<a href="feedback/{quote(learner.page)}.html">{escape(learner.name)}</a>'
    return f'<tr><th scope="row">{link}</th>{cells}<td class="sum">{number(grades.reached(learner.key))}</td></tr>'


def _cell(result):
    if result is None:
        return '<td><span class="mute">–<span class="hidden"> not handed in</span></span></td>'
    if result.refused:
        return '<td>✘<span class="hidden"> could not be graded</span></td>'
    share = 100 * result.points / result.of if result.of else 0
    star = '*<span class="hidden"> with notes</span>' if result.notes else ""
    return f'<td class="share" style="--share:{share:.0f}%">{number(result.points)}{star}</td>'


def _mean(grades, lesson):
    found = [result.points for result in grades.results if result.lesson == lesson and not result.refused]
    return f"{sum(found) / len(found):.1f}" if found else "–"


# ---- what to teach once more -----------------------------------------------------------------------------------------
def _lessons(grades):
    hints = defaultdict(list)
    for hint in grades.hints():
        hints[hint.lesson, hint.exercise].append(hint)
    names = {learner.key: learner.name for learner in grades.learners}
    return "".join(_lesson(grades, lesson, hints, names) for lesson in grades.lessons)


def _lesson(grades, lesson, hints, names):
    marks = defaultdict(list)
    for result in grades.results:
        for mark in result.marks if result.lesson == lesson and not result.refused else ():
            marks[mark.exercise].append(mark)
    body = "".join(_exercise(found, hints[lesson, exercise], names) for exercise, found in marks.items())
    title = heading(lesson, grades.titles.get(lesson, ""))
    return f'<section class="lesson" aria-labelledby="{lesson}"><h2 id="{lesson}">{title}</h2>{body}</section>'


def _exercise(marks, hints, names):
    counts = Counter(mark.status for mark in marks)
    said = ", ".join(f"{counts[status]} {WORDS[status].lower()}" for status in ORDER if counts[status])
    bar = "".join(f'<span class="{status}" style="flex:{counts[status]}"></span>' for status in ORDER if counts[status])
    look = "solved" if counts["solved"] == len(marks) else "wrong" if hints else "unsolved"
    return (
        f'<article class="exercise {look}"><div class="title"><h3>{escape(marks[0].title)}</h3>'
        f'<span class="number">{said}</span></div><div class="counts" aria-hidden="true">{bar}</div>'
        f"{''.join(_hint(hint, names) for hint in hints[:MOST])}{_more(hints[MOST:])}</article>"
    )


def _hint(hint, names):
    who = ", ".join(escape(names[key]) for key in hint.learners)
    count = len(hint.learners)
    return (
        f'<div class="hint"><p class="question">{inline(hint.question)}</p>'
        f'<details class="small"><summary>{count} learner{"" if count == 1 else "s"} '
        f'<span class="mute">({escape(hint.hint)})</span></summary>'
        f'<div class="inner"><p>{who}</p></div></details></div>'
    )


def _more(hints):
    rest = sum(len(hint.learners) for hint in hints)
    return f'<p class="mute small">{rest} more, each with another question.</p>' if hints else ""
