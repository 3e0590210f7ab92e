// Where a register's value comes from: a search backwards from a call, over every way that leads there.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum { MAX_STEPS = 20000, MAX_DEPTH = 32 };

static const struct ct_origin unknown = {.kind = CT_ORIGIN_UNKNOWN};

bool ct_origin_equal(const struct ct_origin *a, const struct ct_origin *b)
{
	return a->kind == b->kind && a->value == b->value && a->bank == b->bank && a->offset == b->offset && a->reloc_symbol == b->reloc_symbol &&
	       a->reloc_type == b->reloc_type && a->addend == b->addend;
}

struct search {
	const struct ct_flow *flow;
	unsigned steps, depth;
};

static struct ct_origin search(struct search *s, uint64_t pc, uint16_t reg);

// First edge to pc; edges are sorted by target.
static size_t first_edge(const struct ct_flow *f, uint64_t pc)
{
	size_t low = 0, high = f->n_edges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (f->edges[middle].target < pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// All branches to pc must agree. *ret_any: there is at least one. false: they do not, or cannot be followed.
static bool merge_branches(struct search *s, uint64_t pc, uint16_t reg, struct ct_origin *ret_origin, bool *ret_any)
{
	const struct ct_flow *f = s->flow;
	*ret_any = false;
	for (size_t i = first_edge(f, pc); i < f->n_edges && f->edges[i].target == pc; i++) {
		if (f->edges[i].opaque)
			return false;
		struct ct_origin o = search(s, f->edges[i].source, reg);
		if (o.kind == CT_ORIGIN_UNKNOWN || (*ret_any && !ct_origin_equal(&o, ret_origin)))
			return false;
		*ret_origin = o;
		*ret_any = true;
	}
	return true;
}

static struct ct_origin from_immediate(const struct ct_flow *f, uint64_t at, const struct ct_effect *e)
{
	struct ct_reloc r;
	uint64_t offset = at - f->cubin->sections[f->section].sh_addr;
	if (ct_cubin_reloc_at(f->cubin, f->section, offset, &r))
		return (struct ct_origin){.kind = CT_ORIGIN_RELOC, .reloc_symbol = r.symbol, .reloc_type = r.type, .addend = r.addend};
	return (struct ct_origin){.kind = CT_ORIGIN_VALUE, .value = e->value};
}

static struct ct_origin from_constant(struct search *s, uint64_t at, const struct ct_effect *e, uint16_t reg)
{
	uint32_t offset = e->offset;
	if (e->index != CT_RZ) {
		struct ct_origin index = search(s, at, e->index);
		if (index.kind != CT_ORIGIN_VALUE || index.value > UINT16_MAX)
			return unknown;
		offset += index.value;
	}
	return (struct ct_origin){.kind = CT_ORIGIN_BANK, .bank = e->bank, .offset = offset + 4u * (reg - e->dest)};
}

// One instruction at `at`, right before the point of interest. false: go on before it, with *reg.
static bool step(struct search *s, uint64_t at, const struct ct_effect *e, uint16_t *reg, struct ct_origin *ret_origin)
{
	*ret_origin = unknown;
	if (e->kind == CT_EFFECT_UNKNOWN || e->kind == CT_EFFECT_CALL || e->kind == CT_EFFECT_BARRIER)
		return true;
	if (e->kind == CT_EFFECT_NONE || *reg < e->dest || *reg - e->dest >= e->count)
		return false;
	if (e->conditional || e->kind == CT_EFFECT_WRITES)
		return true;
	if (e->kind == CT_EFFECT_COPY) {
		*reg = e->source == CT_RZ || e->source == CT_URZ ? e->source : (uint16_t)(e->source + (*reg - e->dest));
		return false;
	}
	*ret_origin = e->kind == CT_EFFECT_VALUE ? from_immediate(s->flow, at, e) : from_constant(s, at, e, *reg);
	return true;
}

static struct ct_origin walk(struct search *s, uint64_t pc, uint16_t reg)
{
	for (uint64_t at = pc;; at -= CT_CUBIN_INSTRUCTION) {
		struct ct_origin by_branch, here;
		bool any;
		struct ct_insn insn;
		if (reg == CT_RZ || reg == CT_URZ)
			return (struct ct_origin){.kind = CT_ORIGIN_VALUE};
		if (s->steps++ > MAX_STEPS || !merge_branches(s, at, reg, &by_branch, &any))
			return unknown;
		if (!ct_cubin_insn(s->flow->cubin, at - CT_CUBIN_INSTRUCTION, &insn) ||
		    ct_cubin_code_section(s->flow->cubin, at - CT_CUBIN_INSTRUCTION) != s->flow->section)
			return unknown;
		struct ct_effect e = ct_sass_effect(&insn, at - CT_CUBIN_INSTRUCTION);
		if (any) {
			if (e.kind == CT_EFFECT_BARRIER)  // only branches come here
				return by_branch;
			if (!step(s, at - CT_CUBIN_INSTRUCTION, &e, &reg, &here))
				here = search(s, at - CT_CUBIN_INSTRUCTION, reg);
			return ct_origin_equal(&here, &by_branch) ? here : unknown;
		}
		if (step(s, at - CT_CUBIN_INSTRUCTION, &e, &reg, &here))
			return here;
	}
}

static struct ct_origin search(struct search *s, uint64_t pc, uint16_t reg)
{
	if (s->depth >= MAX_DEPTH)
		return unknown;
	s->depth++;
	struct ct_origin o = walk(s, pc, reg);
	s->depth--;
	return o;
}

struct ct_origin ct_slice_register(const struct ct_flow *flow, uint64_t pc, uint16_t reg)
{
	if (flow->indirect)
		return unknown;
	struct search s = {.flow = flow};
	return search(&s, pc, reg);
}
