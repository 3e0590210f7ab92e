// What single instructions of sm_75 to sm_121 do to registers. Only encodings that were compared with nvdisasm (13.5: tests/tools/compare_sass.py, 7.5
// million instructions of PyTorch 2.11's libtorch_cuda.so and all of tests/data/cubin) are decoded; any other bit pattern is CT_EFFECT_UNKNOWN, and nothing is
// concluded across it.
//
// 128 bits: opcode in bits 0-11, guard predicate in 12-15 (7: always), destination in 16-23, first source in 24-31, second source or
// immediate in 32-63, third source in 64-71, modifiers up to 104, scheduling from 105 on.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "cubin/cubin_priv.h"

// From here on what names an architecture is that of the H100 (branches count in a way of their own) and of Blackwell (more uniform registers, 64-bit
// integer instructions).
enum { SM_HOPPER = 90, SM_BLACKWELL = 100 };

// Upper bounds of what the other instructions write, so that a search may go past them. Sorted opcodes.

// ATOMS.CAST.SPIN BAR BREAK CCTL CGAERRBAR DEPBAR DSETP ENDCOLLECTIVE ERRBAR FCHK FENCE FSETP HSETP2 ISETP LDGDEPBAR LDGSTS MEMBAR NANOSLEEP NOP
// PLOP3 R2P RED REDG ST STG STL STS STSM UCGABAR_ARV UCGABAR_WAIT UFSETP UISETP UPLOP3 UTMACCTL UTMACMDFLUSH UTMALDG UTMASTG WARPSYNC YIELD
static const uint16_t no_register[] = {
	0x20b, 0x20c, 0x22a, 0x234, 0x253, 0x28c, 0x302, 0x385, 0x386, 0x387, 0x388, 0x3b4, 0x3b5, 0x3c6, 0x42a, 0x58d, 0x5ab, 0x5b4, 0x62a, 0x804, 0x80b,
	0x80c, 0x81c, 0x844, 0x88c, 0x89c, 0x902, 0x918, 0x91a, 0x91b, 0x942, 0x946, 0x948, 0x95d, 0x97f, 0x985, 0x986, 0x988, 0x98e, 0x98f, 0x992, 0x9a6,
	0x9ab, 0x9af, 0x9b7, 0x9b9, 0x9c7, 0xa0b, 0xa0c, 0xb1d, 0xc0b, 0xc0c, 0xd02, 0xdc7, 0xe2a, 0xfae,
};
// B2R BMSK BREV F2FP FADD FFMA FLO FMNMX FMNMX3 FMUL FSEL FSET HADD2 HFMA2 HMUL2 HSET2 I2FP IABS IADD IADD3 IMAD LEA LOP3 MOV MUFU P2R POPC PRMT
// QSPC S2R SEL SGXT SHF SHFL VIADD VIADDMNMX VIMNMX VIMNMX3 VOTE
static const uint16_t one[] = {
	0x202, 0x207, 0x208, 0x209, 0x210, 0x211, 0x212, 0x213, 0x216, 0x219, 0x21b, 0x220, 0x221, 0x223, 0x224, 0x227, 0x230, 0x231, 0x232, 0x233, 0x23e,
	0x245, 0x248, 0x276, 0x300, 0x301, 0x308, 0x309, 0x31c, 0x389, 0x3aa, 0x421, 0x423, 0x424, 0x430, 0x431, 0x435, 0x446, 0x589, 0x619, 0x621, 0x624,
	0x802, 0x803, 0x806, 0x807, 0x808, 0x809, 0x810, 0x811, 0x812, 0x816, 0x819, 0x81a, 0x820, 0x823, 0x824, 0x827, 0x831, 0x835, 0x836, 0x846, 0x848,
	0x908, 0x919, 0x989, 0xa02, 0xa07, 0xa08, 0xa0a, 0xa10, 0xa11, 0xa12, 0xa13, 0xa19, 0xa1b, 0xa20, 0xa23, 0xa24, 0xa27, 0xc02, 0xc07, 0xc08, 0xc09,
	0xc0a, 0xc0f, 0xc10, 0xc11, 0xc12, 0xc13, 0xc19, 0xc1b, 0xc20, 0xc23, 0xc24, 0xc27, 0xc36, 0xc3e, 0xc45, 0xc46, 0xc48, 0xd00, 0xd08, 0xd09, 0xe21,
	0xe23, 0xe24, 0xe46, 0xf89,
};
// BMOV CS2R DADD DFMA DMUL F2F F2I FRND I2F IADD IMAD IMNMX LEPC MOV SEL
static const uint16_t up_to_two[] = {
	0x217, 0x225, 0x228, 0x229, 0x22b, 0x235, 0x304, 0x305, 0x306, 0x307, 0x310, 0x311, 0x312, 0x34e, 0x355, 0x402, 0x407, 0x429, 0x42b, 0x607, 0x625,
	0x629, 0x62b, 0x805, 0x817, 0x825, 0x828, 0x82b, 0x94e, 0xa17, 0xa25, 0xa28, 0xa2b, 0xb06, 0xb10, 0xc17, 0xc25, 0xc28, 0xc2b, 0xc35, 0xd06, 0xd10,
	0xd12, 0xe07, 0xe25, 0xe29, 0xe2b,
};
// ATOM ATOMG ATOMS HMMA LD LDC LDG LDL LDS LDSM
static const uint16_t up_to_four[] = {
	0x23c, 0x381, 0x38a, 0x38b, 0x38c, 0x38d, 0x3a9, 0x83b, 0x980, 0x981, 0x983, 0x984, 0x98a, 0x98c, 0x9a2, 0x9a8, 0xf8c,
};
// ELECT R2UR REDUX UBMSK UIADD3 UIMAD ULEA ULOP3 UMOV UP2UR UPRMT USEL USHF UVIMNMX VOTEU
static const uint16_t one_uniform[] = {
	0x24a, 0x287, 0x290, 0x291, 0x292, 0x299, 0x29b, 0x2a4, 0x2a6, 0x2ca, 0x3c2, 0x3c4, 0x4a4, 0x82f, 0x84a, 0x882, 0x883, 0x886, 0x887, 0x890, 0x891,
	0x892, 0x896, 0x899, 0x8a4, 0xc82,
};
// CS2UR S2UR UF2I UI2F UIADD3 UIMAD UIMNMX ULDC UMOV USEL
static const uint16_t up_to_two_uniform[] = {
	0x25a, 0x25c, 0x285, 0x297, 0x2a5, 0x482, 0x487, 0x885, 0x897, 0x8a5, 0x8cb, 0x9c3, 0xc87,
};

