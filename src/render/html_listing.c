// Many faults on one page, in the dress of the report; see render.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "render/html_priv.h"

// Foreign texts in one line; what is no text becomes visible where it is cleaned.
static const char *flat(struct ct_arena *arena, const char *text)
{
	return ct_arena_line(arena, text, strlen(text));
}

static void write_entry(struct ct_markup *m, struct ct_arena *arena, const struct ct_listing_entry *e)
{
	ct_markup_open(m, "section");
	ct_markup_open(m, "h2");
	ct_markup_text(m, flat(arena, e->heading));
	ct_markup_close(m);
	if (e->mark)
		ct_markup_element(m, "p", e->is_bad ? "bad" : "good", flat(arena, e->mark));
	ct_markup_element(m, "table", "rows", NULL);
	ct_markup_open(m, "tbody");
	for (size_t i = 0; i < e->n_rows; i++) {
		ct_markup_open(m, "tr");
		ct_markup_open(m, "th");
		ct_markup_attr(m, "scope", "row");
		ct_markup_text(m, flat(arena, e->rows[i].label));
		ct_markup_close(m);
		ct_markup_element(m, "td", NULL, flat(arena, e->rows[i].text));
		ct_markup_close(m);
	}
	ct_markup_close(m);
	ct_markup_close(m);
	ct_markup_close(m);
	ct_markup_raw(m, "\n");
}

bool ct_render_html_listing(const struct ct_listing *listing, FILE *out, struct ct_error *err)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_markup m = {.out = out};
	ct_html_head(&m, ct_arena_printf(&arena, "%s - cudatrap", flat(&arena, listing->title)));
	ct_markup_open(&m, "body");
	ct_markup_open(&m, "header");
	ct_markup_element(&m, "p", "brand", "cudatrap: GPU faults");
	ct_markup_element(&m, "h1", NULL, flat(&arena, listing->title));
	ct_markup_element(&m, "p", "where", NULL);
	ct_markup_element(&m, "span", NULL, flat(&arena, listing->subtitle));
	ct_markup_close(&m);
	ct_markup_close(&m);
	ct_markup_raw(&m, "\n");
	ct_markup_open(&m, "main");
	for (size_t i = 0; i < listing->n_entries; i++)
		write_entry(&m, &arena, &listing->entries[i]);
	ct_markup_close(&m);
	ct_markup_element(&m, "footer", NULL, NULL);
	ct_markup_element(&m, "p", NULL, "Written by cudatrap " CT_VERSION ".");
	ct_markup_close(&m);
	ct_markup_close(&m);
	ct_markup_close(&m);
	ct_markup_raw(&m, "\n");
	return (fflush(out) == 0 && !ferror(out)) || ct_fail_errno(err, "writing the page");
}
