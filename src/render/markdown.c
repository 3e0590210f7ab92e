// The report as Markdown, for the summary of a CI job and for an issue: never longer than what GitHub takes in a comment.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/formats.h"
#include "render/launch.h"
#include "render/markdown_text.h"
#include "render/text_priv.h"

enum {
	MAX_BYTES = 60000,        // GitHub: 65,536 characters in a comment; a job's summary takes more
	MAX_ITEM_BYTES = 4000,    // of one fact
	MAX_STACK_BYTES = 20000,  // of one stack
	LAST_WORDS = 600,         // kept free for the end, which is always there
	WIDTH = 110,
};

struct markdown {
	struct ct_str text;
	size_t n_cut;       // parts that did not fit
	const char *heading;  // not written yet: a section may turn out empty
};

static struct markdown *markdown_of(struct ct_page *page)
{
	return page->state;
}

// Appends a part whole or not at all, so that what stands there is well-formed.
static void add_part(struct ct_page *page, const struct ct_str *part)
{
	struct markdown *md = markdown_of(page);
	CT_AUTO(ct_auto_str) struct ct_str heading = CT_STR_INIT;
	if (md->heading) {
		ct_str_add(&heading, "\n### ");
		ct_markdown_add(&heading, md->heading);
		ct_str_add(&heading, "\n\n");
	}
	if (md->text.length + heading.length + part->length + LAST_WORDS > MAX_BYTES) {
		md->n_cut++;
		return;
	}
	md->heading = NULL;
	ct_str_append(&md->text, ct_str_text(&heading), heading.length);
	ct_str_append(&md->text, ct_str_text(part), part->length);
}

static const char *bounded(struct ct_page *page, const char *text)
{
	text = ct_page_flat(page, text);
	if (strlen(text) <= MAX_ITEM_BYTES)
		return text;
	return ct_page_flat(page, ct_arena_printf(&page->arena, "%.*s...", MAX_ITEM_BYTES, text));
}

static void write_heading(struct ct_page *page, const char *text)
{
	markdown_of(page)->heading = bounded(page, text);
}

static void write_text(struct ct_page *page, enum ct_style style, const char *text)
{
	(void)style;
	CT_AUTO(ct_auto_str) struct ct_str part = CT_STR_INIT;
	ct_str_addc(&part, '\n');
	ct_markdown_add(&part, bounded(page, text));
	ct_str_addc(&part, '\n');
	add_part(page, &part);
}

static void write_item(struct ct_page *page, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str part = CT_STR_INIT;
	ct_str_add(&part, "- ");
	ct_markdown_add(&part, bounded(page, text));
	ct_str_addc(&part, '\n');
	add_part(page, &part);
}

