"""Every known trap, simulated: facts of a machine on which it has closed, and machines on which none has."""

import re
from dataclasses import replace

import pytest

from labs.course.doctor import TRAPS, Facts, diagnose, table
from labs.course.doctor.facts import Compiler, Folder, Gpu, Kernels, Network, Python, Storage, System, Torch
from labs.course.doctor.finding import SEVERITIES
from labs.course.doctor.traps_compiler import compiler_version
from labs.course.doctor.traps_gpu import covered
from labs.course.doctor.traps_network import nccl_interfaces
from labs.kit.hardware import reference_machine
from labs.kit.native.parts import PARTS

LAPTOP = Facts(
    system=System("Linux", "x86_64", cores=8, checkout="/home/ada/warp-to-cluster", checkout_writable=True),
    python=Python(
        version=(3, 11, 9),
        libc="glibc",
        encoding="UTF-8",
        versions={"ipywidgets": "8.1.9", "jupyterlab_widgets": "3.0.17", "torch": "2.13.0"},
        executable="/home/ada/warp-to-cluster/.venv/bin/python",
    ),
    gpu=Gpu(smi="absent"),
    torch=Torch("2.13.0+cpu", gpus=()),
    kernels=Kernels(nvrtc=(), nvvm=False),
    compiler=Compiler("g++ (Ubuntu 13.2.0-4ubuntu3) 13.2.0", parts={part.name: "/usr/include" for part in PARTS}),
    network=Network(
        loopback_fault="",
        localhost=("127.0.0.1",),
        host="laptop",
        host_addresses=("127.0.1.1",),
        host_seconds=0.001,
        host_reachable=True,
        interfaces=("lo", "wlan0"),
    ),
    storage=Storage(
        shared=8 << 30,
        open_files=1024,
        memory=16 << 30,
        folders=(
            Folder("your progress", "/home/ada/.local/state/warp-to-cluster", "LABS_STATE", 80 << 30, "", "ext4"),
            Folder("built C++", "/home/ada/.cache/warp-to-cluster", "LABS_CACHE", 80 << 30, "", "ext4"),
            Folder("temporary files", "/tmp", "TMPDIR", 8 << 30, "", "tmpfs"),
        ),
    ),
)
A5000 = "NVIDIA RTX A5000"
WORKSTATION = replace(
    LAPTOP,
    gpu=Gpu(
        on_bus=2,
        device_files=2,
        driver="580.95.05",
        smi="fine",
        names=(A5000, A5000),
        capabilities=((8, 6), (8, 6)),
        ids=("GPU-1234abcd", "GPU-5678ef01"),
        relations=("NV4",),
        iommus=("dmar0", "dmar1"),
    ),
    torch=Torch("2.13.0", "13.0", architectures=("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"),
                gpus=((A5000, 24 << 30), (A5000, 24 << 30))),
    kernels=Kernels(("cupy-cuda13x",), "0.68.1", "0.30.4", False, "13.5.0", (13,), True),
)  # fmt: skip
CONTAINER = replace(LAPTOP, system=replace(LAPTOP.system, container=True))
WSL = replace(
    WORKSTATION,
    system=replace(LAPTOP.system, wsl=True),
    gpu=replace(WORKSTATION.gpu, on_bus=0, device_files=0, iommus=(), dxg=True, wsl_library=True),
)
CLOUD = replace(  # a virtual machine with eight GPUs on NVSwitch, behind an IOMMU, launched by torchrun
    WORKSTATION,
    gpu=replace(WORKSTATION.gpu, names=("H100",) * 8, device_files=8, capabilities=((9, 0),) * 8, ids=(),
                relations=("NV18",) * 28),
    torch=replace(WORKSTATION.torch, gpus=(("H100", 80 << 30),) * 8),
    python=replace(LAPTOP.python, threads="1", local_ranks=8),
)  # fmt: skip
HEALTHY = {
    "laptop": LAPTOP, "workstation": WORKSTATION, "container": CONTAINER, "wsl": WSL, "cloud": CLOUD,
    "nothing known": Facts(),
}  # fmt: skip


def but(facts, **changes):
    """`facts` with some fields of some of its parts changed."""
    return replace(facts, **{part: replace(getattr(facts, part), **fields) for part, fields in changes.items()})


