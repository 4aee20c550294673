"""The parsers and the classes, on text as compilers write it; nothing is compiled here."""

import pytest

from labs.kit.gpu.inspect.classes import KINDS, classify
from labs.kit.gpu.inspect.listing import Listing
from labs.kit.gpu.inspect.parse import parse

SASS = """
//--------------------- .text.helper_kernel --------------------------
helper_kernel:
        /*0000*/                   EXIT ;
//--------------------- .text.work --------------------------
	.section	.text.work,"ax",@progbits
work:
.text.work:
	//## File "/somewhere/kernel", line 4
        /*0000*/                   MOV R1, c[0x0][0x28] ;
	//## File "/somewhere/include/mma.hpp", line 91 inlined at "/somewhere/kernel", line 6
	//## File "/somewhere/kernel", line 6
        /*0010*/              @!P0 LDG.E.64 R2, [R4.64] ;
	//## File "/somewhere/include/math.hpp", line 17
        /*0020*/                   HFMA2.MMA R6, -RZ, RZ, 0, 0 ;
.L_x_1:
        /*0030*/                   HMMA.16816.F32 R4, R12, R20, R4 ;
        /*0040*/              @P1 BRA `(.L_x_1) ;
        /*0050*/                   EXIT ;
.L_x_2:
        /*0060*/                   BRA `(.L_x_2);
        /*0070*/                   NOP;
        /*0080*/                   NOP;
.L_x_9:
"""


def test_sass():
    text, found = parse("sass", SASS, "work", "work")
    assert [each.opcode for each in found] == ["MOV", "LDG.E.64", "HFMA2.MMA", "HMMA.16816.F32", "BRA", "EXIT"]
    assert [each.line for each in found] == [4, 6, None, None, None, None]
    assert [each.kind for each in found] == ["move", "global load", "move", "tensor", "branch", "branch"]
    assert found[1].predicate == "@!P0" and found[1].bits == 64 and found[1].operands == "R2, [R4.64]"
    rows = text.splitlines()
    assert rows[found[3].row].strip() == "HMMA.16816.F32 R4, R12, R20, R4"
    assert rows[0] == "work:" and ".L_x_1:" in rows and "NOP" not in text and "helper_kernel" not in text


PTX = """
.version 9.0
.target sm_80
.file 1 "/somewhere/kernel"
.file 2 "/somewhere/mma.hpp"
.shared .align 4 .b8 tile[1024];
.visible .entry other(.param .u64 other_param_0)
{
	ret;
}
.visible .entry _Z4workPf(
	.param .u64 _Z4workPf_param_0
)
.reqntid 128
{
	.reg .b32 	%r<4>;
	.loc	1 5 3
	ld.param.u64 	%rd1, [_Z4workPf_param_0];
	.loc	2 91 5, function_name $L__info_string0, inlined_at 1 7 5
	@%p1 ld.global.nc.v4.u32 	{%r1, %r2, %r3, %r4}, [%rd1];
	.loc	2 92 5
	{ fma.rn.f32 %f1, %f2, %f3, %f1; }
$L__tmp3:
{
	.reg .pred complete;
	waitLoop:
	mbarrier.try_wait.shared::cta.b64 complete, [%r1], %r2;
	@!complete bra.uni waitLoop;
}
	mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
	{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6},
	{%f1, %f2, %f3, %f4};
	cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
$L__BB0_2:
	bar.sync 	0;                              // all threads
	ret;
}
	.section	.debug_str
	{
.b8 1
	}
"""


def test_ptx():
    text, found = parse("ptx", PTX, "_Z4workPf", "work")
    assert [each.kind for each in found] == [
        "constant", "global load", "fma", "other", "branch", "tensor", "async copy", "barrier", "branch"
    ]  # fmt: skip
    assert [each.line for each in found][:3] == [5, 7, None]
    assert found[1].bits == 128 and found[1].predicate == "@%p1"
    assert found[5].operands.count("{") == 4, "a statement over three lines is one instruction"
    assert found[6].bits == 128
    rows = text.splitlines()
    assert rows[0] == ".shared .align 4 .b8 tile[1024];" and ".visible .entry work(" in rows
    assert "work_param_0" in text and "_Z4work" not in text and "other" not in text and ".debug" not in text
    assert rows.count("{") == rows.count("}") == 1 and "$L__BB0_2:" in rows and "$L__tmp3:" not in rows


