"""What the doctor says: one line, findings in words, folded details; on this machine no false alarm."""

import io
import shutil
import sys
import sysconfig
import types
from dataclasses import replace
from pathlib import Path

import pytest

from labs.course import command, doctor
from labs.course.doctor import Facts, Machine, checkup, examine, gather
from labs.course.doctor.facts import Compiler, Gpu, Network, Python, Storage, System, Torch
from labs.course.doctor.finding import NOTE
from labs.course.doctor.inventory import NEEDED, OPTIONAL
from labs.kit.native.parts import PARTS

FACTS = Facts(
    system=System("Linux", "x86_64", cores=2),
    python=Python(version=(3, 11, 7), versions=dict.fromkeys(NEEDED.values(), "1.0") | {"torch": "2.13.0+cpu"}),
    torch=Torch("2.13.0+cpu", gpus=()),
    compiler=Compiler("g++ 12"),
    storage=Storage(memory=25_300_000_000),
)
SMALL = replace(FACTS, storage=replace(FACTS.storage, shared=64 << 20), gpu=Gpu(device_files=1))
EMPTY = Machine(module=lambda name: False, environ={"PATH": ""})


def said(facts, machine=EMPTY):
    found = checkup(facts, machine)
    return found, dict(found.details)


def test_one_line_says_that_all_is_here():
    found, _ = said(FACTS)
    assert found.ready and not found.findings
    here = "Everything you need is here: Python 3.11, torch 2.13, 2 CPU cores, 25 GB; no GPU: virtual devices are used."
    assert str(found) == repr(found) == found.text() == here


def test_the_details_are_folded_and_escaped():
    facts = replace(FACTS, python=replace(FACTS.python, versions={"numpy": "<b>1.0"}, missing=("greenlet",)))
    page = said(facts)[0]._repr_html_()
    assert (
        page.index("<p>")
        < page.index("<details>")
        < page.index("Packages are missing</strong>")
        < page.index("<table>")
    )
    assert "<b>" not in page and "&lt;b&gt;1.0" in page


def test_a_missing_package_that_is_needed_is_named():
    found, details = said(replace(FACTS, python=replace(FACTS.python, missing=("greenlet",))))
    assert not found.ready and "greenlet" in str(found) and "pip install -e ." in str(found)
    assert details["greenlet"] == "missing: needed"


def test_missing_options_cost_what_is_said_and_nothing_else():
    found, details = said(FACTS)
    assert found.ready and details["numba-cuda"].startswith("not here: kernels run on the virtual device")
    assert all(details[item.name].startswith("not here: ") for item in OPTIONAL)


def test_each_library_for_cplusplus_is_here_or_costs_what_is_said():
    compiler = Compiler(compiler_fault="no compiler. sudo apt-get install g++", parts={"nlohmann_json": "/usr/include"})
    found, details = said(replace(FACTS, compiler=compiler))
    assert details["C++ compiler"] == "not here: no compiler. sudo apt-get install g++" and found.ready
    assert details["nlohmann_json"] == "here: /usr/include"
    without = "lesson 21's own reader of HDF5 is not built"
    assert details["HDF5"] == f"not here: {without}. To get it: apt install libhdf5-dev zlib1g-dev"
    assert {part.name for part in PARTS} <= set(details)


def test_gpus_are_counted_by_name():
    found, details = said(replace(FACTS, torch=Torch("2.13.0", "13.0", gpus=(("RTX A5000", 24 * 10**9),) * 2)))
    assert str(found).endswith("2 x RTX A5000.")
    assert details["GPUs"] == "0: RTX A5000, 24 GB; 1: RTX A5000, 24 GB"


def test_a_driver_that_does_not_fit_is_no_failure():
    found, details = said(replace(FACTS, torch=Torch("2.13.0", "13.0", gpus=(), cuda_fault="driver too old")))
    assert found.ready and "virtual devices" in str(found) and "driver too old" in details["GPUs"]


