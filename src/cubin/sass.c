// What single sm_90 instructions do to registers. Only encodings that were compared with nvdisasm 13 (CUDA 13.0 compilers, PyTorch's
// kernels) are decoded; any other bit pattern is CT_EFFECT_UNKNOWN, and nothing is concluded across it.
//
// 128 bits: opcode in bits 0-11, guard predicate in 12-15 (7: always), destination in 16-23, first source in 24-31, second source or
// immediate in 32-63, third source in 64-71, modifiers up to 104, scheduling from 105 on.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

#define MODIFIERS(hi) ((hi) & 0x1ffffffffffu)  // bits 64-104

// Upper bounds of what the other instructions write, so that a search may go past them. Opcode, registers written, uniform ones?
static const struct writer {
	uint16_t opcode;
	uint8_t count;
	bool uniform;
} writers[] = {
	// comparisons, stores, barriers, predicates: no register at all
	{0x20b, 0, 0}, {0x80b, 0, 0}, {0xc0b, 0, 0}, {0x20c, 0, 0}, {0x80c, 0, 0}, {0xc0c, 0, 0}, {0x22a, 0, 0}, {0x42a, 0, 0}, {0xe2a, 0, 0},
	{0x234, 0, 0}, {0x28c, 0, 0}, {0x88c, 0, 0}, {0x302, 0, 0}, {0xd02, 0, 0}, {0x387, 0, 0}, {0x388, 0, 0}, {0x988, 0, 0}, {0x985, 0, 0},
	{0x986, 0, 0}, {0x98e, 0, 0}, {0x804, 0, 0}, {0x81c, 0, 0}, {0x918, 0, 0}, {0x91a, 0, 0}, {0x946, 0, 0}, {0x948, 0, 0}, {0x98f, 0, 0},
	{0x992, 0, 0}, {0x9ab, 0, 0}, {0x5ab, 0, 0}, {0x9af, 0, 0}, {0xb1d, 0, 0},
	// one register: SEL FSEL FMNMX IADD3 LEA LOP3 IABS SHF FMUL FADD FFMA IMAD HADD2 HFMA2 F2FP I2FP VIMNMX FLO MUFU POPC P2R PRMT ...
	{0x202, 1, 0}, {0x802, 1, 0}, {0xc02, 1, 0}, {0x207, 1, 0}, {0x807, 1, 0}, {0xc07, 1, 0}, {0x208, 1, 0}, {0x808, 1, 0}, {0xc08, 1, 0},
	{0x209, 1, 0}, {0x809, 1, 0}, {0xc09, 1, 0}, {0x210, 1, 0}, {0x810, 1, 0}, {0xc10, 1, 0}, {0x211, 1, 0}, {0x811, 1, 0}, {0xc11, 1, 0},
	{0x212, 1, 0}, {0x812, 1, 0}, {0xc12, 1, 0}, {0x213, 1, 0}, {0xc13, 1, 0}, {0x219, 1, 0}, {0x819, 1, 0}, {0xc19, 1, 0}, {0x220, 1, 0},
	{0x820, 1, 0}, {0xc20, 1, 0}, {0x221, 1, 0}, {0x421, 1, 0}, {0xe21, 1, 0}, {0x223, 1, 0}, {0x423, 1, 0}, {0x823, 1, 0}, {0xc23, 1, 0},
	{0xe23, 1, 0}, {0x224, 1, 0}, {0x424, 1, 0}, {0x824, 1, 0}, {0xc24, 1, 0}, {0xe24, 1, 0}, {0x227, 1, 0}, {0x827, 1, 0}, {0xc27, 1, 0},
	{0x230, 1, 0}, {0x430, 1, 0}, {0x435, 1, 0}, {0x835, 1, 0}, {0x23e, 1, 0}, {0xc3e, 1, 0}, {0x245, 1, 0}, {0xc45, 1, 0}, {0x248, 1, 0},
	{0x848, 1, 0}, {0xc48, 1, 0}, {0x300, 1, 0}, {0xd00, 1, 0}, {0x308, 1, 0}, {0x908, 1, 0}, {0xd08, 1, 0}, {0x309, 1, 0}, {0xd09, 1, 0},
	{0x803, 1, 0}, {0x816, 1, 0}, {0x836, 1, 0}, {0xc36, 1, 0}, {0x446, 1, 0}, {0x846, 1, 0}, {0xc46, 1, 0}, {0x919, 1, 0},
	// up to two: IMAD.WIDE, double precision, conversions, CS2R, LEPC
	{0x225, 2, 0}, {0x825, 2, 0}, {0xc25, 2, 0}, {0xe25, 2, 0}, {0x228, 2, 0}, {0x828, 2, 0}, {0xc28, 2, 0}, {0x229, 2, 0}, {0x429, 2, 0},
	{0xe29, 2, 0}, {0x22b, 2, 0}, {0x42b, 2, 0}, {0x82b, 2, 0}, {0xc2b, 2, 0}, {0xe2b, 2, 0}, {0x304, 2, 0}, {0x305, 2, 0}, {0x306, 2, 0},
	{0x310, 2, 0}, {0x311, 2, 0}, {0x312, 2, 0}, {0x805, 2, 0}, {0x94e, 2, 0},
	// loads: up to four
	{0x980, 4, 0}, {0x981, 4, 0}, {0x983, 4, 0}, {0x984, 4, 0}, {0xb82, 4, 0},
	// uniform: UMOV USEL UIADD3 ULEA ULOP3 USHF UIMAD UPRMT S2UR R2UR VOTEU; two: UIMAD.WIDE; ULDC up to two
	{0x882, 1, 1}, {0xc82, 1, 1}, {0x287, 1, 1}, {0x887, 1, 1}, {0x290, 1, 1}, {0x890, 1, 1}, {0x291, 1, 1}, {0x891, 1, 1}, {0x292, 1, 1},
	{0x892, 1, 1}, {0x299, 1, 1}, {0x899, 1, 1}, {0x2a4, 1, 1}, {0x8a4, 1, 1}, {0x896, 1, 1}, {0x9c3, 2, 1}, {0x2ca, 1, 1}, {0x886, 1, 1},
	{0x2a5, 2, 1}, {0x8a5, 2, 1}, {0xab9, 2, 1},
};

