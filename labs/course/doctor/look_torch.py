"""Try PyTorch, CUDA and two ranks in a process of its own: each of the three can crash or hang."""

from __future__ import annotations

import json
import sys

from labs.course.doctor.facts import Gpu, Torch
from labs.course.doctor.machine import Machine

LIMIT = 60.0  # s; importing torch from a slow disk takes long, starting CUDA on a big machine too
_START = "import sys; sys.path[:] = {path!r}; from labs.course.doctor.child import main; main({stages!r})"


def look_torch(machine: Machine, *, cuda: bool, ranks: bool) -> tuple[Torch, dict]:
    """PyTorch's version and build, and what it makes of the GPUs.

    Parameters
    ----------
    machine : Machine
    cuda : bool
        Whether to start CUDA: where no device is, there is nothing to start.
    ranks : bool
        Whether two gloo ranks add something up.

    Returns
    -------
    Torch
    dict
        What the ranks reported: "seconds" or "fault".
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and not cuda and not ranks:  # in a notebook; what is imported works
        return Torch(**build_of(loaded), gpus=()), {}
    stages = ("import", *(["cuda"] if cuda else []), *(["ranks"] if ranks else []))
    code = _START.format(path=sys.path, stages=stages)
    answer = machine.command((machine.executable, "-c", code), LIMIT)
    if answer is None:
        return Torch(), {}
    return understood(answer.text, answer.code, cuda=cuda)


def build_of(torch) -> dict:
    """What an imported torch says about itself, as fields of `Torch`."""
    version = torch.version
    return {"version": torch.__version__, "cuda": version.cuda, "hip": getattr(version, "hip", None)}


def understood(text: str, code: int | None, *, cuda: bool = False) -> tuple[Torch, dict]:
    """Facts from what the process of `labs.course.doctor.child` wrote: a line of JSON each time it knew more."""
    known: dict = {}
    for line in text.splitlines():
        try:
            known |= json.loads(line) if line.startswith("{") else {}
        except ValueError:  # the line that it was writing when it ended
            continue
    stage, ended = known.get("stage", ""), known.get("ended", False)
    fault = "" if ended else f"the process ended by itself (exit status {code})" if code is not None else ""
    torch = Torch(
        version=known.get("version", ""),
        cuda=known.get("cuda"),
        hip=known.get("hip"),
        architectures=tuple(known.get("architectures", ())),
        import_fault=known.get("import_fault", fault if stage == "import" else ""),
        cuda_fault=known.get("cuda_fault", fault if stage == "cuda" else ""),
        stalled=stage if code is None and not ended else "",
        gpus=tuple((name, memory) for name, memory in known["gpus"]) if "gpus" in known else None if cuda else (),
    )
    ranks = known.get("ranks") or ({"fault": fault} if stage == "ranks" and fault else {})
    return torch, ranks


def worth_starting(gpu: Gpu, machine: Machine) -> bool:
    """Whether something is here that CUDA (or ROCm: /dev/kfd) could use."""
    return bool(gpu.count or gpu.dxg or machine.exists("/dev/kfd"))
