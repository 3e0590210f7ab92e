// Groups of threads out of the spans that -cuda-info-threads lists: counts and runs.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "cudagdb/mi_groups.h"

enum { WARP_LANES = 32 };

void ct_mi_set_hex(json_t *object, const char *key, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "0x%" PRIx64, value);
	json_object_set_new(object, key, json_string(text));
}

json_t *ct_mi_dim3_json(struct ct_dim3 d)
{
	return json_pack("[I,I,I]", (json_int_t)d.x, (json_int_t)d.y, (json_int_t)d.z);
}

static uint64_t linear(struct ct_dim3 at, struct ct_dim3 extent)
{
	return at.x + (uint64_t)extent.x * (at.y + (uint64_t)extent.y * at.z);
}

// How many of the positions, inclusive; 0: not in order.
static uint64_t distance(struct ct_dim3 from, struct ct_dim3 to, struct ct_dim3 extent)
{
	uint64_t a = linear(from, extent), b = linear(to, extent);
	return a <= b ? b - a + 1 : 0;
}

// Adds a run unless it is the one before; false when the list is full.
static bool add_run(json_t *runs, struct ct_dim3 first, struct ct_dim3 last, uint64_t count)
{
	json_t *run = json_pack("{s:o,s:o,s:I}", "first", ct_mi_dim3_json(first), "last", ct_mi_dim3_json(last), "count", (json_int_t)count);
	for (size_t i = 0; i < json_array_size(runs); i++)
		if (json_equal(json_array_get(runs, i), run)) {
			json_decref(run);
			return true;
		}
	if (json_array_size(runs) < CT_MAX_RUNS)
		return json_array_append_new(runs, run) == 0;
	json_decref(run);
	return false;
}

struct totals {
	uint64_t threads, warps, blocks;
	bool any;
	uint64_t last_block, last_warp;  // of the span before, to count what two spans share once
	bool threads_known;  // thread runs are complete
};

// Adds a span to the counts and runs. Spans come in the order of blocks, then threads.
static void add_span(const struct ct_mi_spans *threads, const struct ct_mi_span *span, struct totals *totals, json_t *block_runs, bool *blocks_cut, json_t *thread_runs,
		     bool *threads_cut)
{
	uint64_t n_blocks = distance(span->from_block, span->to_block, threads->grid_dim);
	uint64_t n_threads = distance(span->from_thread, span->to_thread, threads->block_dim);
	uint64_t first_block = linear(span->from_block, threads->grid_dim), first_warp = linear(span->from_thread, threads->block_dim) / WARP_LANES;
	uint64_t last_warp = linear(span->to_thread, threads->block_dim) / WARP_LANES;
	if (!n_blocks)
		return;
	bool shares_block = totals->any && totals->last_block == first_block;
	totals->threads += span->count;
	totals->blocks += n_blocks - shares_block;
	if (n_blocks == 1) {
		totals->warps += last_warp - first_warp + 1 - (shares_block && totals->last_warp == first_warp);
	} else {
		totals->warps += (span->count + WARP_LANES - 1) / WARP_LANES;
	}
	totals->any = true;
	totals->last_block = first_block + n_blocks - 1;
	totals->last_warp = last_warp;
	*blocks_cut |= !add_run(block_runs, span->from_block, span->to_block, n_blocks);
	// Over several blocks the span says which threads only if each block has the same ones.
	if (n_threads && n_threads <= UINT32_MAX && n_blocks <= UINT32_MAX && span->count == n_threads * n_blocks)
		*threads_cut |= !add_run(thread_runs, span->from_thread, span->to_thread, n_threads);
	else
		totals->threads_known = false;
}

json_t *ct_mi_group_at(const struct ct_mi_spans *threads, uint64_t pc, const char *reason)
{
	struct totals totals = {.threads_known = true};
	json_t *block_runs = json_array(), *thread_runs = json_array();
	bool blocks_cut = false, threads_cut = false;
	const struct ct_mi_span *first = NULL;
	for (size_t i = 0; i < threads->n_spans; i++) {
		if (threads->spans[i].pc != pc)
			continue;
		if (!first)
			first = &threads->spans[i];
		add_span(threads, &threads->spans[i], &totals, block_runs, &blocks_cut, thread_runs, &threads_cut);
	}
	json_t *group = json_pack("{s:s,s:I,s:I,s:I}", "reason", reason, "threads", (json_int_t)totals.threads, "warps", (json_int_t)totals.warps, "blocks",
				  (json_int_t)totals.blocks);
	ct_mi_set_hex(group, "pc", pc);
	json_object_set(group, "block_runs", block_runs);
	if (blocks_cut)
		json_object_set_new(group, "block_runs_cut", json_true());
	json_object_set(group, "thread_runs", thread_runs);
	if (threads_cut || !totals.threads_known)
		json_object_set_new(group, "thread_runs_cut", json_true());
	json_decref(block_runs);
	json_decref(thread_runs);
	if (first && first->file && *first->file && first->line)
		json_object_set_new(group, "frames", json_pack("[{s:O,s:s,s:I}]", "pc", json_object_get(group, "pc"), "file", first->file, "line",
							      (json_int_t)first->line));
	return group;
}

static struct ct_dim3 dim3_of(const json_t *array)
{
	return (struct ct_dim3){
		.x = (uint32_t)json_integer_value(json_array_get(array, 0)),
		.y = (uint32_t)json_integer_value(json_array_get(array, 1)),
		.z = (uint32_t)json_integer_value(json_array_get(array, 2)),
	};
}

// Makes the last run longer when the thread follows it.
static void add_thread(const struct ct_mi_spans *threads, json_t *runs, json_t *thread)
{
	size_t n = json_array_size(runs);
	json_t *run = n ? json_array_get(runs, n - 1) : NULL;
	if (run && threads->has_dims && distance(dim3_of(json_object_get(run, "last")), dim3_of(thread), threads->block_dim) == 2) {
		json_object_set(run, "last", thread);
		json_object_set_new(run, "count", json_integer(json_integer_value(json_object_get(run, "count")) + 1));
		return;
	}
	json_array_append_new(runs, json_pack("{s:O,s:O,s:i}", "first", thread, "last", thread, "count", 1));
}

// The warp in focus alone: of the other warps' lanes the exceptions are not known here.
json_t *ct_mi_group_of_lanes(const struct ct_mi_spans *threads, uint64_t pc, json_t *lanes)
{
	json_t *group = json_pack("{s:s,s:I,s:i,s:i}", "reason", "exception", "threads", (json_int_t)json_array_size(lanes), "warps", 1, "blocks", 1);
	ct_mi_set_hex(group, "pc", pc);
	json_t *block_runs = json_array(), *thread_runs = json_array();
	for (size_t i = 0; i < json_array_size(lanes); i++) {
		json_t *lane = json_array_get(lanes, i), *block = json_object_get(lane, "block"), *thread = json_object_get(lane, "thread");
		if (i == 0)
			json_array_append_new(block_runs, json_pack("{s:O,s:O,s:i}", "first", block, "last", block, "count", 1));
		add_thread(threads, thread_runs, thread);
	}
	json_object_set_new(group, "block_runs", block_runs);
	json_object_set_new(group, "thread_runs", thread_runs);
	return group;
}
