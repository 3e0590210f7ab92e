// Function, library and line of a program counter of another process.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoststack/hoststack_priv.h"
#include "hoststack/native_priv.h"

enum {
	MAX_IN_MEMORY = 64 << 20,    // a module whose file is gone is read from the process's memory only up to this size
	MAX_DEBUG_INFO = 256 << 20,  // of .debug_info: above it, looking up a line is no longer cheap
	MAX_SCANNED_INFO = 32 << 20, // the same when there is no .debug_aranges and units are gone through one by one
	MAX_SIZELESS_OFFSET = 4096,  // how far a symbol without a size may reach (hand-written assembly)
};

struct symbol_row {
	uint64_t pc;
	bool used;
	struct ct_host_frame frame;
};

// What we keep for each module, hung on libdwfl's user data.
struct module {
	pid_t pid;
	bool lines_checked, has_lines, has_aranges;
	uint64_t info_bytes;
	const char *name;  // as reports show it; NULL until asked for
};

// End of the mapping that starts at `start`, 0 if there is none.
static uint64_t mapping_end(pid_t pid, uint64_t start)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	CT_AUTO(ct_auto_fclose) FILE *maps = fopen(path, "re");
	CT_AUTO(ct_auto_free) char *line = NULL;
	size_t room = 0;
	while (maps && getline(&line, &room, maps) > 0) {
		uint64_t from = 0, to = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && from == start)
			return to;
	}
	return 0;
}

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, char **ret_name, Elf **ret_elf)
{
	const struct module *m = *userdata;
	int fd = -1;
	if (m && name[0] == '/') {
		fd = ct_ends_with(name, " (deleted)") ? ct_open_mapped(m->pid, base, mapping_end(m->pid, base), name) : ct_open_as(m->pid, name);
		if (fd >= 0) {
			*ret_name = strdup(name);
			return fd;
		}
	}
	Dwarf_Addr start = 0, end = 0;
	dwfl_module_info(mod, NULL, &start, &end, NULL, NULL, NULL, NULL);
	if (end - start > MAX_IN_MEMORY)
		return -1;
	// The vDSO, and files that are not there any more: from the memory of the process. For a name that exists in our own file system only
	// this would open the wrong file, so it is not for those.
	if (name[0] == '/' && !ct_ends_with(name, " (deleted)"))
		return -1;
	return dwfl_linux_proc_find_elf(mod, userdata, name, base, ret_name, ret_elf);
}

// Separate debug information would be searched on disk and by debuginfod on the network: never.
static int find_no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, const char *file, const char *link,
			     GElf_Word crc, char **ret_file)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret_file;
	return -1;
}

const Dwfl_Callbacks ct_symbols_callbacks = {.find_elf = find_elf, .find_debuginfo = find_no_debuginfo};

static int adopt_module(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr start, void *arg)
{
	struct ct_symbols *s = arg;
	(void)mod, (void)name, (void)start;
	struct module *m = ct_arena_alloc(&s->scratch, sizeof *m);
	m->pid = s->pid;
	*userdata = m;
	return DWARF_CB_OK;
}

void ct_symbols_init(struct ct_symbols *symbols, struct ct_arena *arena, pid_t pid, Dwfl *dwfl)
{
	*symbols = (struct ct_symbols){.arena = arena, .scratch = CT_ARENA_INIT, .dwfl = dwfl, .pid = pid, .names = CT_DEMANGLE_BUDGET_INIT};
	dwfl_getmodules(dwfl, adopt_module, symbols, 0);
}

void ct_symbols_done(struct ct_symbols *symbols)
{
	free(symbols->rows);
	ct_arena_done(&symbols->scratch);
	*symbols = (struct ct_symbols){.scratch = CT_ARENA_INIT};
}

// Has the file itself line information that is cheap to use? Compressed sections would be unpacked whole, in memory.
static void check_lines(Dwfl_Module *mod, struct module *m)
{
	Dwarf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	size_t shstrndx = 0;
	bool line = false;
	m->lines_checked = true;
	if (!elf || elf_getshdrstrndx(elf, &shstrndx) != 0)
		return;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr shdr;
		const char *name = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, shstrndx, shdr.sh_name) : NULL;
		if (!name || shdr.sh_type == SHT_NOBITS || !ct_starts_with(name, ".debug_"))
			continue;
		if (shdr.sh_flags & SHF_COMPRESSED)
			return;
		line |= strcmp(name, ".debug_line") == 0;
		m->has_aranges |= strcmp(name, ".debug_aranges") == 0;
		if (strcmp(name, ".debug_info") == 0)
			m->info_bytes = shdr.sh_size;
	}
	m->has_lines = line && m->info_bytes && m->info_bytes <= (m->has_aranges ? MAX_DEBUG_INFO : MAX_SCANNED_INFO);
}