def folder(index, **fields):
    """Folders of the laptop, one of them changed."""
    folders = list(LAPTOP.storage.folders)
    folders[index] = replace(folders[index], **fields)
    return tuple(folders)


MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95"
NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
laptop, station = LAPTOP, WORKSTATION
old = but(station, torch={"gpus": ()}, kernels={"cupy": ()})
wheels = but(laptop, system={"name": "Darwin"}, python={"missing": ("torch",)})
seven = {"ipywidgets": "7.7.1", "jupyterlab_widgets": "3.0.9"}
tunnel = {"host_addresses": ("10.8.0.2",), "host_reachable": False}
CLOSED = [
    # PyTorch and the driver
    ("torch-without-cuda", but(station, torch={"version": "2.13.0+cpu", "cuda": None, "gpus": ()}), "2.13.0+cpu"),
    ("torch-without-cuda", but(laptop, gpu={"device_files": 1}), "1 NVIDIA GPU"),
    ("driver-too-old", but(old, gpu={"driver": "570.86.10"}), "580 or newer"),
    ("driver-too-old", but(old, gpu={"driver": "470.1"}, torch={"cuda": "12.8"}), "525 or newer"),
    ("gpu-not-in-build", but(station, gpu={"capabilities": ((6, 1),)}), "6.1"),
    ("no-driver", but(laptop, gpu={"on_bus": 1}), "PCI bus"),
    ("container-without-gpus", but(CONTAINER, gpu={"driver": "580.95.05"}), "580.95.05"),
    ("container-without-gpus", but(CONTAINER, gpu={"on_bus": 4}), "/dev/nvidia0"),
    ("driver-mismatch", but(station, gpu={"smi": "mismatch", "smi_text": MISMATCH}), "version mismatch"),
    ("nvidia-smi-fails", but(laptop, gpu={"smi": "failed", "smi_text": NO_DRIVER, "driver": "580.1"}), "communicate"),
    ("nvidia-smi-silent", but(station, gpu={"smi": "silent"}), "5 s"),
    ("gpu-hidden", but(station, gpu={"visible": ""}, torch={"gpus": ()}), "''"),
    ("gpu-hidden", but(station, gpu={"visible": "-1"}, torch={"gpus": ()}), "-1"),
    ("gpu-named-wrong", but(station, gpu={"visible": "0,2"}), "no 2"),
    ("gpu-named-wrong", but(station, gpu={"visible": "GPU-9999"}, torch={"gpus": ()}), "GPU-9999"),
    ("wsl-without-driver", but(WSL, gpu={"names": (), "wsl_library": False}, torch={"gpus": ()}), "/usr/lib/wsl/lib"),
    ("wsl-linux-driver", but(WSL, gpu={"linux_library_in_wsl": True}), "Two drivers"),
    ("cuda-hangs", but(station, torch={"stalled": "cuda", "gpus": None}), "starting CUDA"),
    ("cuda-fails", but(station, torch={"gpus": (), "cuda_fault": "RuntimeError: CUDA unknown error"}), "unknown error"),
    # CuPy and Numba
    ("cupy-twice", but(station, kernels={"cupy": ("cupy-cuda12x", "cupy-cuda13x")}), "cupy-cuda12x, cupy-cuda13x"),
    ("cupy-newer-than-driver", but(station, gpu={"driver": "550.54"}, torch={"cuda": "12.8"}), "580 or newer"),
    ("cupy-without-libraries", but(station, kernels={"cupy": ("cupy-cuda12x",)}), "built for CUDA 12"),
    ("cupy-without-libraries", but(station, kernels={"nvrtc": (12,), "bindings": "12.9"}), "built for CUDA 13"),
    ("cupy-without-libraries", but(station, kernels={"nvrtc": (), "numba": "", "numba_cuda": ""}), "none"),
    ("numba-without-cuda", but(station, kernels={"numba_cuda": ""}), "numba-cuda is not"),
    ("numba-cuda-without-libraries", but(station, kernels={"nvvm": False}), "NVVM"),
    ("numba-cuda-without-libraries", but(laptop, kernels={"numba_cuda": "0.30"}), "NVVM and NVRTC"),
    ("cuda-packages-mixed", but(station, kernels={"nvrtc": (12,), "cupy": ()}), "NVRTC of CUDA 12"),
    ("numba-simulator", but(laptop, kernels={"simulator": True}), "NUMBA_ENABLE_CUDASIM"),
    # several GPUs
    ("p2p-behind-iommu", but(station, gpu={"relations": ("PHB",)}), "PHB"),
    ("p2p-behind-iommu", but(station, gpu={"relations": ("NV4", "SYS", "SYS")}), "SYS"),
    ("p2p-switched-off", but(station, gpu={"p2p_disable": "1"}), "NCCL_P2P_DISABLE=1"),
    ("p2p-switched-off", but(station, gpu={"p2p_level": "LOC"}), "NCCL_P2P_LEVEL=LOC"),
    # C++
    ("no-compiler", but(laptop, compiler={"compiler_fault": "no C++ compiler was found", "version": ""}), "g++"),
    ("old-compiler", but(laptop, compiler={"version": "g++ (Ubuntu 9.4.0-1ubuntu1~20.04) 9.4.0"}), "9.4.0"),
    ("no-nanobind", but(laptop, compiler={"nanobind_fault": "not installed"}), "nanobind"),
    ("no-python-headers", but(laptop, compiler={"headers_fault": "Python.h is not there"}), "Python.h"),
    ("no-cmake", but(laptop, compiler={"cmake_fault": "CMake is not installed"}), "CMake"),
    ("packages-of-lesson-21", but(laptop, compiler={"parts": {"Eigen": ""}}), "Eigen"),
    ("libraries-of-lesson-21", but(laptop, compiler={"parts": {"zlib": "", "HDF5": ""}}), "zlib, HDF5"),
    # between ranks
    ("loopback-blocked", but(laptop, network={"loopback_fault": "Operation not permitted"}), "not permitted"),
    ("localhost-elsewhere", but(laptop, network={"localhost": ()}), "no address"),
    ("localhost-elsewhere", but(laptop, network={"localhost": ("10.0.0.7",)}), "10.0.0.7"),
    ("host-name-unknown", but(laptop, network={"host_addresses": (), "host_reachable": None}), "'laptop'"),
    ("host-name-elsewhere", but(laptop, network=tunnel), "10.8.0.2"),
    ("slow-names", but(laptop, network={"host_seconds": 4.0}), "laptop"),
    ("gloo-interface", but(laptop, network={"gloo_interface": "eth0"}), "lo, wlan0"),
    ("nccl-interface", but(laptop, network={"nccl_interface": "ib"}), "lo, wlan0"),
    ("ranks-fail", but(laptop, network={"ranks_fault": "Rank 1 died"}), "Rank 1 died"),
    ("ranks-fail", but(laptop, torch={"stalled": "ranks"}), "no answer"),
    # memory and disks
    ("small-shm", but(CONTAINER, storage={"shared": 64 << 20}), "64 MiB, Docker's default"),
    ("shm-unwritable", but(laptop, storage={"shared_fault": "Permission denied"}), "Permission denied"),
    ("few-open-files", but(laptop, storage={"open_files": 128}), "128"),
    ("little-memory", but(laptop, storage={"memory": 2 << 30, "memory_limited": True}), "this container"),
    ("disk-full", but(laptop, storage={"folders": folder(1, free=200 << 20)}), "210 MB free for built C++"),
    ("folder-unwritable", but(laptop, storage={"folders": folder(0, write_fault="Permission denied")}), "LABS_STATE"),
    ("folder-on-network", but(laptop, storage={"folders": folder(0, filesystem="nfs4")}), "nfs4"),
    ("no-libraries-from-there", but(laptop, storage={"folders": folder(1, executable=False)}), "noexec"),
    ("read-only-course", but(laptop, system={"checkout_writable": False}), "/home/ada/warp-to-cluster"),
    # Python and Jupyter
    ("old-python", but(laptop, python={"version": (3, 9, 2)}), "3.9.2"),
    ("no-wheels", but(laptop, python={"missing": ("torch",), "libc": "musl"}), "Alpine"),
    ("no-wheels", but(laptop, python={"missing": ("torch",), "bits": 32}), "32 bit"),
    ("no-wheels", but(laptop, python={"missing": ("torch",), "version": (3, 17, 0)}), "3.17"),
    ("packages-missing", but(laptop, python={"missing": ("greenlet",)}), "greenlet"),
    ("torch-broken", but(laptop, torch={"import_fault": "OSError: libcudart.so.13: cannot open"}), "libcudart"),
    ("torch-broken", but(laptop, torch={"stalled": "import"}), "after a minute"),
    ("old-torch", but(laptop, torch={"version": "2.6.0+cpu"}), "2.6.0"),
    ("kernel-of-another-python", but(laptop, python={"kernel": "/conda/python", "kernel_same": False}), "conda"),
    ("kernel-of-another-python", but(laptop, python={"kernel": "/old/python", "kernel_exists": False}), "gone"),
    ("server-without-widgets", but(laptop, python={"server": "/usr", "server_has_widgets": False}), "/usr"),
    ("widgets-mismatch", but(laptop, python={"versions": seven}), "7.7.1"),
    ("widgets-mismatch", but(laptop, python={"versions": {"ipywidgets": "8.1.9"}}), "without jupyterlab_widgets"),
    ("widgets-mismatch", but(laptop, python={"own_widgets": "3.1.1"}), "your own folder"),
    ("not-utf8", but(laptop, python={"encoding": "ISO-8859-1"}), "ISO-8859-1"),
    ("too-many-threads", but(laptop, python={"threads": "64"}), "OMP_NUM_THREADS=64"),
    ("too-many-threads", but(laptop, python={"local_ranks": 4}), "32 threads on 8 cores"),
    ("course-on-windows-drive", but(WSL, system={"checkout": "/mnt/c/Users/ada/course"}), "/mnt/c/Users"),
    ("one-core", but(laptop, system={"cores": 1}), "one core"),
]  # fmt: skip
ALSO = [  # where the machine itself is worth a note, which then stands beside the trap
    ("windows", but(laptop, system={"name": "Windows"}), set()),
    ("macos", but(laptop, system={"name": "Darwin"}), set()),
    ("no-wheels", wheels, {"macos"}),
    ("no-wheels", but(wheels, system={"translated": True}), {"macos"}),
]  # fmt: skip


