// The text report: what happened first, then where it was launched, then the rest. Facts only; nothing is guessed here.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "render/formats.h"
#include "render/text_priv.h"

enum { DEFAULT_WIDTH = 80 };

// In the order of the page.
static const struct {
	enum ct_render_section bit;
	void (*print)(struct ct_page *page);
} sections_of_page[] = {
	{CT_SECTION_HEADLINE, ct_text_headline},
	{CT_SECTION_FACTS, ct_text_facts},
	{CT_SECTION_STACKS, ct_text_stacks},
	{CT_SECTION_TENSORS, ct_text_tensors},
	{CT_SECTION_CAUSE, ct_text_cause},
	{CT_SECTION_CHECKS, ct_text_checks},
	{CT_SECTION_DETAILS, ct_text_details},
	{CT_SECTION_LATER, ct_text_later},
	{CT_SECTION_LOG, ct_text_log},
	{CT_SECTION_RUN, ct_text_run},
	{CT_SECTION_NOTES, ct_text_notes},
	{CT_SECTION_LAST, ct_text_last},
	{CT_SECTION_THREADS, ct_text_all_groups},
};

bool ct_render_sections(const struct ct_incident *incident, const struct ct_render_options *options, unsigned sections, FILE *out, struct ct_error *err)
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
	for (size_t i = 0; i < CT_COUNT(sections_of_page); i++)
		if (sections & sections_of_page[i].bit)
			sections_of_page[i].print(&page);
	ct_arena_done(&page.arena);
	if (fflush(out) != 0 || ferror(out))
		return ct_fail_errno(err, "writing the report");
	return true;
}

bool ct_render_text(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err)
{
	return ct_render_sections(incident, options, CT_SECTION_ALL, out, err);
}
