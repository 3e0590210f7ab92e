// String constants of an image. In a relocated image a string's symbol has a device address, and its place in the section is lost: the
// driver gives each symbol an address of its own. What is left is its size, which tells many strings apart; for the rest see layout.c.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum { MAX_TEXT = 4096, MAX_CANDIDATES = 256 };

static bool from_memory(uint64_t address, ct_cubin_memory *memory, void *context, struct ct_arena *arena, const char **ret_text)
{
	char text[MAX_TEXT];
	size_t n = 0;
	while (memory && n < sizeof text && memory(context, address + n, &text[n], 1)) {
		if (text[n] == '\0') {
			*ret_text = ct_arena_clean(arena, text, n);
			return true;
		}
		n++;
	}
	return false;
}

static bool is_object_of(const Elf64_Sym *sym, size_t section)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_shndx == section;
}

// The data symbol at address; its index, 0: there is none.
static size_t find_object(const struct ct_cubin *c, uint64_t address, Elf64_Sym *ret_symbol)
{
	for (size_t i = 0; ct_cubin_symbol(c, i, ret_symbol); i++)
		if (ELF64_ST_TYPE(ret_symbol->st_info) == STT_OBJECT && ret_symbol->st_value == address && ret_symbol->st_size != 0 &&
		    ret_symbol->st_shndx < c->n_sections && c->sections[ret_symbol->st_shndx].sh_type == SHT_PROGBITS)
			return i;
	return 0;
}

static size_t objects_of_size(const struct ct_cubin *c, size_t section, uint64_t size)
{
	size_t n = 0;
	Elf64_Sym sym;
	for (size_t i = 0; ct_cubin_symbol(c, i, &sym); i++)
		n += is_object_of(&sym, section) && sym.st_size == size;
	return n;
}

static bool is_text(const uint8_t *p, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (p[i] < 0x20 && p[i] != '\t' && p[i] != '\n')
			return false;
	return true;
}

// The strings of exactly `size` bytes (with their NUL) in a section. Returns their number, which may exceed MAX_CANDIDATES.
static size_t strings_of_size(const uint8_t *bytes, size_t length, size_t size, const char **ret_texts)
{
	size_t n = 0, start = 0;
	for (size_t i = 0; i < length; i++) {
		if (bytes[i] != 0)
			continue;
		if (i + 1 - start == size && is_text(bytes + start, size - 1)) {
			if (n < MAX_CANDIDATES)
				ret_texts[n] = (const char *)bytes + start;
			n++;
		}
		start = i + 1;
	}
	return n;
}

static bool same_name(const char *a, size_t a_length, const char *b, size_t b_length)
{
	return a_length == b_length && memcmp(a, b, a_length) == 0;
}

// Is `name` the function of this symbol? Names are not expanded for it: an image holds thousands, and each of them may stand for gigabytes.
static bool is_of_symbol(const char *name, size_t length, const char *symbol)
{
	const char *own;
	size_t own_length;
	return ct_cubin_symbol_base(symbol, &own, &own_length) && same_name(name, length, own, own_length);
}

// Is this text the name of a kernel other than that of symbol `kernel`? Kernels are not inlined into one another, so it cannot be an assert's
// function there.
static bool names_another_kernel(const struct ct_cubin *c, const char *text, const char *kernel)
{
	const char *name;
	size_t length;
	Elf64_Sym sym;
	uint64_t spent = 0;
	if (!ct_cubin_base_name(text, &name, &length) || is_of_symbol(name, length, kernel))
		return false;
	for (size_t i = 0; ct_cubin_symbol(c, i, &sym); i++) {
		const char *symbol = ct_cubin_symbol_name(c, &sym);
		if (!ct_cubin_spend_name(c, symbol, &spent))
			return false;
		if (ELF64_ST_TYPE(sym.st_info) == STT_FUNC && (sym.st_other & CT_STO_ENTRY) && is_of_symbol(name, length, symbol))
			return true;
	}
	return false;
}

// The text at the place where the compiler put the symbol; NULL when that is not known, or no text is there.
static const char *laid_out(const struct ct_cubin *c, const struct ct_text_query *query, size_t index, const Elf64_Sym *sym)
{
	const Elf64_Shdr *s = &c->sections[sym->st_shndx];
	uint64_t offset;
	if (!ct_cubin_layout_offset(c, sym->st_shndx, index, &offset) || offset > s->sh_size || sym->st_size > s->sh_size - offset)
		return NULL;
	const char *text = (const char *)c->bytes + s->sh_offset + offset;
	if (memchr(text, 0, sym->st_size) != text + sym->st_size - 1)
		return NULL;
	// What cannot be true shows that the compiler did otherwise.
	if (query->is_function && query->kernel && names_another_kernel(c, text, query->kernel))
		return NULL;
	return text;
}

// The one text among the candidates; NULL when they differ.
static const char *agree(const struct ct_cubin *c, const struct ct_text_query *query, const char **texts, size_t n)
{
	const char *one = NULL;
	for (size_t i = 0; i < n; i++) {
		if (one && strcmp(one, texts[i]) == 0)
			continue;
		if (query->is_function && query->kernel && names_another_kernel(c, texts[i], query->kernel))
			continue;
		if (one)
			return NULL;
		one = texts[i];
	}
	return one;
}

enum ct_text_status ct_cubin_text(const struct ct_cubin *c, const struct ct_text_query *query, ct_cubin_memory *memory, void *context,
				  struct ct_arena *arena, const char **ret_text)
{
	if (from_memory(query->address, memory, context, arena, ret_text))
		return CT_TEXT_FOUND;
	Elf64_Sym sym;
	size_t index = find_object(c, query->address, &sym);
	if (index == 0 || sym.st_size > MAX_TEXT)
		return CT_TEXT_MISSING;
	const Elf64_Shdr *s = &c->sections[sym.st_shndx];
	const char *texts[MAX_CANDIDATES];
	size_t n = strings_of_size(c->bytes + s->sh_offset, s->sh_size, sym.st_size, texts);
	if (n == 0)
		return CT_TEXT_MISSING;
	// Fewer strings than symbols of that size: one of them is not where we looked, and it may be the one.
	if (n > MAX_CANDIDATES || n < objects_of_size(c, sym.st_shndx, sym.st_size))
		return CT_TEXT_AMBIGUOUS;
	const char *text = agree(c, query, texts, n);
	if (!text)
		text = laid_out(c, query, index, &sym);
	if (!text)
		return CT_TEXT_AMBIGUOUS;
	*ret_text = ct_arena_clean(arena, text, sym.st_size - 1);
	return CT_TEXT_FOUND;
}
