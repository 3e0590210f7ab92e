// Global and managed memory of a dump: indexed once when it is opened, then found by address.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/gpucore_priv.h"

static int by_address(const void *a, const void *b)
{
	const struct ct_range *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->section > y->section) - (x->section < y->section);
}

// Sections that say to hold the same addresses: the one that begins first is believed, of two that begin together the first in the file.
static void make_disjoint(struct ct_gpucore *core)
{
	size_t kept = 0;
	uint64_t last = 0;  // address of the last byte that has been seen
	for (size_t i = 0; i < core->n_memory; i++) {
		struct ct_range r = core->memory[i];
		uint64_t r_last = r.address + (r.size - 1);
		if (kept && r.address <= last) {
			ct_gpucore_damaged(core, r.section, "holds addresses that another one holds too");
			if (r_last <= last)
				continue;
			uint64_t skip = last - r.address + 1;
			r = (struct ct_range){.address = r.address + skip, .size = r.size - skip, .offset = r.offset + skip, .section = r.section};
		}
		core->memory[kept++] = r;
		last = r_last;
	}
	core->n_memory = kept;
}

void ct_memory_index(struct ct_gpucore *core)
{
	size_t n = 0;
	core->memory = ct_xrealloc(NULL, (core->n_memory + 1) * sizeof *core->memory);
	for (uint32_t i = 1; core->n_memory && i < core->n_sections; i++) {
		Elf64_Shdr s = ct_core_section(core, i);
		uint32_t type = ct_core_type(&s);
		if ((type != CT_CORE_GLOBAL_MEM && type != CT_CORE_MANAGED_MEM) || !ct_core_in_file(core, &s) || s.sh_size == 0)
			continue;
		if (s.sh_size - 1 > UINT64_MAX - s.sh_addr) {
			ct_gpucore_damaged(core, i, "reaches beyond the last address");
			s.sh_size = UINT64_MAX - s.sh_addr + 1;
		}
		core->memory[n++] = (struct ct_range){.address = s.sh_addr, .size = s.sh_size, .offset = s.sh_offset, .section = i};
	}
	core->n_memory = n;
	if (n > 1)
		qsort(core->memory, n, sizeof *core->memory, by_address);
	make_disjoint(core);
}

// The range that holds address, by number; n_memory: none does.
static size_t range_at(const struct ct_gpucore *core, uint64_t address)
{
	size_t low = 0, high = core->n_memory;  // the last range that starts at or before address
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (core->memory[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - core->memory[low - 1].address < core->memory[low - 1].size ? low - 1 : core->n_memory;
}

size_t ct_gpucore_read_some(const struct ct_gpucore *core, uint64_t address, void *bytes, size_t size)
{
	size_t done = 0;
	for (size_t i = range_at(core, address); i < core->n_memory && done < size; i++) {
		const struct ct_range *r = &core->memory[i];
		uint64_t at = address + done;
		if (at < address || at < r->address || at - r->address >= r->size)  // a gap, or beyond the last address
			break;
		uint64_t there = r->size - (at - r->address);
		size_t n = there < size - done ? (size_t)there : size - done;
		if (bytes)
			memcpy((uint8_t *)bytes + done, core->source.bytes + r->offset + (at - r->address), n);
		done += n;
	}
	return done;
}

bool ct_gpucore_read_global(const struct ct_gpucore *core, uint64_t address, void *bytes, size_t size)
{
	return ct_gpucore_read_some(core, address, bytes, size) == size;
}