def test_a_finding_that_costs_something_stands_in_the_line_and_a_note_does_not():
    costly, _ = said(SMALL)
    assert costly.ready and str(costly).endswith(
        "But: /dev/shm is too small; PyTorch without CUDA beside a GPU (python -m labs doctor tells what to do)."
    )
    noted, _ = said(replace(FACTS, network=Network(host="laptop", host_addresses=())))
    assert [f.severity for f in noted.findings] == [NOTE] and "But" not in str(noted)
    assert noted.text().endswith("1 more worth knowing: python -m labs doctor --verbose")
    assert "'laptop' has no address" in noted.verbose() and "'laptop'" not in noted.text()


def test_a_finding_is_told_with_cost_cure_and_price_within_the_width():
    text = said(SMALL)[0].text(width=90)
    for heading in (
        "! costs: /dev/shm is too small",
        "  Found  ",
        "  Costs  ",
        "  Do     `docker run --shm-size=2g ...`",
        "  Price  ",
    ):
        assert heading in text
    assert all(len(line) <= 90 for line in text.splitlines()[1:])


def test_a_command_is_never_broken_in_the_terminal_and_is_code_in_a_notebook():
    command = "`docker run --shm-size=2g ...`"
    found = said(SMALL)[0]
    for width in (30, 41, 52, 63):
        assert command in found.text(width=width)
    assert f"<code>{command.strip('`')}</code>" in found._repr_html_()


def test_what_blocks_comes_first_with_its_cure():
    facts = replace(FACTS, network=Network(loopback_fault="refused"), python=replace(FACTS.python, missing=("torch",)))
    found, _ = said(facts)
    assert (
        not found.ready
        and str(found).startswith("Not ready. Packages are missing: ")
        and str(found).endswith("And 1 more.")
    )


def test_what_could_not_be_looked_at_is_said():
    found, details = said(replace(FACTS, unknown=(("network", "no answer within 12 s"),)))
    assert found.ready and details["Not looked at: network"] == "no answer within 12 s"


def test_nothing_known_is_still_a_report():
    found, _ = said(Facts())
    assert found.ready and found.verbose() and found._repr_html_()


@pytest.fixture(scope="module")
def here():
    """Facts about this very machine, with two real ranks."""
    return gather(ranks=True)


def test_this_machine_draws_no_false_alarm(here):
    found = checkup(here, Machine())
    headers = Path(sysconfig.get_path("include"), "Python.h").exists()
    true = {
        name
        for name, absent in {"no-compiler": not shutil.which("c++"), "no-python-headers": not headers}.items()
        if absent
    }
    alarms = [f for f in found.findings if f.severity != NOTE and f.name not in true]
    assert not alarms, found.verbose()
    assert not here.unknown and found.ready


def test_two_real_ranks_have_met_here(here):
    assert here.network.ranks_seconds > 0 and here.network.ranks_fault == ""
    assert here.torch.version.startswith("2.") and here.torch.import_fault == ""


def test_in_a_notebook_an_imported_torch_is_not_imported_again(monkeypatch):
    version = types.SimpleNamespace(cuda=None, hip=None)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.99.0+cpu", version=version))
    never = Machine(command=lambda command, limit=0: None, module=lambda name: True)  # no program can be started
    assert "torch 2.99" in str(doctor(machine=never))


def test_the_command_prints_the_report_and_fails_when_something_blocks(monkeypatch, capsys):
    asked = []
    facts = replace(FACTS, python=replace(FACTS.python, missing=("greenlet",)))
    monkeypatch.setattr(examine, "gather", lambda machine, ranks: asked.append(ranks) or facts)
    assert command.main(["doctor"]) == 1
    assert "✗ blocks: Packages are missing" in capsys.readouterr().out
    assert command.main(["doctor", "--verbose"]) == 1 and asked == [False, True]
    assert "CPU cores" in capsys.readouterr().out


def test_a_terminal_without_utf8_hears_of_it(monkeypatch):
    written = io.BytesIO()
    facts = replace(FACTS, python=replace(FACTS.python, encoding="ANSI_X3.4-1968"))
    monkeypatch.setattr(examine, "gather", lambda machine, ranks: facts)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    assert command.main(["doctor", "--verbose"]) == 0
    assert b"! costs: Text files are not UTF-8 here" in written.getvalue()
