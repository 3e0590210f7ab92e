// GitLab code quality: an array of one issue (docs.gitlab.com, "Code quality report format").
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/formats.h"
#include "render/launch.h"
#include "render/text_priv.h"

CT_RENDER_FUNCTION(gitlab)
{
	struct ct_page page = ct_launch_page(incident, options);
	struct ct_launch_place place = ct_launch_place(&page);
	// The format demands a path: what was run, when no source is known.
	const char *program = incident->n_command ? incident->command[0] : incident->process.executable;
	if (!place.path)
		place = ct_launch_file_place(&page, program, 1);
	json_t *document = json_pack("[{s:s, s:s, s:s, s:s, s:{s:s, s:{s:I}}}]", "description", ct_launch_message(&page), "check_name", ct_launch_rule(incident),
				     "fingerprint", ct_text_signature(&page), "severity", "blocker", "location", "path", place.path ? place.path : "unknown", "lines", "begin",
				     (json_int_t)place.line);
	bool ok = ct_launch_write_json(document, out, err);
	ct_arena_done(&page.arena);
	return ok;
}
