"""Each look at a machine: on machines built in a folder, and on this one; none hangs, raises or leaves a file."""

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from labs.course.doctor import Facts, Machine, gather
from labs.course.doctor import look_network as network
from labs.course.doctor.facts import Gpu
from labs.course.doctor.gather import LOOKS
from labs.course.doctor.look_gpu import look_gpu
from labs.course.doctor.look_kernels import cupy_cuda, look_kernels
from labs.course.doctor.look_storage import look_storage, memory_limit, mount, total_memory, write_fault
from labs.course.doctor.look_system import MANAGER, cores, in_container, kernel_python, look_python, look_system
from labs.course.doctor.look_torch import look_torch, understood, worth_starting
from labs.course.doctor.machine import Answer, bounded, has_module, run_command

SMI = "NVIDIA RTX A5000, 580.95.05, 8.6, GPU-aa\nNVIDIA RTX A5000, 580.95.05, 8.6, GPU-bb\n"
TOPO = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\t0-15\t0\nGPU1\tPHB\t X \t0-15\t0\n"
DRIVER = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@host)\n"
    "GCC version:  gcc version 12.3.0\n"
)


P2P = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"


def longest_first(command):
    """A command, then without its last word, and so on."""
    return [" ".join(command[:count]) for count in range(len(command), 0, -1)]


@pytest.fixture
def build(tmp_path):
    """A machine with some files and programs, in a folder."""

    def make(files=(), commands=None, environ=None, versions=None, packages=(), **more):
        for name, text in dict(files).items():
            path = tmp_path / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        said = commands or {}
        return Machine(
            root=tmp_path,
            environ=environ or {},
            system="Linux",
            command=lambda command, limit=0: next((said[n] for n in longest_first(command) if n in said), None),
            version=(versions or {}).get,
            packages=tuple(packages),
            library=lambda name: False,
            **more,
        )

    return make


def test_gpus_are_seen_on_the_bus_as_files_and_by_nvidia_smi(build):
    machine = build(
        {
            "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
            "/sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
            "/sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n",
            "/sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n",  # the sound of the same card
            "/sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
            "/sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n",  # somebody else's graphics
            "/dev/nvidia0": "",
            "/dev/nvidia1": "",
            "/dev/nvidiactl": "",
            "/dev/nvidia-uvm": "",
            "/proc/driver/nvidia/version": DRIVER,
            "/proc/cmdline": "quiet amd_iommu=on iommu=pt ro",
            "/sys/class/iommu/ivhd0/x": "",
        },
        {"nvidia-smi": Answer(0, SMI), "nvidia-smi topo": Answer(0, TOPO), "nvidia-smi topo -p2p": Answer(0, P2P)},
        {"CUDA_VISIBLE_DEVICES": "0", "NCCL_P2P_LEVEL": "NVL"},
    )
    assert look_gpu(machine) == Gpu(
        on_bus=1,
        device_files=2,
        driver="580.95.05",
        smi="fine",
        smi_text=SMI.strip(),
        names=("NVIDIA RTX A5000",) * 2,
        capabilities=((8, 6), (8, 6)),
        ids=("GPU-aa", "GPU-bb"),
        visible="0",
        relations=("PHB",),
        peer_access=True,
        iommus=("ivhd0",),
        kernel_options="amd_iommu=on iommu=pt",
        p2p_level="NVL",
    )


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (None, "absent"),
        (Answer(None, ""), "silent"),
        (Answer(18, "Failed to initialize NVML: Driver/library version mismatch"), "mismatch"),
        (Answer(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."), "failed"),
        (Answer(0, "No devices were found"), "failed"),
        (Answer(0, SMI), "fine"),
    ],
)
def test_nvidia_smi_is_understood_by_its_words(build, answer, state):
    found = look_gpu(build(commands={"nvidia-smi": answer}))
    assert found.smi == state and found.count == (2 if state == "fine" else 0)


