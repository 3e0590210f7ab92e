// The assert behind a PC: __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t char_size).
// The device ABI passes these in R4:R5, R6:R7, R8, R10:R11 and R12:R13 (CUDA 13.0, optimised and -G code, sm_75 to sm_121).
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum { REG_MESSAGE = 4, REG_FILE = 6, REG_LINE = 8, REG_FUNCTION = 10 };

static bool is_assert_name(const char *name)
{
	return strcmp(name, "__assertfail") == 0 || strcmp(name, "__assert_fail") == 0;
}

static bool symbol_is_assert(const struct ct_cubin *c, uint32_t symbol)
{
	Elf64_Sym sym;
	return ct_cubin_symbol(c, symbol, &sym) && is_assert_name(ct_cubin_symbol_name(c, &sym));
}

// A call through a pointer that bank 4 holds, or to a relocated address.
static bool calls_assert(const struct ct_cubin *c, const struct ct_flow *flow, uint64_t at)
{
	struct ct_insn insn;
	struct ct_reloc r;
	uint16_t reg;
	if (!ct_cubin_insn(c, at, &insn))
		return false;
	if (ct_sass_is_call_absolute(&insn))
		return ct_cubin_reloc_at(c, flow->section, at - c->sections[flow->section].sh_addr, &r) && symbol_is_assert(c, r.symbol);
	if (!ct_sass_is_call_register(&insn, &reg))
		return false;
	struct ct_origin o = ct_slice_register(flow, at, reg);
	return o.kind == CT_ORIGIN_BANK && o.bank == 4 && c->constant4 && ct_cubin_reloc_at(c, c->constant4, o.offset, &r) &&
	       symbol_is_assert(c, r.symbol);
}

bool ct_cubin_is_assert_return(const struct ct_cubin *c, uint64_t pc)
{
	struct ct_flow flow;
	if (!ct_sass_is_known(c->sm) || pc < CT_CUBIN_INSTRUCTION || !ct_flow_init(c, pc - CT_CUBIN_INSTRUCTION, &flow))
		return false;
	bool is = calls_assert(c, &flow, pc - CT_CUBIN_INSTRUCTION);
	ct_flow_done(&flow);
	return is;
}

bool ct_cubin_is_trap_return(const struct ct_cubin *c, uint64_t pc)
{
	struct ct_insn insn;
	return ct_sass_is_known(c->sm) && pc >= CT_CUBIN_INSTRUCTION && ct_cubin_insn(c, pc - CT_CUBIN_INSTRUCTION, &insn) && ct_sass_is_trap(&insn);
}

static bool symbol_address(const struct ct_cubin *c, uint32_t symbol, int64_t addend, uint64_t *ret_address)
{
	Elf64_Sym sym;
	if (!ct_cubin_symbol(c, symbol, &sym))
		return false;
	*ret_address = sym.st_value + (uint64_t)addend;
	return true;
}

static bool bank4_address(const struct ct_cubin *c, uint32_t offset, uint64_t *ret_address)
{
	struct ct_reloc r;
	if (!c->constant4)
		return false;
	if (ct_cubin_reloc_at(c, c->constant4, offset, &r))
		return symbol_address(c, r.symbol, r.addend, ret_address);
	const Elf64_Shdr *s = &c->sections[c->constant4];
	if (offset > s->sh_size || s->sh_size - offset < sizeof *ret_address)
		return false;
	memcpy(ret_address, c->bytes + s->sh_offset + offset, sizeof *ret_address);
	return true;
}

// The 64-bit pointer in a register pair.
static bool pointer_argument(const struct ct_flow *flow, uint64_t at, uint16_t reg, uint64_t *ret_address)
{
	struct ct_origin low = ct_slice_register(flow, at, reg), high = ct_slice_register(flow, at, reg + 1);
	if (low.kind == CT_ORIGIN_BANK && high.kind == CT_ORIGIN_BANK)
		return low.bank == 4 && high.bank == 4 && high.offset == low.offset + 4 && bank4_address(flow->cubin, low.offset, ret_address);
	if (low.kind == CT_ORIGIN_RELOC && high.kind == CT_ORIGIN_RELOC)
		return low.reloc_type == CT_R_CUDA_ABS32_LO_32 && high.reloc_type == CT_R_CUDA_ABS32_HI_32 && low.reloc_symbol == high.reloc_symbol &&
		       low.addend == high.addend && symbol_address(flow->cubin, low.reloc_symbol, low.addend, ret_address);
	return false;
}

