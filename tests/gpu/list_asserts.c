// Lists the assert call sites of cubins as cuobjdump extracts them: FILE<tab>LINE<tab>FUNCTION<tab>EXPRESSION<tab>KERNEL, one line each.
//   list_asserts CUBIN...
// Such a cubin is not loaded yet: every section gets an address of its own first, as the driver would give it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin/cubin_priv.h"

enum { FIRST_ADDRESS = 1 << 20, SECTION_ALIGNMENT = 1 << 12, MAX_CUBIN_BYTES = 1 << 30 };

static Elf64_Shdr *section_table(char *bytes, size_t size, size_t *ret_count)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	*ret_count = 0;
	if (size < sizeof *header || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 || header->e_shoff > size ||
	    (size - header->e_shoff) / sizeof(Elf64_Shdr) < header->e_shnum)
		return NULL;
	*ret_count = header->e_shnum;
	return (Elf64_Shdr *)(bytes + header->e_shoff);
}

static void move_symbols(char *bytes, size_t size, const Elf64_Shdr *sections, size_t n, const Elf64_Shdr *table)
{
	if (table->sh_offset > size || size - table->sh_offset < table->sh_size || table->sh_offset % 8)
		return;
	Elf64_Sym *symbols = (Elf64_Sym *)(bytes + table->sh_offset);
	for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
		if (symbols[i].st_shndx > 0 && symbols[i].st_shndx < n)
			symbols[i].st_value += sections[symbols[i].st_shndx].sh_addr;
}

static bool give_addresses(char *bytes, size_t size)
{
	size_t n = 0;
	uint64_t next = FIRST_ADDRESS;
	Elf64_Shdr *sections = section_table(bytes, size, &n);
	for (size_t i = 1; i < n; i++) {
		if (!(sections[i].sh_flags & SHF_ALLOC) || sections[i].sh_addr)
			continue;
		sections[i].sh_addr = next;
		next += (sections[i].sh_size + 2 * SECTION_ALIGNMENT - 1) / SECTION_ALIGNMENT * SECTION_ALIGNMENT;
	}
	for (size_t i = 1; i < n; i++)
		if (sections[i].sh_type == SHT_SYMTAB)
			move_symbols(bytes, size, sections, n, &sections[i]);
	return n > 0;
}

static const char *or_question(const char *text)
{
	return text ? text : "?";
}

static void print_site(const struct ct_cubin *cubin, uint64_t pc, struct ct_arena *arena)
{
	struct ct_cubin_assert a;
	struct ct_cubin_function kernel;
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_cubin_is_assert_return(cubin, pc) || !ct_cubin_assert_at(cubin, pc, NULL, NULL, arena, &a, &err))
		return;
	const char *name = ct_cubin_kernel_at(cubin, pc - CT_CUBIN_INSTRUCTION, &kernel) ? ct_cubin_demangle(arena, kernel.symbol, NULL) : "?";
	printf("%s\t%u\t%s\t%s\t%.300s\n", or_question(a.file), a.has_line ? a.line : 0, or_question(a.function), or_question(a.expression), name);
}

static bool is_call(const struct ct_cubin *cubin, uint64_t at)
{
	struct ct_insn insn;
	uint16_t reg = 0;
	return ct_cubin_insn(cubin, at, &insn) && (ct_sass_is_call_absolute(&insn) || ct_sass_is_call_register(&insn, &reg));
}

static void list_section(const struct ct_cubin *cubin, const Elf64_Shdr *s)
{
	if (s->sh_type != SHT_PROGBITS || !(s->sh_flags & SHF_EXECINSTR))
		return;
	for (uint64_t at = s->sh_addr; at + CT_CUBIN_INSTRUCTION <= s->sh_addr + s->sh_size; at += CT_CUBIN_INSTRUCTION) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		if (is_call(cubin, at))
			print_site(cubin, at + CT_CUBIN_INSTRUCTION, &arena);
	}
}

static bool list_file(const char *path, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str bytes = CT_STR_INIT;
	CT_AUTO(ct_cubin_auto) struct ct_cubin *cubin = NULL;
	if (!ct_read_file(path, MAX_CUBIN_BYTES, &bytes, err))
		return false;
	if (!give_addresses(bytes.data, bytes.length))
		return ct_fail(err, CT_FORMAT, "%s: not an ELF file with sections", path);
	if (!ct_cubin_open(bytes.data, bytes.length, &cubin, err))
		return ct_fail_in(err, "%s", path);
	for (size_t i = 1; i < cubin->n_sections; i++)
		list_section(cubin, &cubin->sections[i]);
	return true;
}

int main(int argc, char **argv)
{
	int status = 0;
	for (int i = 1; i < argc; i++) {
		struct ct_error err = CT_ERROR_INIT;
		if (!list_file(argv[i], &err)) {
			fprintf(stderr, "%s\n", err.text);
			status = 1;
		}
	}
	return status;
}
