"""What can be at fault besides a learner's notebook."""


class CourseError(Exception):
    """The course itself, or how the grader was called, is not as it must be; the message says what to do."""


class NoSandbox(Exception):
    """No kernel can be started here at all, or not the kind that was asked for; the message says why."""
