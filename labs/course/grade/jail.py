"""Put a process into a jail on Linux, as root or as an ordinary user; or, on request, only under limits.

Three processes make a jail::

    monitor (outside; watches memory, ends the jail)
      init (pid 1 inside; reaps)
        kernel (no rights, limits; the learner's code)

A jail ends as a whole: when init is killed, its pid namespace dies with it. Only then does the monitor end, so whoever
holds the other end of its socket and reads the end of file knows that nothing is left.

What the monitor says on its socket, a line each: ``init PID``, then ``ready`` or ``failed REASON``; after the one byte
``c`` from outside, ``closed``; possibly ``lost REASON``. It ends the jail when the other end of the socket is closed.

Uses only the standard library.
"""

import contextlib
import ctypes
import os
import platform
import resource
import select
import signal
import sys

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
        Plain data: ``isolate`` (bool), ``uid`` (taken when root), ``root`` (an empty folder to mount on; without
        isolation the folder to work in), ``read_only`` (paths to show), ``covers`` (path -> folder shown in its
        place, or None for nothing), ``files`` (path -> text), ``env``, ``limits`` (name of RLIMIT -> number),
        ``disk``, ``memory`` (bytes of the whole jail), ``processes``.
    alive : socket.socket
        Connected; what happens on it is told above.
    start : callable
        ``start(spec)`` runs inside, as the learner.
    """
    try:
        os.setsid()
        (_isolated if spec["isolate"] else _plain)(spec, alive, start)
    except OSError as error:
        _say(alive, f"failed {error}")
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
        _say(alive, f"init {init}")
        _watch(init, alive, spec, lambda: os.kill(init, signal.SIGKILL))
        os._exit(0)
    _call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _build_root(spec)
    except OSError as error:
        _say(alive, f"failed the sandbox's file system could not be built ({error})")
        os._exit(1)
    _say(alive, "ready")
    alive.close()
    if kernel := os.fork():
        os.closerange(3, 1024)
        while os.wait()[0] != kernel:
            pass
        os._exit(0)
    _become_learner(spec, FOLDER, start)


def _build_root(spec):
    """A new root: listed folders read-only, everything else absent; what is written lives in bounded memory."""
    mount("none", "/", None, REC | PRIVATE)
    new = spec["root"]
    mount("tmpfs", new, "tmpfs", NOSUID, f"size={spec['disk']},nr_inodes=20000,mode=755")
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
    """Limits and an own user where possible. The learner's code can read what that user can read."""
    if LINUX:  # orphans come to the monitor, which ends them too
        _call("prctl", CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = spec["root"]
    if os.geteuid() == 0:
        os.chmod(folder, 0o755)
    for name in ("ipc", "home", "tmp"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        os.chmod(f"{folder}/{name}", 0o777)
    for path, text in spec["files"].items():
        _write(folder + path, text)
    child = os.fork()
    if not child:
        alive.close()
        os.setpgid(0, 0)
        _become_learner(spec, folder + "/home", start)
    _say(alive, f"init {child}")
    _say(alive, "ready")

    def end():
        for victim, kill in [(child, os.killpg)] + [(pid, os.kill) for pid in _children()]:
            with contextlib.suppress(OSError):
                kill(victim, signal.SIGKILL)

    _watch(child, alive, spec, end)
    while True:  # a killed parent hands its children to us: until none is left
        end()
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(0)


def _children():
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as f:
            return [int(pid) for pid in f.read().split()]
    except OSError:
        return []


# ---- both ----------------------------------------------------------------------------------------------------------
def _become_learner(spec, folder, start):
    for name, number in spec["limits"].items():
        which = getattr(resource, "RLIMIT_" + name, None)
        if which is not None:
            hard = resource.getrlimit(which)[1]
            number = number if hard == resource.RLIM_INFINITY else min(number, hard)
            with contextlib.suppress(ValueError, OSError):  # macOS refuses some
                resource.setrlimit(which, (number, number))
    if os.geteuid() == 0 and spec["uid"]:
        os.setgroups([])
        os.setresgid(spec["uid"], spec["uid"], spec["uid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    elif LINUX and os.geteuid() != 0:  # a fork does not exec, so the namespace's capabilities must be dropped here
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
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, 1024)
    try:
        start(spec)
    finally:
        os._exit(0)


def _watch(init, alive, spec, end):
    """Until init has ended: obey the socket, and count what the whole jail holds."""
    try:
        gone = os.pidfd_open(init)
    except (OSError, AttributeError):
        gone = None
    connected = False
    while True:
        ready = select.select([alive] + [gone] * (gone is not None), [], [], 0.1)[0]
        if os.waitpid(init, os.WNOHANG)[0]:
            return
        if alive in ready:
            try:
                word = alive.recv(1)
            except OSError:
                word = b""
            if not word:
                break
            # The grader is connected. From here on nobody can put a link to a socket of the host in place of the
            # kernel's (zmq connects again by path, as the grader's user, even with RECONNECT_IVL = -1).
            if spec["isolate"]:
                mount(None, SOCKETS, None, REMOUNT | RDONLY | NOSUID | NODEV)
            _say(alive, "closed")
            connected = True
        elif connected and spec["isolate"] and (why := _excess(spec)):
            _say(alive, f"lost {why}")
            break
    end()
    os.waitpid(init, 0)


def _excess(spec):
    """The monitor has moved into the new root with init, so its /proc is the jail's."""
    held, count, page = 0, 0, resource.getpagesize()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/statm") as f:
            resident, shared = f.read().split()[1:3]
            held += (int(resident) - int(shared)) * page
            count += 1
    if held > spec["memory"]:
        return f"it used more than {spec['memory'] >> 20} MB of memory"
    if count > spec["processes"] + 2:
        return f"it started more than {spec['processes']} processes"
    return ""


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


def _say(alive, line):
    with contextlib.suppress(OSError):
        alive.sendall(line.replace("\n", " ").encode() + b"\n")
