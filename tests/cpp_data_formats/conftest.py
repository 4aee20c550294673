"""The extension is built once for all tests of this lesson; where that is impossible, they say why they are skipped.

So do the tests of readers for which this build lacks a library.
"""

import pytest


@pytest.fixture(scope="session")
def readers_built():
    from labs.cpp_data_formats import extension
    from labs.kit.native.failures import NativeError

    try:
        return extension.native()
    except (NativeError, ImportError) as problem:
        pytest.skip(f"the readers cannot be built here: {problem}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    from labs.cpp_data_formats.errors import MissingPart

    try:
        return (yield)
    except MissingPart as missing:
        pytest.skip(str(missing))
