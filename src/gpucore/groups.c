// Lanes in, groups of failing threads out. Two walks over the lanes: the first finds the places and counts, then the groups are chosen,
// the second collects what is told of them. Cost and memory grow with the number of lanes, not with that of lanes times groups.
//
// Asserts stand apart from other exceptions, whose class is not reliable per warp: one and the same store was seen as three classes on
// different SMs (driver 580). And of 270,336 lanes that failed one assert the driver flagged 32: all that stand at that PC count.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/builder.h"
#include "gpucore/places.h"

struct grouping {
	struct ct_gpucore *core;
	struct ct_places places;
	bool any_flagged;
	struct ct_builder *builders;
	size_t n_builders;
	uint64_t n_lanes;
	size_t warp;             // the warp that passes by
	uint64_t lanes_of_warp;
	// SMs with a flagged lane, by device and SM id
	uint64_t *shown;
	size_t n_shown, shown_room;
};

static enum ct_place_kind kind_of(const struct ct_gpucore_lane *lane, uint64_t *ret_pc)
{
	*ret_pc = lane->pc;
	if (lane->exception == 0)
		return CT_PLACE_PC;
	if (lane->exception == CT_CORE_ASSERT)
		return CT_PLACE_ASSERT;
	if (lane->has_error_pc)  // a faulting lane's PC runs ahead of the instruction
		*ret_pc = lane->error_pc;
	return CT_PLACE_FAULT;
}

static uint64_t sm_key(size_t device, uint32_t sm)
{
	return (uint64_t)device << 32 | sm;
}

static void show_sm(struct grouping *g, const struct ct_gpucore_lane *lane)
{
	uint64_t key = sm_key(lane->device, lane->hw.sm);
	if (g->n_shown && g->shown[g->n_shown - 1] == key)
		return;
	if (g->n_shown == g->shown_room) {
		g->shown_room = g->shown_room ? g->shown_room * 2 : 64;
		g->shown = ct_xrealloc(g->shown, g->shown_room * sizeof *g->shown);
	}
	g->shown[g->n_shown++] = key;
}

static bool count_lane(void *context, const struct ct_gpucore_lane *lane)
{
	struct grouping *g = context;
	uint64_t pc;
	enum ct_place_kind kind = kind_of(lane, &pc);
	struct ct_place *place = ct_places_find(&g->places, kind, lane, pc, true);
	g->n_lanes++;
	place->n_threads++;
	place->n_warps += place->last_warp != lane->warp_serial;
	place->last_warp = lane->warp_serial;
	if (ct_gridpos_compare(&lane->at, &place->first) < 0)
		place->first = lane->at;
	if (kind != CT_PLACE_PC) {
		g->any_flagged = true;
		show_sm(g, lane);
	}
	return true;
}

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

// Exceptions of SMs with no lane to show for them: the warp has exited (rows have them since r555).
static void find_lost(struct grouping *g, struct ct_arena *arena, struct ct_core_groups *out)
{
	struct ct_table devices, sms;
	struct ct_votes votes = {.n = 0};
	if (g->n_shown > 1)
		qsort(g->shown, g->n_shown, sizeof *g->shown, by_u64);
	if (!ct_table_open(g->core, g->core->devices, CT_CORE_DEV_TABLE, &devices))
		return;
	out->lost_all_assert = true;
	for (uint32_t i = g->core->first_child[g->core->devices]; i; i = g->core->next_sibling[i]) {
		if (!ct_table_open(g->core, i, CT_CORE_SM_TABLE, &sms) || sms.parent_row >= devices.n_rows)
			continue;
		for (uint64_t r = 0; r < sms.n_rows; r++) {
			struct ct_row row = ct_table_row(&sms, r);
			uint32_t exception = ct_row_u32(row, CT_SM_EXCEPTION);
			uint64_t key = sm_key(sms.parent_row, ct_row_u32(row, CT_SM_ID));
			if (!exception || (g->n_shown && bsearch(&key, g->shown, g->n_shown, sizeof key, by_u64)))
				continue;
			if (votes.n == 0)
				out->lost_device = sms.parent_row;
			out->lost_all_assert &= exception == CT_CORE_ASSERT;
			ct_vote(&votes, exception, 1);
		}
	}
	while (votes.n) {
		size_t best = ct_votes_winner(&votes);
		out->lost = ct_arena_grow(arena, out->lost, &out->n_lost, sizeof *out->lost);
		out->lost[out->n_lost - 1] = (struct ct_exception_count){.exception = (uint32_t)votes.value[best], .n_warps = votes.count[best]};
		votes.n--;
		votes.value[best] = votes.value[votes.n];
		votes.count[best] = votes.count[votes.n];
	}
}

// The most telling first: asserts, then what most warps have; place and position make it stable.
static int by_telling(const void *a, const void *b)
{
	const struct ct_place *x = *(const struct ct_place *const *)a, *y = *(const struct ct_place *const *)b;
	if ((x->kind == CT_PLACE_ASSERT) != (y->kind == CT_PLACE_ASSERT))
		return x->kind == CT_PLACE_ASSERT ? -1 : 1;
	if (x->n_warps != y->n_warps)
		return x->n_warps > y->n_warps ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->grid_id != y->grid_id)
		return x->grid_id < y->grid_id ? -1 : 1;
	int c = ct_gridpos_compare(&x->first, &y->first);
	return c ? c : (x->pc > y->pc) - (x->pc < y->pc);
}

