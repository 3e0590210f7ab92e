// One JSON value -> one member, with the path of the value in every complaint. For json_read.c.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_JSON_VALUES_H
#define CT_JSON_VALUES_H

#include <jansson.h>

#include "incident/incident_priv.h"

// Where a value stands: a key of, or a row in, what is at up. The whole document has no up.
struct ct_json_at {
	const struct ct_json_at *up;
	const char *key;  // NULL: index counts
	size_t index;
};

// "gpu.groups[2].pc: not a hex string"; false.
bool ct_json_fail(const struct ct_json_at *at, struct ct_error *err, enum ct_code code, const char *format, ...) __attribute__((format(printf, 4, 5)));

// Stores the value of a text, number or other single member into the struct at row; texts are copied, cleaned, into the arena.
// Not for CT_FIELD_TEXTS, _I64S, _OBJECT and _ROWS.
bool ct_json_read_value(const struct ct_field *field, const json_t *value, const struct ct_json_at *at, struct ct_arena *arena, char *row,
			struct ct_error *err);

// A JSON string as clean text in the arena.
bool ct_json_read_text(const json_t *value, const struct ct_json_at *at, struct ct_arena *arena, const char **ret_text, struct ct_error *err);

#endif
