"""Keep a process to some files, where namespaces are not to be had (Landlock, Linux 5.13 or newer).

It needs no rights, works in most containers, and is inherited by every child. Since Linux 6.12 it also keeps signals
and abstract sockets inside.

Uses only the standard library.
"""

import ctypes
import os
import platform
import stat
import struct
import sys

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _DEVICE = 1, 2, 4, 8, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_FILE_RIGHTS = (1 << 16) - 1
_CONNECT_AND_BIND, _SOCKETS_AND_SIGNALS = 3, 3
_BENEATH = 1


def version():
    """The kernel's version of Landlock; 0 where there is none."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return 0
    return max(0, ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), 1))


def keep_to(readable, writable, listable=()):
    """Let this process, and all that it starts, use only these files from here on.

    Parameters
    ----------
    readable, writable : sequence of str
        Files and folders with all that is in them; what does not exist is passed over.
    listable : sequence of str
        Folders of which only the names within may be read.

    Raises
    ------
    OSError
    """
    number = version()
    rights = _FILE_RIGHTS.get(number, _ALL_FILE_RIGHTS)
    wanted = [rights] + [_CONNECT_AND_BIND] * (number >= 4) + [_SOCKETS_AND_SIGNALS] * (number >= 6)
    rules = _call(_CREATE, struct.pack(f"{len(wanted)}Q", *wanted), ctypes.c_size_t(8 * len(wanted)), 0)
    allowed = [(path, _READ | _LIST | _EXECUTE) for path in readable]
    allowed += [(path, rights) for path in writable] + [(path, _LIST) for path in listable]
    try:
        for path, may in allowed:
            _allow(rules, path, may & rights)
        _call(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules, path, rights):
    try:
        here = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(here).st_mode):
            rights &= _OF_FILES
        if rights:
            _call(_ADD_RULE, rules, _BENEATH, struct.pack("=Qi", rights, here), 0)
    finally:
        os.close(here)


def _call(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
