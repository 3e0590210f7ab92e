// The facts that CI systems have places for; see launch.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/launch.h"

#include <string.h>

#include "render/text_priv.h"

enum { MESSAGE_FACTS = 3, TITLE_COLUMNS = 120 };

static const char *cwd_of(const struct ct_incident *in)
{
	return in->process.cwd ? in->process.cwd : in->cwd;
}

struct ct_launch_place ct_launch_file_place(struct ct_page *page, const char *file, uint32_t line)
{
	struct ct_launch_place p = {.path = NULL, .line = line ? line : 1};
	// "<stdin>" and "<frozen runpy>" are no files.
	if (!file || !*file || *file == '<')
		return p;
	const char *cwd = cwd_of(page->incident);
	size_t n = cwd ? strlen(cwd) : 0;
	p.path = ct_page_flat(page, file);
	p.relative = *file != '/';
	if (n > 1 && ct_starts_with(file, cwd) && file[n] == '/' && file[n + 1]) {
		p.path = ct_page_flat(page, file + n + 1);
		p.relative = true;
	}
	// A relative path that began with a slash would be a host, as a URI.
	while (p.relative && (ct_starts_with(p.path, "./") || *p.path == '/'))
		p.path += *p.path == '/' ? 1 : 2;
	if (!*p.path)
		p.path = NULL;
	return p;
}

static bool find_user(struct ct_page *page, const struct ct_host_frame *frames, size_t n, struct ct_launch_place *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (ct_frame_class_of(&frames[i]) != CT_FRAME_USER || !frames[i].line || ct_text_is_stub(page->incident, &frames[i]))
			continue;
		*ret = ct_launch_file_place(page, frames[i].file, frames[i].line);
		ret->is_user = ret->path != NULL;
		ret->frame = ret->path ? &frames[i] : NULL;
		if (ret->path)
			return true;
	}
	return false;
}

struct ct_launch_place ct_launch_place(struct ct_page *page)
{
	const struct ct_incident *in = page->incident;
	const struct ct_host_thread *t = ct_render_main_thread(in);
	struct ct_launch_place p = {.path = NULL, .line = 1};
	const struct ct_launch *recorded = ct_text_recorded(in);
	if (recorded && (find_user(page, recorded->python, recorded->n_python, &p) || find_user(page, recorded->origin_python, recorded->n_origin_python, &p))) {
		p.is_launch = true;
		return p;
	}
	if (t && (find_user(page, t->frames, t->n_frames, &p) || find_user(page, t->python, t->n_python, &p))) {
		p.is_launch = ct_text_is_launch(page, t);
		return p;
	}
	if (in->assertion.present)
		p = ct_launch_file_place(page, in->assertion.file, in->assertion.line);
	for (size_t i = 0; !p.path && in->gpu.n_groups && i < in->gpu.groups[0].n_frames; i++)
		p = ct_launch_file_place(page, in->gpu.groups[0].frames[i].file, in->gpu.groups[0].frames[i].line);
	return p;
}

const char *ct_launch_rule(const struct ct_incident *in)
{
	const struct ct_group *g = in->gpu.n_groups ? &in->gpu.groups[0] : NULL;
	const char *exception = in->kind == CT_FAULT_EXCEPTION && g && g->has_exception ? ct_exception_word(g->exception) : NULL;
	return exception ? exception : ct_fault_kind_word(in->kind);
}

// The spaces of columns mean nothing in a line.
static void add_words(struct ct_str *s, const char *text)
{
	for (; *text; text++)
		if (*text != ' ' || text[1] != ' ')
			ct_str_addc(s, *text);
}

const char *ct_launch_message(struct ct_page *page)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	struct ct_rows rows = ct_text_fact_rows(page);
	ct_str_add(&s, ct_text_title(page));
	for (size_t i = 0; i < rows.n && i < MESSAGE_FACTS; i++) {
		const struct ct_row *r = &rows.row[i];
		ct_str_add(&s, i == 0 ? ": " : *r->label ? "; " : ", ");
		add_words(&s, r->label);
		ct_str_add(&s, *r->label ? " " : "");
		add_words(&s, r->text);
	}
	return ct_arena_strndup(&page->arena, ct_str_text(&s), s.length);
}

struct ct_page ct_launch_page(const struct ct_incident *incident, const struct ct_render_options *options)
{
	return (struct ct_page){.width = TITLE_COLUMNS, .arena = CT_ARENA_INIT, .incident = incident, .options = options};
}

bool ct_launch_write_json(json_t *document, FILE *out, struct ct_error *err)
{
	if (!document)
		return ct_fail(err, CT_LIMIT, "the report could not be made: a text in it is no UTF-8, or memory is out");
	int failed = json_dumpf(document, out, JSON_INDENT(1));
	json_decref(document);
	fputc('\n', out);
	if (failed || fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the report");
	return true;
}
