"""The monitor of a jail: obeys its socket, counts what the whole jail holds, and says how it ended.

The system limits each process; what all processes of a jail hold together is counted here, several times a second.

Uses only the standard library.
"""

import contextlib
import os
import select
import signal
import time

MB = 1 << 20
_EVERY, _DISK_EVERY = 0.1, 0.5
ENDINGS = {
    signal.SIGSEGV: "used memory that is not its own, or recursed without end (segmentation fault)",
    signal.SIGBUS: "used memory that is not its own (bus error)",
    signal.SIGABRT: "called abort, or damaged its own memory",
    signal.SIGFPE: "divided a whole number by zero",
    signal.SIGILL: "ran into an illegal instruction",
    signal.SIGXCPU: "computed for longer than any answer may",
    signal.SIGXFSZ: "wrote a file larger than any answer may",
    signal.SIGSYS: "asked the system for something that is refused here",
}


def watch(first, alive, spec, *, end, connected, members):
    """Until the jail's first process has ended, which this brings about when it must.

    Parameters
    ----------
    first : int
        The process to wait for, a child of this one. It ends with the status of the learner's process (see `status`).
    alive : socket.socket
        The byte ``c`` is answered by ``closed``, ``n`` by ``members`` and the number of processes and threads; when
        the other end closes, so does the jail.
    spec : dict
        As for `jail.enter`.
    end : callable
        ``end()`` ends all processes of the jail.
    connected : callable
        Called on ``c``.
    members : callable
        ``members()`` gives the process ids of the jail.
    """
    try:
        gone = [os.pidfd_open(first)]
    except (OSError, AttributeError):
        gone = []
    counting, disk_at = False, 0.0
    while True:
        ready = select.select([alive, *gone], [], [], _EVERY)[0]
        ended, status = os.waitpid(first, os.WNOHANG)
        if ended:
            say(alive, f"lost {how_it_ended(status)}")
            return
        if alive in ready:
            try:
                word = alive.recv(1)
            except OSError:
                word = b""
            if not word:
                break
            if word == b"n":
                say(alive, f"members {sum(map(_threads, members()))}")
                continue
            connected()
            say(alive, "closed")
            counting = True
        elif counting:
            why = excess(members(), spec)
            if not why and not spec["isolate"] and time.monotonic() > disk_at:  # else the file system has a size
                why, disk_at = _full(spec), time.monotonic() + _DISK_EVERY
            if why:
                say(alive, f"lost {why}")
                break
    end()
    os.waitpid(first, 0)


def status(waited):
    """An exit status that carries on how a child ended, as shells do: 128 and more for a signal."""
    code = os.waitstatus_to_exitcode(waited)
    return code if code >= 0 else 128 - code


def how_it_ended(waited):
    """In words, after "it"."""
    code = status(waited)
    if code <= 128:
        return f"ended its own process (exit status {code})"
    if code - 128 in ENDINGS:
        return ENDINGS[code - 128]
    with contextlib.suppress(ValueError):
        return f"was ended by a signal ({signal.Signals(code - 128).name})"
    return "ended its own process"


def excess(pids, spec):
    """What the processes hold too much of together, in words after "it"; empty when nothing."""
    if len(pids) > spec["processes"] + 2:
        return f"started more than {spec['processes']} processes"
    # What was there before a fork is counted for each process here, quickly; exactly only when that looks too much.
    if sum(map(_resident, pids)) > spec["memory"] and sum(map(_share, pids)) > spec["memory"]:
        return f"used more than {spec['memory'] // MB} MB of memory"
    return ""


def _resident(pid):
    return _sum_of(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:"))


def _threads(pid):
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def _share(pid):
    return _sum_of(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) or _resident(pid)


def _sum_of(file, names):
    """The sum of some lines of a file of /proc (B); 0 when the process has gone."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(file) as f:
        return sum(int(line.split()[1]) << 10 for line in f if line.startswith(names))
    return 0


def _full(spec):
    """Without a file system of its own the jail's folder is looked through."""
    files = size = 0
    for top, folders, names in os.walk(spec["root"]):
        files += len(folders) + len(names)
        for name in names:
            with contextlib.suppress(OSError):
                size += os.lstat(f"{top}/{name}").st_blocks * 512
        if size > spec["disk"] or files > spec["files_at_most"]:
            return f"wrote more than {spec['disk'] // MB} MB or {spec['files_at_most']} files"
    return ""


def everyone():
    """All processes that /proc shows: in a jail with namespaces, those of the jail."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def descendants(pid):
    """The processes that descend from one."""
    children = {}
    for one in everyone():
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{one}/stat") as f:
            children.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(one)
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def say(alive, line):
    """Write one line on the socket, if somebody still listens."""
    with contextlib.suppress(OSError):
        alive.sendall(line.replace("\n", " ").encode() + b"\n")
