"""What the tests on a real GPU share: a cache of their own, so that no package has to say where caches lie."""

import os

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """What is built for the comparison with the CPU lies in a temporary folder."""
    before = os.environ.get("LABS_CACHE")
    os.environ["LABS_CACHE"] = before or str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["LABS_CACHE"]
