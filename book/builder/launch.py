"""Where a lesson can be run: on the reader's machine, and, when the book knows its repository, in the browser.

The one value is `repository: url` in book/_config.yml, or the environment variable LABS_REPOSITORY, which a workflow
that publishes the book sets to its own repository. While it is empty the book offers JupyterLab only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

# Colab opens one file without the course beside it, so it gets the lessons of the branch `colab`, each with one cell in
# front that brings the course (`python -m labs publish --colab`). Binder installs environment.yml and has everything.
COLAB = "https://colab.research.google.com/github/{project}/blob/colab/{name}.ipynb"
BINDER = "https://mybinder.org/v2/gh/{project}/{branch}?urlpath=lab/tree/notebooks/{name}.ipynb"
ADDRESS = re.compile(r"^https://github\.com/([^/\s]+/[^/\s]+?)(?:\.git)?/?$")


@dataclass(frozen=True)
class Repository:
    """The public repository from which Colab and Binder take the notebooks.

    Attributes
    ----------
    project : str
        ``OWNER/NAME`` on GitHub.
    branch : str
        Branch or tag.
    """

    project: str
    branch: str = "main"

    def colab(self, name: str) -> str:
        """Address that opens a lesson (name of its notebook without ending) in Google Colab."""
        return COLAB.format(project=self.project, name=name)

    def binder(self, name: str) -> str:
        """Address that opens a lesson on mybinder.org."""
        return BINDER.format(project=self.project, branch=quote(self.branch, safe=""), name=name)


def repository(url: str, branch: str = "main") -> Repository | None:
    """Read the configured address.

    Parameters
    ----------
    url : str
        ``https://github.com/OWNER/NAME``, or empty.
    branch : str
        Branch or tag.

    Returns
    -------
    Repository or None
        None when the address is empty.

    Raises
    ------
    SystemExit
        When it is not the address of a repository on GitHub, the only host that Colab opens notebooks from.
    """
    url = (url or "").strip()
    if not url:
        return None
    match = ADDRESS.match(url)
    if not match:
        raise SystemExit(
            f"The repository's address {url!r} (book/_config.yml, repository: url, or LABS_REPOSITORY) is not of the "
            "form https://github.com/OWNER/NAME. Correct it, or leave it empty to offer JupyterLab only."
        )
    return Repository(match[1], branch or "main")


def run_box(name: str, public: Repository | None) -> str:
    """The box "Run this lesson" at the top of a lesson's page, as MyST Markdown.

    Parameters
    ----------
    name : str
        Name of the notebook without its ending.
    public : Repository or None

    Returns
    -------
    str
    """
    here = f"**On your machine:** `make lab` in the course's folder, then open `notebooks/{name}.ipynb`."
    online = ""
    if public is not None:
        online = (
            f"\n\n**In the browser:** [Open in Colab]({public.colab(name)}){{.run-button}} (needs a Google account) "
            f"[Open on Binder]({public.binder(name)}){{.run-button}} (starts in some minutes; keeps nothing)"
        )
    return (
        ":::{admonition} Run this lesson\n:class: run-lesson\n\n"
        "This page shows a finished run, with the answers folded. To write your own, open the notebook.\n\n"
        f"{here}{online}\n:::"
    )
