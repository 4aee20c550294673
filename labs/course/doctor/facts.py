"""What is known about a machine, as plain values. None, and the defaults, mean unknown: no trap closes on them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class System:
    """The operating system, and where the course lies in it."""

    name: str = ""  # as of platform.system: Linux, Darwin, Windows
    processor: str = ""  # x86_64, arm64, ...
    translated: bool = False  # an x86_64 Python on an Apple processor
    wsl: bool = False
    container: bool = False
    cores: int | None = None
    checkout: str = ""  # the folder of the course
    checkout_writable: bool | None = None


@dataclass(frozen=True)
class Python:
    """The Python that runs, its packages, and its connection with Jupyter."""

    version: tuple[int, ...] = ()
    bits: int = 64
    libc: str = ""  # glibc, musl, or unknown
    encoding: str = ""  # of text files
    missing: tuple[str, ...] = ()  # needed distributions that are not installed
    versions: dict[str, str] = field(default_factory=dict)  # by distribution
    executable: str = ""
    kernel: str = ""  # the Python that the kernel "python3" names with its full path
    kernel_exists: bool = True
    kernel_same: bool = True  # whether it belongs to the environment of this Python
    server: str = ""  # prefix of the Jupyter server that started this kernel
    server_has_widgets: bool | None = None
    own_widgets: str = ""  # version of a widget manager in the user's own folder, which hides the installed one
    threads: str | None = None  # OMP_NUM_THREADS
    local_ranks: int | None = None  # processes that a launcher has started on this machine


@dataclass(frozen=True)
class Gpu:
    """NVIDIA's GPUs and their driver, seen without CUDA."""

    on_bus: int = 0  # graphics devices of NVIDIA on the PCI bus
    device_files: int = 0  # /dev/nvidia0, ...
    driver: str = ""  # version of the kernel's driver
    smi: str = ""  # of nvidia-smi: absent, fine, mismatch, failed, silent
    smi_text: str = ""
    names: tuple[str, ...] = ()
    capabilities: tuple[tuple[int, int], ...] = ()  # compute capability of each
    ids: tuple[str, ...] = ()
    visible: str | None = None  # CUDA_VISIBLE_DEVICES
    relations: tuple[str, ...] = ()  # of every two GPUs, as nvidia-smi topo -m names them
    peer_access: bool | None = None  # whether the driver allows direct copies between any two of them
    iommus: tuple[str, ...] = ()  # entries of /sys/class/iommu
    kernel_options: str = ""  # those of the kernel's command line that concern the IOMMU
    p2p_disable: str | None = None  # NCCL_P2P_DISABLE
    p2p_level: str | None = None  # NCCL_P2P_LEVEL
    dxg: bool = False  # WSL passes a GPU on
    wsl_library: bool = False  # the Windows driver's libcuda
    linux_library_in_wsl: bool = False  # a Linux driver's libcuda that hides it

    @property
    def count(self) -> int:
        """GPUs that a program here could reach: what nvidia-smi lists, or else the device files."""
        return len(self.names) or self.device_files

    @property
    def cuda(self) -> int | None:
        """Newest major version of CUDA that the driver runs, or None."""
        from labs.course.doctor.drivers import newest_cuda

        return newest_cuda(self.driver)


@dataclass(frozen=True)
class Torch:
    """PyTorch, tried in a process of its own."""

    version: str = ""
    cuda: str | None = None  # version of CUDA that it is built for; None when built without
    hip: str | None = None
    architectures: tuple[str, ...] = ()  # sm_80, compute_90, ...
    import_fault: str = ""
    cuda_fault: str = ""  # in PyTorch's words
    stalled: str = ""  # "import", "cuda" or "ranks": where it stood still
    gpus: tuple[tuple[str, int], ...] | None = None  # name and memory (B) of each that it can use; None: not asked


@dataclass(frozen=True)
class Kernels:
    """CuPy, numba and the CUDA libraries that they load."""

    cupy: tuple[str, ...] = ()  # installed distributions
    numba: str = ""
    numba_cuda: str = ""
    simulator: bool = False  # NUMBA_ENABLE_CUDASIM
    bindings: str = ""  # cuda-bindings
    nvrtc: tuple[int, ...] | None = None  # major versions found
    nvvm: bool | None = None


@dataclass(frozen=True)
class Compiler:
    """What the lessons in C++ build with. A fault says what is missing and how to get it; empty: it is there."""

    version: str = ""  # first line of what the compiler says about itself
    compiler_fault: str = ""
    nanobind_fault: str = ""
    headers_fault: str = ""
    cmake_fault: str = ""
    parts: dict[str, str] = field(default_factory=dict)  # folder of each library; empty text when it is absent


@dataclass(frozen=True)
class Network:
    """What ranks need to find one another."""

    loopback_fault: str | None = None  # of a connection through 127.0.0.1; empty when it works
    localhost: tuple[str, ...] | None = None  # addresses
    host: str = ""  # own name
    host_addresses: tuple[str, ...] | None = None
    host_seconds: float | None = None  # that the look-up took
    host_reachable: bool | None = None  # whether this machine can listen on one of these addresses
    interfaces: tuple[str, ...] = ()
    gloo_interface: str | None = None  # GLOO_SOCKET_IFNAME
    nccl_interface: str | None = None  # NCCL_SOCKET_IFNAME
    ranks_seconds: float | None = None  # that two gloo ranks took for an all-reduce
    ranks_fault: str = ""


@dataclass(frozen=True)
class Folder:
    """A folder that the course writes to."""

    name: str  # what lies there
    path: str
    variable: str  # environment variable that names another
    free: int | None = None  # B
    write_fault: str = ""
    filesystem: str = ""
    executable: bool = True  # whether libraries may be loaded from there


@dataclass(frozen=True)
class Storage:
    """Memory and disk."""

    shared: int | None = None  # B of /dev/shm
    shared_fault: str = ""  # why nothing can be written there
    open_files: int | None = None
    memory: int | None = None  # B that this process may use
    memory_limited: bool = False  # by a container, below what the machine has
    folders: tuple[Folder, ...] = ()


@dataclass(frozen=True)
class Facts:
    """All of it. `unknown` names what could not be found out, and why."""

    system: System = System()
    python: Python = field(default_factory=Python)
    gpu: Gpu = Gpu()
    torch: Torch = Torch()
    kernels: Kernels = Kernels()
    compiler: Compiler = field(default_factory=Compiler)
    network: Network = Network()
    storage: Storage = Storage()
    unknown: tuple[tuple[str, str], ...] = ()
