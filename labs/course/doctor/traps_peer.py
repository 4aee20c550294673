"""Traps of GPUs that talk to each other: an IOMMU in between, and a way around that was left in place.

Sources: NVIDIA, NCCL User Guide, "GPU troubleshooting", PCI Access Control Services (an IOMMU can send peer traffic
through the CPU's root complex: slow, or a hang; ACSCtl with SrcValid+ shows it) and "Environment Variables"
(NCCL_P2P_DISABLE, NCCL_P2P_LEVEL: LOC, NVL, PIX, PXB, PHB, SYS); issues NVIDIA/nccl 199 and 257 and NVIDIA/nccl-tests
117 (hangs, GPUs at 100 %). The price is that of the course's reference machine: `labs.kit.hardware.reference_machine`.
"""

from __future__ import annotations

from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import COSTS, Found, trap

PRICE = (
    "Copies then cross the host's memory. On the course's reference machine (two RTX A5000 with NVLink) that is 21 "
    "instead of 53 GB/s in one direction, 29 instead of 102 GB/s in both at once, and 12.7 instead of 1.4 µs for the "
    "smallest copy. Without NVLink you lose less: peer traffic shares the PCIe bus anyway. Measure yours with and "
    "without."
)


@trap(
    "p2p-behind-iommu", COSTS, "Peer copies behind an IOMMU",
    sign='the first collective with on="nccl" never ends, GPUs stand at 100 % and move no data',
    costs="Direct copies between GPUs may hang or crawl. It is that when a run with `NCCL_DEBUG=INFO` stops after "
    "lines with \"via P2P\", NCCL_P2P_DISABLE=1 makes it go on, and `sudo lspci -vvv | grep ACSCtl` shows SrcValid+.",
    cure="Way around: `NCCL_P2P_DISABLE=1 python -m labs lab`. For good: switch the IOMMU (VT-d, AMD-Vi) or ACS off in "
    "the BIOS; not on a machine that lends its GPUs to virtual machines, which need both.",
    price=PRICE,
)  # fmt: skip
def p2p_behind_iommu(facts: Facts):
    gpu = facts.gpu
    off = gpu.p2p_disable == "1" or (gpu.p2p_level or "").upper() in ("LOC", "NVL", "0")
    iommu = gpu.iommus and not any(f"iommu={word}" in gpu.kernel_options for word in ("off", "soft"))
    apart = [relation for relation in gpu.relations if not relation.startswith("NV")]
    if gpu.count < 2 or off or not iommu or gpu.peer_access is False or not (apart or not gpu.relations):
        return None
    ways = ", ".join(sorted(set(apart))) or "unknown"
    text = f"{gpu.count} GPUs, some of them without NVLink between them ({ways}), and an IOMMU ({gpu.iommus[0]})."
    if any(relation.startswith("NV") for relation in gpu.relations):
        cure = "`NCCL_P2P_LEVEL=NVL python -m labs lab` keeps NVLink and goes around the rest. "
        return Found(text, cure + p2p_behind_iommu.cure)
    return text


@trap(
    "p2p-switched-off", COSTS, "NVLink there, and switched off",
    sign="NCCL is slower than the wires",
    costs="Copies between GPUs cross the host's memory. " + PRICE.split(". ", 1)[1].split(" Without")[0],
    cure="`unset NCCL_P2P_DISABLE NCCL_P2P_LEVEL`, and look for the lines that set them in ~/.bashrc, ~/.nccl.conf and "
    "/etc/nccl.conf",
)  # fmt: skip
def p2p_switched_off(facts: Facts):
    gpu = facts.gpu
    off = gpu.p2p_disable == "1" or (gpu.p2p_level or "").upper() in ("LOC", "0")
    if off and any(relation.startswith("NV") for relation in gpu.relations):
        name = "NCCL_P2P_DISABLE" if gpu.p2p_disable == "1" else "NCCL_P2P_LEVEL"
        return f"{name}={gpu.p2p_disable if gpu.p2p_disable == '1' else gpu.p2p_level}, and NVLink between GPUs."


TRAPS = (p2p_behind_iommu, p2p_switched_off)
