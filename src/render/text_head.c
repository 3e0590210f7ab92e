// Headline and facts of the GPU side; see text_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/names.h"
#include "render/text_priv.h"

static const struct ct_group *first_group(const struct ct_page *page)
{
	return page->incident->gpu.n_groups ? &page->incident->gpu.groups[0] : NULL;
}

// "illegal address" says more than "GPU exception".
static const char *what_happened(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const struct ct_group *g = first_group(page);
	const char *exception = g && g->has_exception ? ct_exception_text(g->exception) : NULL;
	if (in->kind == CT_FAULT_EXCEPTION && exception)
		return exception;
	if (in->kind == CT_FAULT_EXCEPTION && g && g->has_exception)
		return ct_arena_printf(&page->arena, "GPU exception %" PRIu32, g->exception);
	if (in->kind == CT_FAULT_API_ERROR && in->launch.failed_call.present && in->launch.failed_call.call)
		return ct_arena_printf(&page->arena, "failing CUDA call %s", ct_page_flat(page, in->launch.failed_call.call));
	const char *api = in->kind == CT_FAULT_API_ERROR && in->n_threads ? ct_text_api_call(page, &in->threads[0]) : NULL;
	if (api)
		return ct_arena_printf(&page->arena, "failing CUDA call %s", api);
	return ct_fault_kind_headline(in->kind);
}

// The kernel's name, or the function that the assert names when nothing was read from the GPU.
static const char *where_name(const struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	if (in->gpu.has_kernel && in->gpu.kernel.name)
		return in->gpu.kernel.name;
	if (in->kind == CT_FAULT_API_ERROR && in->launch.failed_call.present)
		return in->launch.failed_call.at.name;
	return in->assertion.present ? in->assertion.function : NULL;
}

const char *ct_text_device(struct ct_page *page)
{
	const struct ct_device *d = &page->incident->gpu.device;
	if (!d->has_index && !d->name)
		return NULL;
	const char *name = d->name ? ct_page_flat(page, d->name) : "";
	if (!d->has_index)
		return ct_arena_printf(&page->arena, "GPU %s", name);
	return ct_arena_printf(&page->arena, "GPU %" PRIu32 "%s%s", d->index, *name ? " " : "", name);
}

// "   GPU 0 NVIDIA H200" stands at the end of the headline when there is room for it and the whole name.
static bool device_in_headline(struct ct_page *page, const char *start, const char *bare)
{
	const char *device = ct_text_device(page);
	size_t used = ct_text_columns(start) + (bare ? 1 + ct_text_columns(bare) : 0);
	return device && used + 3 + ct_text_columns(device) <= page->width;
}

static const char tool_name[] = "cudatrap: ";

struct headline {
	const char *start;  // "cudatrap: device-side assert in"
	const char *name;   // as shown; NULL: not known
	bool device;        // the device is in it
};

static struct headline make_headline(struct ct_page *page)
{
	const char *name = ct_page_flat(page, where_name(page));
	bool api = page->incident->kind == CT_FAULT_API_ERROR;
	struct headline h = {.start = ct_arena_printf(&page->arena, "%s%s%s", tool_name, what_happened(page), name ? " in" : api ? "" : ", kernel not known")};
	size_t used = ct_text_columns(h.start) + 1;
	size_t room = page->width > used + 20 ? page->width - used : page->width - 2;
	if (name)
		h.name = ct_name_fit(&page->arena, name, room);
	// The full name is worth more than the device on the same line.
	h.device = device_in_headline(page, h.start, name ? ct_name_bare(&page->arena, name) : NULL);
	if (name && h.device)
		h.name = ct_name_bare(&page->arena, name);
	return h;
}

const char *ct_text_title_start(struct ct_page *page, const char **ret_name)
{
	struct headline h = make_headline(page);
	*ret_name = h.name;
	return h.start + strlen(tool_name);
}

const char *ct_text_title(struct ct_page *page)
{
	const char *name = NULL, *start = ct_text_title_start(page, &name);
	return ct_arena_printf(&page->arena, "%s%s%s", start, name ? " " : "", name ? name : "");
}

void ct_text_headline(struct ct_page *page)
{
	struct headline h = make_headline(page);
	const char *line = ct_arena_printf(&page->arena, "%s%s%s", h.start, h.name ? " " : "", h.name ? h.name : "");
	if (ct_text_columns(line) > page->width) {
		ct_page_wrap(page, 0, 2, CT_BOLD, 3, h.start);
		if (h.name)
			ct_page_line(page, 2, CT_BOLD, h.name);
		return;
	}
	ct_page_put(page, CT_BOLD, line);
	if (h.device)
		ct_page_put(page, CT_PLAIN, ct_arena_printf(&page->arena, "   %s", ct_text_device(page)));
	ct_page_newline(page);
}

