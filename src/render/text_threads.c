// The failing threads: how many, which, where they stand; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/names.h"
#include "render/text_priv.h"

enum {
	MAX_SINGLE_LANES = 4,  // so many threads are listed one by one
	MAX_SHOWN_FRAMES = 8,
	MAX_SHOWN_GROUPS = 8,
	MAX_SHOWN_RUNS = 6,
};

const char *ct_text_count(struct ct_arena *arena, uint64_t n, const char *one, const char *many)
{
	char digits[32];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (int i = 0; i < length; i++) {
		ct_str_addc(&s, digits[i]);
		if ((length - i - 1) % 3 == 0 && i + 1 < length)
			ct_str_addc(&s, ',');
	}
	ct_str_addf(&s, " %s", n == 1 ? one : many);
	return ct_arena_strndup(arena, ct_str_text(&s), s.length);
}

static const char *dim3_text(struct ct_arena *arena, struct ct_dim3 d)
{
	return ct_arena_printf(arena, "(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", d.x, d.y, d.z);
}

// "block (0,0,0)", "blocks (0,0,0)..(3,0,0), (7,0,0) + 12 more ranges". NULL: none are known.
static const char *runs_text(struct ct_arena *arena, const char *word, const struct ct_dim3_run *runs, size_t n, bool cut)
{
	if (n == 0)
		return NULL;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_addf(&s, "%s%s ", word, n == 1 && runs[0].count == 1 && !cut ? "" : "s");
	for (size_t i = 0; i < n && i < MAX_SHOWN_RUNS; i++) {
		ct_str_addf(&s, "%s%s", i ? ", " : "", dim3_text(arena, runs[i].first));
		if (runs[i].count > 1)
			ct_str_addf(&s, "..%s", dim3_text(arena, runs[i].last));
	}
	size_t left = n > MAX_SHOWN_RUNS ? n - MAX_SHOWN_RUNS : 0;
	if (left)
		ct_str_addf(&s, " + %s%zu more range%s", cut ? "at least " : "", left, left == 1 && !cut ? "" : "s");
	else if (cut)
		ct_str_add(&s, " + more ranges");
	return ct_arena_strndup(arena, ct_str_text(&s), s.length);
}

struct where {
	const struct ct_dim3_run *block_runs, *thread_runs;
	size_t n_block_runs, n_thread_runs;
	bool block_runs_cut, thread_runs_cut;
};

// Blocks and threads on one row when that fits, else on two.
static void add_where(struct ct_page *page, struct ct_rows *rows, const char *label, struct where w)
{
	const char *blocks = runs_text(&page->arena, "block", w.block_runs, w.n_block_runs, w.block_runs_cut);
	const char *threads = runs_text(&page->arena, "thread", w.thread_runs, w.n_thread_runs, w.thread_runs_cut);
	if (blocks && threads) {
		const char *both = ct_arena_printf(&page->arena, "%s %s", blocks, threads);
		if (ct_text_columns(both) <= ct_rows_room(page, rows)) {
			ct_rows_add(page, rows, label, CT_PLAIN, both);
			return;
		}
	}
	ct_rows_add(page, rows, label, CT_PLAIN, blocks ? blocks : threads ? threads : "which ones is not known");
	if (blocks)
		ct_rows_add(page, rows, "", CT_PLAIN, threads);
}

// Few threads are named one by one: block and thread belong together.
static bool add_single_lanes(struct ct_page *page, struct ct_rows *rows, const char *label, const struct ct_group *g)
{
	if (g->n_lanes != g->n_threads || g->n_lanes == 0 || g->n_lanes > MAX_SINGLE_LANES)
		return false;
	for (size_t i = 0; i < g->n_lanes; i++)
		ct_rows_addf(page, rows, i ? "" : label, "block %s thread %s", dim3_text(&page->arena, g->lanes[i].at.block),
			     dim3_text(&page->arena, g->lanes[i].at.thread));
	return true;
}

