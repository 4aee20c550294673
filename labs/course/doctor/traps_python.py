"""Traps of Python and Jupyter: a version without wheels, packages missing or broken, a kernel of another environment.

Sources: PyTorch, "Release compatibility matrix" and "Get started" (wheels for glibc; macOS on Intel processors ended
with 2.2); jupyter_client, "Kernel specs" (an absolute path in kernel.json is what starts); ipywidgets, "Installation"
(ipywidgets 8 goes with jupyterlab_widgets 3, 7 with 1; the latter belongs into JupyterLab's environment); PEP 540.
"""

from __future__ import annotations

from labs.course.doctor.drivers import major
from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import BLOCKS, COSTS, NOTE, Found, trap

OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 15)
"""That torch 2.13, of the course's lock, has wheels for."""
OLDEST_TORCH = (2, 11)
_MANAGERS = {7: 1, 8: 3}
"""Major version of ipywidgets -> that of jupyterlab_widgets."""
_KERNEL = "`python -m ipykernel install --sys-prefix --name python3` (with this environment's python)"


@trap(
    "old-python", BLOCKS, "A Python too old",
    sign="a SyntaxError or TypeError inside labs, or pip refuses to install the course",
    costs="The course does not run.",
    cure="Install Python 3.11 or newer, then: `make lab PYTHON=python3.11` "
    "(conda: `conda env create -f environment.yml`)",
)  # fmt: skip
def old_python(facts: Facts):
    version = facts.python.version
    if version and version[:2] < OLDEST_PYTHON:
        return f"Python {_dotted(version)}; the course needs {_dotted(OLDEST_PYTHON)} or newer."


@trap(
    "no-wheels", BLOCKS, "No PyTorch for this Python",
    sign='pip: "No matching distribution found for torch"',
    costs="PyTorch cannot be installed, and most lessons need it.",
    cure="A Python that PyTorch has wheels for: 3.11 to 3.15, 64 bit, on Linux with glibc (not Alpine), in WSL, or on "
    "a Mac with an Apple processor; then: `make lab`",
)  # fmt: skip
def no_wheels(facts: Facts):
    python, system = facts.python, facts.system
    if "torch" not in python.missing:
        return None
    if python.bits == 32:
        return "A Python of 32 bit."
    if python.libc == "musl":
        return "A Linux with musl (Alpine); PyTorch's wheels need glibc."
    if system.name == "Darwin" and system.processor == "x86_64":
        if system.translated:
            return Found(
                "A Python for Intel processors, translated on an Apple one.",
                "Install Python for Apple processors (`arch -arm64 brew install python@3.11`), then: `make lab`",
            )
        return "A Mac with an Intel processor: PyTorch ended its wheels for it with version 2.2."
    if python.version[:2] > NEWEST_PYTHON:
        return f"Python {_dotted(python.version)}, which PyTorch may not have wheels for yet."


@trap(
    "packages-missing", BLOCKS, "Packages are missing",
    sign='"ModuleNotFoundError"',
    costs="Lessons that need them stop at their first cell.",
    cure="`pip install -e .` (or: `make lab`)",
)  # fmt: skip
def packages_missing(facts: Facts):
    missing = facts.python.missing
    if missing and not no_wheels(facts):
        return f"Not installed in this environment: {', '.join(missing)}."


@trap(
    "torch-broken", BLOCKS, "PyTorch is there and cannot be imported",
    sign="`import torch` fails, or ends Python",
    costs="Most lessons stop at their first cell.",
    cure="`pip install --force-reinstall torch`",
)  # fmt: skip
def torch_broken(facts: Facts):
    torch = facts.torch
    if "torch" in facts.python.missing:
        return None
    if torch.stalled == "import":
        return "`import torch` was still running after a minute: is the disk slow, or a network's?"
    if torch.import_fault:
        return f"`import torch`: {' '.join(torch.import_fault.split())[:300]}"


@trap(
    "old-torch", BLOCKS, "A PyTorch too old",
    sign="ReduceOp.AVG on gloo gives a sum",
    costs="Real ranks compute wrong averages, and refuse to.",
    cure="`pip install -U 'torch>=2.11'`",
)  # fmt: skip
def old_torch(facts: Facts):
    version = facts.torch.version or facts.python.versions.get("torch", "")
    numbers = version.split("+")[0].split(".")[:2]
    if len(numbers) == 2 and all(n.isdigit() for n in numbers) and tuple(map(int, numbers)) < OLDEST_TORCH:
        return f"torch {version}; the course needs {_dotted(OLDEST_TORCH)} or newer."


@trap(
    "kernel-of-another-python", COSTS, "JupyterLab starts another Python",
    sign='"No module named labs" in a notebook, though the same import works in the terminal',
    costs="Notebooks run in an environment without the course, or with other versions.",
    cure=_KERNEL,
)  # fmt: skip
def kernel_of_another_python(facts: Facts):
    python = facts.python
    if python.kernel and not python.kernel_exists:
        return f'The kernel "python3" starts {python.kernel}, which is gone.'
    if python.kernel and not python.kernel_same:
        return f'The kernel "python3" starts {python.kernel}; this is {python.executable}.'


@trap(
    "server-without-widgets", COSTS, "JupyterLab's environment has no widgets",
    sign='"Error displaying widget: model not found"',
    costs="Sliders and prediction boxes stay empty.",
    cure="Start JupyterLab of this environment: `python -m labs lab`; or in the other one: "
    "`pip install jupyterlab_widgets`",
)  # fmt: skip
def server_without_widgets(facts: Facts):
    if facts.python.server_has_widgets is False:
        return f"The JupyterLab that started this kernel lives in {facts.python.server}, without jupyterlab_widgets."


