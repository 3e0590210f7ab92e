// What the files of report/ share.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_REPORT_PRIV_H
#define CT_REPORT_PRIV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "incident/incident.h"

enum {
	CT_ID_LENGTH = 100,      // of a folder name, its "-2" included
	CT_ID_SUFFIX_LENGTH = 5  // "-9999"
};

bool ct_report_is_safe(char c);  // in a folder name
// A folder name that ct_report_id() could have made: it may come from a file.
bool ct_report_id_is_safe(const char *id);
// Appends at most `most` characters of text that are safe in a file name; any run of others becomes one '_'.
void ct_report_add_safe(struct ct_str *s, const char *text, size_t most);

// A text as one clean line of bounded length, in the arena; NULL stays NULL.
const char *ct_report_line(struct ct_arena *arena, const char *text);

// The JSON of summaries and markers: flat objects. A key, and where in the struct its text is; the table ends with a NULL key.
struct ct_report_text {
	const char *key;
	size_t offset;
};
bool ct_report_put_texts(json_t *object, const struct ct_report_text *texts, const void *row);
bool ct_report_put_rank(json_t *object, const struct ct_rank *rank);  // but for its texts
// The object, to be released by the caller; NULL when it is not one of version 1. what: "summary".
json_t *ct_report_parse(const char *text, size_t length, const char *what, struct ct_error *err);
void ct_report_get_texts(const json_t *root, const struct ct_report_text *texts, struct ct_arena *arena, void *row);
void ct_report_get_rank(const json_t *root, struct ct_rank *rank);
int64_t ct_report_get_number(const json_t *root, const char *key);

#endif