// An assert's place takes in the unflagged lanes at the same PC.
static void join_asserts(struct grouping *g)
{
	for (size_t i = 0; i < g->places.room; i++) {
		struct ct_place *p = &g->places.rows[i];
		struct ct_gpucore_lane lane = {.device = p->device, .grid_id = p->grid_id};
		if (!p->used || p->kind != CT_PLACE_ASSERT)
			continue;
		const struct ct_place *others = ct_places_find(&g->places, CT_PLACE_PC, &lane, p->pc, false);
		if (!others)
			continue;
		p->n_threads += others->n_threads;
		p->n_warps += others->n_warps;  // a warp with both kinds counts twice here; it is for ordering only
		if (ct_gridpos_compare(&others->first, &p->first) < 0)
			p->first = others->first;
	}
}

// Which places become groups: what is flagged; if nothing is, trap instructions; if nothing is wrong at all, it is a hang.
static size_t choose(struct grouping *g, const struct ct_core_groups *out, enum ct_group_reason *ret_reason, struct ct_place **ret_places)
{
	size_t n = 0;
	*ret_reason = CT_GROUP_EXCEPTION;
	if (!g->any_flagged && out->n_lost)
		return 0;
	if (!g->any_flagged) {
		*ret_reason = CT_GROUP_TRAP_PC;
		for (size_t i = 0; i < g->places.room; i++) {
			struct ct_place *p = &g->places.rows[i];
			if (p->used && ct_core_is_trap(g->core, p->device, p->grid_id, p->pc))
				ret_places[n++] = p;
		}
		if (n)
			return n;
		*ret_reason = CT_GROUP_RUNNING;
	}
	for (size_t i = 0; i < g->places.room; i++) {
		struct ct_place *p = &g->places.rows[i];
		if (p->used && (p->kind != CT_PLACE_PC) == g->any_flagged)
			ret_places[n++] = p;
	}
	return n;
}

static void end_warp(struct grouping *g)
{
	for (size_t i = 0; i < g->n_builders && g->lanes_of_warp; i++)
		ct_builder_end_warp(&g->builders[i], g->lanes_of_warp);
	g->lanes_of_warp = 0;
}

static bool collect_lane(void *context, const struct ct_gpucore_lane *lane)
{
	struct grouping *g = context;
	uint64_t pc;
	enum ct_place_kind kind = kind_of(lane, &pc);
	if (lane->warp_serial != g->warp)
		end_warp(g);
	g->warp = lane->warp_serial;
	g->lanes_of_warp++;
	const struct ct_place *place = ct_places_find(&g->places, kind, lane, pc, false);
	if (place && place->group >= 0)
		ct_builder_add(&g->builders[place->group], lane);
	return true;
}

static void start_group(struct grouping *g, struct ct_place *place, enum ct_group_reason reason)
{
	struct ct_gpucore_grid grid = {0};
	struct ct_gpucore_lane lane = {.device = place->device, .grid_id = place->grid_id};
	size_t index;
	if (ct_gpucore_find_grid(g->core, place->device, place->grid_id, &index))
		ct_gpucore_grid(g->core, index, &grid);
	place->group = (int)g->n_builders;
	if (place->kind == CT_PLACE_ASSERT) {
		struct ct_place *others = ct_places_find(&g->places, CT_PLACE_PC, &lane, place->pc, false);
		if (others)
			others->group = place->group;
	}
	ct_builder_init(&g->builders[g->n_builders++], reason, place->pc, place->kind == CT_PLACE_FAULT, grid.grid_dim, grid.block_dim);
}

static void build_groups(struct grouping *g, struct ct_arena *arena, struct ct_core_groups *out)
{
	CT_AUTO(ct_auto_free) struct ct_place **chosen = ct_xrealloc(NULL, g->places.room * sizeof *chosen);
	enum ct_group_reason reason;
	size_t n = choose(g, out, &reason, chosen);
	if (n > 1)
		qsort(chosen, n, sizeof *chosen, by_telling);
	size_t kept = n < CT_CORE_MAX_GROUPS ? n : CT_CORE_MAX_GROUPS;
	if (kept == 0)
		return;
	g->builders = ct_xrealloc(NULL, kept * sizeof *g->builders);
	for (size_t i = 0; i < kept; i++)
		start_group(g, chosen[i], reason);
	ct_gpucore_each_lane(g->core, collect_lane, g);
	end_warp(g);
	out->rows = ct_arena_array(arena, kept, sizeof *out->rows);
	out->n_rows = kept;
	out->n_left_out = n - kept;
	for (size_t i = 0; i < kept; i++) {
		ct_builder_finish(&g->builders[i], arena, &out->rows[i]);
		ct_builder_done(&g->builders[i]);
	}
}

void ct_core_group_lanes(struct ct_gpucore *core, struct ct_arena *arena, struct ct_core_groups *ret_groups)
{
	struct grouping g = {.core = core};
	*ret_groups = (struct ct_core_groups){0};
	ct_places_init(&g.places);
	ct_gpucore_each_lane(core, count_lane, &g);
	find_lost(&g, arena, ret_groups);
	join_asserts(&g);
	build_groups(&g, arena, ret_groups);
	ret_groups->n_lanes = g.n_lanes;
	ct_places_done(&g.places);
	free(g.builders);
	free(g.shown);
}
