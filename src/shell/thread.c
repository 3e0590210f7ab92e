// The focus: which thread it is, how it moves, its call stack.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "shell/shell_priv.h"

const struct ct_gpucore_lane *ct_shell_focus(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_shell *s = call->shell;
	if (s->has_focus)
		return &s->index.lanes[s->focus];
	if (s->index.n_lanes == 0) {
		ct_fail(err, CT_UNAVAILABLE, "no thread is known here");
		ct_hint(err, s->core ? "no kernel was on the GPU when the dump was written" : "nothing of the threads was read from the GPU");
	} else {
		ct_fail(err, CT_UNAVAILABLE, "no thread has the focus: none fails");
		ct_hint(err, "'thread BLOCK THREAD' or 'kernel NUMBER' chooses one");
	}
	return NULL;
}

bool ct_shell_grid_of(const struct ct_shell *shell, const struct ct_gpucore_lane *lane, size_t *ret_grid_index)
{
	return shell->core && ct_gpucore_find_grid(shell->core, lane->device, lane->grid_id, ret_grid_index);
}

const char *ct_shell_kernel_name(struct ct_shell_call *call, size_t device, uint64_t grid_id)
{
	const struct ct_gpucore_lane at = {.device = device, .grid_id = grid_id};
	size_t grid;
	if (!call->shell->core)
		return call->shell->incident->gpu.has_kernel ? call->shell->incident->gpu.kernel.name : NULL;
	return ct_shell_grid_of(call->shell, &at, &grid) ? ct_gpucore_kernel(call->shell->core, grid, &call->arena, NULL) : NULL;
}

void ct_shell_frames(struct ct_shell_call *call, const struct ct_gpucore_lane *lane, const struct ct_device_frame **ret_frames, size_t *ret_count)
{
	const struct ct_gpu *gpu = &call->shell->incident->gpu;
	struct ct_device_frame *frames = NULL;
	*ret_count = 0;
	if (call->shell->core)
		ct_gpucore_frames(call->shell->core, lane, &call->arena, &frames, ret_count);
	else if (lane->section < gpu->n_groups) {
		frames = gpu->groups[lane->section].frames;
		*ret_count = gpu->groups[lane->section].n_frames;
	}
	*ret_frames = frames;
}

static void print_frame(struct ct_shell_call *call, size_t number, const struct ct_device_frame *f)
{
	fprintf(call->out, "#%-2zu ", number);
	if (f->file)
		fprintf(call->out, "%s:%" PRIu32 "  ", ct_shell_flat(&call->arena, f->file), f->line);
	if (!f->function)
		fprintf(call->out, "0x%" PRIx64 ", in no known function\n", f->pc);
	else if (f->has_offset)
		fprintf(call->out, "%s+0x%" PRIx64 "\n", ct_shell_flat(&call->arena, f->function), f->offset);
	else
		fprintf(call->out, "%s%s\n", ct_shell_flat(&call->arena, f->function), f->inlined ? ", inlined in" : "");
}

static void print_focus(struct ct_shell_call *call, const struct ct_gpucore_lane *l)
{
	const char *name = ct_shell_kernel_name(call, l->device, l->grid_id);
	fprintf(call->out, "%s block %s thread %s   device %" PRIu32 " SM %" PRIu32 " warp %" PRIu32 " lane %" PRIu32 "\n",
		name ? ct_render_kernel_word(&call->arena, ct_shell_flat(&call->arena, name)) : "a kernel without a name",
		ct_shell_dim3(&call->arena, l->at.block), ct_shell_dim3(&call->arena, l->at.thread), l->hw.device, l->hw.sm, l->hw.warp, l->hw.lane);
	if (l->exception)
		fprintf(call->out, "%s (number %" PRIu32 ")\n", ct_shell_exception(&call->arena, l->exception), l->exception);
	else if (ct_shell_is_failing(call->shell, l) && call->shell->incident->kind != CT_FAULT_HANG)
		fputs("not flagged by the driver, but stands where failing threads stand\n", call->out);
	const struct ct_device_frame *frames;
	size_t n;
	ct_shell_frames(call, l, &frames, &n);
	if (n)
		print_frame(call, 0, &frames[0]);
}

