// The parts of the HTML report. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_HTML_PRIV_H
#define CT_RENDER_HTML_PRIV_H

#include "render/markup.h"
#include "render/page.h"

// What the page's state is while it is HTML.
struct ct_html {
	struct ct_markup m;
	bool in_section, in_folds, in_fold, in_list;
};

extern const char *const ct_html_style[];  // html_style.c: the style sheet in pieces, NULL behind the last

// html.c: up to the end of <head>; <html> stays open.
void ct_html_head(struct ct_markup *m, const char *title);

// html_body.c: sections of the text report as HTML, by ct_page_writer.
extern const struct ct_page_writer ct_html_writer;
void ct_html_section(struct ct_page *page, const char *heading);  // ends the one before; NULL: only that

// html_picture.c: the failing blocks of the grid and the failing threads of a block, drawn. Nothing, when the dimensions are not known.
void ct_html_pictures(struct ct_page *page);

// html_tables.c: the four questions, plain values of Python's frames, the collectors, the environment.
void ct_html_answers(struct ct_page *page);
void ct_html_locals(struct ct_page *page);
void ct_html_collectors(struct ct_page *page);
void ct_html_environment(struct ct_page *page);

#endif
