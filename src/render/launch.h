// What a CI system is told: the rule, the message, the line of the user's that launched the kernel. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_LAUNCH_H
#define CT_RENDER_LAUNCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/page.h"

// A place in a source file. path is flat and relative to the working directory when it is in it.
struct ct_launch_place {
	const char *path;  // NULL: none is known
	uint32_t line;     // 1 at least
	bool relative;     // to the working directory
	bool is_user;      // a line of the user's; else the assert's, or the device code's
	bool is_launch;    // and it is known that this line launched the kernel
	const struct ct_host_frame *frame;  // of that line of the user's; else NULL
};

// The user's frame nearest to the launch, else the assert, else the device code.
struct ct_launch_place ct_launch_place(struct ct_page *page);
// The same of any file, foreign text; path NULL when it names none ("<stdin>", NULL).
struct ct_launch_place ct_launch_file_place(struct ct_page *page, const char *file, uint32_t line);

// "assert", "lane-illegal-address": the kind of the fault, or the exception when that says more.
const char *ct_launch_rule(const struct ct_incident *incident);
// The headline and the first facts in one line.
const char *ct_launch_message(struct ct_page *page);
// A page for texts that no one lays out.
struct ct_page ct_launch_page(const struct ct_incident *incident, const struct ct_render_options *options);

// Writes and frees the document, a newline behind it; NULL is a failure of its making.
bool ct_launch_write_json(json_t *document, FILE *out, struct ct_error *err);

#endif
