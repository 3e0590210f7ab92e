// The ELF container: header and section table are checked, and the tree of sections is built in one pass. Names are never looked at.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "gpucore/gpucore_priv.h"

const char *ct_core_type_name(uint32_t type)
{
	static const char *const names[CT_CORE_N_TYPES] = {
#define X(suffix, number, name, row) [number] = name,
		CT_CORE_SECTIONS(X)
#undef X
	};
	return type && type < CT_CORE_N_TYPES ? names[type] : "other";
}

uint32_t ct_core_row_minimum(uint32_t type)
{
	static const uint8_t rows[CT_CORE_N_TYPES] = {
#define X(suffix, number, name, row) [number] = row,
		CT_CORE_SECTIONS(X)
#undef X
	};
	return type < CT_CORE_N_TYPES ? rows[type] : 0;
}

void ct_gpucore_damaged(struct ct_gpucore *core, uint32_t section, const char *what)
{
	if (core->n_damaged++ == 0)
		snprintf(core->damage, sizeof core->damage, "section %u %s", section, what);
}

static bool wrong_file(const Elf64_Ehdr *h, struct ct_error *err)
{
	if (h->e_machine == CT_CORE_MACHINE) {
		ct_fail(err, CT_FORMAT, "CUDA code, not a GPU core dump (ELF type %u)", h->e_type);
		return ct_hint(err, "name the file that CUDA_COREDUMP_FILE gave the dump");
	}
	ct_fail(err, CT_FORMAT, "an ELF file for machine %u, not a GPU core dump", h->e_machine);
	return ct_hint(err, h->e_type == ET_CORE ? "this is a dump of the CPU's side; the GPU's is a file of its own (CUDA_COREDUMP_FILE)"
						  : "name the file that CUDA_COREDUMP_FILE gave the dump");
}

static bool check_header(const struct ct_gpucore *core, Elf64_Ehdr *ret_header, struct ct_error *err)
{
	if (core->source.size < sizeof *ret_header)
		return ct_fail(err, CT_FORMAT, "%zu bytes, too short for a GPU core dump", core->source.size);
	memcpy(ret_header, core->source.bytes, sizeof *ret_header);
	const unsigned char *id = ret_header->e_ident;
	if (memcmp(id, ELFMAG, SELFMAG) != 0)
		return ct_fail(err, CT_FORMAT, "not an ELF file, so not a GPU core dump");
	if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB)
		return ct_fail(err, CT_FORMAT, "not a little-endian ELF64 file, so not a GPU core dump");
	if (ret_header->e_machine != CT_CORE_MACHINE || ret_header->e_type != ET_CORE)
		return wrong_file(ret_header, err);
	return true;
}

static bool cut_short(struct ct_error *err)
{
	return ct_hint(err, "the driver gave up while it wrote the dump: record it again with skip_constbank_memory among CUDA_COREDUMP_GENERATION_FLAGS "
			    "(CUDA 12.6 and later), and look for a full disk");
}

// The driver writes the section table last, and its place first: a table past the end means that the dump was cut short (driver 580).
static bool check_extent(struct ct_gpucore *core, const Elf64_Ehdr *h, struct ct_error *err)
{
	uint64_t room = h->e_shoff <= core->source.size ? (core->source.size - h->e_shoff) / sizeof(Elf64_Shdr) : 0;
	uint64_t n = h->e_shnum;
	if (h->e_shoff == 0) {
		ct_fail(err, CT_FORMAT, "no section table in %zu bytes", core->source.size);
		return cut_short(err);
	}
	if (h->e_shentsize != sizeof(Elf64_Shdr))
		return ct_fail(err, CT_FORMAT, "section table rows of %u bytes, not %zu", h->e_shentsize, sizeof(Elf64_Shdr));
	core->shoff = h->e_shoff;
	if (n == 0 && room)  // 65,280 sections and more: the count is in section 0 (ELF extended numbering)
		n = ct_core_section(core, 0).sh_size;
	if (room == 0 || n > room) {
		ct_fail(err, CT_FORMAT, "section table of %" PRIu64 " rows at byte %" PRIu64 " of %zu", n, h->e_shoff, core->source.size);
		return cut_short(err);
	}
	if (n == 0 || n > UINT32_MAX)
		return ct_fail(err, CT_FORMAT, "section table of %" PRIu64 " rows", n);
	core->n_sections = (uint32_t)n;
	return true;
}

