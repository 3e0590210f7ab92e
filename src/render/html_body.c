// The sections that the text report has, as HTML; see html_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "render/html_priv.h"
#include "render/text_priv.h"

enum {
	MAX_LINES = 400,   // of a stack: a deep recursion keeps its two ends
	MAX_HIDDEN = 400,  // frames in a fold
};

static struct ct_html *html_of(struct ct_page *page)
{
	return page->state;
}

static void end_list(struct ct_html *h)
{
	if (h->in_list)
		ct_markup_close(&h->m);
	h->in_list = false;
}

static void end_fold(struct ct_html *h)
{
	end_list(h);
	if (h->in_fold)
		ct_markup_close(&h->m);
	h->in_fold = false;
}

static void end_folds(struct ct_html *h)
{
	end_fold(h);
	if (h->in_folds)
		ct_markup_close(&h->m);
	h->in_folds = false;
}

void ct_html_section(struct ct_page *page, const char *heading)
{
	struct ct_html *h = html_of(page);
	end_folds(h);
	if (h->in_section)
		ct_markup_close(&h->m);
	h->in_section = heading != NULL;
	if (!heading)
		return;
	ct_markup_raw(&h->m, "\n");
	ct_markup_open(&h->m, "section");
	ct_markup_element(&h->m, "h2", NULL, heading);
}

static void write_heading(struct ct_page *page, const char *text)
{
	ct_html_section(page, ct_page_flat(page, text));
}

// The threads of a large program would fill the page even when each is folded.
static void write_fold(struct ct_page *page, const char *text)
{
	struct ct_html *h = html_of(page);
	end_fold(h);
	if (!h->in_folds) {
		ct_markup_element(&h->m, "details", "threads", NULL);
		ct_markup_element(&h->m, "summary", NULL, ct_text_count(&page->arena, page->incident->n_threads - 1, "other host thread", "other host threads"));
		h->in_folds = true;
	}
	ct_markup_element(&h->m, "details", "thread", NULL);
	ct_markup_open(&h->m, "summary");
	ct_markup_element(&h->m, "h3", NULL, ct_page_flat(page, text));
	ct_markup_close(&h->m);
	h->in_fold = true;
}

static void write_text(struct ct_page *page, enum ct_style style, const char *text)
{
	struct ct_html *h = html_of(page);
	end_list(h);
	ct_markup_element(&h->m, "p", style == CT_DIM ? "dim" : style == CT_RED ? "bad" : NULL, ct_page_flat(page, text));
}

static void write_item(struct ct_page *page, const char *text)
{
	struct ct_html *h = html_of(page);
	if (!h->in_list)
		ct_markup_open(&h->m, "ul");
	h->in_list = true;
	ct_markup_element(&h->m, "li", NULL, ct_page_flat(page, text));
}

static void write_rows(struct ct_page *page, const struct ct_rows *rows)
{
	struct ct_markup *m = &html_of(page)->m;
	if (rows->n == 0)
		return;
	ct_markup_element(m, "table", "rows", NULL);
	ct_markup_open(m, "tbody");
	for (size_t i = 0; i < rows->n;) {
		ct_markup_open(m, "tr");
		ct_markup_open(m, "th");
		ct_markup_attr(m, "scope", "row");
		ct_markup_text(m, rows->row[i].label);
		ct_markup_close(m);
		ct_markup_open(m, "td");
		// A row without a label goes on with the one above.
		do {
			ct_markup_element(m, "div", rows->row[i].style == CT_RED ? "bad" : NULL, rows->row[i].text);
			i++;
		} while (i < rows->n && !*rows->row[i].label);
		ct_markup_close(m);
		ct_markup_close(m);
	}
	ct_markup_close(m);
	ct_markup_close(m);
}

static const char *class_word(enum ct_frame_class class)
{
	static const char *const words[] = {
		[CT_FRAME_USER] = "user", [CT_FRAME_FRAMEWORK] = "framework", [CT_FRAME_LIBRARY] = "library", [CT_FRAME_API] = "api", [CT_FRAME_PLUMBING] = "library",
	};
	return words[class];
}

// The whole names are a pointer's hover away.
static const char *frame_title(struct ct_page *page, const struct ct_host_frame *f)
{
	const char *path = f->file ? f->file : f->module;
	if (!path && !f->function)
		return NULL;
	return ct_page_flat(page, ct_arena_printf(&page->arena, "%s%s%s", f->function ? f->function : "", path && f->function ? "  " : "", path ? path : ""));
}