static bool move_to(struct ct_shell_call *call, size_t lane)
{
	call->shell->focus = lane;
	call->shell->has_focus = true;
	print_focus(call, &call->shell->index.lanes[lane]);
	return true;
}

static bool go_to_failing(struct ct_shell_call *call, const char *word, struct ct_error *err)
{
	const struct ct_shell_index *index = &call->shell->index;
	uint64_t n;
	if (!ct_shell_parse_u64(word, &n))
		return ct_fail(err, CT_USAGE, "'%.60s' is neither a number nor a thread such as 2,0,0", word);
	if (n == 0 || n > index->n_failing) {
		ct_fail(err, CT_USAGE, "there is no failing thread %" PRIu64 ": they are 1 to %zu", n, index->n_failing);
		if (index->n_failing == 0)
			ct_fail(err, CT_USAGE, "there is no failing thread %" PRIu64 ": none is known", n);
		return ct_hint(err, "'thread BLOCK THREAD' goes to any other, 'threads' shows the failing ones");
	}
	return move_to(call, index->failing[n - 1]);
}

// Where the focus is, or where it would be: the device and grid that coordinates are meant in.
static const struct ct_gpucore_lane *here(const struct ct_shell *s)
{
	return s->has_focus ? &s->index.lanes[s->focus] : s->index.n_lanes ? &s->index.lanes[0] : NULL;
}

static bool outside(struct ct_dim3 at, struct ct_dim3 dim)
{
	return at.x >= dim.x || at.y >= dim.y || at.z >= dim.z;
}

static bool launch_dims(const struct ct_shell *s, const struct ct_gpucore_lane *l, struct ct_dim3 *ret_grid, struct ct_dim3 *ret_block)
{
	struct ct_gpucore_grid grid;
	size_t index;
	if (ct_shell_grid_of(s, l, &index) && ct_gpucore_grid(s->core, index, &grid)) {
		*ret_grid = grid.grid_dim;
		*ret_block = grid.block_dim;
		return true;
	}
	const struct ct_kernel *k = &s->incident->gpu.kernel;
	*ret_grid = k->grid_dim;
	*ret_block = k->block_dim;
	return !s->core && s->incident->gpu.has_kernel && k->has_dims;
}

static bool out_of_range(struct ct_shell_call *call, const char *what, struct ct_dim3 at, struct ct_dim3 dim, struct ct_error *err)
{
	struct ct_dim3 last = {dim.x - 1, dim.y - 1, dim.z - 1};
	return ct_fail(err, CT_USAGE, "%s %s is out of range: (0,0,0) to %s", what, ct_shell_dim3(&call->arena, at), ct_shell_dim3(&call->arena, last));
}

static bool not_here(struct ct_shell_call *call, const char *what, struct ct_dim3 at, struct ct_error *err)
{
	if (!call->shell->core) {
		ct_fail(err, CT_UNAVAILABLE, "%s %s is not among the %zu threads that the incident lists", what, ct_shell_dim3(&call->arena, at),
			call->shell->index.n_lanes);
		return ct_hint(err, "a GPU core dump has all that were on the GPU");
	}
	ct_fail(err, CT_UNAVAILABLE, "%s %s is not in this dump", what, ct_shell_dim3(&call->arena, at));
	return ct_hint(err, "it was not on the GPU when the dump was written: ended, or not begun");
}