static void take_section(struct ct_gpucore *core, uint32_t i, const Elf64_Shdr *s, uint32_t names)
{
	uint32_t type = ct_core_type(s);
	if (s->sh_type == SHT_STRTAB && i != names)
		core->strings = i;
	if (type == CT_CORE_DEV_TABLE)
		core->devices = i;
	if (type == CT_CORE_META_DATA)
		core->meta = i;
	core->n_memory += type == CT_CORE_GLOBAL_MEM || type == CT_CORE_MANAGED_MEM;
	core->n_images += type == CT_CORE_RELF_IMG;
	if (!type || s->sh_link == 0)
		return;
	if (s->sh_link >= core->n_sections || s->sh_link == i) {
		ct_gpucore_damaged(core, i, "belongs to no section");
		return;
	}
	core->next_sibling[i] = core->first_child[s->sh_link];
	core->first_child[s->sh_link] = i;
}

bool ct_container_index(struct ct_gpucore *core, struct ct_error *err)
{
	Elf64_Ehdr header;
	if (!check_header(core, &header, err) || !check_extent(core, &header, err))
		return false;
	uint32_t names = header.e_shstrndx == SHN_XINDEX ? ct_core_section(core, 0).sh_link : header.e_shstrndx;
	core->first_child = calloc(core->n_sections, sizeof *core->first_child);
	core->next_sibling = calloc(core->n_sections, sizeof *core->next_sibling);
	if (!core->first_child || !core->next_sibling)
		return ct_fail(err, CT_LIMIT, "%u sections: no memory for their index", core->n_sections);
	uint64_t used = 0;
	// Backwards: each list of children, grown at its head, ends up in the order of the file.
	for (uint32_t i = core->n_sections; i-- > 1;) {
		Elf64_Shdr s = ct_core_section(core, i);
		if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
			continue;
		if (!ct_core_in_file(core, &s)) {
			ct_gpucore_damaged(core, i, "lies outside the file");
			continue;
		}
		// No byte belongs to two sections. A file that says otherwise would make us work on the same bytes again and again.
		if (s.sh_size > core->source.size - used)
			return ct_fail(err, CT_FORMAT, "the sections overlap: together they are longer than the file");
		used += s.sh_size;
		take_section(core, i, &s, names);
	}
	return true;
}

bool ct_table_open(const struct ct_gpucore *core, uint32_t section, enum ct_core_section type, struct ct_table *ret_table)
{
	if (section == 0 || section >= core->n_sections)
		return false;
	Elf64_Shdr s = ct_core_section(core, section);
	if (ct_core_type(&s) != (uint32_t)type || !ct_core_in_file(core, &s))
		return false;
	if (s.sh_entsize == 0 || s.sh_entsize < ct_core_row_minimum(type))
		return false;
	*ret_table = (struct ct_table){
		.rows = core->source.bytes + s.sh_offset,
		.n_rows = s.sh_size / s.sh_entsize,
		.row_bytes = s.sh_entsize,
		.section = section,
		.type = type,
		.parent = s.sh_link,
		.parent_row = s.sh_info,
	};
	return true;
}

const char *ct_core_text(const struct ct_gpucore *core, uint64_t offset)
{
	if (!core->strings)
		return "";
	Elf64_Shdr s = ct_core_section(core, core->strings);
	if (offset >= s.sh_size)
		return "";
	const char *text = (const char *)core->source.bytes + s.sh_offset + offset;
	return memchr(text, 0, s.sh_size - offset) ? text : "";
}

uint32_t ct_core_child(const struct ct_gpucore *core, uint32_t parent, enum ct_core_section type, uint32_t row)
{
	for (uint32_t i = core->first_child[parent]; i; i = core->next_sibling[i]) {
		Elf64_Shdr s = ct_core_section(core, i);
		if (ct_core_type(&s) == (uint32_t)type && s.sh_info == row)
			return i;
	}
	return 0;
}
