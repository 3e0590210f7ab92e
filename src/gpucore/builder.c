// See builder.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/builder.h"
#include "gpucore/places.h"

enum { MAX_BLOCK_THREADS = 1024 };  // of every GPU so far (CUDA C++ guide, compute capabilities)

void ct_vote(struct ct_votes *v, uint64_t value, uint64_t count)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->value[i] == value) {
			v->count[i] += count;
			return;
		}
	if (v->n < CT_MAX_VOTES) {
		v->value[v->n] = value;
		v->count[v->n++] = count;
	}
}

size_t ct_votes_winner(const struct ct_votes *v)
{
	size_t best = 0;
	for (size_t i = 1; i < v->n; i++)
		if (v->count[i] > v->count[best] || (v->count[i] == v->count[best] && v->value[i] < v->value[best]))
			best = i;
	return best;
}

static void add_position(struct ct_positions *p, struct ct_dim3 position)
{
	if (p->n == p->room) {
		p->room = p->room ? p->room * 2 : 64;
		p->rows = ct_xrealloc(p->rows, p->room * sizeof *p->rows);
	}
	p->rows[p->n++] = position;
}

static bool within_hardware(struct ct_dim3 d)
{
	return d.x && d.y && d.z && d.x <= MAX_BLOCK_THREADS && d.y <= MAX_BLOCK_THREADS / d.x && d.z <= MAX_BLOCK_THREADS / (d.x * d.y);
}

void ct_builder_init(struct ct_builder *b, enum ct_group_reason reason, uint64_t place, bool is_fault, struct ct_dim3 grid_dim, struct ct_dim3 block_dim)
{
	memset(b, 0, sizeof *b);
	b->reason = reason;
	b->place = place;
	b->is_fault = is_fault;
	b->grid_dim = grid_dim;
	b->block_dim = block_dim;
	b->has_seen = within_hardware(block_dim);
}

void ct_builder_done(struct ct_builder *b)
{
	free(b->blocks.rows);
	free(b->threads.rows);
}

static void add_thread(struct ct_builder *b, struct ct_dim3 t)
{
	struct ct_dim3 d = b->block_dim;
	if (!b->has_seen || t.x >= d.x || t.y >= d.y || t.z >= d.z) {
		add_position(&b->threads, t);
		return;
	}
	uint32_t i = t.x + d.x * (t.y + d.y * t.z);
	b->seen[i / 64] |= (uint64_t)1 << i % 64;
}

// Keeps the first CT_MAX_LANES in order. Most lanes are behind the last of them and cost one comparison.
static void keep_first(struct ct_builder *b, const struct ct_gpucore_lane *lane)
{
	size_t i = b->n_lanes;
	if (i == CT_MAX_LANES && ct_gridpos_compare(&lane->at, &b->lanes[i - 1].at) >= 0)
		return;
	if (i == CT_MAX_LANES)
		i--;
	else
		b->n_lanes++;
	for (; i > 0 && ct_gridpos_compare(&lane->at, &b->lanes[i - 1].at) < 0; i--)
		b->lanes[i] = b->lanes[i - 1];
	b->lanes[i] = *lane;
}

void ct_builder_add(struct ct_builder *b, const struct ct_gpucore_lane *lane)
{
	if (b->last_block != lane->block_serial)
		add_position(&b->blocks, lane->at.block);
	if (b->last_warp != lane->warp_serial) {
		b->n_warps++;
		if (lane->has_error_pc)
			ct_vote(&b->error_pcs, lane->error_pc, 1);
	}
	b->last_block = lane->block_serial;
	b->last_warp = lane->warp_serial;
	b->warp_lanes++;
	b->n_threads++;
	b->n_flagged += lane->exception != 0;
	if (lane->exception)
		ct_vote(&b->warp, lane->exception, 1);
	ct_vote(&b->pcs, lane->pc, 1);
	add_thread(b, lane->at.thread);
	keep_first(b, lane);
}

