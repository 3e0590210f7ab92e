// What is collected of one group while the lanes of the dump pass by.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_GPUCORE_BUILDER_H
#define CT_GPUCORE_BUILDER_H

#include "gpucore/gpucore_priv.h"

// Which value most lanes or warps have. Beyond CT_MAX_VOTES different values further ones do not count.
enum { CT_MAX_VOTES = 64 };
struct ct_votes {
	uint64_t value[CT_MAX_VOTES], count[CT_MAX_VOTES];
	size_t n;
};
void ct_vote(struct ct_votes *votes, uint64_t value, uint64_t count);
size_t ct_votes_winner(const struct ct_votes *votes);  // its index; of equal counts the smallest value. n is not 0.

struct ct_positions {  // a growing list
	struct ct_dim3 *rows;
	size_t n, room;
};

struct ct_builder {
	enum ct_group_reason reason;
	bool is_fault;
	uint64_t place;
	struct ct_dim3 grid_dim, block_dim;
	struct ct_votes pcs, error_pcs, exceptions, warp;  // warp: exceptions in the warp that passes by
	size_t last_warp, last_block;
	uint64_t warp_lanes;  // of that warp, in this group
	uint64_t n_threads, n_warps, n_flagged;
	bool any_partial_warp, any_wide_warp;
	struct ct_positions blocks, threads;
	uint64_t seen[16];  // a bit for each thread of a block, when block_dim is within the hardware's limit
	bool has_seen;
	struct ct_gpucore_lane lanes[CT_MAX_LANES];  // the first ones
	size_t n_lanes;
};

void ct_builder_init(struct ct_builder *builder, enum ct_group_reason reason, uint64_t place, bool is_fault, struct ct_dim3 grid_dim,
		     struct ct_dim3 block_dim);
void ct_builder_done(struct ct_builder *builder);
void ct_builder_add(struct ct_builder *builder, const struct ct_gpucore_lane *lane);
void ct_builder_end_warp(struct ct_builder *builder, uint64_t lanes_of_warp);  // after the last lane of each warp
void ct_builder_finish(struct ct_builder *builder, struct ct_arena *arena, struct ct_core_group *ret_group);

#endif
