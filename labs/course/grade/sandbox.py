"""Where kernels come from: a warm server, and jails as good as this system allows."""

import contextlib
import functools
import os
import shutil
import site
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from labs.course.grade import compiled, jail, landlock, library, syscalls
from labs.course.grade.fault import NoSandbox
from labs.course.grade.kernel import Kernel, KernelLost, KernelSlow

MB = 1 << 20
MEMORY, LEAST_MEMORY = 4096 * MB, 1024 * MB
"""Most memory of one jail (bytes) when nothing else is said; also the address space of one process in it. A kernel
with PyTorch maps 0.6 GB, so that with less than `LEAST_MEMORY` nothing could be graded."""
LIMITS = {"CPU": 900, "FSIZE": 64 * MB, "NPROC": 64, "NOFILE": 512, "CORE": 0}
PROCESSES, DISK, FILES = LIMITS["NPROC"], 512 * MB, 20_000
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives")
SEEN = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/random", "/dev/urandom")
"""What may be read besides `SYSTEM` where there are no namespaces; with them a jail has its own."""
FIRST_UID, UIDS = 61000, 4000
"""As root, jails run as users from here on, a user each; two graders at the same time take different ones."""


@dataclass(frozen=True)
class Sandbox:
    """Where kernels come from.

    Attributes
    ----------
    address : str
        Socket of the warm server.
    library : str
        Folder with the sandbox's copy of the course.
    isolate : bool
        Whether kernels run in namespaces of their own.
    isolation : str
        The same in words, for the result.
    hide : tuple of str
        Folders that must not be seen inside, whatever else is shown.
    confine : bool
        Whether, without namespaces, Landlock keeps a kernel to the files that it may see.
    own_user : bool
        Whether, started by root, a kernel runs as a user without rights.
    first_uid : int
        The number of that user; those that follow are for kernels that run at the same time.
    memory : int
        Bytes of one jail.
    """

    address: str
    library: str
    isolate: bool
    isolation: str
    hide: tuple = ()
    confine: bool = False
    own_user: bool = True
    first_uid: int = FIRST_UID
    memory: int = MEMORY

    def connect(self):
        """Return a new connection to the warm server, for one kernel."""
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(self.address)
        except OSError:
            s.close()
            raise KernelLost("the server that starts kernels has gone") from None
        return s

    def spec(self, slot=0):
        """Everything that a jail needs to know, as plain data (see `jail.enter`)."""
        packages = [path for path in dict.fromkeys([*sys.path, *site.getsitepackages()]) if _holds_packages(path)]
        system = [path for path in SYSTEM if os.path.exists(path)]
        base = Path(os.path.realpath(sys.executable)).parent.parent
        bytecode = os.environ.get("PYTHONPYCACHEPREFIX")
        shown = dict.fromkeys([*system, sys.prefix, str(base), sys.base_prefix, *packages, self.library])
        shown |= dict.fromkeys(str(folder) for folder in [compiled.support()] if folder)
        if bytecode and os.path.isdir(bytecode):
            shown[bytecode] = None
        read_only = [path for path in shown if path != "/"]
        covers = self._covers(read_only)
        root = os.geteuid() == 0
        limits = LIMITS | {"AS": self.memory}
        if not (jail.process_limit_is_ours() if self.isolate else root and self.own_user):
            del limits["NPROC"]  # it would count what else this user runs
        return {
            "isolate": self.isolate,
            "uid": self.first_uid + slot if root and self.own_user else 0,
            "read_only": read_only,
            "covers": covers,
            "keep_to": _readable([*read_only, *SEEN], covers) if self.confine else None,
            "refuse": syscalls.available(),
            "files": {},
            "env": environment(self.library),
            "limits": limits,
            "disk": DISK,
            "files_at_most": FILES,
            "memory": self.memory,
            "processes": PROCESSES,
        }

    def _covers(self, read_only):
        covers = {}
        for folder in self.hide:
            if any(_inside(folder, shown) for shown in read_only) and folder not in read_only:
                covers[folder] = None
        installed = str(library.package_folder("labs"))  # not an editable installation: it lies among the packages
        if any(_inside(installed, shown) for shown in read_only) and not any(_inside(installed, c) for c in covers):
            covers[installed] = self.library + "/labs"
        return covers


def environment(folder):
    """Environment of the warm server and of every kernel: nothing of ours but the paths of Python."""
    packages = [path for path in sys.path if _holds_packages(path)]
    env = {
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "MPLBACKEND": "agg",
        "MPLCONFIGDIR": os.path.dirname(folder),  # of the server; a kernel gets one of its own
        "PYTHONPATH": os.pathsep.join([folder, *packages]), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        # Verdicts rest on virtual ranks; real ones need processes and sockets that are not to be had inside.
        "LABS_REAL_RANKS": "off",
    }  # fmt: skip
    if folder := compiled.support():
        env["LABS_CACHE_READ"] = str(folder.parent)
    return env | {k: os.environ[k] for k in ("PYTHONPYCACHEPREFIX",) if k in os.environ}


