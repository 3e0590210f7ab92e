// The report in further formats; see report.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <string.h>

#include "render/render.h"
#include "report/report.h"

enum { WIDTH = 100 };

// The next name of the list, copied; NULL at its end. Empty ones are passed over.
static const char *next_name(struct ct_arena *arena, const char **list)
{
	*list += strspn(*list, ", ");
	size_t n = strcspn(*list, ", ");
	const char *name = n ? ct_arena_strndup(arena, *list, n) : NULL;
	*list += n;
	return name;
}

bool ct_report_check_formats(const char *formats, struct ct_error *err)
{
	struct ct_arena arena = CT_ARENA_INIT;
	bool ok = true;
	for (const char *name; ok && (name = next_name(&arena, &formats));) {
		if (ct_renderer_find(name))
			continue;
		CT_AUTO(ct_auto_str) struct ct_str known = CT_STR_INIT;
		for (const struct ct_renderer *r = ct_renderers; r->name; r++)
			ct_str_addf(&known, " %s", r->name);
		ok = ct_fail(err, CT_USAGE, "'%s' is none of:%s", name, ct_str_text(&known));
	}
	ct_arena_done(&arena);
	return ok;
}

static bool write_one(int dir_fd, const struct ct_incident *incident, const char *path, const struct ct_renderer *renderer, struct ct_error *err)
{
	const struct ct_render_options options = {.width = WIDTH, .report_path = path};
	CT_AUTO(ct_auto_str) struct ct_str name = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str bytes = CT_STR_INIT;
	ct_str_addf(&name, "report.%s", renderer->extension);
	return (ct_render_to_str(renderer, incident, &options, &bytes, err) &&
		ct_write_file_at(dir_fd, ct_str_text(&name), ct_str_text(&bytes), bytes.length, err)) ||
	       ct_fail_in(err, "%s/%s", path, ct_str_text(&name));
}

bool ct_report_write_also(const struct ct_incident *incident, const char *path, const char *formats, struct ct_error *err)
{
	if (!ct_report_check_formats(formats, err))
		return false;
	CT_AUTO(ct_auto_close) int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return ct_fail_errno(err, "report folder %s", path);
	struct ct_arena arena = CT_ARENA_INIT;
	bool ok = true;
	for (const char *name; (name = next_name(&arena, &formats));)
		ok = write_one(dir_fd, incident, path, ct_renderer_find(name), ok ? err : NULL) && ok;
	ct_arena_done(&arena);
	return ok;
}
