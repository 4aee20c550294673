"""The examples in docstrings are true, and importing the room is cheap."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import labs.kit.hardware as hardware


def test_examples_in_docstrings():
    names = [info.name for info in pkgutil.walk_packages(hardware.__path__, hardware.__name__ + ".")]
    results = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(result.attempted for result in results) >= 5
    assert sum(result.failed for result in results) == 0


def test_import_loads_numpy_and_nothing_else_that_is_big():
    code = "import sys, labs.kit.hardware; print({'torch', 'matplotlib', 'scipy', 'IPython'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
