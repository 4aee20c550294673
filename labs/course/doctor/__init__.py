"""`python -m labs doctor`: what this machine offers the course, and which known traps have closed on it.

Facts are gathered by small functions (``look_*``) from a `Machine` whose files, environment, programs and packages can
be replaced; traps (``traps_*``) are pure functions from `Facts` to a `Finding` or None, in one table, from which the
book's page is made as well (`table`). Nothing here fails, hangs, or leaves a file behind.

In a notebook the name stands for the function: ``from labs.course import doctor``.
"""

from labs.course.doctor.examine import checkup, doctor
from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import Finding, Trap
from labs.course.doctor.gather import gather
from labs.course.doctor.machine import Machine
from labs.course.doctor.report import Checkup
from labs.course.doctor.table import table
from labs.course.doctor.traps import TRAPS, diagnose

__all__ = [
    "TRAPS",
    "Checkup",
    "Facts",
    "Finding",
    "Machine",
    "Trap",
    "checkup",
    "diagnose",
    "doctor",
    "gather",
    "table",
]
