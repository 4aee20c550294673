"""What `python -m labs lint` checks, each broken rule as a sentence that names the file and the place in it.

``lesson``: cells and exercises of a lesson · ``prose``: its words, and those of every other page · ``links``: what is
linked or named exists · ``spelling``: codespell on the sources of lessons.
"""

from labs.course.lint.lesson import check_course, check_lesson
from labs.course.lint.links import check_links
from labs.course.lint.prose import check_pages
from labs.course.lint.spelling import NOT_INSTALLED, can_check_spelling, check_spelling

__all__ = [
    "NOT_INSTALLED",
    "can_check_spelling",
    "check_course",
    "check_lesson",
    "check_links",
    "check_pages",
    "check_spelling",
]
