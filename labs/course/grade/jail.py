"""Put a process into a jail on Linux, as root or as an ordinary user; or, on request, only under limits.

Three processes make a jail::

    monitor (outside; watches memory, ends the jail)
      init (pid 1 inside; reaps)
        kernel (no rights, limits; the learner's code)

A jail ends as a whole: when init is killed, its pid namespace dies with it. Only then does the monitor end, so whoever
holds the other end of its socket and reads the end of file knows that nothing is left.

What the monitor says on its socket, a line each: ``init PID``, then ``ready`` or ``failed REASON``; after the one byte
``c`` from outside, ``closed``; ``lost REASON`` when the jail ends by itself or for a limit (see `watch`). It ends the
jail when the other end of the socket is closed.

Uses only the standard library.
"""

import contextlib
import ctypes
import os
import platform
import resource
import signal
import sys
import tempfile

from . import landlock, syscalls, watch  # relative: inside the sandbox these modules lie in another package
from .watch import say

LINUX = sys.platform == "linux"
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE, DETACH = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18, 2
NOATIME, RELATIME = 1024, 1 << 21
PDEATHSIG, CHILD_SUBREAPER, NO_NEW_PRIVS = 1, 36, 38
FOLDER, SOCKETS = "/home/learner", "/ipc"  # inside a jail


def enter(spec, alive, start):
    """Turn the calling process into the monitor of a new jail; never returns.

    Parameters
    ----------
    spec : dict
        Plain data: ``isolate`` (bool), ``uid`` (to become; 0 to stay who one is), ``root`` (an empty folder to mount
        on; without isolation the folder to work in), ``read_only`` (paths to show), ``covers`` (path -> folder shown
        in its place, or None for nothing), ``files`` (path -> text), ``env``, ``limits`` (name of RLIMIT -> number),
        ``disk``, ``memory`` (bytes of the whole jail), ``files_at_most``, ``processes``, ``refuse`` (whether system
        calls are refused, see `syscalls`), ``keep_to`` (None, or what may be read without namespaces, see `landlock`).
    alive : socket.socket
        Connected; what happens on it is told above.
    start : callable
        ``start(spec)`` runs inside, as the learner.
    """
    try:
        os.setsid()
        (_isolated if spec["isolate"] else _plain)(spec, alive, start)
    except OSError as error:
        say(alive, f"failed {error}")
    finally:
        os._exit(1)


# ---- with namespaces ---------------------------------------------------------------------------------------------
def _isolated(spec, alive, start):
    user, uid, gid = os.geteuid() != 0, os.geteuid(), os.getegid()
    flags = NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET | (NEWUSER if user else 0)
    try:
        _call("unshare", flags)
    except OSError as error:
        raise OSError(error.errno, f"this system does not allow namespaces ({error.strerror})") from None
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
    if init := os.fork():
        say(alive, f"init {init}")

        def close_sockets():
            # The grader is connected. From here on nobody can put a link to a socket of the host in place of the
            # kernel's (zmq connects again by path, as the grader's user, even with RECONNECT_IVL = -1).
            mount(None, SOCKETS, None, REMOUNT | RDONLY | NOSUID | NODEV)

        # The monitor has moved into the new root with init, so its /proc is the jail's.
        watch.watch(init, alive, spec, end=lambda: os.kill(init, signal.SIGKILL), connected=close_sockets,
                    members=watch.everyone)  # fmt: skip
        os._exit(0)
    _call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _build_root(spec)
    except OSError as error:
        say(alive, f"failed the sandbox's file system could not be built ({error})")
        os._exit(1)
    say(alive, "ready")
    alive.close()
    if kernel := os.fork():
        os.closerange(3, 1024)
        while (ended := os.wait())[0] != kernel:
            pass
        os._exit(watch.status(ended[1]))
    _become_learner(spec, FOLDER, start)


def _build_root(spec):
    """A new root: listed folders read-only, everything else absent; what is written lives in bounded memory."""
    mount("none", "/", None, REC | PRIVATE)
    new = spec["root"]
    mount("tmpfs", new, "tmpfs", NOSUID, f"size={spec['disk']},nr_inodes={spec['files_at_most']},mode=755")
    # Parents first: a folder that is covered may itself hold one that is shown (a checkout with its .venv).
    shown = {path: path for path in spec["read_only"]} | spec["covers"]
    for path in sorted(shown, key=lambda p: (p.count("/"), p)):
        _show(shown[path], path, new)
    os.makedirs(new + "/dev", exist_ok=True)
    for name in ("null", "zero", "full", "random", "urandom"):
        open(f"{new}/dev/{name}", "w").close()
        mount(f"/dev/{name}", f"{new}/dev/{name}", None, BIND)
    for folder in ("/proc", "/old"):
        os.mkdir(new + folder)
    mount("proc", new + "/proc", "proc", NOSUID | NODEV)
    for folder, mode in (("/tmp", 0o1777), ("/dev/shm", 0o1777), (FOLDER, 0o777), (SOCKETS, 0o777)):
        os.makedirs(new + folder, exist_ok=True)
        if folder == SOCKETS:  # a file system of its own, so that it can be closed for writing
            mount("tmpfs", new + folder, "tmpfs", NOSUID | NODEV, "size=64k,nr_inodes=32")
        os.chmod(new + folder, mode)
    for path, text in spec["files"].items():
        _write(new + path, text)
    _call("pivot_root", new.encode(), (new + "/old").encode())
    os.chdir("/")
    _call("umount2", b"/old", DETACH)
    os.rmdir("/old")


