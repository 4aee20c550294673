"""parse_row's check sees a parser that asks the locale, on machines that have one with a decimal comma.

The check itself works anywhere: strtod and its kin are known by the hexadecimal numbers that they read. A parser that
filters those first is found only where such a locale is installed, so this test builds one in a folder of its own.
"""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labs.kit.native import NativeError, binding

HERE = Path(__file__).parent
WRONG = runpy.run_path(str(HERE / "wrong_answers.py"))
FILTERED = WRONG["STRTOD"].replace(
    "        char* end;",
    '        if (fields[k].find_first_not_of("+-.eE0123456789") != std::string::npos)\n'
    '            throw std::invalid_argument("field " + std::to_string(k + 1));\n        char* end;',
)
PROGRAM = """
import sys
from labs.cpp_data_formats import exercises
from labs.kit.native.magic import run_cell

answer = run_cell("parse_row", sys.stdin.read())["parse_row"]
exercise = exercises.parse_row
outcomes = exercise.examine(lambda inputs: exercise.run((answer,), inputs))
print([outcome.wrong.hint for outcome in outcomes if not outcome.passed])
print(next(outcome.output["locale"] for outcome in outcomes if outcome.case.inputs["comma"]) or "none")
"""


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """A folder with a German locale, for LOCPATH."""
    try:
        binding.prepare()
    except NativeError as missing:
        pytest.skip(f"C++ answers cannot be checked: {missing}")
    program = shutil.which("localedef")
    if not program:
        pytest.skip("no localedef on this machine, so no locale with a decimal comma can be built")
    folder = tmp_path_factory.mktemp("locales")
    command = [program, "-i", "de_DE", "-f", "UTF-8", "--no-archive", str(folder / "de_DE.UTF-8")]
    done = subprocess.run(command, capture_output=True, text=True)
    if not (folder / "de_DE.UTF-8").exists():
        pytest.skip(f"a German locale cannot be built here: {done.stderr.strip()[:200]}")
    return folder


def hints(text, folder):
    environment = os.environ | {"LOCPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=text, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_parser_that_asks_the_locale_is_found(german):
    assert hints(FILTERED, german) == ["['locale_dependent']", "de_DE.UTF-8"]


def test_from_chars_does_not_ask(german):
    assert hints(WRONG["PARSE"], german) == ["[]", "de_DE.UTF-8"]


def test_elsewhere_the_hexadecimal_number_tells(german):
    found, locale = hints(WRONG["STRTOD"], german.parent / "nowhere")
    assert found == "['strtod']" and locale == "none"
