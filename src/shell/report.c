// Commands that show the text report and its parts, and what the incident lists.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell_priv.h"

static bool sections(struct ct_shell_call *call, unsigned bits, struct ct_error *err)
{
	return ct_render_sections(call->shell->incident, &call->shell->render, bits, call->out, err);
}

enum { SAVED_WIDTH = 100 };  // as the report folder's

static bool save(struct ct_shell_call *call, const char *file, struct ct_error *err)
{
	CT_AUTO(ct_auto_free) char *bytes = NULL;
	size_t length = 0;
	const struct ct_render_options options = {.width = SAVED_WIDTH, .native = call->shell->render.native};
	const struct ct_renderer *renderer = ct_renderer_find(ct_ends_with(file, ".json") ? "json" : "text");
	FILE *memory = open_memstream(&bytes, &length);
	if (!memory)
		return ct_fail_errno(err, "%s", file);
	bool ok = renderer->render(call->shell->incident, &options, memory, err);
	if (fclose(memory) != 0 && ok)
		ok = ct_fail_errno(err, "%s", file);
	if (!ok || !ct_write_file_at(AT_FDCWD, file, bytes, length, err))
		return false;
	fprintf(call->out, "written: %s\n", ct_shell_flat(&call->arena, file));
	return true;
}

bool ct_shell_run_report(struct ct_shell_call *call, struct ct_error *err)
{
	if (call->n_args == 0)
		return sections(call, CT_SECTION_ALL, err);
	if (strcmp(call->args[0], "save") != 0 || call->n_args != 2)
		return ct_fail(err, CT_USAGE, "usage: report [save FILE]");
	return save(call, call->args[1], err);
}

bool ct_shell_run_why(struct ct_shell_call *call, struct ct_error *err)
{
	return sections(call, CT_SECTION_HEADLINE | CT_SECTION_FACTS | CT_SECTION_CAUSE | CT_SECTION_NOTES, err);
}

// Where the threads stand that do not fail.
struct place {
	size_t device;
	uint64_t grid_id, pc;
	size_t first;  // lane; the smallest
	size_t n_threads;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->grid_id != y->grid_id)
		return x->grid_id < y->grid_id ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static int by_count(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->n_threads != y->n_threads)
		return x->n_threads > y->n_threads ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

// Neighbours that stand together are one entry from the start: sorting is then of few.
static size_t gather(const struct ct_shell *shell, struct ct_arena *arena, struct place **ret_places)
{
	const struct ct_shell_index *index = &shell->index;
	struct place *rows = NULL;
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < index->n_lanes; i++) {
		const struct ct_gpucore_lane *l = &index->lanes[i];
		if (ct_shell_is_failing(shell, l))
			continue;
		struct place *last = n ? &rows[n - 1] : NULL;
		if (last && last->device == l->device && last->grid_id == l->grid_id && last->pc == l->pc) {
			last->n_threads++;
			continue;
		}
		rows = ct_arena_grow(arena, rows, &n, sizeof *rows);
		rows[n - 1] = (struct place){.device = l->device, .grid_id = l->grid_id, .pc = l->pc, .first = i, .n_threads = 1};
	}
	if (n > 1)
		qsort(rows, n, sizeof *rows, by_place);
	for (size_t i = 0; i < n; i++) {
		struct place *last = kept ? &rows[kept - 1] : NULL;
		if (last && last->device == rows[i].device && last->grid_id == rows[i].grid_id && last->pc == rows[i].pc)
			last->n_threads += rows[i].n_threads;
		else
			rows[kept++] = rows[i];
	}
	if (kept > 1)
		qsort(rows, kept, sizeof *rows, by_count);
	*ret_places = rows;
	return kept;
}

static void show_places(struct ct_shell_call *call)
{
	enum { MAX_PLACES = 64 };
	struct place *places;
	size_t n = gather(call->shell, &call->arena, &places);
	for (size_t i = 0; i < n && i < MAX_PLACES; i++) {
		const struct ct_gpucore_lane *l = &call->shell->index.lanes[places[i].first];
		const struct ct_device_frame *frames;
		size_t n_frames;
		ct_shell_frames(call, l, &frames, &n_frames);
		fprintf(call->out, "  %zu other%s from block %s thread %s on, at ", places[i].n_threads, places[i].n_threads == 1 ? "" : "s",
			ct_shell_dim3(&call->arena, l->at.block), ct_shell_dim3(&call->arena, l->at.thread));
		const struct ct_device_frame *f = n_frames ? &frames[0] : NULL;
		if (f && f->file)
			fprintf(call->out, "%s:%" PRIu32 " ", ct_shell_flat(&call->arena, ct_basename(f->file)), f->line);
		if (f && f->function)
			fprintf(call->out, "%s+0x%" PRIx64 "\n", ct_render_kernel_word(&call->arena, ct_shell_flat(&call->arena, f->function)), f->offset);
		else
			fprintf(call->out, "0x%" PRIx64 "\n", l->pc);
	}
	if (n > MAX_PLACES)
		fprintf(call->out, "  + %zu more places\n", n - MAX_PLACES);
	if (call->shell->index.cut)
		fprintf(call->out, "  the dump has more threads than are looked at: %d\n", CT_SHELL_MAX_LANES);
}