static const struct writers {
	const uint16_t *opcodes;
	size_t n;
	uint16_t count;
	bool uniform;
} all_writers[] = {
	{no_register, CT_COUNT(no_register), 0, false},
	{one, CT_COUNT(one), 1, false},
	{up_to_two, CT_COUNT(up_to_two), 2, false},
	{up_to_four, CT_COUNT(up_to_four), 4, false},
	{one_uniform, CT_COUNT(one_uniform), 1, true},
	{up_to_two_uniform, CT_COUNT(up_to_two_uniform), 2, true},
};

enum {  // opcodes that need more than the table
	OP_BRA = 0x947, OP_EXIT = 0x94d, OP_RET = 0x950, OP_BSSY = 0x945, OP_BSYNC = 0x941, OP_CALL_REL = 0x944, OP_CALL_ABS = 0x943,
	OP_CALL_ABS_REG = 0x343, OP_CALL_REL_REG = 0x344, OP_WARPSYNC_COLLECTIVE = 0x348, OP_BPT = 0x95c, OP_BRX = 0x949, OP_JMP = 0x94a,
	OP_JMX = 0x94c, OP_BRXU = 0x958, OP_JMXU = 0x959, OP_BRA_UNIFORM = 0x547,
	OP_LDC = 0xb82, OP_ULDC = 0xab9, OP_LDCU = 0x7ac,
};

static uint16_t field(const struct ct_insn *i, unsigned bit)
{
	return i->lo >> bit & 0xff;
}

// Distance in units of 4 bytes from the next instruction: bits 34-81, of the H100 and later bits 16-23 below them.
static uint64_t branch_target(const struct ct_insn *i, uint64_t pc, bool may_have_low)
{
	bool has_low = may_have_low && i->sm >= SM_HOPPER;
	uint64_t high = i->lo >> 34 | (i->hi & 0x3ffff) << 30;
	if (high >> 47)  // negative
		high |= (uint64_t)0xffff << 48;
	uint64_t units = has_low ? high << 8 | (i->lo >> 16 & 0xff) : high;
	return pc + CT_CUBIN_INSTRUCTION + units * 4;
}