void ct_builder_end_warp(struct ct_builder *b, uint64_t lanes_of_warp)
{
	if (b->warp_lanes == 0)
		return;
	b->any_partial_warp |= b->warp_lanes != lanes_of_warp;
	b->any_wide_warp |= b->warp_lanes > 1;
	b->warp_lanes = 0;
	if (b->warp.n)  // one vote a warp: the hardware raises an exception for a warp
		ct_vote(&b->exceptions, b->warp.value[ct_votes_winner(&b->warp)], 1);
	b->warp.n = 0;
}

static bool is_warp_scope(uint32_t exception)
{
	switch (exception) {
#define X(code, word, text, scope) \
	case code:                 \
		return strcmp(scope, "warp") == 0;
		CT_EXCEPTIONS(X)
#undef X
	}
	return true;
}

static void finish_exceptions(struct ct_builder *b, struct ct_arena *arena, struct ct_group *g)
{
	struct ct_votes *v = &b->exceptions;
	while (v->n) {
		size_t best = ct_votes_winner(v);
		struct ct_exception_count count = {.exception = (uint32_t)v->value[best], .n_warps = v->count[best]};
		v->n--;
		v->value[best] = v->value[v->n];
		v->count[best] = v->count[v->n];
		if (!g->has_exception) {
			g->has_exception = true;
			g->exception = count.exception;
			continue;
		}
		g->other_exceptions = ct_arena_grow(arena, g->other_exceptions, &g->n_other_exceptions, sizeof count);
		g->other_exceptions[g->n_other_exceptions - 1] = count;
	}
	// All lanes of each warp carry it, so that the one that did it is not known.
	g->whole_warps = g->has_exception && g->exception != CT_CORE_ASSERT && is_warp_scope(g->exception) && !b->any_partial_warp && b->any_wide_warp;
}

static void finish_positions(struct ct_builder *b, struct ct_arena *arena, struct ct_group *g)
{
	struct ct_dim3 d = b->block_dim;
	for (uint32_t i = 0; b->has_seen && i < d.x * d.y * d.z; i++)
		if (b->seen[i / 64] >> i % 64 & 1)
			add_position(&b->threads, (struct ct_dim3){i % d.x, i / d.x % d.y, i / d.x / d.y});
	g->block_runs = ct_runs_of(arena, b->blocks.rows, b->blocks.n, b->grid_dim, &g->n_block_runs, &g->block_runs_cut);
	g->thread_runs = ct_runs_of(arena, b->threads.rows, b->threads.n, b->block_dim, &g->n_thread_runs, &g->thread_runs_cut);
	// The walk gives each block once; a dump that repeats one is damaged, and is counted as it says.
	g->n_blocks = b->blocks.n;
}

void ct_builder_finish(struct ct_builder *b, struct ct_arena *arena, struct ct_core_group *ret_group)
{
	struct ct_group *g = &ret_group->group;
	g->reason = b->reason == CT_GROUP_EXCEPTION && b->n_flagged < b->n_threads ? CT_GROUP_ASSERT_PC : b->reason;
	g->pc = b->is_fault && b->pcs.n ? b->pcs.value[ct_votes_winner(&b->pcs)] : b->place;
	g->has_error_pc = b->error_pcs.n != 0;
	if (g->has_error_pc)
		g->error_pc = b->is_fault ? b->place : b->error_pcs.value[ct_votes_winner(&b->error_pcs)];
	if (b->reason == CT_GROUP_TRAP_PC || b->reason == CT_GROUP_RUNNING)
		g->has_error_pc = false;
	g->n_threads = b->n_threads;
	g->n_warps = b->n_warps;
	g->n_flagged = b->n_flagged;
	finish_exceptions(b, arena, g);
	finish_positions(b, arena, g);
	g->lanes = ct_arena_array(arena, b->n_lanes, sizeof *g->lanes);
	g->n_lanes = b->n_lanes;
	ret_group->places = ct_arena_array(arena, b->n_lanes, sizeof *ret_group->places);
	for (size_t i = 0; i < b->n_lanes; i++) {
		const struct ct_gpucore_lane *l = &b->lanes[i];
		g->lanes[i] = (struct ct_lane){.at = l->at, .hw = l->hw, .pc = l->pc, .has_exception = l->exception != 0, .exception = l->exception};
		ret_group->places[i] = (struct ct_core_place){.section = l->section, .row = l->row};
	}
	ret_group->first = b->lanes[0];
}