// "1 thread" in bold; a number alone would be no list here, as it is inside the emphasis.
static void add_label(struct ct_page *page, struct ct_str *part, const char *label)
{
	label = bounded(page, label);
	bool plain = true;
	for (const char *p = label; *p; p++)
		plain = plain && (strchr(" ,", *p) || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'));
	while (*label == ' ')
		label++;
	if (plain && *label)
		ct_str_addf(part, "**%s**", label);
	else
		ct_markdown_add(part, label);
}

static void write_rows(struct ct_page *page, const struct ct_rows *rows)
{
	for (size_t i = 0; i < rows->n;) {
		CT_AUTO(ct_auto_str) struct ct_str part = CT_STR_INIT;
		ct_str_add(&part, "- ");
		add_label(page, &part, rows->row[i].label);
		ct_str_addc(&part, ' ');
		ct_markdown_add(&part, bounded(page, rows->row[i++].text));
		// A row without a label goes on with the one above.
		for (; i < rows->n && !*rows->row[i].label && part.length < MAX_ITEM_BYTES; i++) {
			ct_str_add(&part, "<br>");
			ct_markdown_add(&part, bounded(page, rows->row[i].text));
		}
		ct_str_addc(&part, '\n');
		add_part(page, &part);
	}
}

// The lines of the text report, which stand in columns, as a block.
static void write_stack(struct ct_page *page, const struct ct_stack_line *line, size_t n)
{
	CT_AUTO(ct_auto_free) char *lines = NULL;
	size_t length = 0;
	FILE *out = n ? open_memstream(&lines, &length) : NULL;
	if (!out)
		return;
	struct ct_page text = {.out = out, .width = WIDTH, .arena = CT_ARENA_INIT, .incident = page->incident, .options = page->options};
	ct_text_lines(&text, line, n);
	ct_arena_done(&text.arena);
	fclose(out);
	if (length > MAX_STACK_BYTES) {
		length = MAX_STACK_BYTES;
		while (length && lines[length - 1] != '\n')
			length--;
		lines[length] = '\0';
		markdown_of(page)->n_cut++;
	}
	CT_AUTO(ct_auto_str) struct ct_str part = CT_STR_INIT;
	ct_markdown_add_block(&part, lines);
	add_part(page, &part);
}

// What stands around the user's line, of that one alone: whoever reads the page of a CI job has the file, and other pages have more.
static void add_excerpt(struct ct_page *page)
{
	const struct ct_launch_place place = ct_launch_place(page);
	const struct ct_excerpt e = place.frame ? ct_excerpt_of(page, place.frame) : (struct ct_excerpt){.n = 0};
	if (!e.n)
		return;
	CT_AUTO(ct_auto_str) struct ct_str lines = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str part = CT_STR_INIT;
	for (size_t i = 0; i < e.n; i++)
		ct_str_addf(&lines, "%c %*" PRIu32 "  %s\n", i == e.failing ? '>' : ' ', (int)e.digits, e.first + (uint32_t)i, e.line[i]);
	if (lines.length > MAX_ITEM_BYTES)
		return;
	write_heading(page, "Source");
	ct_markdown_add(&part, bounded(page, ct_arena_printf(&page->arena, "%s:%" PRIu32, place.path, place.line)));
	ct_str_add(&part, " and the lines around it:\n\n");
	ct_markdown_add_block(&part, ct_str_text(&lines));
	add_part(page, &part);
}

static const struct ct_page_writer writer = {
	.heading = write_heading, .fold = write_heading, .text = write_text, .item = write_item, .rows = write_rows, .stack = write_stack,
};

static void add_title(struct ct_page *page)
{
	const char *name = NULL, *start = ct_text_title_start(page, &name);
	CT_AUTO(ct_auto_str) struct ct_str part = CT_STR_INIT;
	ct_str_add(&part, "## ");
	ct_markdown_add(&part, bounded(page, start));
	if (name) {
		ct_str_addc(&part, ' ');
		ct_markdown_add(&part, bounded(page, name));
	}
	ct_str_add(&part, "\n\n");
	add_part(page, &part);
}

// Written whatever was cut: LAST_WORDS is kept free for it.
static void add_end(struct ct_page *page)
{
	struct markdown *md = markdown_of(page);
	const char *path = page->options->report_path;
	ct_str_addf(&md->text, "\n</details>\n\nSignature `%s`", ct_text_signature(page));
	if (path && strlen(path) < LAST_WORDS / 2) {
		ct_str_add(&md->text, ", report folder ");
		ct_markdown_add(&md->text, ct_page_flat(page, path));
	}
	if (md->n_cut)
		ct_str_addf(&md->text, ". Too long for this page: %zu parts were left out, they are in incident.json", md->n_cut);
	ct_str_add(&md->text, ".\n");
}

static void add_all(struct ct_page *page)
{
	add_title(page);
	ct_text_facts(page);
	ct_text_stacks(page);
	add_excerpt(page);
	ct_text_tensors(page);
	ct_text_cause(page);
	ct_text_checks(page);
	markdown_of(page)->heading = NULL;
	ct_str_add(&markdown_of(page)->text, "\n<details><summary>The fault in detail, the output, the run</summary>\n");
	ct_text_details(page);
	ct_text_later(page);
	ct_text_log(page);
	ct_text_run(page);
	ct_text_notes(page);
	add_end(page);
}

CT_RENDER_FUNCTION(markdown)
{
	struct ct_render_options few = *options;
	few.native = few.all_threads = false;
	struct markdown md = {.text = CT_STR_INIT};
	struct ct_page page = {.out = out, .writer = &writer, .state = &md, .width = WIDTH, .arena = CT_ARENA_INIT, .incident = incident, .options = &few};
	add_all(&page);
	fwrite(ct_str_text(&md.text), 1, md.text.length, out);
	ct_str_done(&md.text);
	ct_arena_done(&page.arena);
	if (fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the report");
	return true;
}
