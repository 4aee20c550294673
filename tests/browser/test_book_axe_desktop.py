"""The book by axe's rules on a desktop: every page, in the light and in the dark theme."""

import os
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
check = runpy.run_path(str(Path(__file__).with_name("axe.py")))["check"]  # test folders are no packages


def test_no_page_breaks_a_rule_at_1280_px(reader, site):
    assert check(reader, site, 1280, soak=os.environ.get("LABS_SOAK") == "1") == ""
