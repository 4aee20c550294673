"""All traps that the doctor knows, and what has closed of them: `TRAPS`, `diagnose`."""

from __future__ import annotations

from labs.course.doctor import (
    traps_compiler,
    traps_gpu,
    traps_kernels,
    traps_network,
    traps_peer,
    traps_python,
    traps_storage,
)
from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import SEVERITIES, Finding, Trap

CHAPTERS: tuple[tuple[str, tuple[Trap, ...]], ...] = (
    ("Python and Jupyter", traps_python.TRAPS),
    ("Ranks and the network", traps_network.TRAPS),
    ("Memory, limits and disks", traps_storage.TRAPS),
    ("C++", traps_compiler.TRAPS),
    ("A GPU and its driver", traps_gpu.TRAPS),
    ("CuPy and Numba", traps_kernels.TRAPS),
    ("Several GPUs", traps_peer.TRAPS),
)
TRAPS = tuple(trap for _, traps in CHAPTERS for trap in traps)


def diagnose(facts: Facts) -> tuple[Finding, ...]:
    """All findings on a machine with these facts, the gravest first."""
    findings = [finding for trap in TRAPS if (finding := trap(facts))]
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))