static struct ct_effect control(const struct ct_insn *i, uint64_t pc)
{
	struct ct_effect e = {.kind = CT_EFFECT_UNKNOWN, .conditional = !ct_insn_always(i)};
	// A second predicate in bits 87-90 makes BRA, EXIT and RET conditional too, a uniform register (bit 91) BRA.DIV and BRA.CONV.
	bool taken = ct_insn_always(i) && (i->hi >> 23 & 0x1f) == 7;
	switch (ct_insn_opcode(i)) {
	case OP_BRA:
	case OP_BRA_UNIFORM:
		e.is_branch = true;
		e.target = branch_target(i, pc, true);
		e.kind = taken ? CT_EFFECT_BARRIER : CT_EFFECT_NONE;
		break;
	case OP_EXIT:
	case OP_RET:
		e.kind = taken ? CT_EFFECT_BARRIER : CT_EFFECT_NONE;
		break;
	case OP_BSYNC:  // goes on where its BSSY said
		e.kind = ct_insn_always(i) ? CT_EFFECT_BARRIER : CT_EFFECT_UNKNOWN;
		break;
	case OP_BSSY:
		e.kind = CT_EFFECT_NONE;
		break;
	case OP_CALL_REL:
	case OP_CALL_ABS:
	case OP_CALL_ABS_REG:
	case OP_CALL_REL_REG:
		e.kind = CT_EFFECT_CALL;
		break;
	case OP_BRX:
	case OP_JMP:
	case OP_JMX:
	case OP_BRXU:
	case OP_JMXU:
		e.is_indirect = true;
		break;
	}
	return e;
}

// Blackwell has more uniform registers, and another number reads as zero.
static uint16_t uniform(const struct ct_insn *i, uint64_t number)
{
	if (i->sm < SM_BLACKWELL)
		number &= 0x3f;
	return number == (i->sm < SM_BLACKWELL ? 0x3f : 0xff) ? CT_URZ : (uint16_t)(CT_UNIFORM + number);
}

// A constant as an operand: the byte's number from bit `low` on, the bank in bits 54-58, nothing else in the second source.
static bool constant_operand(const struct ct_insn *i, unsigned low, struct ct_effect *e)
{
	uint64_t offset = (i->lo & (((uint64_t)1 << 54) - 1)) >> low;
	e->offset = (uint32_t)offset;
	e->bank = i->lo >> 54 & 0x1f;
	e->index = CT_RZ;
	return offset <= UINT16_MAX && (i->lo >> 32 & (((uint64_t)1 << (low - 32)) - 1)) == 0 && i->lo >> 59 == 0;
}

// LDC, ULDC and LDCU.
static struct ct_effect constant_load(const struct ct_insn *i)
{
	bool is_uniform = ct_insn_opcode(i) != OP_LDC;
	struct ct_effect e = {.kind = CT_EFFECT_WRITES, .conditional = !ct_insn_always(i), .count = 4};
	e.dest = is_uniform ? uniform(i, field(i, 16)) : field(i, 16);
	uint64_t size = ct_insn_modifiers(i) & ~(uint64_t)(ct_insn_opcode(i) == OP_LDCU ? 0x8000000 : 0);  // 0x800: 32 bits, 0xa00: 64 bits, no other modifier
	if (!constant_operand(i, ct_insn_opcode(i) == OP_LDCU ? 37 : 38, &e) || (size != 0x800 && size != 0xa00))
		return e;
	if (is_uniform && field(i, 24) != (ct_insn_opcode(i) == OP_LDCU ? 0xff : 0))  // an index in a uniform register
		return e;
	e.kind = CT_EFFECT_CONSTANT;
	e.count = size == 0xa00 ? 2 : 1;
	if (!is_uniform)
		e.index = field(i, 24);
	return e;
}

static bool half_is_finite(uint32_t half)
{
	return (half & 0x7c00) != 0x7c00;
}

