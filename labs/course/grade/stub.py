"""Stands in for a module that the sandbox must not hold: whatever is asked of it does nothing."""


class Nothing:
    """Can be called, and every attribute of it is `Nothing` again."""

    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __repr__(self):
        return "(not shown while your answers are graded)"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Nothing()