// Folded: the frame's own line stands there already. Marked by a sign and by weight too, not by colour alone.
static void write_excerpt(struct ct_page *page, const struct ct_host_frame *f)
{
	struct ct_markup *m = &html_of(page)->m;
	const struct ct_excerpt e = ct_excerpt_of(page, f);
	if (!e.n)
		return;
	ct_markup_element(m, "details", "excerpt", NULL);
	ct_markup_element(m, "summary", NULL, ct_arena_printf(&page->arena, "lines %" PRIu32 " to %" PRIu32, e.first, e.first + (uint32_t)e.n - 1));
	for (size_t i = 0; i < e.n; i++) {
		bool failing = i == e.failing;
		ct_markup_element(m, "div", failing ? "at" : NULL, NULL);
		ct_markup_element(m, "span", "gutter",
				  ct_arena_printf(&page->arena, "%c %*" PRIu32 " ", failing ? '>' : ' ', (int)e.digits, e.first + (uint32_t)i));
		ct_markup_element(m, failing ? "strong" : "code", NULL, NULL);
		if (failing)
			ct_markup_open(m, "code");
		ct_markup_text(m, e.line[i]);
		if (failing)
			ct_markup_close(m);
		ct_markup_close(m);
		ct_markup_close(m);
	}
	ct_markup_close(m);
}

static void write_frame(struct ct_page *page, const struct ct_stack_line *l)
{
	struct ct_markup *m = &html_of(page)->m;
	ct_markup_element(m, "li", class_word(l->class), NULL);
	ct_markup_attr(m, "title", l->frame ? frame_title(page, l->frame) : NULL);
	ct_markup_element(m, "span", "place", l->place);
	ct_markup_text(m, " ");
	ct_markup_element(m, "span", "function", l->function);
	if (l->source) {
		ct_markup_text(m, " ");
		ct_markup_element(m, "code", "source", l->source);
	}
	if (l->source && l->frame)
		write_excerpt(page, l->frame);
	ct_markup_close(m);
}

static void write_hidden(struct ct_page *page, const struct ct_host_frame *const *frame, size_t n)
{
	struct ct_markup *m = &html_of(page)->m;
	ct_markup_element(m, "ol", "stack", NULL);
	for (size_t i = 0; i < n && i < MAX_HIDDEN; i++) {
		const struct ct_stack_line l = ct_text_frame(page, frame[i], ct_frame_class_of(frame[i]));
		write_frame(page, &l);
	}
	if (n > MAX_HIDDEN)
		ct_markup_element(m, "li", "library", ct_arena_printf(&page->arena, "+ %zu more, in incident.json", n - MAX_HIDDEN));
	ct_markup_close(m);
}

static void write_note(struct ct_page *page, const struct ct_stack_line *l)
{
	struct ct_markup *m = &html_of(page)->m;
	const char *text = ct_page_flat(page, ct_starts_with(l->note, "... ") ? l->note + 4 : l->note);
	ct_markup_element(m, "li", "note", NULL);
	ct_markup_open(m, "details");
	ct_markup_element(m, "summary", NULL, text);
	write_hidden(page, l->hidden, l->n_hidden);
	ct_markup_close(m);
	ct_markup_close(m);
}

static void write_stack(struct ct_page *page, const struct ct_stack_line *line, size_t n)
{
	struct ct_markup *m = &html_of(page)->m;
	if (n == 0)
		return;
	end_list(html_of(page));
	ct_markup_element(m, "ol", "stack", NULL);
	for (size_t i = 0; i < n; i++) {
		if (n > MAX_LINES && i == MAX_LINES / 2) {
			size_t hidden = n - MAX_LINES;
			ct_markup_element(m, "li", "library", ct_text_count(&page->arena, hidden, "more line", "more lines"));
			i += hidden;
		}
		if (line[i].note)
			write_note(page, &line[i]);
		else
			write_frame(page, &line[i]);
	}
	ct_markup_close(m);
}

const struct ct_page_writer ct_html_writer = {
	.heading = write_heading, .fold = write_fold, .text = write_text, .item = write_item, .rows = write_rows, .stack = write_stack,
};