def test_a_driver_that_allows_no_peer_copies_is_noticed(build):
    commands = {"nvidia-smi": Answer(0, SMI), "nvidia-smi topo -p2p": Answer(0, P2P.replace("\tOK", "\tCNS"))}
    assert look_gpu(build(commands=commands)).peer_access is False
    commands["nvidia-smi topo -p2p"] = Answer(2, "Invalid argument")
    assert look_gpu(build(commands=commands)).peer_access is None


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        (DRIVER, "580.95.05"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024\n", "470.256.02"),
        ("nothing of the kind", ""),
    ],
)
def test_the_driver_says_its_version_in_two_ways(build, text, driver):
    assert look_gpu(build({"/proc/driver/nvidia/version": text})).driver == driver


def test_wsl_has_its_nvidia_smi_elsewhere_and_may_have_two_drivers(build):
    files = {
        "/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n",
        "/usr/lib/wsl/lib/libcuda.so.1": "",
        "/usr/lib/wsl/lib/nvidia-smi": "",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "",
        "/dev/dxg": "",
    }
    machine = build(files)
    elsewhere = str(machine.root / "usr/lib/wsl/lib/nvidia-smi")
    machine = build(files, {elsewhere: Answer(0, SMI.splitlines()[0])})
    found = look_gpu(machine)
    assert found.dxg and found.wsl_library and found.linux_library_in_wsl and found.count == 1
    assert look_system(machine).wsl and worth_starting(found, machine)


def test_cupy_numba_and_their_libraries_are_found_without_an_import(build, tmp_path):
    packages = tmp_path / "site-packages"
    (packages / "nvidia/cu13/lib").mkdir(parents=True)
    (packages / "nvidia/cu13/lib/libnvrtc.so.13").touch()
    (packages / "nvidia/cuda_nvcc/nvvm/lib64").mkdir(parents=True)
    (packages / "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so").touch()
    versions = {"cupy-cuda12x": "13.6.0", "cupy-cuda13x": "14.2.0", "numba": "0.68.1", "cuda-bindings": "13.5.0"}
    files = {"/usr/local/cuda/lib64/libnvrtc.so.12": "", "/usr/local/cuda/lib64/libnvrtc-builtins.so.12.9": ""}
    found = look_kernels(build(files, environ={"NUMBA_ENABLE_CUDASIM": "1"}, versions=versions, packages=[packages]))
    assert found.cupy == ("cupy-cuda12x", "cupy-cuda13x") and found.nvrtc == (12, 13) and found.nvvm
    assert (found.numba, found.numba_cuda, found.bindings, found.simulator) == ("0.68.1", "", "13.5.0", True)
    assert [cupy_cuda(name) for name in ("cupy-cuda13x", "cupy-cuda112", "cupy")] == [13, 11, None]


def test_memory_and_limits_of_containers_are_read(build):
    machine = build({"/proc/meminfo": "MemTotal:  16000000 kB\n", "/sys/fs/cgroup/memory.max": "2147483648\n"})
    assert total_memory(machine) == 16_384_000_000 and memory_limit(machine) == 2 << 30
    found = look_storage(machine)
    assert found.memory == 2 << 30 and found.memory_limited
    first = {"/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}
    assert memory_limit(build(first)) == 1 << 30
    assert cores(build({"/sys/fs/cgroup/cpu.max": "50000 100000\n"})) == 1
    assert cores(build({"/sys/fs/cgroup/cpu.max": "max 100000\n"})) >= 1


def test_the_file_system_of_a_folder_is_that_of_its_nearest_mount(build):
    mounts = "/dev/a / ext4 rw 0 0\nserver:/x /home nfs4 rw,nosuid 0 0\ntmpfs /home/ada/a\\040b tmpfs rw,noexec 0 0\n"
    machine = build({"/proc/self/mounts": mounts})
    assert mount(machine, Path("/home/ada"))[0] == "nfs4" and mount(machine, Path("/homely"))[0] == "ext4"
    assert mount(machine, Path("/home/ada/a b/c")) == ("tmpfs", ("rw", "noexec"))


def test_a_probe_file_is_removed_and_a_folder_that_is_not_there_is_not_made(tmp_path, monkeypatch):
    assert write_fault(tmp_path) == "" and list(tmp_path.iterdir()) == []
    assert write_fault(tmp_path / "absent") == "No such file or directory"
    monkeypatch.setenv("LABS_STATE", str(tmp_path / "state/deep"))
    found = {f.variable: f for f in look_storage(Machine(environ={"LABS_CACHE": str(tmp_path / "cache")})).folders}
    assert found["LABS_STATE"].write_fault == found["LABS_CACHE"].write_fault == ""
    assert found["LABS_STATE"].free > 0 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("files", "environ", "inside"),
    [
        ({"/.dockerenv": ""}, {}, True),
        ({"/run/.containerenv": ""}, {}, True),
        ({"/proc/1/cgroup": "12:pids:/kubepods/burstable/pod1\n"}, {}, True),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True),
        ({"/proc/1/cgroup": "0::/init.scope\n"}, {}, False),
    ],
)
def test_containers_leave_marks(build, files, environ, inside):
    assert in_container(build(files, environ=environ)) is inside


