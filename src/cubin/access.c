// The address that a load or store of device memory goes to: base register pair and offset. Encodings of sm_90 that were compared with nvdisasm 13
// (plain, volatile, constant, streaming, strong ones of each size); for any other instruction nothing is said.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum { OP_LD = 0x980, OP_LDG = 0x981, OP_ST = 0x985, OP_STG = 0x986, MAX_BETWEEN = 16, DECODED_SM = 90 };

// Bits of the upper half: size 9-11, ordering 13-16; of a load's dest, of a store's memory descriptor 0-5; of a store eviction 20.
#define SIZE_BITS 0xe00u
#define ORDER_BITS 0x1e000u
#define DESCRIPTOR_BITS 0x3fu
#define EVICTION_BIT 0x100000u

static bool decode(const struct ct_insn *i, struct ct_cubin_access *ret_access)
{
	static const uint8_t sizes[] = {1, 1, 2, 2, 4, 8, 16, 0};  // U8, S8, U16, S16, 32, 64, 128
	uint16_t opcode = ct_insn_opcode(i);
	uint64_t m = ct_insn_modifiers(i) & ~(uint64_t)(SIZE_BITS | ORDER_BITS);
	bool store = opcode == OP_ST || opcode == OP_STG;
	if (store)
		m = (m & ~(uint64_t)DESCRIPTOR_BITS) | EVICTION_BIT;
	if (m != (opcode == OP_LDG ? 0xc1e1100 : 0xc101100) || (!store && opcode != OP_LDG && opcode != OP_LD))
		return false;
	if (!ct_insn_always(i))  // guarded: of some lanes, and which ones is not known any more
		return false;
	int64_t offset = (int64_t)(i->lo >> 40);
	*ret_access = (struct ct_cubin_access){
		.is_store = store,
		.size_bytes = sizes[i->hi >> 9 & 7],
		.base = i->lo >> 24 & 0xff,
		.offset = offset >> 23 ? offset - (1 << 24) : offset,
	};
	return ret_access->size_bytes != 0;
}

// May `count` registers from dest on hold the address's pair?
static bool overlaps(const struct ct_cubin_access *a, uint32_t dest, uint32_t count)
{
	return a->base != CT_RZ && dest < CT_UNIFORM && dest < a->base + 2 && a->base < dest + count;
}

bool ct_cubin_access_at(const struct ct_cubin *c, uint64_t pc, uint64_t stand_pc, struct ct_cubin_access *ret_access)
{
	struct ct_insn insn;
	struct ct_cubin_access a;
	if (c->sm != DECODED_SM || !ct_cubin_insn(c, pc, &insn) || !decode(&insn, &a) || stand_pc < pc || stand_pc - pc > MAX_BETWEEN * CT_CUBIN_INSTRUCTION)
		return false;
	// A load that faults writes its destination all the same (H200, driver 580.159: zeros).
	if (!a.is_store && overlaps(&a, insn.lo >> 16 & 0xff, (a.size_bytes + 3) / 4))
		return false;
	for (uint64_t at = pc + CT_CUBIN_INSTRUCTION; at < stand_pc; at += CT_CUBIN_INSTRUCTION) {
		if (!ct_cubin_insn(c, at, &insn))
			return false;
		struct ct_effect e = ct_sass_effect(&insn, at);
		if (e.is_branch && e.target == at + CT_CUBIN_INSTRUCTION)  // unoptimised code jumps to what comes next
			continue;
		bool straight = e.kind != CT_EFFECT_UNKNOWN && e.kind != CT_EFFECT_CALL && e.kind != CT_EFFECT_BARRIER && !e.is_branch && !e.is_indirect;
		if (!straight || (e.kind != CT_EFFECT_NONE && overlaps(&a, e.dest, e.count ? e.count : 1)))
			return false;
	}
	*ret_access = a;
	return true;
}
