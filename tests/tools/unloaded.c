// See unloaded.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "unloaded.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>

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

bool unloaded_give_addresses(char *bytes, size_t size)
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

static bool list_file(const char *path, bool addresses, bool (*list)(const struct ct_cubin *, struct ct_error *), struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str bytes = CT_STR_INIT;
	CT_AUTO(ct_cubin_auto) struct ct_cubin *cubin = NULL;
	if (!ct_read_file(path, MAX_CUBIN_BYTES, &bytes, err))
		return false;
	if (addresses && !unloaded_give_addresses(bytes.data, bytes.length))
		return ct_fail(err, CT_FORMAT, "%s: not an ELF file with sections", path);
	return (ct_cubin_open(bytes.data, bytes.length, &cubin, err) && list(cubin, err)) || ct_fail_in(err, "%s", path);
}

int unloaded_each(int argc, char **argv, bool addresses, bool (*list)(const struct ct_cubin *cubin, struct ct_error *err))
{
	int status = 0;
	for (int i = 1; i < argc; i++) {
		struct ct_error err = CT_ERROR_INIT;
		if (!list_file(argv[i], addresses, list, &err)) {
			fprintf(stderr, "%s\n", err.text);
			status = 1;
		}
	}
	return status;
}

bool unloaded_is_code(const Elf64_Shdr *section)
{
	return section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_EXECINSTR);
}
