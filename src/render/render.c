// The table of formats.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/render.h"

#include <string.h>

#include "render/formats.h"

const struct ct_renderer ct_renderers[] = {
	{.name = "text", .extension = "txt", .render = ct_render_text},
	{.name = "json", .extension = "json", .render = ct_render_json},
	{.name = "html", .extension = "html", .render = ct_render_html},
	{.name = "markdown", .extension = "md", .render = ct_render_markdown},
	{.name = "junit", .extension = "junit.xml", .render = ct_render_junit},
	{.name = "sarif", .extension = "sarif", .render = ct_render_sarif},
	{.name = "gitlab", .extension = "gitlab.json", .render = ct_render_gitlab},
	{.name = "github", .extension = "github.txt", .render = ct_render_github},
	{.name = NULL, .extension = NULL, .render = NULL},
};

const struct ct_renderer *ct_renderer_find(const char *name)
{
	for (const struct ct_renderer *r = ct_renderers; name && r->name; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

bool ct_render_to_str(const struct ct_renderer *renderer, const struct ct_incident *incident, const struct ct_render_options *options, struct ct_str *ret_text,
		      struct ct_error *err)
{
	CT_AUTO(ct_auto_free) char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);
	if (!out)
		return ct_fail_errno(err, "rendering %s", renderer->name);
	bool ok = renderer->render(incident, options, out, err);
	if (fclose(out) != 0 && ok)
		ok = ct_fail_errno(err, "rendering %s", renderer->name);
	if (ok)
		ct_str_append(ret_text, bytes, length);
	return ok;
}
