"""Traps between a GPU and PyTorch: no driver, an old one, a build without CUDA, a GPU that is hidden.

Sources: NVIDIA, "CUDA Compatibility" (drivers, see `labs.course.doctor.drivers`), "CUDA C++ Programming Guide", "CUDA
Environment Variables" (CUDA_VISIBLE_DEVICES: devices after the first one that does not exist are hidden too), "CUDA on
WSL User Guide" (no Linux driver inside WSL) and "NVIDIA Container Toolkit" (``--gpus``); `torch.cuda.get_arch_list`.
"""

from __future__ import annotations

import re

from labs.course.doctor.drivers import OLDEST_DRIVER, major, runs
from labs.course.doctor.facts import Facts
from labs.course.doctor.finding import BLOCKS, COSTS, NOTE, trap

_VIRTUAL = "Kernels run on the virtual device, ranks on the CPU; every exercise still works."
_IN_PLACE = '`python -c "import torch; print(torch.cuda.is_available())"`'


@trap(
    "torch-without-cuda", COSTS, "PyTorch without CUDA beside a GPU",
    sign="`torch.cuda.is_available()` is False, though nvidia-smi shows a GPU",
    costs='PyTorch sees no GPU: `on="nccl"` is refused, and every measurement is one of the CPU.',
    cure="`unset PIP_EXTRA_INDEX_URL PIP_INDEX_URL; pip install --force-reinstall torch` "
    "(on Linux, pip's own build has CUDA)",
    price="a download of about 3 GB, and 4 GB more on disk",
)  # fmt: skip
def torch_without_cuda(facts: Facts):
    gpu, torch = facts.gpu, facts.torch
    if gpu.count and torch.version and torch.cuda is None and torch.hip is None and not torch.import_fault:
        return f"{_gpus(gpu)}, and torch {torch.version}, which is built without CUDA."


@trap(
    "driver-too-old", COSTS, "A driver older than PyTorch's CUDA",
    sign="PyTorch warns that the NVIDIA driver is too old, and finds no GPU",
    costs="PyTorch cannot use the GPU. " + _VIRTUAL,
    cure="Install a newer NVIDIA driver: 580 or newer for CUDA 13 (Debian, Ubuntu: `sudo ubuntu-drivers install`, or "
    "`sudo apt install nvidia-driver`; in WSL: the driver in Windows), then reboot.",
    price="Without the rights to do so: a build of PyTorch for the older CUDA, from PyTorch's own index of wheels "
    "(\"Get started\" names it). Such builds end with some version of PyTorch; the course needs 2.11.",
)  # fmt: skip
def driver_too_old(facts: Facts):
    gpu, cuda = facts.gpu, major(facts.torch.cuda)
    if runs(gpu.driver, cuda) is False and not facts.torch.gpus:  # a compatibility package may have closed the gap
        built = f"torch {facts.torch.version}, built for CUDA {facts.torch.cuda}"
        return f"Driver {gpu.driver}; {built}, needs {OLDEST_DRIVER[cuda]} or newer."


@trap(
    "gpu-not-in-build", COSTS, "A GPU that this build of PyTorch has no code for",
    sign='"no kernel image is available for execution on the device"',
    costs="Every operation on that GPU fails.",
    cure="Install a build of PyTorch whose list has your GPU (\"Get started\" on PyTorch's pages): builds for an older "
    "CUDA know older GPUs, newer builds newer ones. Until then: `CUDA_VISIBLE_DEVICES= python -m labs lab`",
    price="With CUDA_VISIBLE_DEVICES empty everything runs without the GPU.",
)  # fmt: skip
def gpu_not_in_build(facts: Facts):
    built = facts.torch.architectures
    left_out = {c for c in facts.gpu.capabilities if built and not covered(c, built)}
    if left_out:
        which = ", ".join(f"{a}.{b}" for a, b in sorted(left_out))
        return f"Compute capability {which}; torch {facts.torch.version} has code for {', '.join(built)}."


def covered(capability: tuple[int, int], architectures: tuple[str, ...]) -> bool:
    """Whether code for some of `architectures` runs on a GPU.

    sm_86 runs on 8.6 and later 8.x, sm_90a on 9.0 alone, and compute_90 is compiled on the spot for 9.0 and later.
    Source: NVIDIA, "CUDA C++ Programming Guide", "Application Compatibility".
    """
    for name in architectures:
        found = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", name)
        if not found:
            continue
        kind, suffix, built = found[1], found[4], (int(found[2]), int(found[3]))
        if capability == built or (kind == "compute" and not suffix and capability >= built):
            return True
        if kind == "sm" and suffix != "a" and capability[0] == built[0] and capability >= built:
            return True
    return False


