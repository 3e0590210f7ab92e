// Lists the assert call sites of cubins as cuobjdump extracts them: FILE<tab>LINE<tab>FUNCTION<tab>EXPRESSION<tab>KERNEL, one line each.
//   list_asserts CUBIN...
// Such a cubin is not loaded yet: every section gets an address of its own first, as the driver would give it. Unlike a loaded one it also says
// where each text is, so that what was concluded without that is checked: a sixth column holds "wrong" where it is not so.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin/cubin_priv.h"
#include "unloaded.h"

static const char *or_question(const char *text)
{
	return text ? text : "?";
}

static bool read_section(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct ct_cubin *cubin = context;
	for (size_t i = 1; i < cubin->n_sections; i++) {
		const Elf64_Shdr *s = &cubin->sections[i];
		if (s->sh_type != SHT_PROGBITS || s->sh_addr == 0 || address < s->sh_addr || address - s->sh_addr >= s->sh_size ||
		    s->sh_size - (address - s->sh_addr) < size)
			continue;
		memcpy(bytes, cubin->bytes + s->sh_offset + (address - s->sh_addr), size);
		return true;
	}
	return false;
}

static bool is_wrong(const char *concluded, const char *read)
{
	return concluded && (!read || strcmp(concluded, read) != 0);
}

static void print_site(const struct ct_cubin *cubin, uint64_t pc, struct ct_arena *arena)
{
	struct ct_cubin_assert a, truth;
	struct ct_cubin_function kernel;
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_cubin_is_assert_return(cubin, pc) || !ct_cubin_assert_at(cubin, pc, NULL, NULL, arena, &a, &err) ||
	    !ct_cubin_assert_at(cubin, pc, read_section, (void *)cubin, arena, &truth, &err))
		return;
	bool wrong = is_wrong(a.file, truth.file) || is_wrong(a.function, truth.function) || is_wrong(a.expression, truth.expression);
	const char *name = ct_cubin_kernel_at(cubin, pc - CT_CUBIN_INSTRUCTION, &kernel) ? ct_cubin_demangle(arena, kernel.symbol, NULL) : "?";
	printf("%s\t%u\t%s\t%s\t%.300s\t%s\n", or_question(a.file), a.has_line ? a.line : 0, or_question(a.function), or_question(a.expression), name,
	       wrong ? "wrong" : "");
}

static bool is_call(const struct ct_cubin *cubin, uint64_t at)
{
	struct ct_insn insn;
	uint16_t reg = 0;
	return ct_cubin_insn(cubin, at, &insn) && (ct_sass_is_call_absolute(&insn) || ct_sass_is_call_register(&insn, &reg));
}

static void list_section(const struct ct_cubin *cubin, const Elf64_Shdr *s)
{
	if (!unloaded_is_code(s))
		return;
	for (uint64_t at = s->sh_addr; at + CT_CUBIN_INSTRUCTION <= s->sh_addr + s->sh_size; at += CT_CUBIN_INSTRUCTION) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		if (is_call(cubin, at))
			print_site(cubin, at + CT_CUBIN_INSTRUCTION, &arena);
	}
}

static bool list(const struct ct_cubin *cubin, struct ct_error *err)
{
	(void)err;
	for (size_t i = 1; i < cubin->n_sections; i++)
		list_section(cubin, &cubin->sections[i]);
	return true;
}

int main(int argc, char **argv)
{
	return unloaded_each(argc, argv, true, list);
}
