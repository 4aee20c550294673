"""A cache of compiled code for the tests, and `bind`, which builds a cell and gives its functions."""

import types

import pytest

from labs.kit.native import NativeError, binding
from labs.kit.native.magic import run_cell


@pytest.fixture(scope="session")
def shared_parts():
    """What all cells share; without a compiler the tests that need it are skipped with the reason."""
    try:
        return binding.prepare()
    except NativeError as error:
        pytest.skip(f"no C++ here: {error}")


@pytest.fixture
def bind(shared_parts):
    """bind("%%cpp line", text) -> a namespace with the functions of the cell."""
    return lambda line, text: types.SimpleNamespace(**run_cell(line, text))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache of this test's own."""
    monkeypatch.setenv("LABS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