def names(facts):
    return [finding.name for finding in diagnose(facts)]


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_machine_draws_no_finding(kind):
    assert names(HEALTHY[kind]) == []


@pytest.mark.parametrize(("name", "facts", "word"), CLOSED, ids=[f"{i}-{row[0]}" for i, row in enumerate(CLOSED)])
def test_a_trap_that_has_closed_is_named_alone_and_says_what_was_found(name, facts, word):
    (finding,) = diagnose(facts)
    assert finding.name == name and word in finding.found, finding
    assert finding.costs and finding.cure and finding.severity in SEVERITIES
    assert "None" not in " ".join(text for _, text in finding.lines())
    assert all(text.count("`") % 2 == 0 for _, text in finding.lines())  # commands stand between backticks


@pytest.mark.parametrize(("name", "facts", "others"), ALSO)
def test_a_trap_of_another_system(name, facts, others):
    assert set(names(facts)) == {name} | others


def test_every_known_trap_is_simulated():
    assert {name for name, *_ in CLOSED + ALSO} == {trap.name for trap in TRAPS}
    assert len({trap.name for trap in TRAPS}) == len(TRAPS)


def test_the_gravest_comes_first():
    facts = but(laptop, system={"cores": 1}, network={"loopback_fault": "refused"}, storage={"open_files": 128})
    assert names(facts) == ["loopback-blocked", "few-open-files", "one-core"]