static void add_group_threads(struct ct_page *page, struct ct_rows *rows, const struct ct_group *g)
{
	const char *label = ct_text_count(&page->arena, g->n_threads, "thread", "threads");
	if (add_single_lanes(page, rows, label, g))
		return;
	struct where w = {
		.block_runs = g->block_runs, .n_block_runs = g->n_block_runs, .block_runs_cut = g->block_runs_cut,
		.thread_runs = g->thread_runs, .n_thread_runs = g->n_thread_runs, .thread_runs_cut = g->thread_runs_cut,
	};
	if (g->n_blocks > 1 || g->n_warps > 1) {
		ct_rows_addf(page, rows, label, "in %s, %s", ct_text_count(&page->arena, g->n_blocks, "block", "blocks"),
			     ct_text_count(&page->arena, g->n_warps, "warp", "warps"));
		label = "";
	}
	add_where(page, rows, label, w);
}

// Without the GPU's own word, the assert lines are what is known: one a failing thread.
static void add_logged_threads(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_assert *a = &page->incident->assertion;
	struct where w = {
		.block_runs = a->block_runs, .n_block_runs = a->n_block_runs, .block_runs_cut = a->block_runs_cut,
		.thread_runs = a->thread_runs, .n_thread_runs = a->n_thread_runs, .thread_runs_cut = a->thread_runs_cut,
	};
	if (!a->present || (w.n_block_runs == 0 && w.n_thread_runs == 0))
		return;
	add_where(page, rows, a->n_lines ? ct_text_count(&page->arena, a->n_lines, "thread", "threads") : "threads", w);
	ct_rows_add(page, rows, "", CT_PLAIN, "counted from the assert lines in the output: nothing was read from the GPU");
}

static const char *launch_text(struct ct_page *page)
{
	const struct ct_kernel *k = &page->incident->gpu.kernel;
	if (!page->incident->gpu.has_kernel || !k->has_dims)
		return NULL;
	const char *text = ct_arena_printf(&page->arena, "grid %s x block %s", dim3_text(&page->arena, k->grid_dim), dim3_text(&page->arena, k->block_dim));
	if (!k->has_cluster || (uint64_t)k->cluster_dim.x * k->cluster_dim.y * k->cluster_dim.z <= 1)
		return text;
	return ct_arena_printf(&page->arena, "%s, clusters of %s", text, dim3_text(&page->arena, k->cluster_dim));
}

// What the hardware cannot tell, said where the threads are named.
static void add_limits(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_group *g = page->incident->gpu.n_groups ? &page->incident->gpu.groups[0] : NULL;
	if (!g)
		return;
	if (g->whole_warps && page->incident->kind != CT_FAULT_HANG)
		ct_rows_add(page, rows, "", CT_PLAIN, "the exception is flagged per warp: which of its 32 lanes did it is not known");
	if (g->reason == CT_GROUP_ASSERT_PC && g->n_flagged && g->n_flagged < g->n_threads)
		ct_rows_addf(page, rows, "", "the driver flags %s; the others stand at the same assert",
			     ct_text_count(&page->arena, g->n_flagged, "of them", "of them"));
	if (g->reason == CT_GROUP_TRAP_PC)
		ct_rows_add(page, rows, "", CT_PLAIN, "the driver flags no thread for a trap: these stand at the trap instruction");
	if (g->reason == CT_GROUP_RUNNING)
		ct_rows_add(page, rows, "", CT_PLAIN, "running when the GPU was stopped to look at it");
}

// The launch dimensions stand beside a lone thread when there is room, else on a row of their own.
static bool join_launch(struct ct_page *page, struct ct_rows *rows, size_t first, const char *launch)
{
	if (rows->n != first + 1)
		return false;
	struct ct_row *r = &rows->row[first];
	const char *both = ct_arena_printf(&page->arena, "%s   %s", r->text, launch);
	if (ct_text_columns(both) > ct_rows_room(page, rows))
		return false;
	r->text = both;
	return true;
}

