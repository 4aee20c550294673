"""The extension is built once for all tests of this lesson; where that is impossible, they say why they are skipped."""

import pytest


@pytest.fixture(scope="session")
def readers_built():
    from labs.cpp_data_formats import extension
    from labs.kit.native.failures import NativeError

    try:
        return extension.native()
    except (NativeError, ImportError) as problem:
        pytest.skip(f"the readers cannot be built here: {problem}")