def test_little_shared_memory_is_worth_a_note_without_a_gpu_and_costs_something_beside_one():
    little = {"shared": 64 << 20}
    severities = [diagnose(but(facts, storage=little))[0].severity for facts in (CONTAINER, WORKSTATION)]
    assert severities == ["note", "costs"]


def test_a_cure_names_what_this_machine_needs():
    cures = {
        "`pip uninstall -y cupy-cuda12x cupy-cuda13x && pip install -e '.[gpu]'`":
            but(station, kernels={"cupy": ("cupy-cuda12x", "cupy-cuda13x")}),
        "`pip uninstall -y cupy-cuda12x && pip install 'cupy-cuda13x[ctk]'`":
            but(station, kernels={"cupy": ("cupy-cuda12x",)}),
        "`pip install 'cupy-cuda13x[ctk]'`": but(station, kernels={"nvrtc": (), "numba_cuda": ""}),
        "`sudo apt-get install python3.11-dev`": but(laptop, compiler={"headers_fault": "missing"}),
    }  # fmt: skip
    for cure, facts in cures.items():
        assert diagnose(facts)[0].cure == cure


def test_nvlink_is_kept_where_only_some_gpus_have_it():
    (some,) = diagnose(but(station, gpu={"relations": ("NV4", "SYS", "SYS")}))
    (none,) = diagnose(but(station, gpu={"relations": ("PHB",)}))
    assert some.cure.startswith("`NCCL_P2P_LEVEL=NVL") and "NCCL_P2P_DISABLE=1" in none.cure
    assert "NCCL_P2P_LEVEL" not in none.cure