static void add_assert(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_assert *a = &page->incident->assertion;
	if (!a->present)
		return;
	const char *file = a->file ? ct_basename(ct_page_flat(page, a->file)) : "assert";
	const char *label = a->line ? ct_arena_printf(&page->arena, "%s:%" PRIu32, file, a->line) : file;
	ct_rows_add(page, rows, label, CT_RED, a->expression && *a->expression ? a->expression : "(the assert has no text)");
}

static void add_exception(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_group *g = first_group(page);
	enum { ASSERT_EXCEPTION = 12 };  // CUDBG_EXCEPTION_WARP_ASSERT: the headline says it already
	if (!g || !g->has_exception || (g->exception == ASSERT_EXCEPTION && page->incident->kind == CT_FAULT_ASSERT))
		return;
	const char *word = ct_exception_word(g->exception);
	if (word)
		ct_rows_addf(page, rows, "exception", "%s, %s (number %" PRIu32 ")", ct_exception_text(g->exception), word, g->exception);
	else
		ct_rows_addf(page, rows, "exception", "number %" PRIu32 ", not known to this version", g->exception);
}

static const char *exception_name(struct ct_page *page, uint32_t code)
{
	const char *text = ct_exception_text(code);
	return text ? text : ct_arena_printf(&page->arena, "exception %" PRIu32, code);
}

static void add_counts(struct ct_page *page, struct ct_rows *rows, const char *label, const struct ct_exception_count *counts, size_t n,
		       const char *tail)
{
	for (size_t i = 0; i < n && i < 4; i++)
		ct_rows_addf(page, rows, i ? "" : label, "%s in %s%s", exception_name(page, counts[i].exception),
			     ct_text_count(&page->arena, counts[i].n_warps, "warp", "warps"), tail);
	if (n > 4)
		ct_rows_addf(page, rows, "", "+ %zu more kinds", n - 4);
}

static void add_error_pc(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_group *g = first_group(page);
	if (!g || page->incident->kind != CT_FAULT_EXCEPTION)
		return;
	if (g->has_error_pc)
		ct_rows_addf(page, rows, "error PC", "0x%" PRIx64, g->error_pc);
	else
		ct_rows_addf(page, rows, "error PC", "not recorded; the threads stand at 0x%" PRIx64 ", perhaps some instructions later", g->pc);
}

// By which thread, and where that is: from its registers, for the hardware tells no address.
static void add_fault_address(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_fault_address *f = &page->incident->fault_address;
	if (!f->present)
		return;
	ct_rows_addf(page, rows, "address", "0x%" PRIx64 ", %s%s of thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") in block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), by its registers%s%s",
		     f->address, f->access ? f->access : "access", f->access_bytes ? ct_arena_printf(&page->arena, " of %s", ct_text_count(&page->arena, f->access_bytes, "byte", "bytes")) : "",
		     f->at.thread.x, f->at.thread.y, f->at.thread.z, f->at.block.x, f->at.block.y, f->at.block.z, f->text ? ": " : "", f->text ? ct_page_flat(page, f->text) : "");
}

static const char *full_name(struct ct_page *page)
{
	const struct ct_kernel *k = &page->incident->gpu.kernel;
	const char *name = page->incident->gpu.has_kernel ? ct_page_flat(page, k->name) : NULL;
	if (!name)
		return NULL;
	const char *shown = make_headline(page).name;
	return shown && strcmp(shown, name) == 0 ? NULL : name;
}

static void add_kernel(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	const char *name = full_name(page);
	if (name) {
		ct_rows_add(page, rows, "kernel", CT_PLAIN, name);
		rows->row[rows->n - 1].max_lines = CT_NAME_LINES;
	}
	if (gpu->has_kernel && !gpu->kernel.name)
		ct_rows_add(page, rows, "kernel", CT_PLAIN, gpu->kernel.symbol ? gpu->kernel.symbol : "its name is not known");
}

static void add_other_kernels(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	for (size_t i = 0; i < gpu->n_other_kernels && i < 4; i++) {
		const char *other = ct_page_flat(page, gpu->other_kernels[i].name);
		const char *shown = other ? ct_name_fit(&page->arena, other, ct_rows_room(page, rows)) : "a kernel without a name";
		ct_rows_add(page, rows, i ? "" : "also running", CT_PLAIN, shown);
	}
	if (gpu->n_other_kernels > 4)
		ct_rows_addf(page, rows, "", "+ %zu more kernels", gpu->n_other_kernels - 4);
}

// The whole path, and how the assert is known when no line of the output tells it.
static void add_assert_source(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_assert *a = &page->incident->assertion;
	if (!a->present)
		return;
	bool whole = a->file && ct_basename(a->file) != a->file && a->line;
	if (whole)
		ct_rows_add(page, rows, "assert at", CT_PLAIN, ct_arena_printf(&page->arena, "%s:%" PRIu32, a->file, a->line));
	if (a->source && strcmp(a->source, "log") != 0)
		ct_rows_addf(page, rows, whole ? "" : "assert", "read from the program's code (%s): the output has no line of it", a->source);
	if (!a->file)
		ct_rows_add(page, rows, "assert at", CT_PLAIN, "file and line are not known: its line in the output was damaged");
}

