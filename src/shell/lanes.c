// The index of threads: sorted once, so that going to any of 270,336 (a full H200) is two binary searches.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "shell/shell_priv.h"

static int compare_dim3(struct ct_dim3 a, struct ct_dim3 b)
{
	if (a.z != b.z)
		return a.z < b.z ? -1 : 1;
	if (a.y != b.y)
		return a.y < b.y ? -1 : 1;
	return (a.x > b.x) - (a.x < b.x);
}

static int compare_blocks(const struct ct_gpucore_lane *a, const struct ct_gpucore_lane *b)
{
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->grid_id != b->grid_id)
		return a->grid_id < b->grid_id ? -1 : 1;
	return compare_dim3(a->at.block, b->at.block);
}

static int by_position(const void *a, const void *b)
{
	const struct ct_gpucore_lane *x = a, *y = b;
	int c = compare_blocks(x, y);
	return c ? c : compare_dim3(x->at.thread, y->at.thread);
}

struct building {
	struct ct_shell_index *index;
	size_t room;
};

static bool add_lane(void *context, const struct ct_gpucore_lane *lane)
{
	struct building *b = context;
	struct ct_shell_index *index = b->index;
	if (index->n_lanes == CT_SHELL_MAX_LANES) {
		index->cut = true;
		return false;
	}
	if (index->n_lanes == b->room) {
		b->room = b->room ? b->room * 2 : 1024;
		index->lanes = ct_xrealloc(index->lanes, b->room * sizeof *index->lanes);
	}
	index->lanes[index->n_lanes++] = *lane;
	return true;
}

// A stored incident names the first threads of each group.
static void add_incident_lanes(const struct ct_incident *in, struct building *b)
{
	for (size_t i = 0; i < in->gpu.n_groups; i++) {
		const struct ct_group *g = &in->gpu.groups[i];
		for (size_t k = 0; k < g->n_lanes; k++) {
			struct ct_gpucore_lane lane = {
				.hw = g->lanes[k].hw, .at = g->lanes[k].at, .pc = g->lanes[k].pc,
				.grid_id = in->gpu.has_kernel && in->gpu.kernel.has_grid_id ? in->gpu.kernel.grid_id : 0,
				.exception = g->lanes[k].has_exception ? g->lanes[k].exception : 0,
				.has_error_pc = g->has_error_pc, .error_pc = g->error_pc,
				.section = (uint32_t)i,  // there is no dump: the group
			};
			add_lane(b, &lane);
		}
	}
}

// As the groups of the incident are made: what is flagged, and what stands where it is told that threads fail.
bool ct_shell_is_failing(const struct ct_shell *shell, const struct ct_gpucore_lane *lane)
{
	const struct ct_gpu *gpu = &shell->incident->gpu;
	if (lane->exception || !shell->core)
		return true;
	for (size_t i = 0; i < gpu->n_groups; i++)
		if (gpu->groups[i].reason != CT_GROUP_EXCEPTION && gpu->groups[i].pc == lane->pc)
			return true;
	return false;
}

static void list_blocks(struct ct_shell_index *index)
{
	size_t room = 0;
	for (size_t i = 0; i < index->n_lanes; i++) {
		if (i && compare_blocks(&index->lanes[i - 1], &index->lanes[i]) == 0) {
			index->blocks[index->n_blocks - 1].count++;
			continue;
		}
		if (index->n_blocks == room) {
			room = room ? room * 2 : 64;
			index->blocks = ct_xrealloc(index->blocks, room * sizeof *index->blocks);
		}
		index->blocks[index->n_blocks++] = (struct ct_shell_block){.first = i, .count = 1};
	}
}

static void list_failing(struct ct_shell *shell)
{
	struct ct_shell_index *index = &shell->index;
	index->failing = ct_xrealloc(NULL, (index->n_lanes + 1) * sizeof *index->failing);
	for (size_t i = 0; i < index->n_lanes; i++)
		if (ct_shell_is_failing(shell, &index->lanes[i]))
			index->failing[index->n_failing++] = i;
}

void ct_shell_index_build(struct ct_shell *shell)
{
	struct building b = {.index = &shell->index};
	if (shell->core)
		ct_gpucore_each_lane(shell->core, add_lane, &b);
	else
		add_incident_lanes(shell->incident, &b);
	if (shell->index.n_lanes > 1)
		qsort(shell->index.lanes, shell->index.n_lanes, sizeof *shell->index.lanes, by_position);
	list_blocks(&shell->index);
	list_failing(shell);
}

void ct_shell_index_done(struct ct_shell_index *index)
{
	free(index->lanes);
	free(index->blocks);
	free(index->failing);
}

bool ct_shell_find_block(const struct ct_shell_index *index, size_t device, uint64_t grid_id, struct ct_dim3 block, struct ct_shell_block *ret_block)
{
	const struct ct_gpucore_lane key = {.device = device, .grid_id = grid_id, .at = {.block = block}};
	for (size_t low = 0, high = index->n_blocks; low < high;) {
		size_t middle = low + (high - low) / 2;
		int c = compare_blocks(&key, &index->lanes[index->blocks[middle].first]);
		if (c == 0) {
			*ret_block = index->blocks[middle];
			return true;
		}
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

bool ct_shell_find_thread(const struct ct_shell_index *index, const struct ct_shell_block *block, struct ct_dim3 thread, size_t *ret_lane)
{
	for (size_t low = 0, high = block->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		int c = compare_dim3(thread, index->lanes[block->first + middle].at.thread);
		if (c == 0) {
			*ret_lane = block->first + middle;
			return true;
		}
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}