// Compilers that write no .debug_aranges (clang) leave only the units' own ranges.
static Dwarf_Line *scan_units(Dwfl_Module *mod, Dwarf_Addr pc)
{
	Dwarf_Addr bias = 0;
	for (Dwarf_Die *unit = dwfl_module_nextcu(mod, NULL, &bias); unit; unit = dwfl_module_nextcu(mod, unit, &bias))
		if (dwarf_haspc(unit, pc - bias) == 1)
			return dwarf_getsrc_die(unit, pc - bias);
	return NULL;
}

static const char *absolute(struct ct_arena *arena, const char *dir, const char *file)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	if (file[0] != '/' && dir && dir[0] == '/')
		ct_str_addf(&path, "%s/", dir);
	ct_str_add(&path, file);
	return ct_arena_clean(arena, ct_str_text(&path), path.length);
}

static void add_line(struct ct_symbols *s, Dwfl_Module *mod, struct module *m, uint64_t pc, struct ct_host_frame *frame)
{
	int number = 0;
	const char *file = NULL, *dir = NULL;
	if (!m->lines_checked)
		check_lines(mod, m);
	if (!m->has_lines)
		return;
	Dwfl_Line *line = dwfl_module_getsrc(mod, pc);
	if (line) {
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
		dir = dwfl_line_comp_dir(line);
	} else if (m->info_bytes <= MAX_SCANNED_INFO) {
		Dwarf_Line *raw = scan_units(mod, pc);
		file = raw ? dwarf_linesrc(raw, NULL, NULL) : NULL;
		if (!raw || dwarf_lineno(raw, &number) != 0)
			return;
	}
	if (!file || number <= 0)
		return;
	frame->file = absolute(s->arena, dir, file);
	frame->line = (uint32_t)number;
}

static const char *module_name(struct ct_symbols *s, Dwfl_Module *mod, struct module *m)
{
	if (!m->name) {
		const char *name = dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		if (name && ct_starts_with(name, "[vdso"))
			name = "[vdso]";  // libdwfl adds the process's number
		m->name = name ? ct_arena_clean(s->arena, name, strlen(name)) : "";
	}
	return m->name[0] ? m->name : NULL;
}

// The nearest symbol below may be of another function altogether when the module shows only its exported ones (libcuda): a name is
// given only within the symbol's size, or close behind one that has no size.
static void add_function(struct ct_symbols *s, Dwfl_Module *mod, uint64_t pc, uint64_t shown_pc, struct ct_host_frame *frame)
{
	GElf_Off offset = 0;
	GElf_Sym sym;
	const char *name = dwfl_module_addrinfo(mod, pc, &offset, &sym, NULL, NULL, NULL);
	if (!name || !name[0] || offset >= (sym.st_size ? sym.st_size : MAX_SIZELESS_OFFSET))
		return;
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	bool has_plain = ct_demangle_bounded(name, &s->names, &plain);
	frame->function = ct_arena_clean(s->arena, has_plain ? ct_str_text(&plain) : name, has_plain ? plain.length : strlen(name));
	frame->has_offset = true;
	frame->offset = offset + (shown_pc - pc);
}

static void resolve(struct ct_symbols *s, uint64_t pc, bool activation, struct ct_host_frame *frame)
{
	*frame = (struct ct_host_frame){.kind = CT_FRAME_NATIVE, .has_pc = true, .pc = pc};
	uint64_t at = activation || pc == 0 ? pc : pc - 1;
	Dwfl_Module *mod = dwfl_addrmodule(s->dwfl, at);
	void **userdata = NULL;
	if (!mod)
		return;
	dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	if (!userdata || !*userdata)
		return;
	frame->module = module_name(s, mod, *userdata);
	add_function(s, mod, at, pc, frame);
	if (frame->function)
		add_line(s, mod, *userdata, at, frame);
}

static struct symbol_row *row_for(struct symbol_row *rows, size_t capacity, uint64_t pc)
{
	size_t i = (size_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (capacity - 1);
	while (rows[i].used && rows[i].pc != pc)
		i = (i + 1) & (capacity - 1);
	return &rows[i];
}

static void make_room(struct ct_symbols *s)
{
	if (s->n_rows * 2 < s->capacity)
		return;
	size_t capacity = s->capacity ? s->capacity * 2 : 1024;
	struct symbol_row *rows = ct_xrealloc(NULL, capacity * sizeof *rows);
	memset(rows, 0, capacity * sizeof *rows);
	for (size_t i = 0; i < s->capacity; i++)
		if (s->rows[i].used)
			*row_for(rows, capacity, s->rows[i].pc) = s->rows[i];
	free(s->rows);
	s->rows = rows;
	s->capacity = capacity;
}

void ct_symbols_frame(struct ct_symbols *symbols, uint64_t pc, bool activation, struct ct_host_frame *ret_frame)
{
	make_room(symbols);
	// The same address as a place and as a return address are two entries; the top bit is free in user space.
	uint64_t key = activation ? pc | UINT64_C(1) << 63 : pc;
	struct symbol_row *row = row_for(symbols->rows, symbols->capacity, key);
	if (!row->used) {
		row->used = true;
		row->pc = key;
		symbols->n_rows++;
		resolve(symbols, pc, activation, &row->frame);
	}
	*ret_frame = row->frame;
}