// For a call that failed without a fault on the device, its error text is the fact.
static void add_api_error(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	if (in->kind != CT_FAULT_API_ERROR)
		return;
	if (in->launch.failed_call.present) {
		ct_text_failed_call(page, rows);
		return;
	}
	for (size_t i = 0; i < in->n_log; i++) {
		if (in->log[i].kind == CT_LOG_CUDA_ERROR) {
			ct_rows_add(page, rows, "error", CT_RED, in->log[i].text);
			return;
		}
	}
}

// Which rank of which job; a job of one process has none worth a line.
static void add_rank(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	const struct ct_rank *r = &in->rank;
	if (!r->has_rank || (r->has_world_size && r->world_size == 1 && !r->job))
		return;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_addf(&s, "%" PRIu32, r->rank);
	if (r->has_world_size)
		ct_str_addf(&s, " of %" PRIu32, r->world_size);
	if (r->has_local_rank)
		ct_str_addf(&s, " (local %" PRIu32 ")", r->local_rank);
	if (in->host)
		ct_str_addf(&s, ", host %s", in->host);
	if (r->job)
		ct_str_addf(&s, ", job %s", r->job);
	ct_rows_add(page, rows, "rank", CT_BOLD, ct_str_text(&s));
}

// A place that tells more than the headline does: a source line, a function that the kernel calls, or where an exception arose.
static bool place_is_telling(const struct ct_page *page)
{
	const struct ct_group *g = first_group(page);
	bool lines = false;
	for (size_t i = 0; g && i < g->n_frames; i++)
		lines = lines || g->frames[i].file;
	return g && (lines || page->incident->kind != CT_FAULT_ASSERT);
}

// Where the program was, in its own words: "test tests/test_loss.py::test_range", "epoch 2, step 1200, batch 17".
static void add_progress(struct ct_page *page, struct ct_rows *rows)
{
	const struct ct_incident *in = page->incident;
	if (in->n_progress == 0)
		return;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < in->n_progress; i++) {
		const struct ct_pair *p = &in->progress[i];
		ct_str_addf(&s, "%s%s %s", i ? ", " : "", p->name ? ct_page_flat(page, p->name) : "", p->value ? ct_page_flat(page, p->value) : "");
	}
	ct_rows_add(page, rows, "progress", CT_BOLD, ct_str_text(&s));
}

struct ct_rows ct_text_fact_rows(struct ct_page *page)
{
	struct ct_rows rows = {NULL, 0};
	add_rank(page, &rows);
	add_assert(page, &rows);
	add_api_error(page, &rows);
	ct_text_threads(page, &rows);
	ct_text_values(page, &rows);
	add_progress(page, &rows);
	const char *device = ct_text_device(page);
	if (device && !make_headline(page).device)
		ct_rows_add(page, &rows, "GPU", CT_PLAIN, ct_starts_with(device, "GPU ") ? device + 4 : device);
	add_exception(page, &rows);
	if (place_is_telling(page))
		ct_text_place(page, &rows, first_group(page), "at");
	if (page->incident->kind == CT_FAULT_HANG)
		ct_text_other_groups(page, &rows);
	if (page->incident->kind != CT_FAULT_API_ERROR)
		ct_text_failed_call(page, &rows);
	if (!page->incident->gpu.has_kernel && page->incident->assertion.present && where_name(page))
		ct_rows_add(page, &rows, "kernel", CT_PLAIN, "not known: the name above is the function that the assert line gives");
	return rows;
}

void ct_text_facts(struct ct_page *page)
{
	struct ct_rows rows = ct_text_fact_rows(page);
	ct_rows_print(page, &rows);
}

void ct_text_details(struct ct_page *page)
{
	struct ct_rows rows = {NULL, 0};
	const struct ct_gpu *gpu = &page->incident->gpu;
	add_kernel(page, &rows);
	add_assert_source(page, &rows);
	if (first_group(page) && !place_is_telling(page))
		ct_text_place(page, &rows, first_group(page), "at");
	add_error_pc(page, &rows);
	add_fault_address(page, &rows);
	size_t n_other = gpu->n_groups ? gpu->groups[0].n_other_exceptions : 0;
	if (n_other)
		add_counts(page, &rows, "also seen", gpu->groups[0].other_exceptions, n_other, "");
	add_counts(page, &rows, n_other ? "" : "also seen", gpu->sm_exceptions, gpu->n_sm_exceptions, " that have no thread left to show for it");
	if (page->incident->kind != CT_FAULT_HANG)
		ct_text_other_groups(page, &rows);
	add_other_kernels(page, &rows);
	ct_text_arguments(page, &rows);
	ct_text_limits(page, &rows);
	if (rows.n == 0)
		return;
	ct_page_heading(page, "The fault in detail");
	ct_rows_print(page, &rows);
}