@trap(
    "no-driver", COSTS, "A GPU without a driver",
    sign="nvidia-smi is not there",
    costs="Nothing can use the GPU. " + _VIRTUAL,
    cure="Install NVIDIA's driver (Ubuntu: `sudo ubuntu-drivers install`; Debian: `sudo apt install nvidia-driver`), "
    "reboot, then: `nvidia-smi`",
)  # fmt: skip
def no_driver(facts: Facts):
    gpu, system = facts.gpu, facts.system
    if gpu.on_bus and not gpu.count and not gpu.driver and not system.container and not system.wsl:
        return f"{gpu.on_bus} graphics device(s) of NVIDIA on the PCI bus, and no NVIDIA driver in the kernel."


@trap(
    "container-without-gpus", COSTS, "A container that was not given the GPU",
    sign="nvidia-smi works outside the container, not inside",
    costs="Nothing inside the container sees the GPU. " + _VIRTUAL,
    cure="Start it with: `docker run --gpus all ...` (the host needs the NVIDIA Container Toolkit; "
    "Kubernetes: resources.limits nvidia.com/gpu)",
)  # fmt: skip
def container_without_gpus(facts: Facts):
    gpu = facts.gpu
    if facts.system.container and not gpu.count and (gpu.driver or gpu.on_bus):
        seen = f"NVIDIA driver {gpu.driver}" if gpu.driver else "a graphics device of NVIDIA"
        return f"This is a container on a machine with {seen}, and there is no /dev/nvidia0 in it."


@trap(
    "driver-mismatch", COSTS, "A driver that was updated, and not yet started",
    sign='nvidia-smi: "Driver/library version mismatch"',
    costs="Nothing can use the GPU. " + _VIRTUAL,
    cure="`sudo reboot` (the kernel still runs the old driver, the libraries are new)",
)  # fmt: skip
def driver_mismatch(facts: Facts):
    if facts.gpu.smi == "mismatch":
        return f"nvidia-smi says: {_line(facts.gpu.smi_text)}"


@trap(
    "nvidia-smi-fails", COSTS, "nvidia-smi finds no working driver",
    sign='nvidia-smi: "couldn\'t communicate with the NVIDIA driver" or "No devices were found"',
    costs="Nothing can use the GPU. " + _VIRTUAL,
    cure="`sudo dmesg | grep -iE 'nvrm|nvidia'` tells why. Most often: a new kernel without its driver "
    "(reinstall the driver, reboot), or Secure Boot that refuses it.",
)  # fmt: skip
def nvidia_smi_fails(facts: Facts):
    gpu = facts.gpu
    here = gpu.on_bus or gpu.device_files or gpu.driver or gpu.wsl_library
    if gpu.smi == "failed" and here and not container_without_gpus(facts):
        return f"nvidia-smi says: {_line(gpu.smi_text)}"


@trap(
    "nvidia-smi-silent", COSTS, "A driver that does not answer",
    sign="nvidia-smi hangs, and so does everything that touches a GPU",
    costs="A run on the GPU would hang without a word.",
    cure="`sudo dmesg | grep -i xid` shows what the GPU reported last; then: `sudo reboot`",
)  # fmt: skip
def nvidia_smi_silent(facts: Facts):
    if facts.gpu.smi == "silent":
        return "nvidia-smi gave no answer within 5 s."


@trap(
    "gpu-hidden", NOTE, "A GPU that you have hidden",
    sign="nvidia-smi shows a GPU, PyTorch none",
    costs=_VIRTUAL,
    cure="`unset CUDA_VISIBLE_DEVICES`, then restart JupyterLab",
)  # fmt: skip
def gpu_hidden(facts: Facts):
    visible = facts.gpu.visible
    if facts.gpu.count and visible is not None and visible.strip() in ("", "-1", "NoDevFiles", "none"):
        return f"CUDA_VISIBLE_DEVICES is {visible!r}: no program sees a GPU."


