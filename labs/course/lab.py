"""Start JupyterLab at the welcome notebook, with settings that suit a learner and none of the user's own changed.

The settings stand in the folder jupyterlab/ beside this file, which JupyterLab reads as its application settings: they
are defaults that a user's own settings override. No question about news, no look for updates, a line number before
each line (reports say "line 7 of your cell"), saving every 30 s, and of nbgrader only the Validate button: its pages
for instructors need a course folder of their own (`python -m labs nbgrader`) and complain where there is none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SETTINGS = Path(__file__).parent / "jupyterlab"
WELCOME = "notebooks/00_welcome.ipynb"
LEFT_OUT = {f"nbgrader.server_extensions.{page}": False for page in ("assignment_list", "course_list", "formgrader")}


def lab_command(root, arguments=(), *, administrator=None):
    """Return the command that starts JupyterLab.

    Parameters
    ----------
    root : path-like
        Folder of the course; what JupyterLab's file browser can see.
    arguments : sequence of str
        Further arguments of JupyterLab; where one sets the same option as the course does, it replaces that.
    administrator : bool, optional
        Whether this user is root, which JupyterLab refuses unless told; found out by default.

    Returns
    -------
    list of str
    """
    root = Path(root).resolve()
    if administrator is None:
        administrator = hasattr(os, "geteuid") and os.geteuid() == 0
    given = {argument.partition("=")[0] for argument in arguments}
    own = [
        f"--ServerApp.root_dir={root}",
        f"--LabApp.app_settings_dir={SETTINGS}",
        f"--ServerApp.jpserver_extensions={LEFT_OUT}",
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if (root / WELCOME).exists():
        own.append(f"--LabApp.default_url=/lab/tree/{WELCOME}")
    if administrator:
        own.append("--allow-root")
    # JupyterLab refuses an option that is given twice.
    kept = [option for option in own if option.partition("=")[0] not in given]
    return [sys.executable, "-m", "jupyterlab", *kept, *arguments]


def start(root, arguments=()):
    """Start JupyterLab in place of this process; without a port among the arguments it takes a free one.

    Parameters
    ----------
    root, arguments
        As for `lab_command`.

    Returns
    -------
    int
        Exit status, on systems where a process cannot be replaced.
    """
    command = lab_command(root, arguments)
    if os.name == "posix":
        sys.stdout.flush()
        os.execv(command[0], command)  # Ctrl-C and signals then reach JupyterLab itself
    return subprocess.call(command)
