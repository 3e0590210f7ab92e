// The bounded reader of the image: header, sections, symbols, relocations. Every offset is checked before it is followed.
// libelf is not used here: relocated images carry sh_info values that no generic reader expects, and most images are never asked for more.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

static bool section_fits(const Elf64_Shdr *s, size_t size)
{
	return !ct_section_has_bytes(s) || (s->sh_offset <= size && s->sh_size <= size - s->sh_offset);
}

static bool read_header(struct ct_cubin *c, Elf64_Ehdr *ret_header, struct ct_error *err)
{
	if (c->size < sizeof *ret_header)
		return ct_fail(err, CT_FORMAT, "code image of %zu bytes, too short for an ELF header", c->size);
	memcpy(ret_header, c->bytes, sizeof *ret_header);
	if (memcmp(ret_header->e_ident, ELFMAG, SELFMAG) != 0 || ret_header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    ret_header->e_ident[EI_DATA] != ELFDATA2LSB)
		return ct_fail(err, CT_FORMAT, "code image is not a little-endian ELF64 file");
	if (ret_header->e_machine != CT_EM_CUDA)
		return ct_fail(err, CT_FORMAT, "code image is for machine %u, not for CUDA (%d)", ret_header->e_machine, CT_EM_CUDA);
	return true;
}

// e_flags: ABI 8 (CUDA 13) has the architecture in bits 8-15, ABI 7 (up to 12.9) in bits 0-7.
static uint32_t architecture(const Elf64_Ehdr *h)
{
	switch (h->e_ident[EI_ABIVERSION]) {
	case 8:
		return h->e_flags >> 8 & 0xff;
	case 7:
		return h->e_flags & 0xff;
	default:
		return 0;
	}
}

static bool read_sections(struct ct_cubin *c, const Elf64_Ehdr *h, struct ct_error *err)
{
	size_t room = h->e_shoff <= c->size ? (c->size - h->e_shoff) / sizeof(Elf64_Shdr) : 0;
	size_t n = h->e_shnum;
	if (n == 0 && room > 0) {  // extended numbering: the count is in section 0
		Elf64_Shdr zero;
		memcpy(&zero, c->bytes + h->e_shoff, sizeof zero);
		n = zero.sh_size <= room ? (size_t)zero.sh_size : SIZE_MAX;
	}
	if (n == 0 || n > room || h->e_shentsize != sizeof(Elf64_Shdr))
		return ct_fail(err, CT_FORMAT, "code image: section table of %u rows of %u bytes at byte %llu of %zu", h->e_shnum, h->e_shentsize,
			       (unsigned long long)h->e_shoff, c->size);
	c->sections = ct_xrealloc(NULL, n * sizeof *c->sections);
	c->n_sections = n;
	memcpy(c->sections, c->bytes + h->e_shoff, n * sizeof *c->sections);
	for (size_t i = 0; i < n; i++) {
		if (!section_fits(&c->sections[i], c->size))
			return ct_fail(err, CT_FORMAT, "code image: section %zu ends outside the image", i);
		// Where it says to be is of no use, and a pointer to there may be none.
		if (!ct_section_has_bytes(&c->sections[i]))
			c->sections[i].sh_offset = 0;
	}
	return true;
}

// The symbol table is the only one of its type; constant bank 4 is the data section that 64-bit addresses are relocated into and that
// no other section describes: see constant4 below.
static void find_symbols(struct ct_cubin *c)
{
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		if (s->sh_type != SHT_SYMTAB || s->sh_entsize != sizeof(Elf64_Sym) || s->sh_link >= c->n_sections)
			continue;
		if (c->sections[s->sh_link].sh_type != SHT_STRTAB)
			continue;
		c->symtab = i;
		c->strtab = s->sh_link;
		c->n_symbols = s->sh_size / sizeof(Elf64_Sym);
		return;
	}
}

