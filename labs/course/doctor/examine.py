"""Look at this machine and say what it offers the course: `doctor`."""

from __future__ import annotations

from labs.course.doctor.finding import amount
from labs.course.doctor.gather import gather
from labs.course.doctor.inventory import NEEDED, OPTIONAL
from labs.course.doctor.machine import Machine
from labs.course.doctor.report import Checkup, verdict
from labs.course.doctor.traps import diagnose


def doctor(*, ranks=False, machine=None):
    """Look at this machine: what the lessons need, what is there besides, and which known traps have closed.

    Parameters
    ----------
    ranks : bool
        Whether to let two real ranks add something up, which takes as long as importing torch.
    machine : labs.course.doctor.machine.Machine, optional
        Another machine, for tests.

    Returns
    -------
    Checkup
        Its last expression in a cell shows one line, with the details folded. Nothing here fails or hangs.
    """
    machine = machine or Machine()
    return checkup(gather(machine, ranks=ranks), machine)


def checkup(facts, machine):
    """Return the `Checkup` of a machine with these facts."""
    findings = diagnose(facts)
    short, long = gpus(facts)
    line, ready = verdict(findings, _have(facts), f"{short}." if short else "no GPU: virtual devices are used.")
    return Checkup(line, ready, tuple(_details(facts, machine, long)), findings)


def _have(facts):
    have = [f"Python {'.'.join(map(str, facts.python.version[:2]))}"] if facts.python.version else []
    torch = facts.torch.version or facts.python.versions.get("torch", "")
    if torch:
        have.append(f"torch {'.'.join(torch.split('+')[0].split('.')[:2])}")
    if cores := facts.system.cores:
        have.append(f"{cores} CPU core{'s' if cores != 1 else ''}")
    if memory := facts.storage.memory:
        have.append(f"{memory / 1e9:.0f} GB")
    return have


def gpus(facts):
    """The GPUs that PyTorch can use in a few words (or ""), and in detail."""
    found, fault = facts.torch.gpus, facts.torch.cuda_fault
    if not found:
        if facts.torch.import_fault:
            return "", "unknown, because torch cannot be imported"
        said = f"torch cannot use them ({fault})" if fault else "none that torch can use"
        return "", f"{said}: virtual devices are used"
    names = [name for name, _ in found]
    short = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
    return short, "; ".join(f"{index}: {name}, {memory / 1e9:.0f} GB" for index, (name, memory) in enumerate(found))


def _details(facts, machine, gpu_detail):
    python, system, storage, network = facts.python, facts.system, facts.storage, facts.network
    where = " in WSL" if system.wsl else " in a container" if system.container else ""
    yield "Python", f"{'.'.join(map(str, python.version))}, {python.executable}"
    yield "System", f"{system.name} {system.processor}{where}"
    yield "CPU cores", str(system.cores or "unknown")
    yield "Memory", amount(storage.memory)
    yield "GPUs", gpu_detail
    if facts.gpu.driver:
        yield "NVIDIA driver", f"{facts.gpu.driver}, for CUDA up to {facts.gpu.cuda or 'unknown'}.x"
    for name in NEEDED.values():
        known = python.versions.get(name, "of unknown version")
        yield name, "missing: needed" if name in python.missing else known
    if facts.torch.cuda:
        yield "torch's CUDA", facts.torch.cuda
    for item in OPTIONAL:
        here = machine.module(item.module) if item.module else machine.which(item.program) is not None
        yield item.name, "here" if here else f"not here: {item.without}. To get it: {item.install}"
    yield from _cplusplus(facts.compiler)
    if network.loopback_fault is not None:
        yield "Connection with itself", network.loopback_fault or "works"
    if network.ranks_seconds is not None:
        yield "Two gloo ranks", f"added 1 and 1, {network.ranks_seconds:.1f} s with their start"
    if storage.shared is not None:
        yield "/dev/shm", amount(storage.shared)
    for folder in storage.folders:
        yield f"Disk for {folder.name}", f"{amount(folder.free)} free"
    for name, fault in facts.unknown:
        yield f"Not looked at: {name}", fault


def _cplusplus(compiler):
    """A compiler, what joins C++ and Python, CMake, and each optional library."""
    from labs.kit.native.parts import PARTS

    for name, fault, there in (
        ("C++ compiler", compiler.compiler_fault, compiler.version),
        ("nanobind", compiler.nanobind_fault, ""),
        ("Python.h", compiler.headers_fault, ""),
        ("CMake", compiler.cmake_fault, ""),
    ):
        yield name, f"not here: {fault}" if fault else f"here: {there}" if there else "here"
    for part in PARTS:
        folder = compiler.parts.get(part.name, "")
        yield part.name, f"here: {folder}" if folder else f"not here: {part.without}. To get it: {part.install}"
