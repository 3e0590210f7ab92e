// GitHub Actions is told by itself: an annotation at the line that launched the kernel, the report in the summary of the job.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>

#include "engine/engine_priv.h"
#include "render/render.h"

static bool append(const char *path, const struct ct_str *text, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return ct_fail_errno(err, "%s", path);
	return ct_write_all(fd, ct_str_text(text), text->length, err) || ct_fail_in(err, "%s", path);
}

// The runner takes workflow commands from either stream of a step; the command's own output stays as it is on stdout.
static bool annotate(const struct ct_run *run, const struct ct_render_options *options, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	return ct_render_to_str(ct_renderer_find("github"), run->incident, options, &text, err) &&
	       ct_write_all(STDERR_FILENO, ct_str_text(&text), text.length, err);
}

static bool summarize(const struct ct_run *run, const struct ct_render_options *options, const char *path, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	// What stands in the file already may end without an empty line.
	ct_str_addc(&text, '\n');
	return ct_render_to_str(ct_renderer_find("markdown"), run->incident, options, &text, err) && append(path, &text, err);
}

void ct_run_tell_ci(const struct ct_run *run, const char *report_path)
{
	const char *actions = getenv("GITHUB_ACTIONS"), *summary = getenv("GITHUB_STEP_SUMMARY");
	const struct ct_render_options options = {.report_path = report_path};
	struct ct_error err = CT_ERROR_INIT;
	if (!actions || !*actions)
		return;
	if (!annotate(run, &options, &err))
		dprintf(STDERR_FILENO, "cudatrap: no annotation was written: %s\n", err.text);
	if (summary && *summary && !summarize(run, &options, summary, &err))
		dprintf(STDERR_FILENO, "cudatrap: the summary of the job was not written: %s\n", err.text);
}
