// Tables that only a page with room has: the four questions, the collectors, the environment; see html_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "render/html_priv.h"
#include "render/launch.h"
#include "render/names.h"
#include "render/text_priv.h"

enum { MAX_ROWS = 500 };

// A mark is a sign and a word: neither colour nor shape alone tells.
static void write_mark(struct ct_markup *m, const char *class, const char *sign, const char *word)
{
	ct_markup_element(m, "td", class, NULL);
	ct_markup_open(m, "span");
	ct_markup_attr(m, "aria-hidden", "true");
	ct_markup_text(m, sign);
	ct_markup_close(m);
	ct_markup_text(m, " ");
	ct_markup_text(m, word);
	ct_markup_close(m);
}

static void write_heads(struct ct_markup *m, const char *const *heads, size_t n)
{
	ct_markup_open(m, "thead");
	ct_markup_open(m, "tr");
	for (size_t i = 0; i < n; i++) {
		ct_markup_open(m, "th");
		ct_markup_attr(m, "scope", "col");
		ct_markup_text(m, heads[i]);
		ct_markup_close(m);
	}
	ct_markup_close(m);
	ct_markup_close(m);
}

static void write_row_head(struct ct_markup *m, const char *text)
{
	ct_markup_open(m, "th");
	ct_markup_attr(m, "scope", "row");
	ct_markup_text(m, text);
	ct_markup_close(m);
}

static void write_answer(struct ct_markup *m, const char *question, const char *answer, const char *instead)
{
	ct_markup_open(m, "tr");
	write_row_head(m, question);
	if (answer)
		write_mark(m, "mark good", "\xe2\x9c\x93", "yes");
	else
		write_mark(m, "mark bad", "\xe2\x9c\x97", "no");
	ct_markup_element(m, "td", NULL, answer ? answer : instead ? instead : "not established");
	ct_markup_close(m);
}

// When launches were not waited for, the line is where the thread was, and the answer no.
static void write_launch_answer(struct ct_page *page, struct ct_markup *m)
{
	struct ct_launch_place place = ct_launch_place(page);
	const char *where = place.is_user ? ct_arena_printf(&page->arena, "%s:%" PRIu32, ct_path_short(place.path, NULL), place.line) : NULL;
	const char *instead = where ? ct_arena_printf(&page->arena, "not established; when the fault was noticed, the thread was at %s", where) : NULL;
	write_answer(m, "Launched by which line?", place.is_launch ? where : NULL, instead);
}

static const char *what_failed(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const struct ct_group *g = in->gpu.n_groups ? &in->gpu.groups[0] : NULL;
	const struct ct_assert *a = &in->assertion;
	if (a->present && a->file)
		return ct_arena_printf(&page->arena, "%s:%" PRIu32 "  %s", ct_basename(ct_page_flat(page, a->file)), a->line,
				       a->expression ? ct_page_flat(page, a->expression) : "");
	if (g && g->has_exception && ct_exception_text(g->exception))
		return ct_exception_text(g->exception);
	if (in->kind == CT_FAULT_TRAP || in->kind == CT_FAULT_API_ERROR || in->kind == CT_FAULT_HANG)
		return ct_fault_kind_headline(in->kind);
	return NULL;
}

static const char *which_threads(struct ct_page *page)
{
	const struct ct_gpu *gpu = &page->incident->gpu;
	const struct ct_assert *a = &page->incident->assertion;
	if (gpu->n_groups && gpu->groups[0].n_threads)
		return ct_arena_printf(&page->arena, "%s in %s", ct_text_count(&page->arena, gpu->groups[0].n_threads, "thread", "threads"),
				       ct_text_count(&page->arena, gpu->groups[0].n_blocks, "block", "blocks"));
	if (a->n_thread_runs && a->n_lines)
		return ct_arena_printf(&page->arena, "%s, by the output", ct_text_count(&page->arena, a->n_lines, "thread", "threads"));
	return NULL;
}

void ct_html_answers(struct ct_page *page)
{
	static const char *const heads[] = {"question", "known", "answer"};
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	const struct ct_incident *in = page->incident;
	const struct ct_kernel *k = &in->gpu.kernel;
	const char *kernel = in->gpu.has_kernel && k->name ? ct_render_kernel_word(&page->arena, ct_page_flat(page, k->name)) : NULL;
	ct_html_section(page, "At a glance");
	ct_markup_element(m, "table", "answers", NULL);
	write_heads(m, heads, CT_COUNT(heads));
	ct_markup_open(m, "tbody");
	write_answer(m, "Which kernel?", kernel, NULL);
	write_answer(m, "What failed?", what_failed(page), NULL);
	write_answer(m, "Which threads?", which_threads(page), NULL);
	write_launch_answer(page, m);
	ct_markup_close(m);
	ct_markup_close(m);
}

