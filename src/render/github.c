// Annotations of GitHub Actions: ::error file=...,line=...,title=...::message, which the runner takes from the output of a step.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "render/formats.h"
#include "render/launch.h"
#include "render/text_priv.h"

// The escapes of workflow commands (actions/toolkit, packages/core/src/command.ts): % and line ends anywhere, : and , in properties.
static void put_escaped(FILE *out, const char *text, bool property)
{
	for (; *text; text++) {
		if (*text == '%' || *text == '\r' || *text == '\n' || (property && (*text == ':' || *text == ',')))
			fprintf(out, "%%%02X", (unsigned char)*text);
		else
			putc(*text, out);
	}
}

CT_RENDER_FUNCTION(github)
{
	// The runner cuts longer ones.
	enum { MESSAGE_COLUMNS = 1000 };
	struct ct_page page = ct_launch_page(incident, options);
	struct ct_launch_place place = ct_launch_place(&page);
	const char *message = ct_launch_message(&page);
	if (options->report_path)
		message = ct_arena_printf(&page.arena, "%s; report: %s", ct_elide_end(&page.arena, message, MESSAGE_COLUMNS), ct_page_flat(&page, options->report_path));
	fputs("::error ", out);
	if (place.path) {
		fputs("file=", out);
		put_escaped(out, place.path, true);
		fprintf(out, ",line=%" PRIu32 ",", place.line);
	}
	fputs("title=", out);
	put_escaped(out, ct_text_title(&page), true);
	fputs("::", out);
	put_escaped(out, ct_arena_printf(&page.arena, "%s (signature %s)", ct_elide_end(&page.arena, message, 2 * MESSAGE_COLUMNS), ct_text_signature(&page)), false);
	putc('\n', out);
	ct_arena_done(&page.arena);
	if (fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the report");
	return true;
}
