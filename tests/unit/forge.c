// See forge.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "forge.h"

#include <stdlib.h>
#include <string.h>

static void append(struct forge *f, const void *bytes, size_t size)
{
	while (f->size + size > f->room) {
		f->room = f->room ? f->room * 2 : 4096;
		f->bytes = realloc(f->bytes, f->room);
		if (!f->bytes)
			abort();
	}
	if (bytes)
		memcpy(f->bytes + f->size, bytes, size);
	else
		memset(f->bytes + f->size, 0, size);
	f->size += size;
}

uint32_t forge_add(struct forge *f, uint32_t type, uint32_t link, uint32_t info, const void *bytes, size_t size, uint64_t row)
{
	if (f->n_sections == FORGE_MAX_SECTIONS)
		abort();
	uint32_t i = f->n_sections++;
	f->sections[i] = (Elf64_Shdr){
		.sh_type = CT_CORE_LOUSER + type, .sh_link = link, .sh_info = info, .sh_offset = f->size, .sh_size = size, .sh_entsize = row};
	append(f, bytes, size);
	return i;
}

uint8_t *forge_bytes(struct forge *f, uint32_t section)
{
	return f->bytes + f->sections[section].sh_offset;
}

void forge_put32(struct forge *f, uint32_t section, uint64_t at, uint32_t value)
{
	if (at + sizeof value <= f->sections[section].sh_size)
		memcpy(forge_bytes(f, section) + at, &value, sizeof value);
}

void forge_put64(struct forge *f, uint32_t section, uint64_t at, uint64_t value)
{
	if (at + sizeof value <= f->sections[section].sh_size)
		memcpy(forge_bytes(f, section) + at, &value, sizeof value);
}

static uint64_t or_else(uint64_t given, uint64_t usual)
{
	return given ? given : usual;
}

void forge_start(struct forge *f, uint32_t n_sms)
{
	f->sections = calloc(FORGE_MAX_SECTIONS, sizeof *f->sections);
	if (!f->sections)
		abort();
	f->n_sections = 1;
	append(f, NULL, sizeof(Elf64_Ehdr));
	uint64_t device = or_else(f->device_row, 0x58), sm = or_else(f->sm_row, 0x30), grid = or_else(f->grid_row, 0x88);
	f->devices = forge_add(f, CT_CORE_DEV_TABLE, 0, 0, NULL, device, device);
	forge_put32(f, f->devices, CT_DEV_N_SMS, n_sms);
	f->grids = forge_add(f, CT_CORE_GRID_TABLE, f->devices, 0, NULL, grid, grid);
	forge_put64(f, f->grids, CT_GRID_ID, 7);
	forge_put32(f, f->grids, CT_GRID_TID, 4711);
	for (uint64_t i = 0; i < 3; i++) {
		forge_put32(f, f->grids, CT_GRID_DIM + 4 * i, i ? 1 : 16);
		forge_put32(f, f->grids, CT_GRID_BLOCK + 4 * i, i ? 1 : 64);
	}
	f->sms = forge_add(f, CT_CORE_SM_TABLE, f->devices, 0, NULL, n_sms * sm, sm);
	for (uint32_t i = 0; i < n_sms; i++)
		forge_put32(f, f->sms, i * sm + CT_SM_ID, i);
}

void forge_done(struct forge *f)
{
	free(f->bytes);
	free(f->sections);
	memset(f, 0, sizeof *f);
}

uint32_t forge_warp(struct forge *f, uint32_t sm, uint32_t block_x, uint32_t n_lanes, uint64_t pc, uint32_t exception, uint64_t error_pc)
{
	uint64_t block = or_else(f->block_row, 0x38), warp = or_else(f->warp_row, 0x40), lane = or_else(f->lane_row, 0x38);
	uint32_t blocks = forge_add(f, CT_CORE_CTA_TABLE, f->sms, sm, NULL, block, block);
	forge_put64(f, blocks, CT_CTA_GRID, 7);
	forge_put32(f, blocks, CT_CTA_BLOCK, block_x);
	uint32_t warps = forge_add(f, CT_CORE_WP_TABLE, blocks, 0, NULL, warp, warp);
	forge_put64(f, warps, CT_WP_ERROR_PC, error_pc);
	forge_put32(f, warps, CT_WP_ERROR_VALID, error_pc != 0);
	uint32_t lanes = forge_add(f, CT_CORE_LN_TABLE, warps, 0, NULL, n_lanes * lane, lane);
	for (uint32_t i = 0; i < n_lanes; i++) {
		forge_put64(f, lanes, i * lane + CT_LN_PC, pc);
		forge_put32(f, lanes, i * lane + CT_LN_ID, i);
		forge_put32(f, lanes, i * lane + CT_LN_THREAD, i);
		forge_put32(f, lanes, i * lane + CT_LN_EXCEPTION, exception);
	}
	return lanes;
}

void forge_finish(struct forge *f, bool extended)
{
	Elf64_Ehdr h = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 0x33, 7},
		.e_type = ET_CORE,
		.e_machine = CT_CORE_MACHINE,
		.e_version = EV_CURRENT,
		.e_shoff = f->size,
		.e_ehsize = sizeof h,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = extended ? 0 : (uint16_t)f->n_sections,
	};
	if (extended)
		f->sections[0].sh_size = f->n_sections;
	append(f, f->sections, f->n_sections * sizeof *f->sections);
	memcpy(f->bytes, &h, sizeof h);
}
