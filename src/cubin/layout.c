// Where the linker put a data symbol in its section. A relocated image's symbols have device addresses, and their offsets are gone; but the
// order in which ptxas lays them out follows from what is left: by size, and for equal sizes as its list sort leaves them. That sort deals the
// list of symbols, in the order of the symbol table, alternately in front of two lists, sorts each, and merges them, the first one first when
// sizes are equal. Found on and checked with layouts of 3 to 120 strings of ptxas 12.1, 12.4, 12.6, 12.8, 12.9, 13.0, 13.1 and 13.2; others are
// not trusted to do the same, nor is nvlink, which lays out several modules otherwise.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum { MAX_OBJECTS = 65536, NOTE_TOOLS = 2000 /* n_type of .note.nv.tkinfo, CUDA 13.0 */ };

struct object {
	size_t symbol;
	uint64_t size;
};

static bool contains(const uint8_t *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text)) != NULL;
}

// CUDA 13 compilers and linkers write their names and versions into a note.
static bool noted_compiler(const struct ct_cubin *c)
{
	static const char *const releases[] = {"release 13.0,", "release 13.1,", "release 13.2,"};
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		const uint8_t *bytes = c->bytes + s->sh_offset;
		Elf64_Nhdr note;
		if (s->sh_type != SHT_NOTE || s->sh_size < sizeof note)
			continue;
		memcpy(&note, bytes, sizeof note);
		if (note.n_type != NOTE_TOOLS)
			continue;
		for (size_t k = 0; k < CT_COUNT(releases); k++)
			if (contains(bytes, s->sh_size, "ptxas") && !contains(bytes, s->sh_size, "nvlink") && contains(bytes, s->sh_size, releases[k]))
				return true;
		return false;
	}
	return false;
}

static bool checked_compiler(const struct ct_cubin *c)
{
	Elf64_Ehdr h;
	memcpy(&h, c->bytes, sizeof h);
	if (h.e_ident[EI_ABIVERSION] == 7)  // up to 12.9 the ELF version is the toolkit's: 121 is 12.1
		return h.e_version >= 121 && h.e_version <= 129;
	return noted_compiler(c);
}

static void deal_sort(struct object *rows, size_t n, struct object *scratch)
{
	if (n < 2)
		return;
	size_t n_first = (n + 1) / 2, n_second = n - n_first;
	struct object *first = scratch, *second = scratch + n_first;
	for (size_t i = 0; i < n; i++) {
		if (i % 2 == 0)
			first[n_first - 1 - i / 2] = rows[i];
		else
			second[n_second - 1 - i / 2] = rows[i];
	}
	// rows is free until the merge: the halves' own scratch.
	deal_sort(first, n_first, rows);
	deal_sort(second, n_second, rows + n_first);
	size_t a = 0, b = 0;
	for (size_t i = 0; i < n; i++) {
		bool take_first = b == n_second || (a < n_first && first[a].size <= second[b].size);
		rows[i] = take_first ? first[a++] : second[b++];
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Modules that were linked together both have a "$str": the layout is not one compiler's then.
static bool names_are_unique(const struct ct_cubin *c, const struct object *rows, size_t n)
{
	CT_AUTO(ct_auto_free) const char **names = ct_xrealloc(NULL, (n + 1) * sizeof *names);
	Elf64_Sym sym;
	uint64_t spent = 0;
	for (size_t i = 0; i < n; i++) {
		names[i] = ct_cubin_symbol(c, rows[i].symbol, &sym) ? ct_cubin_symbol_name(c, &sym) : "";
		if (!ct_cubin_spend_name(c, names[i], &spent))
			return false;
	}
	if (n > 1)
		qsort(names, n, sizeof *names, by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return false;
	return true;
}

// The objects of the section, with as much room again behind them for sorting; the caller's. NULL: none, or too many.
static struct object *list_objects(const struct ct_cubin *c, size_t section, size_t *ret_n)
{
	struct object *rows = NULL;
	size_t n = 0, room = 0;
	Elf64_Sym sym;
	for (size_t i = 0; n < MAX_OBJECTS && ct_cubin_symbol(c, i, &sym); i++) {
		if (ELF64_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx != section)
			continue;
		if (n == room) {
			room = room ? room * 2 : 64;
			rows = ct_xrealloc(rows, room * sizeof *rows);
		}
		rows[n++] = (struct object){i, sym.st_size};
	}
	*ret_n = n;
	return n ? ct_xrealloc(rows, 2 * n * sizeof *rows) : NULL;
}

// Each object in turn must be one string, and all together the whole section: else it is not as we think.
static bool place(const struct ct_cubin *c, const Elf64_Shdr *s, const struct object *rows, size_t n, size_t symbol, uint64_t *ret_offset)
{
	uint64_t offset = 0;
	bool found = false;
	for (size_t i = 0; i < n; i++) {
		uint64_t size = rows[i].size;
		const uint8_t *text = c->bytes + s->sh_offset + offset;
		if (size == 0 || size > s->sh_size - offset || memchr(text, 0, size) != text + size - 1)
			return false;
		if (rows[i].symbol == symbol) {
			*ret_offset = offset;
			found = true;
		}
		offset += size;
	}
	return found && offset == s->sh_size;
}

bool ct_cubin_layout_offset(const struct ct_cubin *c, size_t section, size_t symbol, uint64_t *ret_offset)
{
	const Elf64_Shdr *s = &c->sections[section];
	// Only byte-aligned objects: nothing says what alignment others were given.
	if (s->sh_type != SHT_PROGBITS || s->sh_addralign != 1 || !checked_compiler(c))
		return false;
	size_t n;
	CT_AUTO(ct_auto_free) struct object *rows = list_objects(c, section, &n);
	if (!rows || n == MAX_OBJECTS || !names_are_unique(c, rows, n))
		return false;
	deal_sort(rows, n, rows + n);
	return place(c, s, rows, n, symbol, ret_offset);
}
