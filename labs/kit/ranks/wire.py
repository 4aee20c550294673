"""Messages between the parent and one rank: a length, then a pickle, over a socket that both trust."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!Q")


def send(sock: socket.socket, message: Any) -> None:
    """Send one message of plain data; blocks until the other side's buffer has room."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    if len(body) < 65536:
        sock.sendall(_LENGTH.pack(len(body)) + body)
    else:  # no second copy of a large result
        sock.sendall(_LENGTH.pack(len(body)))
        sock.sendall(body)


def receive(sock: socket.socket) -> Any:
    """Wait for one message.

    Raises
    ------
    EOFError
        If the other side has closed the connection.
    """
    (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size))
    return pickle.loads(_exactly(sock, length))


def _exactly(sock: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    view, got = memoryview(data), 0
    while got < count:
        n = sock.recv_into(view[got:])
        if n == 0:
            raise EOFError
        got += n
    return data


class Inbox:
    """Puts messages together from whatever has arrived, so that one thread can listen to many ranks."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock, self._data = sock, bytearray()

    def read(self) -> tuple[list[Any], bool]:
        """Return the messages that are complete now, and whether the connection is still open."""
        try:
            piece = self._sock.recv(1 << 20)
        except ConnectionError:
            piece = b""
        self._data += piece
        messages = []
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            end = _LENGTH.size + length
            if len(self._data) < end:
                break
            messages.append(pickle.loads(memoryview(self._data)[_LENGTH.size : end].tobytes()))
            del self._data[:end]
        return messages, bool(piece)