@contextlib.contextmanager
def sandbox(packages=("labs",), hide=(), isolate=None, *, memory=MEMORY):
    """Start a warm server; a context manager that yields a `Sandbox`.

    Parameters
    ----------
    packages : sequence of str
        Packages whose sub-packages are lessons.
    hide : sequence of path-like
        Folders that must not be seen inside.
    isolate : bool, optional
        False runs answers as plain child processes. By default namespaces are used where the system allows them, and
        `Sandbox.isolation` says in words when it does not.
    memory : int
        Bytes that one jail may use, at least `LEAST_MEMORY`.

    Raises
    ------
    NoSandbox
        When no kernel starts, with the reason; or when `memory` is too little to start one.
    """
    if memory < LEAST_MEMORY:
        raise NoSandbox(
            f"{memory / MB:.0f} MB are too little to start a kernel: allow {LEAST_MEMORY >> 30} GB or more."
        )
    folder = tempfile.mkdtemp(prefix="labs-grade-")
    os.chmod(folder, 0o755)
    process = None
    try:
        (inside := Path(folder, "library")).mkdir()
        library.build(inside, packages)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(folder + "/warm")
            os.chmod(folder + "/warm", 0o600)
            server.listen(16)
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "labs_sandbox.warm", str(server.fileno())],
                pass_fds=[server.fileno()], cwd="/", stdin=subprocess.DEVNULL, env=environment(str(inside)),
            )  # fmt: skip
        hidden = tuple(str(Path(path).resolve()) for path in hide)
        yield _choose(folder + "/warm", str(inside), hidden, isolate, int(memory))
    finally:
        if process:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _choose(address, inside, hide, isolate, memory=MEMORY):
    """Try the better sandbox first; say why when it is not to be had."""
    made = functools.partial(
        Sandbox, address, inside, hide=hide, memory=memory, first_uid=FIRST_UID + os.getpid() % UIDS
    )
    why = "this was asked for"
    if isolate is None or isolate:
        why = f"namespaces exist only on Linux, and this is {sys.platform}"
        if jail.LINUX and not (why := _fault(found := made(isolate=True, isolation="isolated"))):
            return found
        if isolate:
            raise NoSandbox(f"The sandbox cannot be built: {why}")
    fault = ""
    for own_user in (True, False) if os.geteuid() == 0 else (True,):
        for confine in (True, False) if landlock.version() else (False,):
            text = _told(why, own_user, confine)
            if not (fault := _fault(found := made(isolate=False, isolation=text, confine=confine, own_user=own_user))):
                return found
    raise NoSandbox(f"No kernel can be started here: {fault}")


def _fault(sandbox):
    """Why no kernel starts in it; empty when one does."""
    try:
        Kernel(sandbox).kill()
    except KernelSlow as error:  # a busy machine must not cost the isolation
        raise NoSandbox(f"{error}. Is this machine very busy? Try again.") from None
    except KernelLost as error:
        return str(error)
    return ""


def _told(why, own_user, confine):
    """What a sandbox without namespaces promises, and what it does not."""
    root, version = os.geteuid() == 0, landlock.version() if confine else 0
    user = ", and as root, since no other user may read this Python" if root and not own_user else ""
    might = [] if version else ["read files of this machine"]
    if not syscalls.available():
        might.append("use its network")
    might.append("talk to programs that listen on socket files")
    if version < 6 and not (root and own_user):
        might.append("end programs of this user")
    kept = "; the system kept them from files that are not theirs" if version else ""
    kept += (" and from the network" if kept else "; the system kept them from the network") * syscalls.available()
    could = " and ".join([", ".join(might[:-1])] * (len(might) > 1) + might[-1:])
    return (
        f"not isolated: {why}. The answers ran as plain child processes with limits on time, memory, processes and"
        f" files{user}{kept}. They could {could}."
    )


def _readable(shown, covers):
    """What Landlock shall let be read: what is shown without what is covered in it."""
    readable, listable = [], []

    def add(path):
        if path in covers or os.path.realpath(path) in covers:
            return
        if not any(_inside(covered, path) for covered in covers):
            readable.append(path)
            return
        listable.append(path)
        for entry in os.scandir(path):
            add(entry.path)

    for path in shown:
        add(path)
    return {"readable": readable, "listable": listable}


def _holds_packages(path):
    return os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path)


def _inside(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")
