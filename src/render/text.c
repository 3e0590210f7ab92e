// The text report: what happened first, then where it was launched, then the rest. Facts only; nothing is guessed here.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/formats.h"
#include "render/text_priv.h"

enum { DEFAULT_WIDTH = 80 };

bool ct_render_text(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err)
{
	size_t width = options->width ? options->width : DEFAULT_WIDTH;
	struct ct_page page = {
		.out = out,
		.width = width < CT_MIN_WIDTH ? CT_MIN_WIDTH : width,
		.color = options->color,
		.arena = CT_ARENA_INIT,
		.incident = incident,
		.options = options,
	};
	ct_text_headline(&page);
	ct_text_facts(&page);
	ct_text_stacks(&page);
	ct_text_tensors(&page);
	ct_text_cause(&page);
	ct_text_checks(&page);
	ct_text_details(&page);
	ct_text_later(&page);
	ct_text_log(&page);
	ct_text_run(&page);
	ct_text_notes(&page);
	ct_text_last(&page);
	ct_arena_done(&page.arena);
	if (fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the report");
	return true;
}
