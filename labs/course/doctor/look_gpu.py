"""Look for NVIDIA's GPUs without CUDA: device files, the PCI bus, the driver, nvidia-smi."""

from __future__ import annotations

import re

from labs.course.doctor.facts import Gpu
from labs.course.doctor.machine import Machine

QUERY = ("nvidia-smi", "--query-gpu=name,driver_version,compute_cap,uuid", "--format=csv,noheader")
_WSL_SMI = "/usr/lib/wsl/lib/nvidia-smi"
_LINUX_LIBRARIES = ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1")


def look_gpu(machine: Machine) -> Gpu:
    """All that can be seen from outside."""
    state, text = _smi(machine, QUERY)
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if state == "fine"]
    rows = [row for row in rows if len(row) == 4]
    environ = machine.environ
    wsl = "microsoft" in machine.text("/proc/sys/kernel/osrelease").lower()
    wsl_library = machine.exists("/usr/lib/wsl/lib/libcuda.so.1")
    return Gpu(
        on_bus=_on_bus(machine),
        device_files=sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in machine.names("/dev")),
        driver=_driver(machine) or (rows[0][1] if rows else ""),
        smi=state,
        smi_text=text.strip(),
        names=tuple(row[0] for row in rows),
        capabilities=tuple(_capability(row[2]) for row in rows if _capability(row[2])),
        ids=tuple(row[3] for row in rows),
        visible=environ.get("CUDA_VISIBLE_DEVICES"),
        relations=_relations(machine) if len(rows) > 1 else (),
        peer_access=_peer_access(machine) if len(rows) > 1 else None,
        iommus=machine.names("/sys/class/iommu"),
        kernel_options=" ".join(word for word in machine.text("/proc/cmdline").split() if "iommu" in word),
        p2p_disable=environ.get("NCCL_P2P_DISABLE"),
        p2p_level=environ.get("NCCL_P2P_LEVEL"),
        dxg=machine.exists("/dev/dxg"),
        wsl_library=wsl_library,
        linux_library_in_wsl=wsl and wsl_library and any(map(machine.exists, _LINUX_LIBRARIES)),
    )


def _smi(machine, command):
    """State of nvidia-smi and its text. Its exit status differs between releases, so the words decide."""
    answer = machine.command(command)
    if answer is None and machine.exists(_WSL_SMI):
        answer = machine.command((str(machine.path(_WSL_SMI)), *command[1:]))
    if answer is None:
        return "absent", ""
    if answer.code is None:
        return "silent", answer.text
    if "version mismatch" in answer.text:
        return "mismatch", answer.text
    return ("fine" if answer.code == 0 and "No devices" not in answer.text else "failed"), answer.text


def _on_bus(machine):
    """Graphics devices (class 0x03) of NVIDIA (vendor 0x10de)."""
    devices = "/sys/bus/pci/devices"
    return sum(
        machine.text(f"{devices}/{name}/vendor").strip() == "0x10de"
        and machine.text(f"{devices}/{name}/class").startswith("0x03")
        for name in machine.names(devices)
    )


def _driver(machine):
    """Version of the driver in the kernel: the number after "Kernel Module", whatever words stand between."""
    found = re.search(r"Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\s", machine.text("/proc/driver/nvidia/version"))
    return found[1] if found else machine.text("/sys/module/nvidia/version").strip()


def _capability(text):
    found = re.fullmatch(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _peer_access(machine):
    """Whether a row of the matrix that nvidia-smi topo -p2p r prints says OK for any other GPU."""
    state, text = _smi(machine, ("nvidia-smi", "topo", "-p2p", "r"))
    rows = [line.split()[1:] for line in text.splitlines() if re.match(r"\s*GPU\d+\s+(?!GPU)", line)]
    return any("OK" in row for row in rows) if state == "fine" and rows else None


def _relations(machine):
    from labs.kit.hardware.smi import TopoFormatError, parse_topo_matrix

    state, text = _smi(machine, ("nvidia-smi", "topo", "-m"))
    if state != "fine":
        return ()
    try:
        matrix = parse_topo_matrix(text)
    except TopoFormatError:
        return ()
    gpus = matrix.gpus
    return tuple(matrix.relation(a, b) for i, a in enumerate(gpus) for b in gpus[i + 1 :])