def kernel(python):
    return json.dumps({"argv": [python, "-m", "ipykernel_launcher"]})


def test_the_kernel_that_jupyter_would_start_is_found_in_its_order(build):
    files = {
        "/env/share/jupyter/kernels/python3/kernel.json": kernel("/env/bin/python"),
        "/home/ada/.local/share/jupyter/kernels/python3/kernel.json": kernel("/old/bin/python"),
    }
    machine = build(files, environ={"HOME": "/home/ada"}, prefix="/env", executable="/env/bin/python")
    found = look_python(machine)
    assert kernel_python(machine) == "/env/bin/python" and found.kernel_same and not found.kernel_exists
    outside = build({}, environ={"HOME": "/home/ada", "JUPYTER_PATH": ""}, prefix=sys.base_prefix)
    assert kernel_python(outside) == "/old/bin/python" and not look_python(outside).kernel_same
    chosen = {"/extra/kernels/python3/kernel.json": kernel("python")}
    assert kernel_python(build(chosen, environ={"JUPYTER_PATH": "/extra", "HOME": "/home/ada"})) == ""


def test_a_broken_kernel_file_and_own_widgets_are_no_accident(build):
    files = {
        "/home/ada/.local/share/jupyter/kernels/python3/kernel.json": "{not json",
        f"/home/ada/.local/share/jupyter/{MANAGER}/package.json": '{"version": "3.1.1"}',
    }
    machine = build(files, environ={"HOME": "/home/ada", "SLURM_NTASKS_PER_NODE": "4"}, prefix=sys.base_prefix)
    found = look_python(machine)
    assert found.kernel == "" and found.own_widgets == "3.1.1" and found.local_ranks == 4


def test_what_torchs_process_wrote_is_understood_up_to_where_it_stopped():
    build = '{"stage": "import"}\nnoise\n{"version": "2.13.0", "cuda": "13.0", "hip": null}\n{"stage": "cuda"}\n'
    torch, ranks = understood(build, None, cuda=True)
    assert (torch.version, torch.cuda, torch.stalled, torch.gpus, ranks) == ("2.13.0", "13.0", "cuda", None, {})
    crashed, _ = understood(build, -11, cuda=True)
    assert "-11" in crashed.cuda_fault and not crashed.stalled
    hung, _ = understood('{"stage": "import"}\n', None)
    assert hung.stalled == "import"
    broken, _ = understood('{"stage": "import"}\n{"import_fault": "OSError: x", "ended": true}\n', 0)
    assert broken.import_fault == "OSError: x"
    died, _ = understood('{"stage": "import"}\n', -6)
    assert "-6" in died.import_fault
    whole = build + '{"gpus": [["A5000", 24]], "architectures": ["sm_86"], "cuda_fault": ""}\n{"stage": "ranks"}\n'
    _, dead = understood(whole, -9, cuda=True)
    assert "-9" in dead["fault"]
    fine, ranks = understood(whole + '{"ranks": {"seconds": 0.5}}\n{"ended": true}\n', 0, cuda=True)
    assert fine.gpus == (("A5000", 24),) and ranks == {"seconds": 0.5}


