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

// The short name of a kernel as people say it: no return type, parameters, scopes or template arguments. In the arena, or name itself.
const char *ct_render_kernel_word(struct ct_arena *arena, const char *name);

#endif