static void write_collector(struct ct_page *page, struct ct_markup *m, const struct ct_collector *c)
{
	bool ok = c->status == CT_COLLECTOR_OK, partly = c->status == CT_COLLECTOR_PARTIAL || c->status == CT_COLLECTOR_SKIPPED;
	ct_markup_open(m, "tr");
	write_row_head(m, ct_page_flat(page, ct_text_collector(c->name)));
	write_mark(m, ok ? "mark good" : partly ? "mark" : "mark bad", ok ? "\xe2\x9c\x93" : partly ? "\xe2\x80\x93" : "\xe2\x9c\x97", ct_text_status(c->status));
	// Times come from a file: anything may be in them.
	bool sane = c->milliseconds >= 0 && c->milliseconds < 1e9;
	ct_markup_element(m, "td", "number", sane ? ct_arena_printf(&page->arena, "%.0f ms", c->milliseconds) : "");
	ct_markup_element(m, "td", NULL, c->detail ? ct_page_flat(page, c->detail) : "");
	ct_markup_close(m);
}

void ct_html_collectors(struct ct_page *page)
{
	static const char *const heads[] = {"what", "outcome", "took", "detail"};
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	const struct ct_incident *in = page->incident;
	if (in->n_collectors == 0)
		return;
	ct_html_section(page, "How it was read");
	ct_markup_element(m, "table", "wide", NULL);
	write_heads(m, heads, CT_COUNT(heads));
	ct_markup_open(m, "tbody");
	for (size_t i = 0; i < in->n_collectors && i < MAX_ROWS; i++)
		write_collector(page, m, &in->collectors[i]);
	ct_markup_close(m);
	ct_markup_close(m);
}

static bool same_frame(const struct ct_python_local *a, const struct ct_python_local *b)
{
	return a->tid == b->tid && a->depth == b->depth;
}

static void write_locals_of(struct ct_page *page, struct ct_markup *m, const struct ct_python_local *l, size_t n)
{
	static const char *const heads[] = {"name", "value"};
	const struct ct_host_frame frame = {.kind = CT_FRAME_PYTHON, .function = l->function, .file = l->file, .line = l->line};
	const struct ct_stack_line line = ct_text_frame(page, &frame, CT_FRAME_USER);
	ct_markup_element(m, "h3", NULL, ct_arena_printf(&page->arena, "%s  %s", line.place, line.function));
	ct_markup_element(m, "table", "wide", NULL);
	write_heads(m, heads, CT_COUNT(heads));
	ct_markup_open(m, "tbody");
	for (size_t i = 0; i < n; i++) {
		ct_markup_open(m, "tr");
		write_row_head(m, l[i].name ? ct_page_flat(page, l[i].name) : "");
		ct_markup_open(m, "td");
		ct_markup_element(m, "code", NULL, l[i].value ? ct_page_flat(page, l[i].value) : "");
		ct_markup_close(m);
		ct_markup_close(m);
	}
	ct_markup_close(m);
	ct_markup_close(m);
}

// Folded: the tensors tell more about most faults.
void ct_html_locals(struct ct_page *page)
{
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	const struct ct_incident *in = page->incident;
	if (in->n_python_locals == 0)
		return;
	ct_html_section(page, "Python locals");
	ct_markup_open(m, "details");
	ct_markup_element(m, "summary", NULL, ct_text_count(&page->arena, in->n_python_locals, "plain value", "plain values"));
	for (size_t i = 0, n; i < in->n_python_locals && i < MAX_ROWS; i += n) {
		const struct ct_python_local *l = &in->python_locals[i];
		for (n = 1; i + n < in->n_python_locals && same_frame(l, &l[n]); n++)
			;
		write_locals_of(page, m, l, n);
	}
	ct_markup_close(m);
}

void ct_html_environment(struct ct_page *page)
{
	static const char *const heads[] = {"name", "value"};
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	const struct ct_incident *in = page->incident;
	if (in->n_environment == 0)
		return;
	ct_html_section(page, "Environment");
	ct_markup_open(m, "details");
	ct_markup_element(m, "summary", NULL, ct_text_count(&page->arena, in->n_environment, "entry", "entries"));
	ct_markup_element(m, "table", "wide", NULL);
	write_heads(m, heads, CT_COUNT(heads));
	ct_markup_open(m, "tbody");
	for (size_t i = 0; i < in->n_environment && i < MAX_ROWS; i++) {
		const struct ct_pair *e = &in->environment[i];
		ct_markup_open(m, "tr");
		write_row_head(m, e->name ? ct_page_flat(page, e->name) : "");
		ct_markup_element(m, "td", NULL, e->value ? ct_page_flat(page, e->value) : "");
		ct_markup_close(m);
	}
	ct_markup_close(m);
	ct_markup_close(m);
	ct_markup_close(m);
}