static bool is_move_immediate(const struct ct_insn *i)
{
	uint64_t m = ct_insn_modifiers(i);
	uint32_t v = (uint32_t)(i->lo >> 32);
	switch (ct_insn_opcode(i)) {
	case 0x802:  // MOV R, imm
		return m == 0xf00 && field(i, 24) == 0;
	case 0x424:  // IMAD.MOV.U32 R, RZ, RZ, imm
		return m == 0x78e00ff && field(i, 24) == CT_RZ;
	case 0x431:  // HFMA2 R, -RZ, RZ, imm, imm: how the compiler spreads moves over units
	case 0x435:  // HFMA2.MMA, the same
		return m == 0x1ff && field(i, 24) == CT_RZ && half_is_finite(v) && half_is_finite(v >> 16);
	case 0x882:  // UMOV UR, imm
		return m == 0 && field(i, 24) == 0;
	}
	return false;
}

enum { PAIR = 0x10000 };

// MOV and UMOV between registers have a form for pairs.
static bool is_pair_move(const struct ct_insn *i)
{
	uint16_t op = ct_insn_opcode(i);
	return (op == 0x202 || op == 0xc02 || op == 0xc82) && (ct_insn_modifiers(i) & PAIR);
}

// Plain moves between registers, and between pairs of them. *ret_source is set when true.
static bool is_move_register(const struct ct_insn *i, uint16_t *ret_source)
{
	uint64_t m = ct_insn_modifiers(i) & ~(uint64_t)(is_pair_move(i) ? PAIR : 0);
	uint64_t upper = i->lo >> 32;
	switch (ct_insn_opcode(i)) {
	case 0x202:  // MOV R, R
		*ret_source = (uint16_t)upper;
		return m == 0xf00 && upper <= 0xff && field(i, 24) == 0;
	case 0xc02:  // MOV R, UR
		*ret_source = uniform(i, upper);
		return m == 0x8000f00 && upper <= 0xff && field(i, 24) == 0;
	case 0x224:  // IMAD.MOV.U32 R, RZ, RZ, R
		*ret_source = m & 0xff;
		return (m & ~(uint64_t)0xff) == 0x78e0000 && field(i, 24) == CT_RZ && upper == CT_RZ;
	case 0xe24:  // IMAD.U32 R, RZ, RZ, UR
		*ret_source = uniform(i, upper);
		return m == 0xf8e00ff && field(i, 24) == CT_RZ && upper <= 0xff;
	case 0xc82:  // UMOV UR, UR
		*ret_source = uniform(i, upper);
		return m == 0x8000000 && upper <= 0xff && field(i, 24) == 0;
	}
	return false;
}

// Plain moves from a constant bank.
static bool is_move_constant(const struct ct_insn *i, struct ct_effect *e)
{
	uint64_t m = ct_insn_modifiers(i);
	switch (ct_insn_opcode(i)) {
	case 0xa02:  // MOV R, c[][]
		return constant_operand(i, 38, e) && m == 0xf00 && field(i, 24) == 0;
	case 0x624:  // IMAD.MOV.U32 R, RZ, RZ, c[][]
		return constant_operand(i, 38, e) && m == 0x78e00ff && field(i, 24) == CT_RZ;
	}
	return false;
}

static int by_opcode(const void *key, const void *row)
{
	return *(const uint16_t *)key - *(const uint16_t *)row;
}

static const struct writers *find_writers(uint16_t op)
{
	for (size_t i = 0; i < CT_COUNT(all_writers); i++)
		if (bsearch(&op, all_writers[i].opcodes, all_writers[i].n, sizeof op, by_opcode))
			return &all_writers[i];
	return NULL;
}

struct ct_effect ct_sass_effect(const struct ct_insn *i, uint64_t pc)
{
	uint16_t op = ct_insn_opcode(i);
	if (op == OP_LDC || op == OP_ULDC || op == OP_LDCU)
		return constant_load(i);
	const struct writers *w = find_writers(op);
	if (!w)
		return control(i, pc);
	struct ct_effect e = {.kind = w->count ? CT_EFFECT_WRITES : CT_EFFECT_NONE, .conditional = !ct_insn_always(i), .count = w->count};
	e.dest = w->uniform ? uniform(i, field(i, 16)) : field(i, 16);
	if (is_pair_move(i))
		e.count = 2;
	if (op == 0x835 && i->sm >= SM_BLACKWELL)  // IADD.64; before it was HFMA2.MMA
		e.count = 2;
	if (is_move_immediate(i)) {
		e.kind = CT_EFFECT_VALUE;
		e.value = (uint32_t)(i->lo >> 32);
	} else if (op == 0x805 && ct_insn_modifiers(i) == 0x1ff00 && i->lo >> 24 == 0) {  // CS2R R, SRZ: both registers of the pair
		e.kind = CT_EFFECT_VALUE;
	} else if (is_move_constant(i, &e)) {
		e.kind = CT_EFFECT_CONSTANT;
	} else if (is_move_register(i, &e.source)) {
		e.kind = CT_EFFECT_COPY;
	}
	return e;
}

