"""What can be at fault besides a learner's notebook."""


class CourseError(Exception):
    """The course itself, or how the grader was called, is not as it must be; the message says what to do."""


class NoSandbox(Exception):
    """No kernel can be started here at all, or not the kind that was asked for; the message says why."""


class Stopped(Exception):
    """Grading was interrupted.

    Parameters
    ----------
    done, total : int
        Notebooks.
    out : str or None
        The folder in which results are kept.
    """

    def __init__(self, done, total, out):
        if out:
            how = f"They are kept in {out}: give the same command again to go on from there."
        else:
            how = "Nothing was kept; with --out DIR the next run goes on where this one stopped."
        super().__init__(f"Grading was stopped. {done} of {total} notebooks are graded. {how}")
