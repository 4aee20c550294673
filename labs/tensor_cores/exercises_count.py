"""Exercise tensor_instructions: count what a matrix unit does in a listing of machine code."""

from __future__ import annotations

import re

import numpy as np

from labs.kit.exercise import Case, Exercise, Wrong, short

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

SCALAR = """tiled:
    MOV R1, c[0x0][0x28]
    HFMA2.MMA R6, -RZ, RZ, 0, 2.384185791015625e-07
    LDG.E.U16 R14, [R14.64]
    HADD2.F32 R2, -RZ, R8.H0_H0
    FFMA R21, R2, R21, R3
    BAR.SYNC.DEFER_BLOCKING 0x0
    @P0 BRA `(.L_x_1)"""
TURING = """wmma_product:
    LDG.E.SYS R38, [R38]
    HMMA.1688.F32 R20, R38, R51, R20
    @!P3 HMMA.1688.F32 R24, R38, R52, R24
    EXIT"""
AMPERE = """wmma_product:
    HFMA2.MMA R3, -RZ, RZ, 0, 0
    HMMA.16816.F32 R4, R12.reuse, R22, R4
    HMMA.16816.F32 R8, R12, R18, R8
    @!P0 HMMA.16816.F32 R4, R12.reuse, R18, R4
    EXIT"""
HOPPER = """triton_product:
    WARPGROUP.ARRIVE
    HGMMA.64x64x16.F32 R24, gdesc[UR8].tnspB, R24
    HGMMA.64x64x16.F32 R24, gdesc[UR8].tnspB, R24, gsb0
    WARPGROUP.DEPBAR.LE gsb0, 0x0"""
BLACKWELL = """triton_product:
    UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR17], tmem[UR10], idesc[UR11], !UPT
    UTCHMMA gdesc[UR14], gdesc[UR8], tmem[UR17], tmem[UR10], idesc[UR11], UPT
    UTCBAR [UR4], URZ"""
CDNA = """mfma_product:
    global_load_dwordx2 v[16:17], v[6:7], off
    v_mfma_f32_16x16x16_f16 v[0:3], v[16:17], v[12:13], v[0:3]
    v_fma_f32 v4, v5, v6, v4
    s_endpgm"""
RDNA = """triton_product:
    v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]
    v_wmma_f32_16x16x16_f16 v[0:7], v[24:31], v[16:23], v[0:7]
    s_endpgm"""
NAMED = """HMMA_or_not:
    // this kernel wanted to use HMMA, but its sums became
    FFMA R21, R2, R21, R3
    FFMA R8, R8, R23, R21"""
UNITS = ("HMMA", "HGMMA", "UTCHMMA", "v_mfma", "v_wmma")


def cases(seed):
    rng = np.random.default_rng(seed)
    lines = [
        line for text in (SCALAR, AMPERE, HOPPER, CDNA) for line in text.splitlines()[1:] if not line.endswith(")")
    ]
    drawn = "drawn:\n" + "\n".join(lines[i] for i in rng.integers(0, len(lines), 40))
    texts = {
        "a product on the scalar units, sm_80": SCALAR,
        "WMMA on sm_80": AMPERE,
        "WMMA on sm_75": TURING,
        "Triton's dot on sm_90": HOPPER,
        "Triton's dot on sm_100": BLACKWELL,
        "MFMA on gfx942": CDNA,
        "Triton's dot on gfx1100": RDNA,
    }
    found = [Case(title, {"listing": text}) for title, text in texts.items()]
    found.append(Case("a name and a comment", {"listing": NAMED}, "edge"))
    found.append(Case("40 lines, drawn", {"listing": drawn}))  # the only one that nobody can note down
    found.append(Case("an empty listing", {"listing": ""}, "edge"))
    return found


def run(answers, inputs):
    return answers[0](inputs["listing"])


def marked(text):
    """The numbers of the lines whose instruction is one of a matrix unit."""
    numbers = []
    for number, line in enumerate(text.splitlines()):
        words = [word for word in line.split() if not word.startswith("@")]
        opcode = words[0] if words else ""
        if opcode.split(".")[0] in UNITS or opcode.startswith(("v_mfma_", "v_wmma_")):
            numbers.append(number)
    return numbers


def verify(case, output):
    text = case.inputs["listing"]
    lines, right = text.splitlines(), marked(text)
    if type(output) is not int:
        raise Wrong("not_a_number", f"How many? A whole number is asked for, not {short(output)}.")
    if output == len(right):
        return
    evidence = f"yours: {output}, in this listing:\n{chr(10).join(lines[:12])}"
    hint, question, *then = _slip(text, lines, right, output)
    raise Wrong(hint, f"{question}\n{evidence}", picture=_picture(lines, right), then=then)


def _slip(text, lines, right, output):
    count = lambda pattern, flags=0: sum(bool(re.search(pattern, line, flags)) for line in lines)
    with_constants = len(right) + count(r"\bHFMA2\.MMA\b")
    if output in (with_constants, text.count("MMA")) and "HFMA2.MMA" in text and output > len(right):
        return (
            "constant",
            "You counted HFMA2.MMA. Look at its operands: what does 0 times 0 plus a constant compute?",
            "It is an FMA on the scalar units; here the compiler uses it to load a constant. MMA is part of its name"
            " for reasons of NVIDIA's own.",
            "Compare the whole name up to the first dot: HMMA, HGMMA, UTCHMMA. HFMA2 is none of them.",
        )
    if output == 1 and len(right) > 1:
        return ("yes_or_no", "Is there one, or how many are there?", "Count lines; `in` only says yes or no.")
    if "v_" in text and output == 0:
        return (
            "nvidia_only",
            "This is AMD's machine code. What are its matrix instructions called?",
            "v_mfma… on CDNA (MI200, MI300), v_wmma… on RDNA 3.",
        )
    if ("HGMMA" in text or "UTCHMMA" in text) and output == 0:
        return (
            "one_generation",
            "HMMA is what Turing and Ampere have. What do Hopper and Blackwell have?",
            "HGMMA (Hopper), UTCHMMA (Blackwell).",
        )
    if text and ":" in lines[0] and output == len(right) + 1:
        return (
            "name_of_the_kernel",
            "You counted the name of the kernel. Which lines are instructions, and which word of them is the opcode?",
            "A label ends with a colon. The opcode is the first word of an instruction.",
        )
    if output > len(right):
        return (
            "not_an_opcode",
            "You count text that is no instruction. Which word of a line says what the line does?",
            "The first word, the opcode; a word like @!P0 before it is a condition.",
        )
    if any(line.strip().startswith("@") for line in lines):
        return (
            "predicate",
            "Some lines begin with @P0 or @!P0. Where is their opcode?",
            "@!P0 is a condition: do this only where P0 is false. The opcode is the word after it.",
        )
    return (
        "missed",
        "Which of these opcodes belong to a matrix unit?",
        "HMMA, HGMMA, UTCHMMA; v_mfma…, v_wmma….",
    )


def _picture(lines, right):
    def draw():
        from labs.tensor_cores.pictures import marked_lines

        return marked_lines(lines, right)

    return draw


def achieved(outcomes):
    return [(case.title, str(output)) for case, output in outcomes[:7]]


tensor_instructions = Exercise(
    "tensor_instructions", "Count tensor instructions", 1, cases, run, verify, achieved=achieved
)
