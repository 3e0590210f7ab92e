// Incident -> text for people and machines. Pure functions: no clock, no environment, no look-ups.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_H
#define CT_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/base.h"
#include "incident/incident.h"

struct ct_render_options {
	bool color;        // ANSI colours
	unsigned width;    // columns; 0: 80
	bool native;       // all native frames, not only the telling ones
	bool all_threads;  // every host thread, not only the launching one
	const char *report_path;  // shown at the end; NULL: not shown
};

struct ct_renderer {
	const char *name;       // "text", "junit"
	const char *extension;  // "txt", "junit.xml"
	bool (*render)(const struct ct_incident *incident, const struct ct_render_options *options, FILE *out, struct ct_error *err);
};

// NULL-name-terminated table, in the order of the help text.
extern const struct ct_renderer ct_renderers[];
const struct ct_renderer *ct_renderer_find(const char *name);  // NULL: no such format

// Renders into memory, appended to ret_text: a format that fails leaves nothing half shown or written.
bool ct_render_to_str(const struct ct_renderer *renderer, const struct ct_incident *incident, const struct ct_render_options *options, struct ct_str *ret_text,
		      struct ct_error *err);

// Parts of the text report, for those who show one at a time. Bits, shown in this order.
enum ct_render_section {
	CT_SECTION_HEADLINE = 1 << 0,
	CT_SECTION_FACTS = 1 << 1,      // assert or exception, failing threads, place
	CT_SECTION_STACKS = 1 << 2,     // of the host
	CT_SECTION_TENSORS = 1 << 3,    // of the Python frames
	CT_SECTION_CAUSE = 1 << 4,      // the likely one, a conclusion
	CT_SECTION_CHECKS = 1 << 5,     // of the call's tensors
	CT_SECTION_DETAILS = 1 << 6,    // the rest of what the GPU told
	CT_SECTION_LATER = 1 << 7,      // later faults and other processes
	CT_SECTION_LOG = 1 << 8,
	CT_SECTION_RUN = 1 << 9,        // command, time, ending, versions
	CT_SECTION_NOTES = 1 << 10,     // what was not established
	CT_SECTION_LAST = 1 << 11,      // report folder, signature
	CT_SECTION_ALL = (1 << 12) - 1,
	CT_SECTION_THREADS = 1 << 12,   // each group of threads with its place; not in the report, whose facts and details have them
};
// The sections that are asked for; one with nothing to say shows nothing.
bool ct_render_sections(const struct ct_incident *incident, const struct ct_render_options *options, unsigned sections, FILE *out, struct ct_error *err);

// The host thread that the report shows first: the launching one, else the one that tells most. The incident's; NULL: there is none.
const struct ct_host_thread *ct_render_main_thread(const struct ct_incident *incident);

// The short name of a kernel as people say it: no return type, parameters, scopes or template arguments. In the arena, or name itself.
const char *ct_render_kernel_word(struct ct_arena *arena, const char *name);

// ---- Many faults on one page ------------------------------------------------------------------------------------

struct ct_listing_row {
	const char *label, *text;
};
struct ct_listing_entry {
	const char *heading;
	const char *mark;  // "new", "known until ..."; NULL: none
	bool is_bad;       // how the mark is coloured
	struct ct_listing_row *rows;
	size_t n_rows;
};
struct ct_listing {
	const char *title, *subtitle;
	const struct ct_listing_entry *entries;
	size_t n_entries;
};
// One HTML file that needs nothing else, well-formed XML too. All texts may be foreign.
bool ct_render_html_listing(const struct ct_listing *listing, FILE *out, struct ct_error *err);

#endif
