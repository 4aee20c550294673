"""The doctor says what is missing and what that costs, and never fails."""

import builtins
import shutil
import sys
import types

import pytest

from labs.course import checkup, doctor


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for torch without GPUs, so that the tests do not depend on this machine."""
    fake = types.SimpleNamespace(
        cuda=types.SimpleNamespace(is_available=lambda: False, device_count=lambda: 0, get_device_properties=None)
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(checkup, "_version", lambda name: "2.13.0+cpu")
    monkeypatch.setattr(checkup, "_has_module", lambda name: True)
    return fake


def test_one_line_says_that_all_is_here(torch):
    found = doctor()
    assert found.ready
    assert str(found).startswith("Everything you need is here: Python 3.")
    assert "torch 2.13, " in str(found) and str(found).endswith("no GPU: virtual devices are used.")
    assert "\n" not in str(found)


def test_the_details_are_folded_and_escaped(torch, monkeypatch):
    monkeypatch.setattr(checkup, "_version", lambda name: "<b>1.0")
    page = doctor()._repr_html_()
    assert page.index("<p>") < page.index("<details>") and "<b>" not in page
    assert "numpy" in doctor().verbose() and "numpy" not in str(doctor())


def test_a_missing_package_that_is_needed_is_named(torch, monkeypatch):
    monkeypatch.setattr(checkup, "_has_module", lambda name: name != "greenlet")
    found = doctor()
    assert not found.ready
    assert str(found).startswith("Missing: greenlet.") and "pip install -e ." in str(found)


def test_missing_options_cost_what_is_said_and_nothing_else(torch, monkeypatch):
    needed = set(checkup.NEEDED)
    monkeypatch.setattr(checkup, "_has_module", lambda name: name in needed)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = doctor()
    assert found.ready
    details = dict(found.details)
    assert details["numba-cuda"].startswith("not here: kernels run on the virtual device")
    assert details["C++ compiler"].startswith("not here: ") and "apt-get install g++" in details["C++ compiler"]
    assert details["CMake"].startswith(("not here: CMake", "here: "))  # one beside Python needs no PATH
    assert all(details[item.name].startswith("not here: ") for item in checkup.OPTIONAL)


def test_each_library_for_cplusplus_is_here_or_costs_what_is_said(torch, monkeypatch, tmp_path):
    from labs.kit.native import libraries, parts

    (tmp_path / "nlohmann").mkdir()
    (tmp_path / "nlohmann/json.hpp").touch()
    monkeypatch.setattr(libraries, "SYSTEM", (str(tmp_path),))
    monkeypatch.setattr(libraries, "SHIPPED", ())
    monkeypatch.setattr(libraries, "eigen", lambda: None)
    details = dict(doctor().details)
    assert details["nlohmann_json"] == f"here: {tmp_path}"
    assert details["Eigen"].startswith("not here: C++ cells cannot use Eigen's matrices. To get it: pip install")
    without = "lesson 21's own reader of HDF5 is not built"
    assert details["HDF5"] == f"not here: {without}. To get it: apt install libhdf5-dev zlib1g-dev"
    assert {part.name for part in parts.PARTS} <= set(details)


@pytest.mark.parametrize("error", [ImportError("no torch"), OSError("broken binary")])
def test_a_torch_that_cannot_be_imported_is_named(monkeypatch, error):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name == "torch":
            raise error
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    found = doctor()
    assert not found.ready and "torch" in str(found)
    assert str(error) in dict(found.details)["torch"]


def test_gpus_are_counted_by_name(torch):
    gpu = types.SimpleNamespace(name="RTX A5000", total_memory=24e9)
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 2, get_device_properties=lambda index: gpu
    )
    found = doctor()
    assert str(found).endswith("2 x RTX A5000.")
    assert dict(found.details)["GPUs"] == "0: RTX A5000, 24 GB; 1: RTX A5000, 24 GB"


def test_a_driver_that_does_not_fit_is_no_failure(torch):
    def broken():
        raise RuntimeError("driver too old")

    torch.cuda = types.SimpleNamespace(is_available=broken)
    found = doctor()
    assert found.ready and "virtual devices" in str(found)
    assert "driver too old" in dict(found.details)["GPUs"]


def test_a_module_in_a_missing_package_is_just_not_there():
    assert not checkup._has_module("no_such_package.inside")
    assert checkup._has_module("json.decoder")
