// Makes small GPU core dumps, right and wrong ones, for tests.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_FORGE_H
#define CT_FORGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpucore/format.h"

enum { FORGE_MAX_SECTIONS = 70000 };

struct forge {
	uint8_t *bytes;
	size_t size, room;
	Elf64_Shdr *sections;  // to be changed at will before forge_finish()
	uint32_t n_sections;
	uint64_t device_row, sm_row, grid_row, block_row, warp_row, lane_row;  // bytes; 0: as driver 580
	uint32_t devices, sms, grids;  // section indices, set by forge_start()
	uint32_t n_blocks_tables;
};

// A device with n_sms SMs (ids 0..) and one grid: id 7, 16 blocks of 64 threads.
void forge_start(struct forge *f, uint32_t n_sms);
void forge_done(struct forge *f);
// A section; type is an enum ct_core_section. Returns its index.
uint32_t forge_add(struct forge *f, uint32_t type, uint32_t link, uint32_t info, const void *bytes, size_t size, uint64_t row);
uint8_t *forge_bytes(struct forge *f, uint32_t section);  // borrowed until the next forge_add()
void forge_put32(struct forge *f, uint32_t section, uint64_t at, uint32_t value);
void forge_put64(struct forge *f, uint32_t section, uint64_t at, uint64_t value);
// One warp of n_lanes lanes in a block of its own on that SM: all at pc with that exception; error_pc 0: none. Returns the lane table.
uint32_t forge_warp(struct forge *f, uint32_t sm, uint32_t block_x, uint32_t n_lanes, uint64_t pc, uint32_t exception, uint64_t error_pc);
// Appends the section table and sets the header; extended: the count goes to section 0.
void forge_finish(struct forge *f, bool extended);

#endif