@trap(
    "gpu-named-wrong", COSTS, "CUDA_VISIBLE_DEVICES names a GPU that is not there",
    sign="nvidia-smi shows more GPUs than PyTorch",
    costs="That GPU and all that follow it in the list are hidden.",
    cure="`unset CUDA_VISIBLE_DEVICES`, or name GPUs of `nvidia-smi -L`; then restart JupyterLab",
)  # fmt: skip
def gpu_named_wrong(facts: Facts):
    gpu = facts.gpu
    if not gpu.count or gpu_hidden(facts):
        return None
    wrong = [name for name in (gpu.visible or "").split(",") if name.strip() and not _names_gpu(name.strip(), gpu)]
    if wrong:
        return f"CUDA_VISIBLE_DEVICES={gpu.visible}, and here is no {wrong[0].strip()}: {_gpus(gpu)}, counted from 0."


def _names_gpu(name, gpu):
    if name.isdigit():
        return int(name) < gpu.count
    return name.startswith("MIG-") or not gpu.ids or any(uuid.startswith(name) for uuid in gpu.ids)


@trap(
    "wsl-without-driver", NOTE, "WSL without the Windows driver's CUDA",
    sign="nvidia-smi works in Windows, not in WSL",
    costs="If this PC has an NVIDIA GPU, WSL cannot use it. " + _VIRTUAL,
    cure="Install NVIDIA's driver in Windows (none inside WSL), then in PowerShell: `wsl --update; wsl --shutdown`",
)  # fmt: skip
def wsl_without_driver(facts: Facts):
    if facts.system.wsl and not facts.gpu.wsl_library and not facts.gpu.count:
        passed_on = "Windows passes a GPU on (/dev/dxg), but" if facts.gpu.dxg else "There is no /dev/dxg, and"
        return f"{passed_on} /usr/lib/wsl/lib holds no libcuda."


@trap(
    "wsl-linux-driver", COSTS, "A Linux driver inside WSL",
    sign="CUDA fails in WSL, though Windows has the right driver",
    costs="The Linux libcuda hides the one that Windows passes on; CUDA then finds no device.",
    cure="`sudo apt purge 'libnvidia-compute-*' 'nvidia-driver-*'` (the driver belongs in Windows only)",
)  # fmt: skip
def wsl_linux_driver(facts: Facts):
    if facts.gpu.linux_library_in_wsl:
        return "Two drivers: libcuda of the Windows driver in /usr/lib/wsl/lib, and one of a Linux package."


@trap(
    "cuda-hangs", BLOCKS, "CUDA does not start",
    sign="the first line that touches a GPU never ends",
    costs="A lesson that uses the GPU would hang.",
    cure="Work without it: `CUDA_VISIBLE_DEVICES= python -m labs lab`. To repair it: `sudo dmesg | grep -i xid`, then "
    "`sudo reboot`",
    price="With CUDA_VISIBLE_DEVICES empty everything runs without the GPU.",
)  # fmt: skip
def cuda_hangs(facts: Facts):
    if facts.torch.stalled == "cuda":
        return f"torch {facts.torch.version} was still starting CUDA after a minute."


NAMED = (
    torch_without_cuda, driver_too_old, no_driver, container_without_gpus, driver_mismatch, nvidia_smi_fails,
    nvidia_smi_silent, gpu_hidden, gpu_named_wrong, wsl_without_driver, wsl_linux_driver, cuda_hangs,
)  # fmt: skip


@trap(
    "cuda-fails", COSTS, "PyTorch cannot use the GPU",
    sign="an error of CUDA at the first use of a GPU",
    costs=_VIRTUAL,
    cure="`nvidia-smi`, then " + _IN_PLACE + "; ask for help with both outputs",
)  # fmt: skip
def cuda_fails(facts: Facts):
    """What none of the named traps explains, in PyTorch's words."""
    gpu, torch = facts.gpu, facts.torch
    if gpu.count and torch.gpus == () and (torch.cuda or torch.hip) and not any(named(facts) for named in NAMED):
        said = f" PyTorch says: {_line(torch.cuda_fault)}" if torch.cuda_fault else ""
        return f"{_gpus(gpu)}, driver {gpu.driver or 'unknown'}, torch {torch.version}, and no device for it.{said}"


TRAPS = (*NAMED, gpu_not_in_build, cuda_fails)


def _gpus(gpu):
    if not gpu.names:
        return f"{gpu.count} NVIDIA GPU{'s' if gpu.count > 1 else ''}"
    return ", ".join(f"{gpu.names.count(name)} x {name}" for name in dict.fromkeys(gpu.names))


def _line(text):
    """The first line of what a program said, shortened."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "nothing")
    return first if len(first) <= 200 else first[:197] + "..."
