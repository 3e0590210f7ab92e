// What the record of launches tells: where the kernel was launched from and how sure that is, the call that failed, what went before on the
// stream; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/names.h"
#include "render/text_priv.h"

const struct ct_launch *ct_text_recorded(const struct ct_incident *in)
{
	const struct ct_launched *l = &in->launch;
	// Launches that waited stand on the host stack itself, whole.
	if (!l->present || (in->launch_blocking && in->n_threads))
		return NULL;
	if (l->certainty == CT_CERTAINTY_UNIQUE && l->n_candidates)
		return &l->candidates[0];
	return l->failed_call.present && in->kind == CT_FAULT_API_ERROR && !in->n_threads ? &l->failed_call.at : NULL;
}

// ---- A launch in words ------------------------------------------------------------------------------------------

static const char *dim_text(struct ct_page *page, struct ct_dim3 d)
{
	return ct_arena_printf(&page->arena, "(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", d.x, d.y, d.z);
}

static const char *stream_text(struct ct_page *page, const struct ct_launch *l)
{
	if (l->stream_of_thread)
		return "the thread's default stream";
	return l->stream <= 1 ? "the default stream" : ct_arena_printf(&page->arena, "stream 0x%" PRIx64, l->stream);
}

// "12 us", "3.4 ms", "1.2 s"
static const char *time_text(struct ct_page *page, double seconds)
{
	double us = seconds * 1e6;
	if (us < 1000)
		return ct_arena_printf(&page->arena, "%.0f us", us);
	return us < 1e6 ? ct_arena_printf(&page->arena, "%.1f ms", us / 1000) : ct_arena_printf(&page->arena, "%.1f s", seconds);
}

static const char *kernel_text(struct ct_page *page, const struct ct_launch *l)
{
	const char *name = ct_page_flat(page, l->name ? l->name : l->symbol);
	// One line of two is the kernel's.
	const char *bare = name ? ct_name_fit(&page->arena, name, page->width / 2) : l->graph ? "" : "a kernel without a name";
	return l->graph ? ct_arena_printf(&page->arena, "graph%s%s", *bare ? " with " : "", bare) : bare;
}

// The user's innermost line, else the innermost at all.
static const struct ct_host_frame *telling_frame(const struct ct_host_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ct_frame_class_of(&frames[i]) == CT_FRAME_USER && frames[i].file)
			return &frames[i];
	return n ? &frames[0] : NULL;
}

static const char *place_text(struct ct_page *page, const struct ct_launch *l)
{
	const struct ct_host_frame *f = telling_frame(l->python, l->n_python);
	if (!f)
		f = l->backward ? telling_frame(l->origin_python, l->n_origin_python) : NULL;
	if (!f)
		f = telling_frame(l->native, l->n_native);
	if (!f)
		return "place not known";
	struct ct_stack_line line = ct_text_frame(page, f, CT_FRAME_USER);
	return ct_arena_printf(&page->arena, "%s%s %s", l->n_python || !l->backward ? "" : "backward of ", line.place, line.function);
}

// ---- Launched from ----------------------------------------------------------------------------------------------

static void print_origin(struct ct_page *page, const struct ct_launch *l)
{
	if (l->origin == CT_LAUNCH_ORIGIN_CAPTURE)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "It is a node of a CUDA graph, captured at:");
	else if (l->origin == CT_LAUNCH_ORIGIN_FORWARD)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "It is a launch of the backward pass, backward of:");
	else if (l->origin == CT_LAUNCH_ORIGIN_CALL)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "It is a launch of the backward pass; its forward operation is not in the record. The pass was called at:");
	else if (l->graph)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "It is a node of a CUDA graph; where it was captured is not in the record.");
	else if (l->backward)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "It is a launch of the backward pass; its forward operation is not in the record.");
	if (l->n_origin_python)
		ct_text_stack(page, l->origin_python, l->n_origin_python);
}

// Return addresses say little in front of Python frames.
static void print_frames(struct ct_page *page, const struct ct_launch *l)
{
	if (l->n_python)
		ct_text_stack(page, l->python, l->n_python);
	if (l->n_native && (!l->n_python || page->options->native))
		ct_text_stack(page, l->native, l->n_native);
	if (l->n_python + l->n_native + l->n_origin_python == 0)
		ct_page_wrap(page, 2, 2, CT_PLAIN, 0, "no frame of this launch was recorded");
	print_origin(page, l);
}

static const char *when_text(struct ct_page *page, const struct ct_launch *l)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (l->count > 1)
		ct_str_addf(&s, "%s, the last ", ct_text_count(&page->arena, l->count, "launch", "launches"));
	if (l->has_seconds_before)
		ct_str_addf(&s, "%s before the fault was noticed, ", time_text(page, l->seconds_before));
	ct_str_addf(&s, "on %s", stream_text(page, l));
	if (l->tid)
		ct_str_addf(&s, ", by thread %" PRId64, l->tid);
	return ct_arena_strdup(&page->arena, ct_str_text(&s));
}

static void print_unique(struct ct_page *page, const struct ct_launched *launch)
{
	const struct ct_launch *l = &launch->candidates[0];
	ct_page_heading(page, "Launched from");
	print_frames(page, l);
	ct_page_wrap(page, 2, 4, CT_DIM, 4, ct_arena_printf(&page->arena, "%s; known by the record of launches: %s", when_text(page, l), launch->why ? launch->why : "?"));
}