static bool go_to(struct ct_shell_call *call, struct ct_dim3 block, struct ct_dim3 thread, struct ct_error *err)
{
	const struct ct_shell *s = call->shell;
	const struct ct_gpucore_lane *from = here(s);
	struct ct_dim3 grid_dim, block_dim;
	struct ct_shell_block found;
	size_t lane;
	if (!from)
		return ct_shell_focus(call, err) != NULL;
	bool has_dims = launch_dims(s, from, &grid_dim, &block_dim);
	if (has_dims && outside(block, grid_dim))
		return out_of_range(call, "block", block, grid_dim, err);
	if (has_dims && outside(thread, block_dim))
		return out_of_range(call, "thread", thread, block_dim, err);
	if (!ct_shell_find_block(&s->index, from->device, from->grid_id, block, &found))
		return not_here(call, "block", block, err);
	if (!ct_shell_find_thread(&s->index, &found, thread, &lane))
		return not_here(call, "thread", thread, err);
	return move_to(call, lane);
}

bool ct_shell_run_thread(struct ct_shell_call *call, struct ct_error *err)
{
	struct ct_dim3 block, thread;
	if (call->n_args == 0) {
		const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
		if (l)
			print_focus(call, l);
		return l != NULL;
	}
	const char *last = call->args[call->n_args - 1];
	if (call->n_args == 1 && !strpbrk(last, ",("))
		return go_to_failing(call, last, err);
	if (!ct_shell_parse_dim3(last, &thread))
		return ct_fail(err, CT_USAGE, "'%.60s' is not a thread such as 2,0,0", last);
	if (call->n_args == 2 && !ct_shell_parse_dim3(call->args[0], &block))
		return ct_fail(err, CT_USAGE, "'%.60s' is not a block such as 0,0,0", call->args[0]);
	if (call->n_args == 1) {
		const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
		if (!l)
			return false;
		block = l->at.block;
	}
	return go_to(call, block, thread, err);
}

// The first thread of a grid: the blocks are in order of device and grid, so its place is found by halving.
static bool first_of_grid(const struct ct_shell_index *index, size_t device, uint64_t grid_id, size_t *ret_lane)
{
	size_t low = 0, high = index->n_blocks;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ct_gpucore_lane *l = &index->lanes[index->blocks[middle].first];
		if (l->device < device || (l->device == device && l->grid_id < grid_id))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->n_blocks)
		return false;
	*ret_lane = index->blocks[low].first;
	return index->lanes[*ret_lane].device == device && index->lanes[*ret_lane].grid_id == grid_id;
}

static bool is_named(struct ct_shell_call *call, size_t grid_index, uint64_t grid_id, const char *word)
{
	uint64_t number;
	if (ct_shell_parse_u64(word, &number))
		return number == grid_id;
	const char *name = ct_gpucore_kernel(call->shell->core, grid_index, &call->arena, NULL);
	return name && (strcmp(name, word) == 0 || strcmp(ct_render_kernel_word(&call->arena, name), word) == 0);
}

bool ct_shell_run_kernel(struct ct_shell_call *call, struct ct_error *err)
{
	struct ct_gpucore_grid grid;
	bool seen = false;
	size_t lane;
	if (!call->shell->core)
		return ct_shell_dump_only(err, "threads of other kernels");
	for (size_t i = 0; i < ct_gpucore_n_grids(call->shell->core); i++) {
		if (!ct_gpucore_grid(call->shell->core, i, &grid) || !is_named(call, i, grid.grid_id, call->args[0]))
			continue;
		seen = true;
		if (first_of_grid(&call->shell->index, grid.device, grid.grid_id, &lane))
			return move_to(call, lane);
	}
	ct_fail(err, CT_USAGE, seen ? "kernel '%.60s' has no thread on the GPU" : "there is no kernel '%.60s' in this dump", call->args[0]);
	return ct_hint(err, "'kernels' lists them");
}

bool ct_shell_run_stack(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_gpucore_lane *l = ct_shell_focus(call, err);
	const struct ct_device_frame *frames;
	size_t n;
	if (!l)
		return false;
	ct_shell_frames(call, l, &frames, &n);
	if (n == 0)
		return ct_fail(err, CT_UNAVAILABLE, "the call stack of this thread was not read");
	for (size_t i = 0; i < n; i++)
		print_frame(call, i, &frames[i]);
	// An incident keeps one stack a group, of its first thread.
	if (!call->shell->core)
		fputs("    (of the first thread of its group)\n", call->out);
	return true;
}
