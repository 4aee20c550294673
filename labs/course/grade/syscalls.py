"""System calls that no answer needs: refused by the kernel (seccomp), with namespaces or without.

What is left out could lead around the limits (memory that belongs to no process, a namespace of one's own with fresh
capabilities), to other processes, or to the machine that this one runs on. The filter is inherited by every child.

Uses only the standard library.
"""

import ctypes
import errno
import platform
import struct
import sys

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
REFUSED = {
    # other file systems, and memory that lies in them
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsmount": (432, 432), "mount_setattr": (442, 442),
    # namespaces with rights of their own
    "unshare": (272, 97), "setns": (308, 268),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    # memory and queues that no count of processes and files sees
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # windows into the system
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "fanotify_init": (300, 262), "open_by_handle_at": (304, 265), "syslog": (103, 116),
}  # fmt: skip
"""Name -> number on x86-64, on 64-bit ARM."""
_CLONE, _CLONE3, _SOCKET = (56, 220), (435, 435), (41, 198)
_NEW_NAMESPACES = 0x7E020000 | 0x80  # every CLONE_NEW...
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16

_LOAD, _EQUAL, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # where they lie in the kernel's struct seccomp_data
_SET_SECCOMP, _FILTER, _ACTION_AVAILABLE, _SECCOMP = 22, 2, 2, (317, 277)


def available():
    """Whether this kernel filters system calls, on a kind of machine whose numbers are known here."""
    if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES:
        return False
    which = _ARCHITECTURES[platform.machine()][1]
    action = ctypes.c_uint32(_ERROR)
    return ctypes.CDLL(None).syscall(_SECCOMP[which], _ACTION_AVAILABLE, 0, ctypes.byref(action)) == 0


def refuse(network):
    """Refuse them from here on, in this process and in all that it starts.

    Parameters
    ----------
    network : bool
        Whether sockets of the internet are left: in a network namespace of its own they lead nowhere.

    Raises
    ------
    OSError
    """
    program = _program(*_ARCHITECTURES[platform.machine()], network)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    wanted = Program(len(program), ctypes.addressof(code))
    if libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(wanted), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter of system calls was not taken")


def _program(architecture, which, network):
    """The filter: a list of (operation, steps to skip if true, if false, value)."""
    stop = lambda number: (_RETURN, 0, 0, _ERROR | number)
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), stop(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, 0x40000000), stop(errno.ENOSYS),  # x32, which has other numbers
        (_EQUAL, 0, 1, _CLONE3[which]), stop(errno.ENOSYS),  # its flags cannot be seen here; callers fall back to clone
    ]  # fmt: skip
    for numbers in REFUSED.values():
        steps += [(_EQUAL, 0, 1, numbers[which]), stop(errno.EPERM)]
    steps += [(_EQUAL, 0, 4, _CLONE[which]), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_HAS_BIT, 0, 1, _NEW_NAMESPACES),
              stop(errno.EPERM), (_RETURN, 0, 0, _ALLOW)]  # fmt: skip
    families = (UNIX, NETLINK, *((INET, INET6) if network else ()))  # ZeroMQ asks NETLINK for the interfaces
    steps += [(_EQUAL, 0, 2 * len(families) + 2, _SOCKET[which]), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    for family in families:
        steps += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    return [*steps, stop(errno.EACCES), (_RETURN, 0, 0, _ALLOW)]
