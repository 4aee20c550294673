"""What goes through the socket between the notebook and its child: plain values, with arrays by their place.

Values are pickled with every array taken out of them; nothing is unpickled but built-in types.
"""

from __future__ import annotations

import array
import io
import os
import pickle
import socket
import struct

import numpy as np

_HEAD = struct.Struct("<QI")
LONG = 1 << 20
"""B. Longer bytes and texts travel like arrays, and longer results in shared memory."""
PLAIN = "None, bool, int, float, complex, str, bytes, lists, tuples, sets and dicts of these, and NumPy arrays"


class Closed(Exception):
    """The other end has gone."""


def send(link: socket.socket, payload: bytes, fds=()) -> None:
    """Send one message with open files."""
    head = _HEAD.pack(len(payload), len(fds))
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    try:
        link.sendmsg([head], control)
        link.sendall(payload)
    except (BrokenPipeError, ConnectionResetError):
        raise Closed from None


def receive(link: socket.socket) -> tuple[bytes, list[int]]:
    """Receive one message and the files that came with it.

    Raises
    ------
    Closed
    """
    head, fds = b"", []
    while len(head) < _HEAD.size:
        part, more = _receive_some(link, _HEAD.size - len(head))
        head, fds = head + part, fds + more
    length, _ = _HEAD.unpack(head)
    payload = bytearray(length)
    view, at = memoryview(payload), 0
    while at < length:
        try:
            got = link.recv_into(view[at:])
        except ConnectionResetError:
            got = 0
        if not got:
            _close(fds)
            raise Closed
        at += got
    return bytes(payload), fds


def _receive_some(link, size):
    try:
        part, control, _, _ = link.recvmsg(size, socket.CMSG_SPACE(64 * 4))
    except ConnectionResetError:
        part = b""
    if not part:
        raise Closed
    fds = array.array("i")
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    for fd in fds:
        os.set_inheritable(fd, False)
    return part, list(fds)


def _close(fds):
    for fd in fds:
        os.close(fd)


class _Pickler(pickle.Pickler):
    def __init__(self, buffer, place):
        super().__init__(buffer, 5)
        self.place = place

    def persistent_id(self, thing):
        kind = type(thing)
        if hasattr(kind, "__dlpack__"):  # NumPy's arrays, and those of others
            return ("array", self.place(thing, np.asarray(thing)))
        if self.place and kind in (bytes, str) and len(thing) > LONG:
            data = thing if kind is bytes else thing.encode("utf-8", "surrogatepass")
            return (kind.__name__, self.place(thing, np.frombuffer(data, np.uint8)))
        if isinstance(thing, np.generic):
            return ("scalar", thing.item())
        return None

    def reducer_override(self, thing):
        if isinstance(thing, (complex, set, frozenset, bytearray)) or thing in _BUILT_IN:
            return NotImplemented
        kind = type(thing).__name__
        raise TypeError(f"a value of type {kind} cannot go to C++ or come from it; these can: {PLAIN}")


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer, find):
        super().__init__(buffer)
        self.find = find

    def persistent_load(self, place):
        kind, what = place
        if kind == "scalar":
            return what
        array = self.find(what)
        if kind == "array":
            return array
        return array.tobytes() if kind == "bytes" else array.tobytes().decode("utf-8", "surrogatepass")

    def find_class(self, module, name):
        if module == "builtins" and name in {kind.__name__ for kind in _BUILT_IN}:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


_BUILT_IN = (complex, set, frozenset, bytearray)


def pack(value, place) -> bytes:
    """Pickle `value` with every array and long text replaced by what ``place(thing, its_array)`` says about it.

    Raises
    ------
    TypeError
        For what is neither plain data nor an array.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, place).dump(value)
    return buffer.getvalue()


def unpack(data: bytes, find):
    """The value from `pack`, with ``find(place)`` in the places of the arrays."""
    return _Unpickler(io.BytesIO(data), find).load()
