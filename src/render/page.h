// Laying out text in a given width: rows of label and text, lists, lines. Private to render/.
// Everything shown passes ct_page_flat(): one field is one line of harmless text, whatever it holds.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_PAGE_H
#define CT_RENDER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/base.h"
#include "render/render.h"

enum ct_style { CT_PLAIN, CT_BOLD, CT_RED, CT_DIM };

struct ct_page;
struct ct_rows;
struct ct_stack_line;

// How a page of another kind than lines of text shows what the sections say. Texts come whole: not wrapped, not yet flat.
struct ct_page_writer {
	void (*heading)(struct ct_page *page, const char *text);
	void (*fold)(struct ct_page *page, const char *text);  // a heading whose section need not be seen at once
	void (*text)(struct ct_page *page, enum ct_style style, const char *text);
	void (*item)(struct ct_page *page, const char *text);
	void (*rows)(struct ct_page *page, const struct ct_rows *rows);
	void (*stack)(struct ct_page *page, const struct ct_stack_line *line, size_t n);
};

struct ct_page {
	FILE *out;
	const struct ct_page_writer *writer;  // NULL: lines of text
	void *state;                          // the writer's
	size_t width;  // columns, CT_MIN_WIDTH at least
	bool color;
	struct ct_arena arena;  // the texts made for this page
	const struct ct_incident *incident;
	const struct ct_render_options *options;
	bool began;        // something stands on the page
	bool said_native;  // the hint how to see the native frames was given
};

// Narrower than this nothing is readable; a smaller width is raised to it.
enum { CT_MIN_WIDTH = 40 };

// A field as one line: newlines become `\n`, tabs a space, spaces at the end go, what a terminal acts on U+FFFD; cut at 16 KiB.
// NULL stays NULL.
const char *ct_page_flat(struct ct_page *page, const char *text);

// Texts that fit in a number of columns. Both return text itself when it fits already.
const char *ct_elide_end(struct ct_arena *arena, const char *text, size_t columns);     // "the first words ..."
const char *ct_elide_middle(struct ct_arena *arena, const char *text, size_t columns);  // "the fir...end"
// The end of a path, cut at a separator: ".../nn/functional.py:3504".
const char *ct_elide_path(struct ct_arena *arena, const char *path, size_t columns);
// How many bytes of text make one line of at most columns: broken after a space, else after `::`, `,`, `/`, `<`,
// else anywhere between two characters. At least one character.
size_t ct_line_break(const char *text, size_t columns);

// An empty line, but not at the top of the page, and a heading in column 0.
void ct_page_heading(struct ct_page *page, const char *text);
void ct_page_fold(struct ct_page *page, const char *text);
// One line, elided at the end.
void ct_page_line(struct ct_page *page, size_t indent, enum ct_style style, const char *text);
// A text over several lines; the ones after the first are indented by hang; at most max_lines (0: no limit), the last ending in "...".
void ct_page_wrap(struct ct_page *page, size_t indent, size_t hang, enum ct_style style, size_t max_lines, const char *text);
// One of a list, at most max_lines lines.
void ct_page_item(struct ct_page *page, size_t max_lines, const char *text);
// A text that must stay whole, for copying: never cut or wrapped.
void ct_page_whole(struct ct_page *page, size_t indent, const char *text);

// Pieces of a line: for those who lay out on their own. ct_page_put() writes text as it is, flat already.
void ct_page_put(struct ct_page *page, enum ct_style style, const char *text);
void ct_page_pad(struct ct_page *page, size_t columns);
void ct_page_newline(struct ct_page *page);

// Rows of label and text that stand in two columns; texts are wrapped within theirs.
struct ct_row {
	const char *label, *text;
	enum ct_style style;  // of the text
	size_t max_lines;
};

struct ct_rows {
	struct ct_row *row;
	size_t n;
};

enum { CT_LABEL_COLUMNS = 12, CT_ROW_LINES = 6, CT_NAME_LINES = 40 };

// text is copied flat; NULL adds nothing. label "" continues the row above. At most CT_ROW_LINES lines, unless max_lines is changed.
void ct_rows_add(struct ct_page *page, struct ct_rows *rows, const char *label, enum ct_style style, const char *text);
void ct_rows_addf(struct ct_page *page, struct ct_rows *rows, const char *label, const char *format, ...) __attribute__((format(printf, 4, 5)));
// Columns that a text has beside the labels added so far.
size_t ct_rows_room(const struct ct_page *page, const struct ct_rows *rows);
void ct_rows_print(struct ct_page *page, const struct ct_rows *rows);

#endif