enum {  // opcodes that need more than the table
	OP_BRA = 0x947, OP_EXIT = 0x94d, OP_RET = 0x950, OP_BSSY = 0x945, OP_BSYNC = 0x941, OP_CALL_REL = 0x944, OP_CALL_ABS = 0x943,
	OP_CALL_ABS_REG = 0x343, OP_CALL_REL_REG = 0x344, OP_WARPSYNC_COLLECTIVE = 0x348, OP_BPT = 0x95c, OP_BRX = 0x949, OP_JMP = 0x94a,
	OP_JMX = 0x94c, OP_BRXU = 0x958, OP_JMXU = 0x959,
};

static uint16_t opcode(const struct ct_insn *i)
{
	return i->lo & 0xfff;
}

static uint16_t field(const struct ct_insn *i, unsigned bit)
{
	return i->lo >> bit & 0xff;
}

static bool always(const struct ct_insn *i)
{
	return (i->lo >> 12 & 0xf) == 7;
}

// Distance in units of 4 bytes from the next instruction: bits 16-23 and 34-81.
static uint64_t branch_target(const struct ct_insn *i, uint64_t pc, bool has_low)
{
	uint64_t high = i->lo >> 34 | (i->hi & 0x3ffff) << 30;
	if (high >> 47)  // negative
		high |= (uint64_t)0xffff << 48;
	uint64_t units = has_low ? high << 8 | (i->lo >> 16 & 0xff) : high;
	return pc + CT_CUBIN_INSTRUCTION + units * 4;
}