@pytest.mark.parametrize(
    "changes",
    [
        {"iommus": ()},
        {"peer_access": False},
        {"p2p_disable": "1"},
        {"p2p_level": "NVL"},
        {"kernel_options": "intel_iommu=off"},
        {"names": ("A",), "device_files": 1},
    ],
)
def test_peer_copies_are_no_trap_without_an_iommu_or_with_the_way_around(changes):
    assert "p2p-behind-iommu" not in names(but(station, gpu={"relations": ("PHB",), **changes}))


def test_the_price_of_copies_through_the_host_is_that_of_the_reference_machine():
    machine = reference_machine()
    one_way = {on: sum(machine.one_way(on)[[0, 1], [1, 0]]) / 2 for on in (True, False)}
    (finding,) = diagnose(but(station, gpu={"relations": ("PHB",)}))
    for text in (
        f"{one_way[False] / 1e9:.0f} instead of {one_way[True] / 1e9:.0f} GB/s in one direction",
        f"{machine.both_ways(False) / 1e9:.0f} instead of {machine.both_ways(True) / 1e9:.0f} GB/s in both",
        f"{machine.latency(False) * 1e6:.1f} instead of {machine.latency(True) * 1e6:.1f} µs",
    ):
        assert text in finding.price


def test_a_driver_runs_the_cuda_of_nvidias_table():
    from labs.course.doctor.drivers import newest_cuda, runs

    assert [newest_cuda(v) for v in ("449.9", "450.80.02", "524", "525.60.13", "579.9", "580.65.06", "600.1", "")] == [
        0, 11, 11, 12, 12, 13, 13, None,
    ]  # fmt: skip
    assert runs("535.1", 12) and not runs("535.1", 13) and runs("", 13) is None and runs("600", 99) is None


def test_code_for_one_gpu_runs_on_later_ones_of_its_generation_only():
    assert covered((8, 9), ("sm_80",)) and covered((9, 0), ("sm_90a",)) and covered((12, 1), ("compute_120",))
    assert covered((10, 3), ("sm_100f",)) and covered((12, 0), ("sm_120",))
    assert not covered((7, 5), ("sm_80", "compute_80")) and not covered((9, 0), ("sm_80",))
    assert not covered((10, 3), ("sm_100a",)) and not covered((8, 0), ("sm_86", "nonsense"))


def test_nccl_chooses_interfaces_by_prefix_exactly_or_all_but():
    here = ("lo", "eth0", "eth1", "ib0")
    assert nccl_interfaces("eth", here) == ("eth0", "eth1")
    assert nccl_interfaces("=eth0,ib0", here) == ("eth0", "ib0") and nccl_interfaces("=eth", here) == ()
    assert nccl_interfaces("^lo,eth", here) == ("ib0",) and nccl_interfaces("^=eth0", here) == ("lo", "eth1", "ib0")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", 12),
        ("g++ (GCC) 8.5.0 20210514 (Red Hat 8.5.0-26)", 8),
        ("g++-13 (Homebrew GCC 13.2.0) 13.2.0", 13),
        ("Ubuntu clang version 14.0.0-1ubuntu1.1", 14),
        ("Apple clang version 15.0.0 (clang-1500.3.9.4)", 15),
        ("something else", None),
    ],
)
def test_compilers_say_their_version_in_many_ways(line, version):
    assert compiler_version(line) == version


def test_the_page_for_the_book_has_every_trap_once_in_well_formed_tables():
    page = table()
    rows = [line for line in page.splitlines() if line.startswith("| **")]
    assert len(rows) == len(TRAPS)
    for trap in TRAPS:
        assert sum(f"**{trap.title}**" in row for row in rows) == 1
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 5, row


def test_no_trap_names_a_place_of_ours_or_a_host_to_install_from():
    text = table()
    assert not re.search(r"https?://|/work|/root|pytorch\.org|pypi\.org", text)
