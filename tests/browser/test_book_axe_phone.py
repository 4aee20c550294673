"""The book by axe's rules on a phone: every page; its dark colours are those of the desktop, unless LABS_SOAK=1."""

import os
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
check = runpy.run_path(str(Path(__file__).with_name("axe.py")))["check"]  # test folders are no packages


def test_no_page_breaks_a_rule_at_390_px(reader, site):
    assert check(reader, site, 390, dark=False, soak=os.environ.get("LABS_SOAK") == "1") == ""
