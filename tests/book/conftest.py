"""The book's builder is a package beside book/build.py, which runs as a script; tests import it the same way."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))


@pytest.fixture(scope="session")
def root():
    """Folder of the course."""
    return ROOT


@pytest.fixture(scope="session")
def entries(root):
    """The course's lessons as the book sees them."""
    from builder.outline import outline

    return outline(root)
