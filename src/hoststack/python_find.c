// Where a process keeps its Python interpreter: _PyRuntime in the executable or in libpython.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoststack/hoststack_priv.h"
#include "hoststack/python_priv.h"

enum { MAX_PATH = 4096, MAX_CANDIDATES = 16 };

// The first mapping of a file that may hold the interpreter.
struct candidate {
	uint64_t start, end, offset;
	char path[MAX_PATH];
};

static void auto_elf_end(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}

static unsigned parse_uint(const char **p)
{
	unsigned value = 0;
	for (; **p >= '0' && **p <= '9' && value < 1000; ++*p)
		value = value * 10 + (unsigned)(**p - '0');
	return value;
}

// "python3.9", "libpython3.10.so.1.0", ".../lib/python3.8/...": the numbers behind the last "python".
static void version_of_name(const char *path, struct ct_py_place *place)
{
	for (const char *p = strstr(path, "python"); p; p = strstr(p + 1, "python")) {
		const char *q = p + strlen("python");
		unsigned major = parse_uint(&q);
		if (!major || *q != '.')
			continue;
		q++;
		if (*q < '0' || *q > '9')
			continue;
		place->major = major;
		place->minor = parse_uint(&q);
	}
}

struct symbols {
	uint64_t runtime, code_type, version;
};

static void symbols_of_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, struct symbols *found)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = data && shdr->sh_entsize ? data->d_size / shdr->sh_entsize : 0;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		GElf_Sym sym;
		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		const char *name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (!name || name[0] == '\0' || (name[0] != '_' && name[0] != 'P'))
			continue;
		if (strcmp(name, "_PyRuntime") == 0)
			found->runtime = sym.st_value;
		else if (strcmp(name, "PyCode_Type") == 0)
			found->code_type = sym.st_value;
		else if (strcmp(name, "Py_Version") == 0)
			found->version = sym.st_value;
	}
}

// .dynsym has it in every build; .symtab and the section .PyRuntime (3.10+) are for those that hide symbols.
static void symbols_of_elf(Elf *elf, struct symbols *found)
{
	size_t shstrndx = 0;
	if (elf_getshdrstrndx(elf, &shstrndx) != 0)
		return;
	uint64_t section = 0;
	for (unsigned pass = 0; pass < 2 && !found->runtime; pass++)
		for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
			GElf_Shdr shdr;
			if (!gelf_getshdr(scn, &shdr))
				continue;
			const char *name = elf_strptr(elf, shstrndx, shdr.sh_name);
			if (shdr.sh_type == (pass ? SHT_SYMTAB : SHT_DYNSYM))
				symbols_of_section(elf, scn, &shdr, found);
			else if (name && strcmp(name, ".PyRuntime") == 0)
				section = shdr.sh_addr;
		}
	if (!found->runtime)
		found->runtime = section;
}

// Address at run time minus address in the file. The mapping's file offset belongs to one PT_LOAD.
static bool bias_of(Elf *elf, const struct candidate *c, uint64_t *ret_bias)
{
	size_t n = 0;
	if (elf_getphdrnum(elf, &n) != 0)
		return false;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		GElf_Phdr phdr;
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD && phdr.p_offset / page * page == c->offset) {
			*ret_bias = c->start - phdr.p_vaddr / page * page;
			return true;
		}
	}
	return false;
}

static bool place_in(pid_t pid, const struct candidate *c, struct ct_py_place *ret_place)
{
	CT_AUTO(ct_auto_close) int fd = ct_open_mapped(pid, c->start, c->end, c->path);
	if (fd < 0)
		return false;
	CT_AUTO(auto_elf_end) Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	uint64_t bias = 0;
	if (!elf || elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 || !bias_of(elf, c, &bias))
		return false;
	struct symbols found = {0};
	symbols_of_elf(elf, &found);
	if (!found.runtime)
		return false;
	ret_place->runtime = found.runtime + bias;
	ret_place->code_type = found.code_type ? found.code_type + bias : 0;
	ret_place->version_address = found.version ? found.version + bias : 0;
	return true;
}

// One line of maps: "start-end perms offset dev inode   path".
static bool parse_mapping(const char *line, struct candidate *ret_c)
{
	char perms[8];
	int at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &ret_c->start, &ret_c->end, perms, &ret_c->offset, &at) < 4 || !at)
		return false;
	size_t length = strcspn(line + at, "\n");
	if (line[at] != '/' || length >= sizeof ret_c->path)
		return false;
	memcpy(ret_c->path, line + at, length);
	ret_c->path[length] = '\0';
	return true;
}

struct search {
	struct candidate *candidates;
	size_t n_candidates;
	struct ct_py_place named;  // version as told by any file name, such as those of lib-dynload
	char executable[MAX_PATH];
};

static void consider(struct search *s, const struct candidate *c)
{
	const char *base = ct_basename(c->path);
	bool named = ct_starts_with(base, "libpython") || ct_starts_with(base, "python");
	if (!s->named.major || named)
		version_of_name(named ? base : c->path, &s->named);
	if (!named && strcmp(c->path, s->executable) != 0)
		return;
	if (s->n_candidates == MAX_CANDIDATES || (s->n_candidates && strcmp(s->candidates[s->n_candidates - 1].path, c->path) == 0))
		return;
	s->candidates[s->n_candidates++] = *c;
}

static bool list_candidates(pid_t pid, struct search *s, struct ct_error *err)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, s->executable, sizeof s->executable - 1);
	s->executable[n > 0 ? n : 0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	CT_AUTO(ct_auto_fclose) FILE *maps = fopen(path, "re");
	if (!maps)
		return errno == ENOENT ? ct_fail(err, CT_NOT_FOUND, "process %d is gone", (int)pid) : ct_fail_denied(pid, "the memory map", err);
	CT_AUTO(ct_auto_free) char *line = NULL;
	size_t room = 0;
	struct candidate c;
	errno = 0;
	while (getline(&line, &room, maps) > 0)
		if (parse_mapping(line, &c))
			consider(s, &c);
	return errno == EACCES || errno == EPERM ? ct_fail_denied(pid, "the memory map", err) : true;
}

bool ct_py_find(pid_t pid, struct ct_py_place *ret_place, struct ct_error *err)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return ct_fail(err, CT_UNAVAILABLE, "libelf is older than its header: %s", elf_errmsg(-1));
	struct ct_arena arena = CT_ARENA_INIT;
	struct search *s = ct_arena_alloc(&arena, sizeof *s);
	s->candidates = ct_arena_array(&arena, MAX_CANDIDATES, sizeof *s->candidates);
	bool ok = list_candidates(pid, s, err), found = false;
	for (size_t i = 0; ok && !found && i < s->n_candidates; i++) {
		found = place_in(pid, &s->candidates[i], ret_place);
		if (found) {
			ret_place->major = s->named.major;
			ret_place->minor = s->named.minor;
			version_of_name(ct_basename(s->candidates[i].path), ret_place);
		}
	}
	ct_arena_done(&arena);
	if (ok && !found)
		return ct_fail(err, CT_NOT_FOUND, "no Python in process %d (no _PyRuntime in its executable or a libpython)", (int)pid);
	return ok;
}
