// The HTML report: one file that needs nothing else, not even a script. It is well-formed XML too.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/formats.h"
#include "render/html_priv.h"
#include "render/text_priv.h"

enum { HTML_WIDTH = 120 };  // columns that a name may take in a line of its own

void ct_html_head(struct ct_markup *m, const char *title)
{
	ct_markup_raw(m, "<!DOCTYPE html>\n");
	ct_markup_open(m, "html");
	ct_markup_attr(m, "lang", "en");
	ct_markup_open(m, "head");
	// Nothing is loaded from anywhere, whatever the texts contain.
	ct_markup_raw(m, "<meta charset=\"utf-8\"/>"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>"
			 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"
			 "<meta name=\"color-scheme\" content=\"light dark\"/>"
			 "<meta name=\"robots\" content=\"noindex\"/>\n");
	ct_markup_element(m, "title", NULL, title);
	ct_markup_open(m, "style");
	for (const char *const *piece = ct_html_style; *piece; piece++)
		ct_markup_raw(m, *piece);
	ct_markup_close(m);
	ct_markup_close(m);
	ct_markup_raw(m, "\n");
}

// GPU, host and time in one line under the headline.
static void write_where(struct ct_page *page, struct ct_markup *m)
{
	const struct ct_incident *in = page->incident;
	const char *device = ct_text_device(page);
	char when[32];
	ct_markup_element(m, "p", "where", NULL);
	if (device)
		ct_markup_element(m, "span", NULL, device);
	if (in->host)
		ct_markup_element(m, "span", NULL, ct_arena_printf(&page->arena, "on %s", ct_page_flat(page, in->host)));
	if (in->time_us > 0) {
		ct_format_time(in->time_us, when, sizeof when);
		ct_markup_element(m, "time", NULL, when);
	}
	ct_markup_element(m, "span", NULL, ct_arena_printf(&page->arena, "signature %s", ct_text_signature(page)));
	ct_markup_close(m);
}

static void write_header(struct ct_page *page)
{
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	const char *command = ct_page_flat(page, ct_text_words(page, page->incident->command, page->incident->n_command));
	ct_markup_open(m, "header");
	ct_markup_element(m, "p", "brand", "cudatrap: a GPU fault");
	const char *name = NULL, *start = ct_text_title_start(page, &name);
	ct_markup_open(m, "h1");
	ct_markup_text(m, start);
	if (name) {
		ct_markup_text(m, " ");
		ct_markup_element(m, "code", NULL, name);
	}
	ct_markup_close(m);
	write_where(page, m);
	if (command) {
		ct_markup_element(m, "p", "command", NULL);
		ct_markup_element(m, "code", NULL, command);
		ct_markup_close(m);
	}
	ct_markup_close(m);
	ct_markup_raw(m, "\n");
}

static void write_footer(struct ct_page *page)
{
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	const struct ct_incident *in = page->incident;
	ct_markup_open(m, "footer");
	ct_markup_element(m, "p", NULL, ct_arena_printf(&page->arena, "Written by %s.", in->tool_version ? ct_page_flat(page, in->tool_version) : "cudatrap"));
	if (in->id)
		ct_markup_element(m, "p", NULL, ct_arena_printf(&page->arena, "Incident %s", ct_page_flat(page, in->id)));
	if (page->options->report_path)
		ct_markup_element(m, "p", NULL, ct_arena_printf(&page->arena, "Report folder: %s", ct_page_flat(page, page->options->report_path)));
	ct_markup_close(m);
}

static void write_main(struct ct_page *page)
{
	struct ct_markup *m = &((struct ct_html *)page->state)->m;
	ct_markup_open(m, "main");
	ct_html_answers(page);
	ct_html_section(page, "What happened");
	ct_markup_element(m, "div", "facts", NULL);
	ct_text_facts(page);
	ct_html_pictures(page);
	ct_markup_close(m);
	ct_text_stacks(page);
	ct_text_tensors(page);
	ct_html_locals(page);
	ct_text_cause(page);
	ct_text_checks(page);
	ct_text_details(page);
	ct_text_later(page);
	ct_text_log(page);
	ct_text_run(page);
	ct_text_notes(page);
	ct_html_collectors(page);
	ct_html_environment(page);
	ct_html_section(page, NULL);
	ct_markup_close(m);
	ct_markup_raw(m, "\n");
}

bool ct_render_html(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err)
{
	struct ct_render_options all = *options;
	all.all_threads = true;
	struct ct_html html = {.m = {.out = out}};
	struct ct_page page = {
		.out = out, .writer = &ct_html_writer, .state = &html, .width = HTML_WIDTH, .arena = CT_ARENA_INIT, .incident = incident, .options = &all,
	};
	ct_html_head(&html.m, ct_arena_printf(&page.arena, "%s - cudatrap", ct_text_title(&page)));
	ct_markup_open(&html.m, "body");
	write_header(&page);
	write_main(&page);
	write_footer(&page);
	ct_markup_close(&html.m);
	ct_markup_close(&html.m);
	ct_markup_raw(&html.m, "\n");
	ct_arena_done(&page.arena);
	if (fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the report");
	return true;
}
