"""The course as a whole: the catalogue of lessons, publishing, execution, grading and the command line.

A notebook needs two names from here: `doctor` says what this machine can do, `progress` what you have solved.
"""

from labs.course.doctor import doctor
from labs.course.overview import progress

__all__ = ["doctor", "progress"]