// Bank 4 holds the addresses of strings and functions: an allocated, read-only, non-code data section, not tied to a kernel
// (SHF_INFO_LINK unset), with relocations of which every one is a plain 64-bit address.
static bool looks_like_constant4(const struct ct_cubin *c, const Elf64_Shdr *rel)
{
	if (rel->sh_info == 0 || rel->sh_info >= c->n_sections || rel->sh_entsize < sizeof(Elf64_Rel) || rel->sh_size < rel->sh_entsize)
		return false;
	const Elf64_Shdr *s = &c->sections[rel->sh_info];
	if (s->sh_type != SHT_PROGBITS || s->sh_flags != SHF_ALLOC)
		return false;
	for (uint64_t at = 0; at <= rel->sh_size - rel->sh_entsize; at += rel->sh_entsize) {
		Elf64_Rel r;
		memcpy(&r, c->bytes + rel->sh_offset + at, sizeof r);
		if (ELF64_R_TYPE(r.r_info) != CT_R_CUDA_64)
			return false;
	}
	return true;
}

static void find_constant4(struct ct_cubin *c)
{
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		if ((s->sh_type != SHT_RELA && s->sh_type != SHT_REL) || !looks_like_constant4(c, s))
			continue;
		if (c->constant4 != 0 && c->constant4 != s->sh_info) {  // two candidates: neither
			c->constant4 = 0;
			return;
		}
		c->constant4 = s->sh_info;
	}
}

bool ct_cubin_open(const void *bytes, size_t size, struct ct_cubin **ret_cubin, struct ct_error *err)
{
	CT_AUTO(ct_cubin_auto) struct ct_cubin *c = ct_xrealloc(NULL, sizeof *c);
	*c = (struct ct_cubin){.bytes = bytes, .size = size};
	Elf64_Ehdr header;
	if (!read_header(c, &header, err) || !read_sections(c, &header, err))
		return false;
	c->sm = architecture(&header);
	c->names = header.e_shstrndx < c->n_sections ? header.e_shstrndx : 0;
	find_symbols(c);
	find_constant4(c);
	*ret_cubin = c;
	c = NULL;
	return true;
}

void ct_cubin_free(struct ct_cubin *c)
{
	if (!c)
		return;
	if (c->dwarf)
		dwarf_end(c->dwarf);
	if (c->elf)
		elf_end(c->elf);
	free(c->copy);
	free(c->sections);
	free(c);
}

void ct_cubin_auto(struct ct_cubin **cubin)
{
	ct_cubin_free(*cubin);
}

uint32_t ct_cubin_sm(const struct ct_cubin *c)
{
	return c->sm;
}

bool ct_cubin_symbol(const struct ct_cubin *c, size_t index, Elf64_Sym *ret_symbol)
{
	if (index >= c->n_symbols)
		return false;
	memcpy(ret_symbol, c->bytes + c->sections[c->symtab].sh_offset + index * sizeof *ret_symbol, sizeof *ret_symbol);
	return true;
}

const char *ct_cubin_symbol_name(const struct ct_cubin *c, const Elf64_Sym *symbol)
{
	const Elf64_Shdr *s = &c->sections[c->strtab];
	if (c->strtab == 0 || symbol->st_name >= s->sh_size)
		return "";
	const char *name = (const char *)c->bytes + s->sh_offset + symbol->st_name;
	size_t room = s->sh_size - symbol->st_name;
	return memchr(name, 0, room < CT_CUBIN_MAX_NAME ? room : CT_CUBIN_MAX_NAME) ? name : "";
}

bool ct_cubin_spend_name(const struct ct_cubin *c, const char *name, uint64_t *spent)
{
	*spent += strlen(name);
	return *spent <= 4 * c->sections[c->strtab].sh_size;
}

bool ct_cubin_reloc_at(const struct ct_cubin *c, size_t target, uint64_t offset, struct ct_reloc *ret_reloc)
{
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		size_t row = s->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : s->sh_type == SHT_REL ? sizeof(Elf64_Rel) : 0;
		if (row == 0 || s->sh_info != target || s->sh_entsize < row)
			continue;
		for (uint64_t at = 0; s->sh_size >= s->sh_entsize && at <= s->sh_size - s->sh_entsize; at += s->sh_entsize) {
			Elf64_Rela r = {0};
			memcpy(&r, c->bytes + s->sh_offset + at, row);
			if (r.r_offset != offset)
				continue;
			*ret_reloc = (struct ct_reloc){r.r_offset, (uint32_t)ELF64_R_TYPE(r.r_info), (uint32_t)ELF64_R_SYM(r.r_info), r.r_addend};
			return true;
		}
	}
	return false;
}