static void print_several(struct ct_page *page, const struct ct_launched *launch)
{
	ct_page_heading(page, ct_arena_printf(&page->arena, "Launched from one of %s%zu places", launch->candidates_cut ? "more than " : "", launch->n_candidates));
	ct_page_wrap(page, 2, 4, CT_PLAIN, 4, ct_arena_printf(&page->arena, "Not told apart: %s.", launch->why ? launch->why : "?"));
	for (size_t i = 0; i < launch->n_candidates; i++) {
		ct_page_wrap(page, 2, 4, CT_PLAIN, 2, ct_arena_printf(&page->arena, "%zu. %s:", i + 1, when_text(page, &launch->candidates[i])));
		print_frames(page, &launch->candidates[i]);
	}
}

bool ct_text_launch(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const struct ct_launched *launch = &in->launch;
	if (!launch->present || (in->launch_blocking && in->n_threads))
		return false;
	if (launch->failed_call.present && in->kind == CT_FAULT_API_ERROR && !in->n_threads) {
		ct_page_heading(page, "Called from");
		print_frames(page, &launch->failed_call.at);
		return true;
	}
	if (launch->certainty == CT_CERTAINTY_UNIQUE && launch->n_candidates)
		print_unique(page, launch);
	else if (launch->n_candidates)
		print_several(page, launch);
	else
		return false;
	return true;
}

// ---- What went before -------------------------------------------------------------------------------------------

static const char *history_line(struct ct_page *page, const struct ct_launch *l)
{
	const char *count = l->count > 1 ? ct_arena_printf(&page->arena, " x%" PRIu64, l->count) : "";
	const char *dims = l->has_dims ? ct_arena_printf(&page->arena, " %s x %s", dim_text(page, l->grid_dim), dim_text(page, l->block_dim)) : "";
	return ct_arena_printf(&page->arena, "%s%s%s  %s", kernel_text(page, l), dims, count, place_text(page, l));
}

void ct_text_history(struct ct_page *page)
{
	const struct ct_launched *launch = &page->incident->launch;
	struct ct_rows rows = {NULL, 0};
	if (!launch->present || !launch->n_history)
		return;
	for (size_t i = 0; i < launch->n_history; i++) {
		const struct ct_launch *l = &launch->history[i];
		ct_rows_add(page, &rows, l->has_seconds_before ? ct_arena_printf(&page->arena, "-%s", time_text(page, l->seconds_before)) : i ? "" : "newest", CT_PLAIN,
			    history_line(page, l));
		rows.row[rows.n - 1].max_lines = 2;
	}
	const char *first = launch->certainty == CT_CERTAINTY_UNIQUE ? "the failing one first" : "from the newest that fits on";
	ct_page_heading(page, launch->n_candidates ? ct_arena_printf(&page->arena, "Launches on %s, %s", stream_text(page, &launch->history[0]), first)
						   : "The last launches");
	ct_rows_print(page, &rows);
}

// ---- A call that failed -------------------------------------------------------------------------------------------

void ct_text_failed_call(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_failed_call *c = &page->incident->launch.failed_call;
	if (!page->incident->launch.present || !c->present)
		return;
	const char *error = c->error_name ? ct_arena_printf(&page->arena, "%s (%" PRIu32 ")", c->error_name, c->error) : ct_arena_printf(&page->arena, "error %" PRIu32, c->error);
	ct_rows_add(page, rows, page->incident->kind == CT_FAULT_API_ERROR ? "error" : "failed call", CT_RED,
		    ct_arena_printf(&page->arena, "%s%s%s", page->incident->kind == CT_FAULT_API_ERROR ? "" : ct_arena_printf(&page->arena, "%s returned ", c->call), error,
				    c->why ? ct_arena_printf(&page->arena, ": %s", c->why) : ""));
	if (page->incident->kind != CT_FAULT_API_ERROR) {
		ct_rows_addf(page, rows, "", "of %s, at %s, before the fault: what it should have written was not written", kernel_text(page, &c->at), place_text(page, &c->at));
		return;
	}
	if (c->is_launch && c->at.has_dims)
		ct_rows_addf(page, rows, "asked for", "grid %s, block %s, %" PRIu32 " bytes of dynamic shared memory", dim_text(page, c->at.grid_dim),
			     dim_text(page, c->at.block_dim), c->at.shared_bytes);
	if (c->ignored)
		ct_rows_add(page, rows, "ignored", CT_PLAIN, "the command went on and ended with status 0");
}

void ct_text_limits(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_failed_call *c = &page->incident->launch.failed_call;
	if (page->incident->kind != CT_FAULT_API_ERROR)
		return;
	for (size_t i = 0; page->incident->launch.present && c->present && i < c->n_limits; i++) {
		const struct ct_limit *l = &c->limits[i];
		ct_rows_addf(page, rows, i ? "" : "limits", "%s: %" PRId64 " of %" PRId64 "%s", l->what ? l->what : "?", l->asked, l->limit, l->exceeded ? ", too many" : "");
	}
}