struct request {
	const struct ct_cubin *cubin;
	const struct ct_flow *flow;
	uint64_t at;
	const char *kernel;
	ct_cubin_memory *memory;
	void *context;
	struct ct_arena *arena;
	struct ct_str *undecoded;
};

static void not_decoded(const struct request *q, const char *what, const char *why)
{
	ct_str_addf(q->undecoded, "%s%s: %s", q->undecoded->length ? "; " : "", what, why);
}

static const char *text_argument(const struct request *q, uint16_t reg, const char *what)
{
	struct ct_text_query query = {.is_function = reg == REG_FUNCTION, .kernel = q->kernel};
	const char *text = NULL;
	if (!pointer_argument(q->flow, q->at, reg, &query.address)) {
		not_decoded(q, what, "the code before the call is not understood");
		return NULL;
	}
	switch (ct_cubin_text(q->cubin, &query, q->memory, q->context, q->arena, &text)) {
	case CT_TEXT_FOUND:
		return text;
	case CT_TEXT_AMBIGUOUS:
		not_decoded(q, what, "several constants of the image have its length");
		return NULL;
	case CT_TEXT_MISSING:
		break;
	}
	not_decoded(q, what, "its text is not in the image");
	return NULL;
}

static void decode(const struct request *q, struct ct_cubin_assert *ret_assert)
{
	struct ct_origin line = ct_slice_register(q->flow, q->at, REG_LINE);
	ret_assert->expression = text_argument(q, REG_MESSAGE, "expression");
	ret_assert->file = text_argument(q, REG_FILE, "file");
	ret_assert->has_line = line.kind == CT_ORIGIN_VALUE;
	ret_assert->line = line.value;
	if (!ret_assert->has_line)
		not_decoded(q, "line", "the code before the call is not understood");
	ret_assert->function = text_argument(q, REG_FUNCTION, "function");
	if (q->undecoded->length)
		ret_assert->undecoded = ct_arena_strdup(q->arena, ct_str_text(q->undecoded));
}

bool ct_cubin_assert_at(const struct ct_cubin *c, uint64_t pc, ct_cubin_memory *memory, void *context, struct ct_arena *arena,
			struct ct_cubin_assert *ret_assert, struct ct_error *err)
{
	struct ct_flow flow;
	if (!ct_sass_is_known(c->sm))
		return ct_fail(err, CT_UNAVAILABLE, "assert calls are decoded for sm_75 to sm_121, this code is for sm_%u", c->sm);
	if (pc < CT_CUBIN_INSTRUCTION || !ct_flow_init(c, pc - CT_CUBIN_INSTRUCTION, &flow))
		return ct_fail(err, CT_UNAVAILABLE, "no code of this image at 0x%llx", (unsigned long long)pc);
	CT_AUTO(ct_auto_str) struct ct_str undecoded = CT_STR_INIT;
	struct ct_cubin_function kernel;
	struct request q = {
		.cubin = c, .flow = &flow, .at = pc - CT_CUBIN_INSTRUCTION, .memory = memory, .context = context, .arena = arena, .undecoded = &undecoded,
		.kernel = ct_cubin_kernel_at(c, pc, &kernel) ? kernel.symbol : NULL,
	};
	bool is = calls_assert(c, &flow, q.at);
	*ret_assert = (struct ct_cubin_assert){0};
	if (is)
		decode(&q, ret_assert);
	ct_flow_done(&flow);
	return is || ct_fail(err, CT_UNAVAILABLE, "the code before 0x%llx is no call of the assert handler that we recognise", (unsigned long long)pc);
}
