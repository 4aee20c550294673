"""Gather the facts: every look at the same time, each with a time limit, none able to stop the others."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from threading import Thread

from labs.course.doctor.facts import Facts, Network
from labs.course.doctor.look_compiler import look_compiler
from labs.course.doctor.look_gpu import look_gpu
from labs.course.doctor.look_kernels import look_kernels
from labs.course.doctor.look_network import look_network
from labs.course.doctor.look_storage import look_storage
from labs.course.doctor.look_system import look_python, look_system
from labs.course.doctor.look_torch import look_torch, worth_starting
from labs.course.doctor.machine import Machine, bounded

LIMIT = 12.0  # s for one look: twice nvidia-smi, or two names of a server that does not answer
TORCH_LIMIT = 65.0  # s; a little more than its process gets
LOOKS = {
    "system": look_system,
    "python": look_python,
    "gpu": look_gpu,
    "kernels": look_kernels,
    "compiler": look_compiler,
    "network": look_network,
    "storage": look_storage,
}


def gather(machine: Machine | None = None, *, ranks: bool = False, looks=LOOKS, limit: float = LIMIT) -> Facts:
    """Facts about this machine.

    Parameters
    ----------
    machine : Machine, optional
        This one by default.
    ranks : bool
        Whether to start two real ranks.
    looks : mapping of str to callable
        Field of `Facts` -> function from machine to its value.
    limit : float
        Seconds for each look but the one at torch.

    Returns
    -------
    Facts
        A look that failed or took too long leaves its field unknown, and an entry in ``unknown``.
    """
    machine = machine or Machine()
    waiting = {name: _start(look, machine, limit) for name, look in looks.items()}
    found, unknown = {}, []

    def take(name):
        value, fault = waiting.pop(name).result()
        if fault:
            unknown.append((name, fault))
        else:
            found[name] = value

    if "gpu" in waiting:
        take("gpu")  # whether CUDA is worth starting
    cuda = "gpu" in found and worth_starting(found["gpu"], machine)
    torch, fault = bounded(lambda: look_torch(machine, cuda=cuda, ranks=ranks), TORCH_LIMIT)
    if fault:
        unknown.append(("torch", fault))
    else:
        found["torch"], reported = torch
    for name in list(waiting):
        take(name)
    if torch and reported and "network" in found:
        found["network"] = with_ranks(found["network"], reported)
    return Facts(**found, unknown=tuple(unknown))


def with_ranks(network: Network, reported: dict) -> Network:
    """The facts about the network, with what two ranks reported."""
    return replace(network, ranks_seconds=reported.get("seconds"), ranks_fault=reported.get("fault", ""))


def _start(look, machine, limit):
    """Begin a look in a thread; the result is that of `bounded`."""
    future: Future = Future()
    Thread(target=lambda: future.set_result(bounded(lambda: look(machine), limit)), daemon=True).start()
    return future
