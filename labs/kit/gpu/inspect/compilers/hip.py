"""HIP-style C to the machine code of AMD GPUs: clang to LLVM's intermediate form, LLVM to assembly.

clang parses the kernel for the wanted GPU where it knows it; an older clang parses it for gfx90a, and the newer LLVM
inside llvmlite makes the code for the wanted one, which works as long as the kernel's built-in functions exist there.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from . import tools

PRELUDE = """
typedef _Float16 half;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
#define __global__ __attribute__((visibility("default")))
#define __device__ static inline __attribute__((always_inline))
#define __shared__ static __attribute__((address_space(3), loader_uninitialized))
#define __restrict__ __restrict
#define __syncthreads() __builtin_amdgcn_s_barrier()
struct labs_thread_index { unsigned x, y, z; };
#define threadIdx ((struct labs_thread_index){__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), \\
  __builtin_amdgcn_workitem_id_z()})
#define blockIdx ((struct labs_thread_index){__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), \\
  __builtin_amdgcn_workgroup_id_z()})
"""
"""What HIP's own header would define of the little that the lessons' kernels use."""

OLDER = "gfx90a"


class Refused(Exception):
    """clang's or LLVM's own words about what is wrong with the kernel."""


REFUSALS = (Refused,)


def compile(request: dict) -> dict:
    """GCN of one kernel of a C text."""
    import llvmlite.binding as llvm

    arch, name = request["arch"], request["name"]
    source = f'{PRELUDE}\n{request["header"]}\n#line 1 "kernel"\n{request["source"]}\n'
    command = tools.clang()
    bitcode = _clang(command, arch, source, request["options"])
    if bitcode is None:
        bitcode = _clang(command, OLDER, source, request["options"])
    if bitcode is None:
        raise Refused(f"{command[-1]} knows no AMD GPU. pip install ziglang brings a clang that does.")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        text = str(llvm.parse_bitcode(bitcode))
        # The processor is chosen here, and clang below version 17 cannot mark a C function as a kernel.
        text = re.sub(r'"target-(?:cpu|features)"="[^"]*"', "", text)
        text = re.sub(rf"define [^@]*void @{re.escape(name)}\(", f"define amdgpu_kernel void @{name}(", text)
        module = llvm.parse_assembly(text)
        module.verify()
        machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu=arch, opt=3)
        raw = machine.emit_assembly(module)
    except RuntimeError as error:
        raise Refused(f"LLVM cannot compile it for {arch}: {error}") from None
    first = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60).stdout
    clang = re.search(r"clang version (\d+\.\d+)", first)
    used = f"clang {clang[1]}" if clang else "clang"
    return {"raw": raw, "kernel": name, "compiler": f"{used} and LLVM {'.'.join(map(str, llvm.llvm_version_info))}"}


def _clang(command, arch: str, source: str, options) -> bytes | None:
    """LLVM's intermediate form, or None if this clang does not know `arch`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "kernel.bc"
        done = subprocess.run(
            [*command, "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-nogpulib", "-O2", "-gline-tables-only",
             "-Wno-everything", "-emit-llvm", "-c", "-x", "c", "-", "-o", out, *options],
            input=source, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        if done.returncode == 0:
            return out.read_bytes()
    log = done.stderr
    if "invalid target ID" in log or "unknown target CPU" in log or "unable to create target" in log:
        return None
    raise Refused(re.sub(r"^kernel:(\d+):\d+: ", r"line \1: ", log, flags=re.M).strip())
