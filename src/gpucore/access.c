// Which device address each thread of a group was about to use: the instruction at the error PC, and the registers of the dump.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/gpucore_priv.h"

static bool register_pair(const struct ct_gpucore *core, const struct ct_core_place *place, uint32_t first, uint64_t *ret_value)
{
	const struct ct_gpucore_lane lane = {.section = place->section, .row = place->row};
	const uint8_t *values;
	size_t n;
	if (!ct_gpucore_registers(core, &lane, CT_GPUCORE_REGISTERS, &values, &n) || first + 1 >= n)
		return false;
	memcpy(ret_value, values + first * sizeof(uint32_t), sizeof *ret_value);  // little-endian, the low half first
	return true;
}

void ct_core_accesses(struct ct_gpucore *core, struct ct_core_group *g)
{
	enum { NO_BASE = 255 };
	const struct ct_cubin *image = NULL;
	struct ct_cubin_access access;
	if (!g->group.has_exception || g->group.exception == CT_CORE_ASSERT || !g->group.has_error_pc)
		return;
	image = ct_core_image_at(core, ct_core_module_of(core, g->first.device, g->first.grid_id), g->group.error_pc);
	for (size_t i = 0; image && i < g->group.n_lanes; i++) {
		struct ct_lane *lane = &g->group.lanes[i];
		uint64_t base = 0;
		if (!ct_cubin_access_at(image, g->group.error_pc, lane->pc, &access) || (access.base != NO_BASE && !register_pair(core, &g->places[i], access.base, &base)))
			continue;
		lane->has_address = true;
		lane->address = base + (uint64_t)access.offset;
		g->group.access = access.is_store ? "store" : "load";
		g->group.access_bytes = access.size_bytes;
	}
}
