"""The page that a learner gets: what stands, what does not yet, and a question that helps to go on."""

from labs.course.grade.grades import number
from labs.course.grade.page import exercise, heading, listed, meter, page, points
from labs.kit.exercise.markup import escape

ALL = "Every point there is. Each answer held on cases that you had not seen."
NONE = "Nothing is solved yet. Begin with the first exercise: its check says where to look, as often as you like."
SOME = (
    "Each exercise that is not right yet asks you a question about the first case that failed. Answer it, change your "
    "code, and run the check in your notebook. More help is folded away beneath; try first without."
)
WHY = (
    "Your code ran on cases like those in your notebook, with other numbers and sizes. So a check can pass there and "
    "one fail here: the case named below the exercise is the one to look at. Half of an exercise's points are for the "
    "right values; where there are edge cases and a budget (of bytes, messages or time), each is worth a quarter, and "
    "they count once the values are right."
)


def feedback(learner, results, titles):
    """One learner's page. It is made from this learner's results and nothing else.

    Parameters
    ----------
    learner : labs.course.grade.learners.Learner
    results : sequence of labs.course.grade.marks.Result
    titles : dict of str to str
        Titles of lessons.

    Returns
    -------
    str
        HTML.
    """
    got, of = round(sum(r.points for r in results), 2), round(sum(r.of for r in results), 2)
    name = "your notebooks" if learner.name == "you" else learner.name
    graded = [result for result in results if not result.refused]
    if not graded:
        opening = ""
    else:
        opening = (
            ALL
            if got >= of
            else SOME
            if any(m.points or m.hint != "unsolved" for r in graded for m in r.marks)
            else NONE
        )
    body = (
        f'<header><p class="over">Warp to Cluster</p><h1>Feedback for {escape(name)}</h1>'
        f'<p class="total"><strong>{points(got, of)}</strong>{meter(got, of)}</p>'
        f"{f'<p>{opening}</p>' if opening else ''}{_contents(results, titles)}</header>"
        f"<main>{''.join(_lesson(i, result, titles) for i, result in enumerate(results))}</main>"
        '<footer><details><summary>How these points came about</summary><div class="inner">'
        f"<p>{WHY}</p></div></details></footer>"
    )
    return page(f"Feedback for {name}", body)


def _contents(results, titles):
    if len(results) < 2:
        return ""
    items = "".join(
        f'<li><a href="#lesson-{i}">{_name(result, titles)}</a> '
        f'<span class="mute number">{number(result.points)} of {number(result.of)}</span></li>'
        for i, result in enumerate(results)
    )
    return f'<nav aria-label="Lessons"><ul>{items}</ul></nav>'


def _name(result, titles):
    return heading(result.lesson, titles.get(result.lesson, "")) if result.lesson else escape(result.notebook)


def _lesson(i, result, titles):
    head = (
        f'<section class="lesson" aria-labelledby="lesson-{i}"><div class="title"><h2 id="lesson-{i}">'
        f'{_name(result, titles)}</h2><span class="number">{points(result.points, result.of)}</span></div>'
        f'<p class="over">{escape(result.notebook)}</p>'
    )
    said = [result.refused, *result.notes] if result.refused else result.notes
    name = "This notebook could not be graded" if result.refused else "About your notebook"
    about = f'<div class="notes"><h3>{name}</h3>{listed(said)}</div>' if said else ""
    if result.refused:
        return f"{head}{about}</section>"
    return f"{head}{about}{''.join(map(exercise, result.marks))}</section>"