def test_a_torch_that_cannot_be_imported_is_noticed_in_its_own_process(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.13: cannot open shared object file')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    torch, _ = look_torch(Machine(), cuda=True, ranks=False)
    assert "libcudart.so.13" in torch.import_fault and not torch.version
    (tmp_path / "torch.py").write_text("import os\nos.abort()\n")
    torch, _ = look_torch(Machine(), cuda=True, ranks=False)
    assert "-6" in torch.import_fault


def test_a_connection_within_this_machine_works_and_a_refused_one_says_why(monkeypatch):
    assert network.loopback_fault() == ""
    assert any(address in ("127.0.0.1", "::1") for address in network.addresses_of("localhost"))
    assert network.can_listen("127.0.0.1") and not network.can_listen("192.0.2.1")  # an address for documentation
    assert "lo" in network.interfaces() or sys.platform != "linux"

    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert network.loopback_fault() == "Operation not permitted"


def test_a_firewall_that_swallows_everything_costs_a_second_not_an_hour(monkeypatch):
    monkeypatch.setattr(network, "PATIENCE", 0.05)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    real = socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda *_: real(listener.getsockname()))  # arrives elsewhere
    with listener:
        assert network.loopback_fault() == "no connection within 0.05 s"


def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch):
    forever = threading.Event()
    monkeypatch.setattr(network, "NAME_PATIENCE", 0.05)
    monkeypatch.setattr(network, "addresses_of", lambda name: forever.wait(30))
    found = network.look_network(Machine())
    forever.set()
    assert found.host_addresses is None and found.host_seconds >= 0.05


def test_an_unknown_host_name_has_no_addresses(monkeypatch):
    def unknown(name):
        if name != "localhost":
            raise socket.gaierror(-2, "Name or service not known")
        return ("127.0.0.1",)

    monkeypatch.setattr(network, "addresses_of", unknown)
    found = network.look_network(Machine(environ={"GLOO_SOCKET_IFNAME": "eth9"}))
    assert found.host_addresses == () and found.localhost == ("127.0.0.1",) and found.gloo_interface == "eth9"


def test_a_program_that_hangs_is_ended_with_what_it_has_started_and_what_it_said_is_kept(tmp_path):
    pid = tmp_path / "pid"
    script = f"echo first; sleep 60 & echo $! > {pid}; wait"
    answer = run_command(["sh", "-c", script], limit=0.5)
    assert answer == Answer(None, "first\n")
    started = int(pid.read_text())
    assert has_ended(started), "what the program had started is still there"
    assert run_command(["no-such-program"]) is None
    assert run_command([sys.executable, "-c", "raise SystemExit(3)"]) == Answer(3, "")


def has_ended(pid, patience=5.0):
    """Whether a process is gone, or dead and only not yet buried, within `patience` s."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (OSError, IndexError):
            return True
        time.sleep(0.02)
    return False


def test_a_look_that_hangs_or_fails_costs_only_its_own_facts():
    forever = threading.Event()

    def hangs(machine):
        forever.wait(30)

    def fails(machine):
        raise OSError("no such thing")

    looks = {"system": look_system, "network": hangs, "storage": fails, "gpu": lambda machine: Gpu()}
    facts = gather(Machine(command=lambda command, limit=0: None), looks=looks, limit=0.5)
    forever.set()
    assert dict(facts.unknown) == {"network": "no answer within 0.5 s", "storage": "OSError: no such thing"}
    assert facts.network == Facts().network and facts.storage == Facts().storage
    assert facts.system.cores


def test_work_that_raises_or_is_late_has_no_result():
    assert bounded(lambda: 7, 5) == (7, "")
    assert bounded(lambda: 1 / 0, 5) == (None, "ZeroDivisionError: division by zero")
    assert bounded(lambda: time.sleep(1), 0.01) == (None, "no answer within 0.01 s")


def test_a_module_in_a_missing_package_is_just_not_there():
    assert not has_module("no_such_package.inside")
    assert has_module("json.decoder")


def test_every_look_sees_this_machine():
    machine = Machine()
    found = {name: look(machine) for name, look in LOOKS.items()}
    assert found["python"].version == tuple(sys.version_info[:3]) and found["python"].missing == ()
    assert found["system"].cores <= os.cpu_count() and found["system"].checkout_writable
    assert found["storage"].memory > 1 << 30 and len(found["storage"].folders) == 3
    assert found["network"].loopback_fault == "" and found["network"].interfaces
    assert set(found["compiler"].parts) and found["kernels"].numba == machine.version("numba")