static struct ct_effect control(const struct ct_insn *i, uint64_t pc)
{
	struct ct_effect e = {.kind = CT_EFFECT_UNKNOWN, .conditional = !always(i)};
	// A second predicate in bits 87-90 makes BRA, EXIT and RET conditional too.
	bool taken = always(i) && (i->hi >> 23 & 0xf) == 7;
	switch (opcode(i)) {
	case OP_BRA:
		e.is_branch = true;
		e.target = branch_target(i, pc, true);
		e.kind = taken ? CT_EFFECT_BARRIER : CT_EFFECT_NONE;
		break;
	case OP_EXIT:
	case OP_RET:
		e.kind = taken ? CT_EFFECT_BARRIER : CT_EFFECT_NONE;
		break;
	case OP_BSYNC:  // goes on where its BSSY said
		e.kind = always(i) ? CT_EFFECT_BARRIER : CT_EFFECT_UNKNOWN;
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

static struct ct_effect constant_load(const struct ct_insn *i, bool uniform)
{
	struct ct_effect e = {.kind = CT_EFFECT_WRITES, .conditional = !always(i), .index = CT_RZ};
	e.dest = uniform ? CT_UNIFORM + (field(i, 16) & 0x3f) : field(i, 16);
	uint64_t size = MODIFIERS(i->hi);  // 0x800: 32 bits, 0xa00: 64 bits, no other modifier
	e.count = uniform ? 2 : 4;
	if ((size != 0x800 && size != 0xa00) || (i->lo >> 32 & 0x3f) || i->lo >> 59 || (uniform && field(i, 24)))
		return e;
	e.kind = CT_EFFECT_CONSTANT;
	e.count = size == 0xa00 ? 2 : 1;
	e.offset = i->lo >> 38 & 0xffff;
	e.bank = i->lo >> 54 & 0x1f;
	if (!uniform)
		e.index = field(i, 24);
	return e;
}

static bool half_is_finite(uint32_t half)
{
	return (half & 0x7c00) != 0x7c00;
}

static bool is_move_immediate(const struct ct_insn *i)
{
	uint64_t m = MODIFIERS(i->hi);
	uint32_t v = (uint32_t)(i->lo >> 32);
	switch (opcode(i)) {
	case 0x802:  // MOV R, imm
		return m == 0xf00 && field(i, 24) == 0;
	case 0x424:  // IMAD.MOV.U32 R, RZ, RZ, imm
		return m == 0x78e00ff && field(i, 24) == CT_RZ;
	case 0x435:  // HFMA2.MMA R, -RZ, RZ, imm, imm: how the compiler spreads moves over units
		return m == 0x1ff && field(i, 24) == CT_RZ && half_is_finite(v) && half_is_finite(v >> 16);
	case 0x882:  // UMOV UR, imm
		return m == 0 && field(i, 24) == 0;
	}
	return false;
}

// Plain moves between registers. *ret_source is set when true.
static bool is_move_register(const struct ct_insn *i, uint16_t *ret_source)
{
	uint64_t m = MODIFIERS(i->hi);
	uint64_t upper = i->lo >> 32;
	switch (opcode(i)) {
	case 0x202:  // MOV R, R
		*ret_source = (uint16_t)upper;
		return m == 0xf00 && upper <= 0xff && field(i, 24) == 0;
	case 0xc02:  // MOV R, UR
		*ret_source = (uint16_t)(CT_UNIFORM + upper);
		return m == 0x8000f00 && upper <= 0x3f && field(i, 24) == 0;
	case 0x224:  // IMAD.MOV.U32 R, RZ, RZ, R
		*ret_source = m & 0xff;
		return (m & ~(uint64_t)0xff) == 0x78e0000 && field(i, 24) == CT_RZ && upper == CT_RZ;
	case 0xe24:  // IMAD.U32 R, RZ, RZ, UR
		*ret_source = (uint16_t)(CT_UNIFORM + upper);
		return m == 0xf8e00ff && field(i, 24) == CT_RZ && upper <= 0x3f;
	case 0xc82:  // UMOV UR, UR
		*ret_source = (uint16_t)(CT_UNIFORM + upper);
		return m == 0x8000000 && upper <= 0x3f && field(i, 24) == 0;
	}
	return false;
}

static const struct writer *find_writer(uint16_t op)
{
	for (size_t i = 0; i < CT_COUNT(writers); i++)
		if (writers[i].opcode == op)
			return &writers[i];
	return NULL;
}

struct ct_effect ct_sass_effect(const struct ct_insn *i, uint64_t pc)
{
	uint16_t op = opcode(i);
	if (op == 0xb82 || op == 0xab9)
		return constant_load(i, op == 0xab9);
	const struct writer *w = find_writer(op);
	if (!w)
		return control(i, pc);
	struct ct_effect e = {.kind = w->count ? CT_EFFECT_WRITES : CT_EFFECT_NONE, .conditional = !always(i), .count = w->count};
	e.dest = w->uniform ? CT_UNIFORM + (field(i, 16) & 0x3f) : field(i, 16);
	if (is_move_immediate(i)) {
		e.kind = CT_EFFECT_VALUE;
		e.value = (uint32_t)(i->lo >> 32);
	} else if (op == 0x805 && MODIFIERS(i->hi) == 0x1ff00 && i->lo >> 24 == 0) {  // CS2R R, SRZ: both registers of the pair
		e.kind = CT_EFFECT_VALUE;
	} else if (is_move_register(i, &e.source)) {
		e.kind = CT_EFFECT_COPY;
	}
	return e;
}

bool ct_sass_is_trap(const struct ct_insn *i)
{
	return opcode(i) == OP_BPT && (MODIFIERS(i->hi) >> 20 & 0x7) == 3;  // BPT.TRAP; others are .DRAIN, .CAL, .INT
}

bool ct_sass_is_call_register(const struct ct_insn *i, uint16_t *ret_register)
{
	*ret_register = field(i, 24);
	return opcode(i) == OP_CALL_ABS_REG;
}

bool ct_sass_is_call_absolute(const struct ct_insn *i)
{
	return opcode(i) == OP_CALL_ABS;
}

// Labels that we know of but whose comers we do not follow: reconvergence points, called functions, collective warps.
static bool opaque_label(const struct ct_insn *i, uint64_t pc, uint64_t *ret_target)
{
	uint16_t op = opcode(i);
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
