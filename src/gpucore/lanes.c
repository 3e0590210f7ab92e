// The walk over all lanes: device, SM, block, warp, lane, each table found from its parent's.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/gpucore_priv.h"

struct walk {
	const struct ct_gpucore *core;
	ct_gpucore_visit *visit;
	void *context;
	struct ct_gpucore_lane lane;
};

// The next child from `from` on that is a table of that type for an existing row of the parent.
static uint32_t next_table(const struct ct_gpucore *core, uint32_t from, enum ct_core_section type, uint64_t parent_rows, struct ct_table *ret_table)
{
	for (uint32_t i = from; i; i = core->next_sibling[i])
		if (ct_table_open(core, i, type, ret_table) && ret_table->parent_row < parent_rows)
			return i;
	return 0;
}

static bool walk_lanes(struct walk *w, const struct ct_table *lanes, uint32_t active)
{
	struct ct_gpucore_lane *l = &w->lane;
	for (uint64_t r = 0; r < lanes->n_rows; r++) {
		struct ct_row row = ct_table_row(lanes, r);
		l->pc = ct_row_u64(row, CT_LN_PC);
		l->hw.lane = ct_row_u32(row, CT_LN_ID);
		l->at.thread = ct_row_dim3(row, CT_LN_THREAD);
		l->exception = ct_row_u32(row, CT_LN_EXCEPTION);
		l->call_depth = ct_row_u32(row, CT_LN_DEPTH);
		l->is_active = l->hw.lane < 32 && (active >> l->hw.lane & 1);
		l->section = lanes->section;
		l->row = (uint32_t)r;
		if (!w->visit(w->context, l))
			return false;
	}
	return true;
}

static bool walk_warps(struct walk *w, const struct ct_table *warps)
{
	struct ct_table lanes;
	uint32_t i = w->core->first_child[warps->section];
	for (; (i = next_table(w->core, i, CT_CORE_LN_TABLE, warps->n_rows, &lanes)); i = w->core->next_sibling[i]) {
		struct ct_row row = ct_table_row(warps, lanes.parent_row);
		w->lane.hw.warp = ct_row_u32(row, CT_WP_ID);
		w->lane.has_error_pc = ct_row_u32(row, CT_WP_ERROR_VALID) != 0;
		w->lane.error_pc = ct_row_u64(row, CT_WP_ERROR_PC);
		w->lane.warp_is_broken = ct_row_u32(row, CT_WP_BROKEN) != 0;
		w->lane.warp_serial++;
		if (!walk_lanes(w, &lanes, ct_row_u32(row, CT_WP_ACTIVE)))
			return false;
	}
	return true;
}

static bool walk_blocks(struct walk *w, const struct ct_table *blocks)
{
	struct ct_table warps;
	uint32_t i = w->core->first_child[blocks->section];
	for (; (i = next_table(w->core, i, CT_CORE_WP_TABLE, blocks->n_rows, &warps)); i = w->core->next_sibling[i]) {
		struct ct_row row = ct_table_row(blocks, warps.parent_row);
		w->lane.grid_id = ct_row_u64(row, CT_CTA_GRID);
		w->lane.at.block = ct_row_dim3(row, CT_CTA_BLOCK);
		w->lane.block_serial++;
		if (!walk_warps(w, &warps))
			return false;
	}
	return true;
}

static bool walk_sms(struct walk *w, const struct ct_table *sms)
{
	struct ct_table blocks;
	uint32_t i = w->core->first_child[sms->section];
	for (; (i = next_table(w->core, i, CT_CORE_CTA_TABLE, sms->n_rows, &blocks)); i = w->core->next_sibling[i]) {
		w->lane.hw.sm = ct_row_u32(ct_table_row(sms, blocks.parent_row), CT_SM_ID);
		if (!walk_blocks(w, &blocks))
			return false;
	}
	return true;
}

bool ct_gpucore_each_lane(const struct ct_gpucore *core, ct_gpucore_visit *visit, void *context)
{
	struct walk w = {.core = core, .visit = visit, .context = context};
	struct ct_table devices, sms;
	if (!ct_table_open(core, core->devices, CT_CORE_DEV_TABLE, &devices))
		return true;
	uint32_t i = core->first_child[core->devices];
	for (; (i = next_table(core, i, CT_CORE_SM_TABLE, devices.n_rows, &sms)); i = core->next_sibling[i]) {
		w.lane.device = sms.parent_row;
		w.lane.hw.device = ct_row_u32(ct_table_row(&devices, sms.parent_row), CT_DEV_ID);
		if (!walk_sms(&w, &sms))
			return false;
	}
	return true;
}

bool ct_gpucore_registers(const struct ct_gpucore *core, const struct ct_gpucore_lane *lane, enum ct_gpucore_register_file file, const uint8_t **ret_values,
			  size_t *ret_count)
{
	static const enum ct_core_section types[] = {
		[CT_GPUCORE_REGISTERS] = CT_CORE_DEV_REGS,
		[CT_GPUCORE_PREDICATES] = CT_CORE_DEV_PRED,
		[CT_GPUCORE_UNIFORM_REGISTERS] = CT_CORE_DEV_UREGS,
		[CT_GPUCORE_UNIFORM_PREDICATES] = CT_CORE_DEV_UPRED,
	};
	struct ct_table lanes, values;
	if (!ct_table_open(core, lane->section, CT_CORE_LN_TABLE, &lanes))
		return false;
	bool uniform = file >= CT_GPUCORE_UNIFORM_REGISTERS;
	uint32_t parent = uniform ? lanes.parent : lane->section, row = uniform ? lanes.parent_row : lane->row;
	if (!ct_table_open(core, ct_core_child(core, parent, types[file], row), types[file], &values) || values.row_bytes != sizeof(uint32_t))
		return false;
	*ret_values = values.rows;
	*ret_count = (size_t)values.n_rows;
	return true;
}
