// Source lines with inlining, by libdw: NVIDIA's line tables carry the inline chain in two extended opcodes that elfutils 0.186 and
// later decode (dwarf_linecontext, dwarf_linefunctionname).
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"

enum { MAX_INLINE = 64, MAX_NAME = 4096 };

// DWARF sections are known by their names alone. Most images have none, and loading one costs a copy of it.
static bool has_line_table(const struct ct_cubin *c)
{
	const Elf64_Shdr *names = &c->sections[c->names];
	static const char name[] = ".debug_line";
	for (size_t i = 1; c->names && i < c->n_sections; i++) {
		size_t at = c->sections[i].sh_name;
		if (ct_section_has_bytes(names) && at < names->sh_size && names->sh_size - at >= sizeof name &&
		    memcmp(c->bytes + names->sh_offset + at, name, sizeof name) == 0)
			return true;
	}
	return false;
}

// libdw writes into what it reads and wants it aligned; the dump's map is neither writable nor aligned.
static void load(struct ct_cubin *c)
{
	c->lines_tried = true;
	if (!has_line_table(c))
		return;
	elf_version(EV_CURRENT);
	c->copy = ct_xrealloc(NULL, c->size);
	memcpy(c->copy, c->bytes, c->size);
	c->elf = elf_memory((char *)c->copy, c->size);
	if (c->elf)
		c->dwarf = dwarf_begin_elf(c->elf, DWARF_C_READ, NULL);
}

static const char *clean(struct ct_arena *arena, const char *text)
{
	return text ? ct_arena_clean(arena, text, strnlen(text, MAX_NAME)) : NULL;
}

static size_t add_chain(Dwarf_Lines *lines, Dwarf_Line *line, Dwarf *dwarf, struct ct_arena *arena, struct ct_cubin_line *rows)
{
	size_t n = 0;
	while (line && n < MAX_INLINE) {
		int number = 0;
		dwarf_lineno(line, &number);
		Dwarf_Line *outer = dwarf_linecontext(lines, line);
		rows[n++] = (struct ct_cubin_line){
			.function = outer ? clean(arena, dwarf_linefunctionname(dwarf, line)) : NULL,
			.file = clean(arena, dwarf_linesrc(line, NULL, NULL)),
			.line = number > 0 ? (uint32_t)number : 0,
		};
		line = outer;
	}
	return n;
}

// Several rows may stand at one address; the last of them counts. Each sequence ends in a row that marks the first address after it.
static Dwarf_Line *row_at(Dwarf_Lines *lines, size_t count, uint64_t pc)
{
	Dwarf_Line *best = NULL;
	uint64_t best_address = 0;
	for (size_t i = 0; i + 1 < count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i), *next = dwarf_onesrcline(lines, i + 1);
		Dwarf_Addr from = 0, to = 0;
		bool end = true;
		if (dwarf_lineaddr(row, &from) || dwarf_lineaddr(next, &to) || dwarf_lineendsequence(row, &end) || end)
			continue;
		if (from <= pc && pc < to && (!best || from >= best_address)) {
			best = row;
			best_address = from;
		}
	}
	return best;
}

bool ct_cubin_lines_at(struct ct_cubin *c, uint64_t pc, struct ct_arena *arena, struct ct_cubin_line **ret_lines, size_t *ret_count)
{
	if (!c->lines_tried)
		load(c);
	if (!c->dwarf || !ct_cubin_code_section(c, pc))
		return false;
	Dwarf_Off offset = 0, next = 0;
	Dwarf_CU *cu = NULL;
	Dwarf_Files *files;
	size_t n_files, n_lines;
	Dwarf_Lines *lines;
	while (dwarf_next_lines(c->dwarf, offset, &next, &cu, &files, &n_files, &lines, &n_lines) == 0 && next > offset) {
		Dwarf_Line *row = row_at(lines, n_lines, pc);
		if (row) {
			struct ct_cubin_line rows[MAX_INLINE];
			size_t n = add_chain(lines, row, c->dwarf, arena, rows);
			*ret_lines = ct_arena_array(arena, n, sizeof *rows);
			memcpy(*ret_lines, rows, n * sizeof *rows);
			*ret_count = n;
			return true;
		}
		offset = next;
	}
	return false;
}