@trap(
    "widgets-mismatch", COSTS, "Widgets of two generations",
    sign='"Error displaying widget", or a slider that does not move its picture',
    costs="Sliders and prediction boxes do not work.",
    cure="`pip install -U ipywidgets jupyterlab_widgets`, then restart JupyterLab and reload the page",
)  # fmt: skip
def widgets_mismatch(facts: Facts):
    python = facts.python
    widgets, manager = python.versions.get("ipywidgets"), python.versions.get("jupyterlab_widgets")
    wanted = _MANAGERS.get(major(widgets))
    if wanted is None:
        return None
    if manager is None and "ipywidgets" not in python.missing:
        return f"ipywidgets {widgets} without jupyterlab_widgets."
    if manager is not None and major(manager) != wanted:
        return f"ipywidgets {widgets} needs jupyterlab_widgets {wanted}, and here is {manager}."
    if python.own_widgets and not _same_generation(python.own_widgets, widgets):
        hides = f"A widget manager {python.own_widgets} in your own folder hides the one of this environment."
        return Found(hides, "`jupyter labextension uninstall @jupyter-widgets/jupyterlab-manager`")


def _same_generation(manager, widgets):
    """The extension's own version is 5.x for ipywidgets 8, and 1.x to 3.x for ipywidgets 7."""
    return (major(manager) or 0) >= 5 if major(widgets) == 8 else (major(manager) or 0) < 5


@trap(
    "not-utf8", COSTS, "Text files are not UTF-8 here",
    sign="UnicodeDecodeError or UnicodeEncodeError, or strange letters in reports",
    costs="Reading notebooks, and printing µ, ✓ or arrows, can fail.",
    cure="`export PYTHONUTF8=1`, then restart JupyterLab",
)  # fmt: skip
def not_utf8(facts: Facts):
    encoding = facts.python.encoding
    if encoding and encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "cp65001"):
        return f"Python reads and writes text as {encoding}."


@trap(
    "too-many-threads", COSTS, "More threads than cores",
    sign="four ranks are slower than one, all cores at 100 %",
    costs="Ranks take each other's cores away; measurements show that, and not the algorithm.",
    cure="`export OMP_NUM_THREADS=1` (the course's own ranks, and torchrun, do so themselves)",
)  # fmt: skip
def too_many_threads(facts: Facts):
    python, cores = facts.python, facts.system.cores
    if not cores:
        return None
    set_to = int(python.threads) if (python.threads or "").isdigit() else None
    if set_to is None and (python.local_ranks or 1) > 1:
        total = python.local_ranks * cores
        return f"{python.local_ranks} ranks here, OMP_NUM_THREADS is not set: {total} threads on {cores} cores."
    if set_to is not None and set_to > cores:
        return f"OMP_NUM_THREADS={set_to}, and this process may use {cores} core{'s' if cores > 1 else ''}."


@trap(
    "windows", BLOCKS, "Windows itself, not WSL",
    sign='on="gloo" is refused; make is not there',
    costs="Real ranks and C++ cells need Linux or macOS. Virtual ranks and virtual kernels work.",
    cure="In PowerShell: `wsl --install`, restart, open Ubuntu, and there clone the course and start it: `make lab`",
)  # fmt: skip
def windows(facts: Facts):
    return "Python for Windows." if facts.system.name == "Windows" else None


@trap(
    "course-on-windows-drive", COSTS, "The course lies on a Windows drive",
    sign="every start and every build in WSL is slow",
    costs="Files under /mnt/c go through Windows: several times slower, without Unix sockets and with other rights.",
    cure="`cp -r FOLDER ~/warp-to-cluster && cd ~/warp-to-cluster && rm -rf .venv && make lab` (the Explorer "
    "shows it under \\\\wsl$)",
)  # fmt: skip
def course_on_windows_drive(facts: Facts):
    parts = facts.system.checkout.split("/")
    if facts.system.wsl and len(parts) > 2 and parts[1] == "mnt" and len(parts[2]) == 1:
        return f"{facts.system.checkout}, seen from WSL."


@trap(
    "macos", NOTE, "A Mac has no CUDA",
    sign="`torch.cuda.is_available()` is False",
    costs="Nothing that the exercises need: kernels run on the virtual device, real ranks on the CPU with gloo.",
    cure="Nothing to do. To see a real GPU, open the lesson on a machine that has one.",
)  # fmt: skip
def macos(facts: Facts):
    return "macOS; NVIDIA's CUDA ended there with 10.2." if facts.system.name == "Darwin" else None


@trap(
    "one-core", NOTE, "A single core",
    sign="four real ranks are no faster than one",
    costs="Ranks take turns: measurements show no gain from more of them. The virtual ones are not affected.",
    cure="In a container: `docker run --cpus=4 ...`; else take such measurements as what they are",
)  # fmt: skip
def one_core(facts: Facts):
    return "This process may use one core." if facts.system.cores == 1 else None


TRAPS = (
    old_python, no_wheels, packages_missing, torch_broken, old_torch, kernel_of_another_python, server_without_widgets,
    widgets_mismatch, not_utf8, too_many_threads, windows, course_on_windows_drive, macos, one_core,
)  # fmt: skip


def _dotted(version):
    return ".".join(map(str, version))
