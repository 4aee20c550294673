"""Traps of memory, limits and disks, most of them in containers.

Sources: Docker, "docker run" (``--shm-size``, 64 MB by default; ``--ipc=host``; ``--memory``; ``--ulimit``); NVIDIA,
NCCL User Guide, "Troubleshooting", shared memory; PyTorch, README, "Docker image" (worker processes of a DataLoader
share memory); DeepSpeed's ds_report, which asks for 512 MB.
"""

from __future__ import annotations

from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import BLOCKS, COSTS, NOTE, Found, amount, trap

SMALL_SHARED = 512e6  # B
FEW_FILES = 256  # what macOS gives to a terminal, and enough for 64 real ranks
LITTLE_MEMORY = 3.5e9  # B
LITTLE_DISK = 1e9  # B; the built C++ of all lessons, and room to work
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "lustre", "afs", "ceph", "gpfs", "beegfs", "glusterfs")
_ELSEWHERE = "`export LABS_STATE=/path/on/a/local/disk/state LABS_CACHE=/path/on/a/local/disk/cache`"


@trap(
    "small-shm", COSTS, "/dev/shm is too small",
    sign='"Bus error" in a DataLoader with workers; NCCL: "No space left on device", or a crash at its start',
    costs='on="nccl" and DataLoader workers fail as soon as they share more than that. Virtual ranks, gloo and C++ '
    "cells do not use it.",
    cure="`docker run --shm-size=2g ...` (or `--ipc=host`); compose: `shm_size: 2gb`; without a container: "
    "`sudo mount -o remount,size=2G /dev/shm`",
    price="What is in /dev/shm takes memory, only as much as is used.",
)  # fmt: skip
def small_shm(facts: Facts):
    size = facts.storage.shared
    if size is not None and size < SMALL_SHARED:
        default = ", Docker's default" if size == 64 * 2**20 else ""
        text = f"/dev/shm has {size >> 20} MiB{default}."
        return Found(text, severity="" if facts.gpu.count else NOTE)  # no lesson needs more of it without a GPU


@trap(
    "shm-unwritable", COSTS, "Nothing can be written to /dev/shm",
    sign='"OSError: Function not implemented", or "Permission denied", from multiprocessing',
    costs='on="nccl", DataLoader workers and multiprocessing fail.',
    cure="`sudo mount -t tmpfs -o size=2G,mode=1777 tmpfs /dev/shm`",
)  # fmt: skip
def shm_unwritable(facts: Facts):
    fault = facts.storage.shared_fault
    return f"Writing to /dev/shm failed: {fault}." if fault else None


@trap(
    "few-open-files", COSTS, "A low limit for open files",
    sign='"OSError: [Errno 24] Too many open files"',
    costs="Runs with many real ranks fail, and so may JupyterLab with many notebooks open.",
    cure="`ulimit -n 4096; python -m labs lab` (in a container: `docker run --ulimit nofile=4096 ...`)",
)  # fmt: skip
def few_open_files(facts: Facts):
    limit = facts.storage.open_files
    if limit is not None and limit < FEW_FILES:
        return f"ulimit -n is {limit}; a run on real ranks keeps three files open for each of them."


@trap(
    "little-memory", COSTS, "Little memory",
    sign='"Killed", or a kernel that "has died"',
    costs="Every notebook and every real rank with torch takes a few hundred MB; the system ends what asks for more.",
    cure="One notebook at a time (JupyterLab: Running, shut down the others). In a container: `docker run --memory=8g "
    "...`; Docker Desktop: Settings, Resources; WSL: memory=8GB in .wslconfig",
)  # fmt: skip
def little_memory(facts: Facts):
    memory = facts.storage.memory
    if memory is not None and memory < LITTLE_MEMORY:
        by = ", the limit of this container" if facts.storage.memory_limited else ""
        return f"{amount(memory)} for this process{by}."


@trap(
    "disk-full", COSTS, "A disk that is nearly full",
    sign='"No space left on device"',
    costs="Progress is not remembered, C++ is not built, notebooks are not saved.",
    cure="Make room (`pip cache purge` is a beginning), or: " + _ELSEWHERE,
)  # fmt: skip
def disk_full(facts: Facts):
    full = [folder for folder in facts.storage.folders if folder.free is not None and folder.free < LITTLE_DISK]
    return "; ".join(f"{amount(f.free)} free for {f.name} ({f.path})" for f in full) + "." if full else None


@trap(
    "folder-unwritable", COSTS, "A folder that cannot be written to",
    sign="points are gone after a restart, or C++ is built again each time, or not at all",
    costs="What belongs there is lost: your progress, built C++, or temporary files.",
    cure=_ELSEWHERE + ", or `export TMPDIR=/path/on/a/local/disk/tmp` (folders that you own)",
)  # fmt: skip
def folder_unwritable(facts: Facts):
    wrong = [folder for folder in facts.storage.folders if folder.write_fault]
    return "; ".join(f"{f.name}, {f.path} ({f.variable}): {f.write_fault}" for f in wrong) + "." if wrong else None


@trap(
    "folder-on-network", NOTE, "A home folder on the network",
    sign="a check takes seconds, or points of one of two open notebooks are missing",
    costs="Locks over a network are slow, or not kept, and building C++ there is slow.",
    cure=_ELSEWHERE,
    price="Progress then stays on this machine.",
)  # fmt: skip
def folder_on_network(facts: Facts):
    remote = [folder for folder in facts.storage.folders if folder.filesystem in NETWORK]
    return "; ".join(f"{f.name} in {f.path} ({f.filesystem})" for f in remote) + "." if remote else None


@trap(
    "no-libraries-from-there", COSTS, "A cache from which no library may be loaded",
    sign='"failed to map segment from shared object"',
    costs="C++ cells are built and cannot be loaded.",
    cure="`export LABS_CACHE=/path/on/a/disk/mounted/without/noexec`",
)  # fmt: skip
def no_libraries_from_there(facts: Facts):
    wrong = [f for f in facts.storage.folders if f.variable == "LABS_CACHE" and not f.executable]
    return f"{wrong[0].path} lies on a file system mounted with noexec." if wrong else None


@trap(
    "read-only-course", BLOCKS, "The course lies in a folder that you cannot write to",
    sign='JupyterLab: "Save failed", or a padlock beside the notebook\'s name',
    costs="Your answers cannot be saved.",
    cure="Copy it and start the copy: `cp -r FOLDER ~/warp-to-cluster && cd ~/warp-to-cluster && rm -rf .venv && "
    "make lab`",
)  # fmt: skip
def read_only_course(facts: Facts):
    system = facts.system
    return f"{system.checkout}/notebooks is read-only for you." if system.checkout_writable is False else None


TRAPS = (
    small_shm, shm_unwritable, few_open_files, little_memory, disk_full, folder_unwritable, folder_on_network,
    no_libraries_from_there, read_only_course,
)  # fmt: skip
