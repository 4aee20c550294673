"""What kind of work an instruction does, and how wide a memory access is: PTX, SASS and GCN by their opcodes.

The kinds are the same for all three, so that listings can be compared:

tensor            one step of a matrix unit: mma.sync, HMMA, HGMMA, UTCHMMA, v_mfma, v_wmma
fma               multiply and add in floating point, on the scalar units
float, integer    other arithmetic, comparisons included
convert           from one number type to another
global load, global store, shared load, shared store, local, constant    memory, by where it lies
async copy        global to shared memory without passing through registers
atomic            read, change and write in one piece
barrier           the threads of a block wait for each other
warp              shuffles, votes and waiting within a warp
branch            jumps, calls and the end
move              registers, special registers
other             what is left: waiting for loads, fences, no-ops

Sources: "PTX ISA" 9.0, chapter 9; "CUDA Binary Utilities", instruction set reference; AMD's "CDNA 3 ISA" and
"RDNA 3 ISA" reference guides.
"""

from __future__ import annotations

import re

KINDS = (
    "tensor", "fma", "global load", "global store", "shared load", "shared store", "async copy", "atomic", "barrier",
    "warp", "float", "convert", "local", "constant", "branch", "integer", "move", "other",
)  # fmt: skip
"""All kinds, most telling first."""

MEMORY = ("global load", "global store", "shared load", "shared store", "async copy", "local", "constant")


def classify(format: str, opcode: str, operands: str) -> tuple[str, int | None]:
    """The kind of an instruction, and for memory the bits that one thread moves (None where the name does not say)."""
    return {"ptx": _ptx, "sass": _sass, "gcn": _gcn}[format](opcode, operands)


def _first(rules, opcode: str, otherwise: str) -> str:
    return next((kind for kind, pattern in rules if pattern.match(opcode)), otherwise)


def _rules(**patterns: str):
    return tuple((kind.replace("_", " "), re.compile(pattern)) for kind, pattern in patterns.items())


# PTX: "ld.global.nc.v4.u32", "fma.rn.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32".
_FLOATS = r".*\.(?:f16|bf16|tf32|f32|f64|f16x2|bf16x2)\b"
_PTX = _rules(
    tensor=r"(?:mma|wmma\.mma|wgmma\.mma_async|tcgen05\.mma)\b(?!\.sp\.meta)",
    async_copy=r"cp\.(?:async\.)(?!commit|wait|mbarrier)",
    shared_load=r"ldmatrix|ld\.(?:\w+\.)*shared|wmma\.load\..*\.shared",
    shared_store=r"stmatrix|st\.(?:\w+\.)*shared|wmma\.store\..*\.shared",
    global_load=r"ld(?:u|\.\w+)*\.global|ldu|wmma\.load|ld\.(?!param|const|local)",
    global_store=r"st(?:\.\w+)*\.global|wmma\.store|st\.(?!param|local)",
    local=r"(?:ld|st)\.local",
    constant=r"(?:ld|st)\.(?:param|const)",
    atomic=r"atom\b|red\b",
    warp=r"shfl|vote|activemask|match|redux|elect|bar\.warp",
    barrier=r"bar\.|barrier\.",
    branch=r"bra\b|brx|call|ret\b|exit\b|trap\b",
    convert=r"cvt\b",
    fma=rf"(?:fma|mad){_FLOATS}",
    move=r"mov\b|selp|slct|prmt|cvta",
    other=r"(?:membar|fence|cp\.|wgmma|tcgen05|mbarrier|griddepcontrol|nanosleep|prefetch|discard)",
    float=_FLOATS,
)


def _ptx(opcode: str, operands: str):
    kind = _first(_PTX, opcode, "integer")
    if kind not in MEMORY:
        return kind, None
    if opcode.startswith("ldmatrix") or opcode.startswith("stmatrix"):
        times = re.search(r"\.x(\d)\b", opcode)
        return kind, 32 * int(times[1]) if times else None
    if kind == "async copy":
        size = re.search(r"\]\s*,\s*(0x[0-9a-fA-F]+|\d+)", operands)
        return kind, 8 * int(size[1], 0) if size and "bulk" not in opcode else None
    if opcode.startswith("wmma"):
        return kind, 32 * (operands[operands.find("{") : operands.find("}")].count(",") + 1)
    vector = re.search(r"\.v(\d)\b", opcode)
    scalar = re.search(r"\.[busf](\d+)$", opcode)
    return kind, int(scalar[1]) * (int(vector[1]) if vector else 1) if scalar else None


