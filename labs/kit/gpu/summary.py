"""A program with kernels as plain data, for exercises: what came out, what it cost, or how it failed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from labs.kit.gpu.choice import is_virtual
from labs.kit.gpu.profiling import profile

_HAZARDS = ("race", "race_between_blocks", "uninitialised", "unsynchronised")


def undecorated(answer: Callable) -> bool:
    """Whether an answer is a plain function where a kernel was asked for: ``@cuda.jit`` is missing.

    Raises
    ------
    NotImplementedError
        When that function is not written yet, which is what a learner should hear first.
    """
    if hasattr(answer, "py_func"):
        return False
    if "NotImplementedError" in answer.__code__.co_names:
        raise NotImplementedError
    return True


def outcome(
    program: Callable,
    *args: Any,
    hazards: str = "fail",
    topology=None,
    seconds: float = 20.0,
    warps_take_turns: bool = False,
) -> dict:
    """Run a program that launches kernels, and return plain data that can cross to another process.

    Parameters
    ----------
    program : callable
        Launches kernels; ``program(*args)``. A configured kernel, ``kernel[grid, block]``, is one, too.
    *args
        Its arguments. Arrays are handed over as copies, so that cases stay what they are.
    hazards : {"fail", "report"}
        Whether a race, or a value read too early, counts as a failure; "report" leaves them in ``findings``.
    topology : labs.kit.hardware.Topology, optional
        Virtual devices to run on; two RTX A5000 when left out.
    seconds : float
        Real time after which a launch in a loop is ended.
    warps_take_turns : bool
        As for `profile`.

    Returns
    -------
    dict
        ``result`` (what the program returned; device arrays as NumPy arrays), ``args`` (the arrays handed over, as they
        are afterwards), ``virtual`` (bool), ``launches`` (list of `Launch` as dicts), ``copies``, ``findings`` and
        ``seconds`` (of virtual time from start to end; None on a real device). After a failure only ``failure``: a dict
        with at least ``kind``, ``text``, ``exception``, ``message`` and ``places``, as `labs.kit.exercise.completed`
        takes it, and ``virtual``. Kinds: "race", "uninitialised", "unsynchronised", "out_of_bounds", "misaligned",
        "divergent_barrier", "division_by_zero", "time_limit", "type", "launch", "unsupported", "error".

    Raises
    ------
    NotImplementedError
        From an answer that is not solved yet.
    Exception
        Whatever the program raises outside kernels.
    """
    if hazards not in ("fail", "report"):
        raise ValueError(f'hazards is "fail" or "report", not {hazards!r}')
    args = tuple(arg.copy(order="K") if isinstance(arg, np.ndarray) else arg for arg in args)
    if not is_virtual():
        _refuse_stubs(program, args)
        with profile() as seen:
            result = plain(program(*args))
        return _summary(seen, result, args, None)
    from labs.kit.virtual.cuda import KernelFailure, Limits, virtual_machine

    with contextlib.ExitStack() as stack:
        here = stack.enter_context(virtual_machine(topology, limits=Limits(seconds=seconds)))
        seen = stack.enter_context(profile(warps_take_turns=warps_take_turns))
        try:
            result = plain(program(*args))
        except KernelFailure as failure:
            return {"failure": failure.as_data(), "virtual": True}
        for device in here.devices:
            device.synchronize()
        if hazards == "fail":
            for finding in seen.findings:
                if finding.kind in _HAZARDS:
                    return {"failure": _hazard(finding), "virtual": True}
        return _summary(seen, result, args, here.now)


def _summary(seen, result, args, seconds) -> dict:
    data = seen.as_data()
    return {
        "result": result,
        "args": [plain(arg) for arg in args if isinstance(arg, np.ndarray)],
        "virtual": seen.virtual,
        "launches": data["launches"],
        "copies": data["copies"],
        "findings": [_listed(asdict(finding)) for finding in seen.findings],
        "seconds": seconds,
    }


def _hazard(finding) -> dict:
    """A finding in the form of a failure."""
    from labs.kit.virtual.cuda.failures import Race, Uninitialised, Unsynchronised

    race = finding.kind.startswith("race")
    form = Race if race else Uninitialised if finding.kind == Uninitialised.kind else Unsynchronised
    places = [one.place for one in (finding.first, finding.second) if one is not None]
    data = _listed(asdict(finding)) | form(finding.text).as_data()
    return data | {"places": places or [finding.place], "between_blocks": finding.kind == "race_between_blocks"}


def plain(value: Any) -> Any:
    """Return `value` with every device array in it, at any depth of tuples, lists and dicts, as a NumPy array."""
    if hasattr(value, "copy_to_host"):
        return value.copy_to_host()
    if isinstance(value, np.ndarray):
        return np.array(value.view(np.ndarray))
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _refuse_stubs(program, args):
    """A real device ignores ``raise`` in a kernel, so what is not solved yet is looked for in its code."""
    candidates = [program, getattr(program, "dispatcher", None), *args]
    candidates += [cell.cell_contents for cell in getattr(program, "__closure__", None) or ()]
    for candidate in candidates:
        code = getattr(getattr(candidate, "py_func", None), "__code__", None)
        if code is not None and "NotImplementedError" in code.co_names:
            raise NotImplementedError


def _listed(value):
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, (tuple, list)) else value