bool ct_shell_run_threads(struct ct_shell_call *call, struct ct_error *err)
{
	bool all = call->n_args == 1 && strcmp(call->args[0], "all") == 0;
	if (call->n_args && !all)
		return ct_fail(err, CT_USAGE, "usage: threads [all]");
	const struct ct_incident *in = call->shell->incident;
	if (in->gpu.n_groups == 0 && !in->assertion.present && call->shell->index.n_lanes == 0)
		return ct_fail(err, CT_UNAVAILABLE, "no threads are known: nothing of them was read from the GPU");
	if (all && !call->shell->core)
		return ct_shell_dump_only(err, "threads that do not fail");
	if (!sections(call, CT_SECTION_THREADS, err))
		return false;
	if (all)
		show_places(call);
	return true;
}

bool ct_shell_run_log(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	for (size_t i = 0; i < in->n_log; i++) {
		const struct ct_log_entry *e = &in->log[i];
		fprintf(call->out, "%s%s%s", e->prefix ? ct_shell_flat(&call->arena, e->prefix) : "", e->prefix && *e->prefix ? " " : "",
			ct_shell_flat(&call->arena, e->text));
		fprintf(call->out, e->count > 1 ? "   (%" PRIu64 " times)\n" : "\n", e->count);
	}
	if (in->n_log)
		return true;
	ct_fail(err, CT_UNAVAILABLE, call->shell->core ? "a dump holds nothing of the program's output" : "no line of the output says anything about the fault");
	return call->shell->core ? ct_hint(err, "run the program under cudatrap: its report has them") : false;
}

bool ct_shell_run_environment(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	if (!sections(call, CT_SECTION_RUN, err))
		return false;
	if (in->n_environment)
		fputs("\nEnvironment and versions\n", call->out);
	for (size_t i = 0; i < in->n_environment; i++)
		fprintf(call->out, "  %s=%s\n", ct_shell_flat(&call->arena, in->environment[i].name), ct_shell_flat(&call->arena, in->environment[i].value));
	return true;
}

bool ct_shell_run_collectors(struct ct_shell_call *call, struct ct_error *err)
{
	const struct ct_incident *in = call->shell->incident;
	if (in->n_collectors == 0)
		return ct_fail(err, CT_UNAVAILABLE, "the incident does not say what was read");
	for (size_t i = 0; i < in->n_collectors; i++) {
		const struct ct_collector *c = &in->collectors[i];
		fprintf(call->out, "%-17s %s", ct_shell_flat(&call->arena, c->name), ct_collector_status_word(c->status));
		// Reading a dump takes no time worth telling.
		if (!call->shell->core)
			fprintf(call->out, ", %.0f ms", c->milliseconds);
		fprintf(call->out, "%s%s\n", c->detail ? ": " : "", ct_shell_flat(&call->arena, c->detail));
	}
	return true;
}

struct tally {
	uint32_t code;
	size_t n_threads, n_warps;
	size_t warp;
};

static struct tally *tally_of(struct ct_arena *arena, struct tally **rows, size_t *n, uint32_t code)
{
	for (size_t i = 0; i < *n; i++)
		if ((*rows)[i].code == code)
			return &(*rows)[i];
	*rows = ct_arena_grow(arena, *rows, n, sizeof **rows);
	(*rows)[*n - 1] = (struct tally){.code = code, .warp = SIZE_MAX};
	return &(*rows)[*n - 1];
}

bool ct_shell_run_exceptions(struct ct_shell_call *call, struct ct_error *err)
{
	(void)err;
	const struct ct_shell_index *index = &call->shell->index;
	const struct ct_gpu *gpu = &call->shell->incident->gpu;
	struct tally *rows = NULL;
	size_t n = 0;
	for (size_t i = 0; i < index->n_failing; i++) {
		const struct ct_gpucore_lane *l = &index->lanes[index->failing[i]];
		if (!l->exception)
			continue;
		struct tally *t = tally_of(&call->arena, &rows, &n, l->exception);
		t->n_threads++;
		t->n_warps += t->warp != l->warp_serial;
		t->warp = l->warp_serial;
	}
	for (size_t i = 0; i < n; i++) {
		fprintf(call->out, "%s (number %" PRIu32 "): %zu thread%s", ct_shell_exception(&call->arena, rows[i].code), rows[i].code, rows[i].n_threads,
			rows[i].n_threads == 1 ? "" : "s");
		if (call->shell->core)
			fprintf(call->out, " in %zu warp%s", rows[i].n_warps, rows[i].n_warps == 1 ? "" : "s");
		fputc('\n', call->out);
	}
	for (size_t i = 0; i < gpu->n_sm_exceptions; i++)
		fprintf(call->out, "%s (number %" PRIu32 "): on %" PRIu64 " SM%s that have no thread left to show for it\n",
			ct_shell_exception(&call->arena, gpu->sm_exceptions[i].exception), gpu->sm_exceptions[i].exception, gpu->sm_exceptions[i].n_warps,
			gpu->sm_exceptions[i].n_warps == 1 ? "" : "s");
	if (n == 0 && gpu->n_sm_exceptions == 0)
		fputs("no thread and no SM has an exception\n", call->out);
	return true;
}