# SASS: "LDG.E.64.CONSTANT", "HMMA.16816.F32", "HFMA2.MMA" (which is no tensor instruction).
_SASS = _rules(
    tensor=r"(?:[BDHIOQ]G?MMA|UTC[A-Z]MMA)(?:\.|$)",
    async_copy=r"LDGSTS|UBLKCP|UTMALDG|UTMASTG|UBLKPF",
    global_load=r"LDG\b|LD\b",
    global_store=r"STG\b|ST\b",
    shared_load=r"LDSM?\b",
    shared_store=r"STSM?\b",
    local=r"(?:LDL|STL)\b",
    constant=r"U?LDCU?\b",
    atomic=r"ATOM|RED\b|REDG|REDS|UTCATOM",
    barrier=r"BAR\b|BARRIER",
    warp=r"SHFL|VOTEU?|MATCH|REDUX|WARPSYNC|ELECT|CREDUX",
    branch=r"BRA|BRX|JM[PX]|EXIT|RET|CALL|BSSY|BSYNC|BREAK|KILL|BPT|BRXU",
    convert=r"F2|I2|FRND|U?F2FP|I2FP|F2IP",
    move=r"MOV|UMOV|S2U?R|CS2R|SEL|USEL|PRMT|UPRMT|R2UR|U2R|R2P|P2R|IMAD\.MOV|I?MAD\.U32|LDTM|STTM|VIADD\.MOV",
    fma=r"(?:FFMA2?|DFMA|HFMA2|UFFMA)\b",
    float=r"(?:U?FADD2?|U?FMUL2?|FSETP?|FMNMX3?|FSEL|FCHK|FSWZADD|MUFU|DADD|DMUL|DSETP|DMNMX|HADD2|HMUL2|HMNMX2|HSETP?2|"
    r"UF[A-Z]+)\b",
    other=r"NOP|DEPBAR|LDGDEPBAR|LDTDEPBAR|MEMBAR|FENCE|ERRBAR|CCTL|ARRIVES|SYNCS|UTC|UTMA|NANOSLEEP|WARPGROUP|"
    r"YIELD|ACQBULK|PREEXIT|CGAERRBAR|UCGABAR|USETMAXREG|PMTRIG",
)


def _sass(opcode: str, operands: str):
    if opcode.startswith("HFMA2") and re.match(r"\w+, -?RZ(?:\.H0_H0)?, -?RZ", operands):
        return "move", None  # 0 * 0 + constant: how the compiler loads a constant through the idle half unit
    kind = _first(_SASS, opcode, "integer")
    if kind not in MEMORY:
        return kind, None
    if opcode.startswith(("LDSM", "STSM")):
        times = re.search(r"\.(\d)(?:\.|$)", opcode)
        return kind, 32 * (int(times[1]) if times else 1)
    if kind == "async copy" and not opcode.startswith("LDGSTS"):
        return kind, None
    narrow = re.search(r"\.[US](8|16)(?:\.|$)", opcode)
    wide = re.search(r"\.(64|128|256)(?:\.|$)", opcode.replace(".L2", "_L2").replace("LTC", "_"))
    return kind, int((narrow or wide)[1]) if narrow or wide else 32


# GCN: "global_load_dwordx4", "v_mfma_f32_16x16x16_f16", "ds_read_b64".
_GCN = _rules(
    tensor=r"v_(?:mfma|wmma|swmmac|smfmac)",
    fma=r"v_(?:pk_)?(?:fma|fmac|mad_f|mac_f|fma_mix|dot\d|dual_fmac|fmamk|fmaak|madmk|madak)",
    async_copy=r"global_load_lds|buffer_load_\w+_lds|global_load_async",
    atomic=r"(?:global|flat|buffer)_atomic|ds_(?:add|sub|inc|dec|min|max|and|or|xor|cmpst|cmpstore|wrxchg|storexchg)",
    warp=r"ds_(?:b?permute|swizzle|bpermute)|v_(?:readlane|readfirstlane|writelane|permlane)|.*_dpp\d?$",
    global_load=r"(?:global|flat|buffer)_load",
    global_store=r"(?:global|flat|buffer)_store",
    shared_load=r"ds_(?:read|load)",
    shared_store=r"ds_(?:write|store)",
    local=r"scratch_",
    constant=r"s_(?:load|buffer_load)",
    barrier=r"s_barrier",
    branch=r"s_c?branch|s_endpgm|s_setpc|s_swappc|s_call|s_trap",
    convert=r"v_cvt",
    move=r"[sv]_mov|v_accvgpr|v_dual_mov|s_cselect|v_cndmask|v_perm_|s_cmov",
    other=r"s_(?:waitcnt|wait|nop|sleep|sched|setprio|delay|clause|set_gpr|setreg|getreg|inst|icache|dcache|sendmsg|code_end)|"
    r"buffer_(?:inv|wbl2|gl)|v_nop|ds_nop",
    float=r"v_(?:pk_)?\w*_(?:f16|f32|f64|bf16)(?:_|$)",
)
_GCN_BITS = re.compile(r"_(?:d16_)?(?:(u?byte|sbyte|[ui]8|b8)|(u?short|sshort|[ui]16|b16)|dword(?:x(\d))?|b(\d+))")


def _gcn(opcode: str, operands: str):
    kind = _first(_GCN, opcode, "integer")
    if kind in ("global load", "async copy") and operands.endswith(" lds"):
        kind = "async copy"
    if kind not in MEMORY:
        return kind, None
    found = _GCN_BITS.search(opcode)
    if not found:
        return kind, None
    byte, short, dwords, bits = found.groups()
    wide = 8 if byte else 16 if short else int(bits) if bits else 32 * int(dwords or 1)
    return kind, 2 * wide if re.match(r"ds_(?:read|write|load|store)_?2", opcode) or "_2addr" in opcode else wide