void ct_text_threads(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	size_t first = rows->n;
	if (gpu->n_groups)
		add_group_threads(page, rows, &gpu->groups[0]);
	else
		add_logged_threads(page, rows);
	const char *launch = launch_text(page);
	bool joined = launch && join_launch(page, rows, first, launch);
	add_limits(page, rows);
	if (launch && !joined)
		ct_rows_add(page, rows, "launch", CT_PLAIN, launch);
}

// The device functions behind an assert are the runtime's, with nothing in them for a reader.
static bool is_assert_handler(const char *function)
{
	static const char *const names[] = {"__assertfail", "__assert_fail", "_wassert"};
	for (size_t i = 0; i < CT_COUNT(names); i++)
		if (ct_starts_with(function, names[i]) || strstr(function, "$__assertfail"))
			return true;
	return false;
}

static const char *frame_text(struct ct_page *page, const struct ct_rows *rows, const struct ct_device_frame *f)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (f->file && f->line)
		ct_str_addf(&s, "%s:%" PRIu32 "  ", ct_basename(ct_page_flat(page, f->file)), f->line);
	else if (f->file)
		ct_str_addf(&s, "%s  ", ct_basename(ct_page_flat(page, f->file)));
	if (f->function) {
		size_t room = ct_rows_room(page, rows);
		const char *kernel = page->incident->gpu.has_kernel ? page->incident->gpu.kernel.name : NULL;
		// The kernel's template arguments are told above and below.
		if (kernel && strcmp(kernel, f->function) == 0)
			ct_str_add(&s, ct_render_kernel_word(&page->arena, ct_page_flat(page, kernel)));
		else
			ct_str_add(&s, ct_name_fit(&page->arena, ct_page_flat(page, f->function), room > 30 ? room - 10 : room));
		if (f->has_offset)
			ct_str_addf(&s, "+0x%" PRIx64, f->offset);
	} else {
		ct_str_addf(&s, "0x%" PRIx64 ", in no known function", f->pc);
	}
	if (f->inlined)
		ct_str_add(&s, ", inlined in");
	return ct_arena_strndup(&page->arena, ct_str_text(&s), s.length);
}

void ct_text_place(struct ct_page *page, struct ct_rows *rows, const struct ct_group *g, const char *label)
{
	size_t i = 0, shown = 0;
	while (i + 1 < g->n_frames && g->frames[i].function && is_assert_handler(g->frames[i].function))
		i++;
	for (; i < g->n_frames && shown < MAX_SHOWN_FRAMES; i++, shown++)
		ct_rows_add(page, rows, shown ? "" : label, CT_PLAIN, frame_text(page, rows, &g->frames[i]));
	if (i < g->n_frames)
		ct_rows_addf(page, rows, "", "+ %zu more caller%s", g->n_frames - i, g->n_frames - i == 1 ? "" : "s");
	if (g->n_frames == 0)
		ct_rows_addf(page, rows, label, "0x%" PRIx64 ", in no known function", g->pc);
}

static void add_group(struct ct_page *page, struct ct_rows *rows, const struct ct_group *g)
{
	add_group_threads(page, rows, g);
	if (g->has_exception && ct_exception_text(g->exception))
		ct_rows_add(page, rows, "", CT_PLAIN, ct_exception_text(g->exception));
	ct_text_place(page, rows, g, "  at");
}

void ct_text_all_groups(struct ct_page *page)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	struct ct_rows rows = {NULL, 0};
	for (size_t i = 0; i < gpu->n_groups; i++)
		add_group(page, &rows, &gpu->groups[i]);
	if (gpu->n_groups == 0)
		add_logged_threads(page, &rows);
	add_limits(page, &rows);
	ct_rows_print(page, &rows);
}

void ct_text_other_groups(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	for (size_t i = 1; i < gpu->n_groups && i <= MAX_SHOWN_GROUPS; i++)
		add_group(page, rows, &gpu->groups[i]);
	if (gpu->n_groups > MAX_SHOWN_GROUPS + 1)
		ct_rows_addf(page, rows, "", "+ %zu more groups of threads, in incident.json", gpu->n_groups - MAX_SHOWN_GROUPS - 1);
}