bool ct_sass_is_known(unsigned sm)
{
	static const uint8_t known[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};
	for (size_t i = 0; i < CT_COUNT(known); i++)
		if (known[i] == sm)
			return true;
	return false;
}

bool ct_sass_is_trap(const struct ct_insn *i)
{
	return ct_insn_opcode(i) == OP_BPT && (ct_insn_modifiers(i) >> 20 & 0x7) == 3;  // BPT.TRAP; others are .DRAIN, .CAL, .INT
}

bool ct_sass_is_call_register(const struct ct_insn *i, uint16_t *ret_register)
{
	*ret_register = field(i, 24);
	return ct_insn_opcode(i) == OP_CALL_ABS_REG;
}

bool ct_sass_is_call_absolute(const struct ct_insn *i)
{
	return ct_insn_opcode(i) == OP_CALL_ABS;
}

// Labels that we know of but whose comers we do not follow: reconvergence points, called functions, collective warps.
static bool opaque_label(const struct ct_insn *i, uint64_t pc, uint64_t *ret_target)
{
	uint16_t op = ct_insn_opcode(i);
	if (op != OP_BSSY && op != OP_CALL_REL && op != OP_WARPSYNC_COLLECTIVE)
		return false;
	*ret_target = branch_target(i, pc, op != OP_BSSY);
	return true;
}

bool ct_cubin_insn(const struct ct_cubin *c, uint64_t pc, struct ct_insn *ret_insn)
{
	size_t section = ct_cubin_code_section(c, pc);
	if (!section)
		return false;
	const Elf64_Shdr *s = &c->sections[section];
	uint64_t offset = pc - s->sh_addr;
	if (offset % CT_CUBIN_INSTRUCTION || s->sh_size - offset < CT_CUBIN_INSTRUCTION)
		return false;
	ret_insn->sm = c->sm;
	memcpy(&ret_insn->lo, c->bytes + s->sh_offset + offset, 8);
	memcpy(&ret_insn->hi, c->bytes + s->sh_offset + offset + 8, 8);
	return true;
}

static int by_target(const void *a, const void *b)
{
	const struct ct_edge *x = a, *y = b;
	return (x->target > y->target) - (x->target < y->target);
}

bool ct_flow_init(const struct ct_cubin *c, uint64_t pc, struct ct_flow *ret_flow)
{
	struct ct_flow f = {.cubin = c, .section = ct_cubin_code_section(c, pc)};
	if (!f.section)
		return false;
	const Elf64_Shdr *s = &c->sections[f.section];
	struct ct_insn insn;
	size_t room = 0;
	for (uint64_t offset = 0; ct_cubin_insn(c, s->sh_addr + offset, &insn); offset += CT_CUBIN_INSTRUCTION) {
		uint64_t at = s->sh_addr + offset;
		struct ct_effect e = ct_sass_effect(&insn, at);
		struct ct_edge edge = {.target = e.target, .source = at, .opaque = false};
		f.indirect |= e.is_indirect;
		if (!e.is_branch && !(edge.opaque = opaque_label(&insn, at, &edge.target)))
			continue;
		if (f.n_edges == room) {
			room = room ? room * 2 : 64;
			f.edges = ct_xrealloc(f.edges, room * sizeof *f.edges);
		}
		f.edges[f.n_edges++] = edge;
	}
	if (f.n_edges > 1)
		qsort(f.edges, f.n_edges, sizeof *f.edges, by_target);
	*ret_flow = f;
	return true;
}

void ct_flow_done(struct ct_flow *flow)
{
	free(flow->edges);
}
