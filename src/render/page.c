// Lines, wrapping, rows; see page.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/page.h"

#include <stdarg.h>
#include <string.h>

enum { FLAT_BYTES = 16 * 1024 };

const char *ct_page_flat(struct ct_page *page, const char *text)
{
	if (!text)
		return NULL;
	size_t length = strlen(text);
	CT_AUTO(ct_auto_str) struct ct_str clean = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str flat = CT_STR_INIT;
	ct_str_append_clean(&clean, text, length < FLAT_BYTES ? length : FLAT_BYTES);
	if (length > FLAT_BYTES)
		ct_str_add(&clean, "...");
	for (const char *p = ct_str_text(&clean); *p; p++) {
		if (*p == '\n')
			ct_str_add(&flat, "\\n");
		else
			ct_str_addc(&flat, *p == '\t' ? ' ' : *p);
	}
	while (flat.length && flat.data[flat.length - 1] == ' ')
		flat.data[--flat.length] = '\0';
	return ct_arena_strndup(&page->arena, ct_str_text(&flat), flat.length);
}

static const char *style_code(enum ct_style style)
{
	static const char *const codes[] = {[CT_PLAIN] = "", [CT_BOLD] = "\x1b[1m", [CT_RED] = "\x1b[31m", [CT_DIM] = "\x1b[2m"};
	return codes[style];
}

void ct_page_put(struct ct_page *page, enum ct_style style, const char *text)
{
	page->began = page->began || *text;
	bool styled = page->color && style != CT_PLAIN && *text;
	if (styled)
		fputs(style_code(style), page->out);
	fputs(text, page->out);
	if (styled)
		fputs("\x1b[0m", page->out);
}

void ct_page_pad(struct ct_page *page, size_t columns)
{
	fprintf(page->out, "%*s", (int)columns, "");
}

void ct_page_newline(struct ct_page *page)
{
	putc('\n', page->out);
}

void ct_page_fold(struct ct_page *page, const char *text)
{
	if (page->writer)
		page->writer->fold(page, text);
	else
		ct_page_heading(page, text);
}

void ct_page_item(struct ct_page *page, size_t max_lines, const char *text)
{
	if (page->writer)
		page->writer->item(page, text);
	else
		ct_page_wrap(page, 2, 4, CT_PLAIN, max_lines, ct_arena_printf(&page->arena, "- %s", text));
}

void ct_page_heading(struct ct_page *page, const char *text)
{
	if (page->writer) {
		page->writer->heading(page, text);
		return;
	}
	if (page->began)
		ct_page_newline(page);
	ct_page_wrap(page, 0, 2, CT_BOLD, 0, text);
}

void ct_page_line(struct ct_page *page, size_t indent, enum ct_style style, const char *text)
{
	if (page->writer) {
		page->writer->text(page, style, text);
		return;
	}
	ct_page_pad(page, indent);
	ct_page_put(page, style, ct_elide_end(&page->arena, ct_page_flat(page, text), page->width - indent));
	ct_page_newline(page);
}

void ct_page_whole(struct ct_page *page, size_t indent, const char *text)
{
	if (page->writer) {
		page->writer->text(page, CT_PLAIN, text);
		return;
	}
	ct_page_pad(page, indent);
	ct_page_put(page, CT_PLAIN, ct_page_flat(page, text));
	ct_page_newline(page);
}

// The lines of a flat text, the cursor standing at its first column already.
static void put_wrapped(struct ct_page *page, size_t hang, size_t first_room, enum ct_style style, size_t max_lines, const char *text)
{
	size_t room = first_room;
	for (size_t line = 1;; line++) {
		bool last = ct_text_columns(text) <= room || line == max_lines;
		if (last) {
			ct_page_put(page, style, ct_elide_end(&page->arena, text, room));
			ct_page_newline(page);
			return;
		}
		size_t n = ct_line_break(text, room), shown = n;
		while (shown && text[shown - 1] == ' ')
			shown--;
		ct_page_put(page, style, ct_arena_strndup(&page->arena, text, shown));
		ct_page_newline(page);
		ct_page_pad(page, hang);
		for (text += n; *text == ' '; text++)
			;
		room = page->width - hang;
	}
}

void ct_page_wrap(struct ct_page *page, size_t indent, size_t hang, enum ct_style style, size_t max_lines, const char *text)
{
	if (page->writer) {
		page->writer->text(page, style, text);
		return;
	}
	ct_page_pad(page, indent);
	put_wrapped(page, hang, page->width - indent, style, max_lines, ct_page_flat(page, text));
}

void ct_rows_add(struct ct_page *page, struct ct_rows *rows, const char *label, enum ct_style style, const char *text)
{
	if (!text)
		return;
	rows->row = ct_arena_grow(&page->arena, rows->row, &rows->n, sizeof *rows->row);
	rows->row[rows->n - 1] = (struct ct_row){
		.label = ct_page_flat(page, label), .text = ct_page_flat(page, text), .style = style, .max_lines = CT_ROW_LINES,
	};
}

void ct_rows_addf(struct ct_page *page, struct ct_rows *rows, const char *label, const char *format, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	ct_rows_add(page, rows, label, CT_PLAIN, text);
}

static size_t label_limit(const struct ct_page *page)
{
	size_t third = page->width / 3;
	return third < CT_LABEL_COLUMNS ? CT_LABEL_COLUMNS : third > 24 ? 24 : third;
}

// Columns of the label column: the widest label, but not the ones that get a line of their own.
static size_t label_columns(const struct ct_page *page, const struct ct_rows *rows)
{
	size_t column = CT_LABEL_COLUMNS, limit = label_limit(page);
	for (size_t i = 0; i < rows->n; i++) {
		size_t n = ct_text_columns(rows->row[i].label);
		if (n > column && n <= limit)
			column = n;
	}
	return column;
}

size_t ct_rows_room(const struct ct_page *page, const struct ct_rows *rows)
{
	return page->width - label_columns(page, rows) - 4;
}

void ct_rows_print(struct ct_page *page, const struct ct_rows *rows)
{
	if (page->writer) {
		page->writer->rows(page, rows);
		return;
	}
	size_t column = label_columns(page, rows);
	for (size_t i = 0; i < rows->n; i++) {
		const struct ct_row *r = &rows->row[i];
		const char *label = ct_elide_middle(&page->arena, r->label, page->width - 2);
		size_t n = ct_text_columns(label);
		ct_page_pad(page, 2);
		ct_page_put(page, CT_PLAIN, label);
		if (n > column) {
			ct_page_newline(page);
			ct_page_pad(page, column + 4);
		} else {
			ct_page_pad(page, column + 2 - n);
		}
		put_wrapped(page, column + 4, page->width - column - 4, r->style, r->max_lines, r->text);
	}
}