def _show(source, path, new):
    target = new + path
    if source is None:
        os.makedirs(target, exist_ok=True)
        mount("tmpfs", target, "tmpfs", NOSUID | NODEV, "size=64k,mode=755")
        return
    if os.path.islink(source):  # /bin -> usr/bin
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        _write(target, "")
    mount(source, target, None, BIND)
    try:
        mount(None, target, None, REMOUNT | BIND | RDONLY | NOSUID)
    except OSError:  # in a user namespace, flags that were set must stay set
        have = os.statvfs(target).f_flag
        keep = sum(flag for flag in (NODEV, NOEXEC, NOATIME) if have & flag) | (RELATIME if have & 4096 else 0)
        mount(None, target, None, REMOUNT | BIND | RDONLY | NOSUID | keep)


# ---- without namespaces --------------------------------------------------------------------------------------------
def _plain(spec, alive, start):
    """Limits, an own user and Landlock where possible; else the learner's code can read what that user can read."""
    if LINUX:  # orphans come to the monitor, which ends them too
        _call("prctl", CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = spec["root"]
    for name in ("ipc", "home", "tmp"):
        os.makedirs(f"{folder}/{name}", mode=0o700, exist_ok=True)
        if spec["uid"]:
            os.chown(f"{folder}/{name}", spec["uid"], -1)
    if os.geteuid() == 0:
        os.chmod(folder, 0o711)
    for path, text in spec["files"].items():
        _write(folder + path, text)
    child = os.fork()
    if not child:
        alive.close()
        os.setpgid(0, 0)
        _become_learner(spec, folder + "/home", start)
    say(alive, f"init {child}")
    say(alive, "ready")

    def end():
        for victim, kill in [(child, os.killpg)] + [(pid, os.kill) for pid in members()]:
            with contextlib.suppress(OSError):
                kill(victim, signal.SIGKILL)

    def members():
        return watch.descendants(os.getpid()) if LINUX else []

    watch.watch(child, alive, spec, end=end, connected=lambda: None, members=members)
    while True:  # a killed parent hands its children to us: until none is left
        end()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(0)


# ---- both ----------------------------------------------------------------------------------------------------------
def _become_learner(spec, folder, start):
    for name, number in spec["limits"].items():
        which = getattr(resource, "RLIMIT_" + name, None)
        if which is not None:
            hard = resource.getrlimit(which)[1]
            number = number if hard == resource.RLIM_INFINITY else min(number, hard)
            with contextlib.suppress(ValueError, OSError):  # macOS refuses some
                resource.setrlimit(which, (number, number))
    if spec["uid"]:
        os.setgroups([])
        os.setresgid(spec["uid"], spec["uid"], spec["uid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    elif LINUX:  # a fork does not exec, so the namespace's capabilities must be dropped here
        header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        _call("capset", header, none)
    if LINUX:
        _call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    temporary = "/tmp" if spec["isolate"] else spec["root"] + "/tmp"
    os.environ.clear()
    os.environ.update(spec["env"], HOME=folder, TMPDIR=temporary, USER="learner", LOGNAME="learner",
                      IPYTHONDIR=folder + "/.ipython", MPLCONFIGDIR=temporary)  # fmt: skip
    tempfile.tempdir = None  # what the warm server found out about itself does not hold here
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, 1024)
    if spec["keep_to"] is not None:
        own = [spec["root"], "/dev/null", "/dev/zero", "/dev/full"]
        landlock.keep_to(["/proc/self", *spec["keep_to"]["readable"]], own, spec["keep_to"]["listable"])
    if spec["refuse"]:
        syscalls.refuse(network=spec["isolate"])
    try:
        start(spec)
    finally:
        os._exit(0)


def process_limit_is_ours():
    """Whether RLIMIT_NPROC counts only this jail's processes (since Linux 5.14 each user namespace counts its own)."""
    if os.geteuid() == 0:
        return True
    try:
        return LINUX and tuple(int(n) for n in platform.release().split(".")[:2]) >= (5, 14)
    except ValueError:
        return False


def mount(source, target, kind=None, flags=0, data=None):
    """mount(2), with an OSError that says what failed."""
    encoded = [text.encode() if text else None for text in (source, target, kind, data)]
    _call("mount", *encoded[:3], ctypes.c_ulong(flags), encoded[3])


def _call(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", str(args[1]) if name == "mount" else None)


def _write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o644)