GCN = """
	.globl	work
work:                                   ; @work
.Lfunc_begin0:
	.file	0 "/somewhere" "kernel" md5 0x12
	.file	1 "/somewhere" "library.py"
	.loc	0 5 0
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	.loc	1 9 4 is_stmt 0                 ; library.py:9:4
	v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2]
.LBB0_1:                                ; %loop
	.loc	0 7 20
	global_load_dwordx2 v[2:3], v[0:1], off
	s_waitcnt vmcnt(0)
	ds_write_b128 v4, v[0:3] offset:64
	v_mfma_f32_16x16x16_f16 a[4:7], v[2:3], v[8:9], a[0:3]
	s_cbranch_scc1 .LBB0_1
	s_endpgm
.Lfunc_end0:
	.size	work, .Lfunc_end0-work
	v_nonsense
"""


def test_gcn():
    text, found = parse("gcn", GCN, "work", "work")
    assert [(each.kind, each.bits, each.line) for each in found] == [
        ("constant", 128, 5), ("warp", None, None), ("global load", 64, 7), ("other", None, 7),
        ("shared store", 128, 7), ("tensor", None, 7), ("branch", None, 7), ("branch", None, 7),
    ]  # fmt: skip
    assert text.splitlines()[0] == "work:" and ".LBB0_1:" in text and ".loc" not in text and "nonsense" not in text


