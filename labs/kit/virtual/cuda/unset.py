"""A local variable of a kernel before its first assignment."""

from __future__ import annotations


class Unset:
    """Stands in a variable until it gets a value; every use says which variable it was."""

    __slots__ = ("_name",)

    def __init__(self, name: str):
        object.__setattr__(self, "_name", name)

    def _complain(self, *_):
        name = object.__getattribute__(self, "_name")
        raise UnboundLocalError(f"{name} is used here, but no thread has given it a value on its way to this line")

    __getattr__ = __getitem__ = __bool__ = __index__ = __len__ = __iter__ = _complain
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _complain
    __hash__ = None