@pytest.mark.parametrize(
    ("format", "opcode", "operands", "kind", "bits"),
    [
        ("sass", "HFMA2.MMA", "R4, R2, R3, R4", "fma", None),
        ("sass", "HFMA2.MMA", "R4, -RZ, RZ, 0, 5.9e-08", "move", None),
        ("sass", "IMMA.16832.S8.S8", "R4, R2, R3, R4", "tensor", None),
        ("sass", "HGMMA.64x64x16.F32", "R24, gdesc[UR8], R24", "tensor", None),
        ("sass", "UTCHMMA", "gdesc[UR4], gdesc[UR6], tmem[UR17]", "tensor", None),
        ("sass", "UTCBAR", "[UR4], URZ", "other", None),
        ("sass", "LDG.E.U8.CONSTANT", "R0, [R2.64]", "global load", 8),
        ("sass", "LDG.E.128", "R0, [R2.64]", "global load", 128),
        ("sass", "LDG.E.LTC128B", "R0, [R2.64]", "global load", 32),
        ("sass", "LDS", "R0, [R2]", "shared load", 32),
        ("sass", "LDSM.16.M88.4", "R0, [R2]", "shared load", 128),
        ("sass", "LDGSTS.E.BYPASS.128", "[R1], [R2.64]", "async copy", 128),
        ("sass", "LDGDEPBAR", "", "other", None),
        ("sass", "LDC.64", "R2, c[0x0][0x160]", "constant", 64),
        ("sass", "STL.64", "[R1], R2", "local", 64),
        ("sass", "ATOMS.ADD", "RZ, [R1], R2", "atomic", None),
        ("sass", "REDG.E.ADD.S32", "[R1], R2", "atomic", None),
        ("sass", "REDUX.SUM", "UR4, R2", "warp", None),
        ("sass", "BAR.SYNC.DEFER_BLOCKING", "0x0", "barrier", None),
        ("sass", "SHFL.BFLY", "PT, R1, R2, 0x10, 0x1f", "warp", None),
        ("sass", "FFMA", "R1, R2, R3, R1", "fma", None),
        ("sass", "IMAD.WIDE", "R1, R2, R3, R1", "integer", None),
        ("sass", "IMAD.MOV.U32", "R1, RZ, RZ, R2", "move", None),
        ("sass", "F2F.F16.F32", "R1, R2", "convert", None),
        ("ptx", "fma.rn.f16x2", "%r1, %r2, %r3, %r1", "fma", None),
        ("ptx", "mad.lo.s32", "%r1, %r2, %r3, %r1", "integer", None),
        ("ptx", "ld.shared.f32", "%f1, [%r1]", "shared load", 32),
        ("ptx", "ld.volatile.shared.u32", "%r1, [%r1]", "shared load", 32),
        ("ptx", "ld.shared::cta.v2.b32", "{%r1, %r2}, [%r1]", "shared load", 64),
        ("ptx", "st.global.v2.f64", "[%rd1], {%fd1, %fd2}", "global store", 128),
        ("ptx", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "{%r1, %r2, %r3, %r4}, [%r5]", "shared load", 128),
        ("ptx", "wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32", "{%f1}", "tensor", None),
        ("ptx", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "{%r1, %r2}, [%rd1], %r3", "global load", 64),
        ("ptx", "wmma.store.d.sync.aligned.row.m16n16k16.global.f32", "[%rd1], {%f1, %f2}, %r1", "global store", 64),
        ("ptx", "wgmma.fence.sync.aligned", "", "other", None),
        ("ptx", "tcgen05.mma.cta_group::1.kind::f16", "[%r1], %rd1", "tensor", None),
        ("ptx", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "[%r1], 32", "other", None),
        ("ptx", "cp.async.commit_group", "", "other", None),
        ("ptx", "bar.warp.sync", "-1", "warp", None),
        ("ptx", "barrier.sync", "0", "barrier", None),
        ("ptx", "atom.shared.add.u32", "%r1, [%r2], 1", "atomic", None),
        ("ptx", "red.global.add.f32", "[%rd1], %f1", "atomic", None),
        ("ptx", "setp.lt.f32", "%p1, %f1, %f2", "float", None),
        ("ptx", "cvta.to.global.u64", "%rd1, %rd2", "move", None),
        ("ptx", "cvt.rn.f16.f32", "%h1, %f1", "convert", None),
        ("gcn", "v_wmma_f32_16x16x16_f16", "v[0:7], v[8:15], v[16:23], v[0:7]", "tensor", None),
        ("gcn", "v_fmac_f32_e32", "v1, v2, v3", "fma", None),
        ("gcn", "v_dot2_f32_f16", "v1, v2, v3, v1", "fma", None),
        ("gcn", "global_load_b128", "v[0:3], v[4:5], off", "global load", 128),
        ("gcn", "global_load_d16_u8", "v0, v[4:5], off", "global load", 8),
        ("gcn", "buffer_load_dwordx4", "v8, s[8:11], 0 offen lds", "async copy", 128),
        ("gcn", "ds_read2_b64", "v[0:3], v4 offset1:8", "shared load", 128),
        ("gcn", "ds_bpermute_b32", "v0, v1, v2", "warp", None),
        ("gcn", "ds_add_u32", "v0, v1", "atomic", None),
        ("gcn", "global_atomic_add_f32", "v[0:1], v2, off", "atomic", None),
        ("gcn", "flat_store_short", "v[0:1], v2", "global store", 16),
        ("gcn", "s_barrier", "", "barrier", None),
        ("gcn", "v_cvt_f32_f16_e32", "v0, v1", "convert", None),
        ("gcn", "v_add_f32_e32", "v0, v1, v2", "float", None),
        ("gcn", "v_add_u32_e32", "v0, v1, v2", "integer", None),
        ("gcn", "v_accvgpr_read_b32", "v1, a7", "move", None),
    ],
)
def test_classes(format, opcode, operands, kind, bits):
    assert classify(format, opcode, operands) == (kind, bits)
    assert kind in KINDS


def listing(raw=SASS, format="sass", source="one\n" * 6):
    text, found = parse(format, raw, "work", "work")
    return Listing("work", "sm_80", format, text, found, source, "a compiler 1.0")


def test_count_matches_whole_words_of_the_opcode():
    found = listing()
    assert found.count("HMMA") == found.count(r"\bHMMA\b") == found.count("HMMA.16816") == 1
    assert found.count("MMA") == 1, "HFMA2.MMA: MMA is a word of its own there, so ask for HMMA"
    assert found.count("HM") == found.count("R4") == found.count("168") == 0
    assert found.count("LDG.E.64|EXIT") == 2
    assert found.counts["tensor"] == 1 and found.counts["atomic"] == 0
    assert found.widths("global load") == {64: 1} and found.widths("shared load")[64] == 0
    with pytest.raises(ValueError, match="Unknown kind 'loads'"):
        found.widths("loads")
    assert listing(GCN, "gcn").count("v_mfma") == 1


def test_a_listing_says_in_words_what_it_shows():
    words = repr(listing())
    assert words.startswith("work as SASS for sm_80, NVIDIA Ampere (A100)\n6 instructions: 1 tensor, 1 global load")
    assert "1 of 64 bit" in words and words.endswith("Made here by a compiler 1.0.")
