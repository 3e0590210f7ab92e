// tests/data/assert-lines/cases.jsonl, a row at a time.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_ASSERTCASES_H
#define CT_ASSERTCASES_H

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "incident/incident.h"
#include "unit.h"

struct assertcase {
	const char *id, *text, *file_suffix, *function, *expression;
	size_t length;
	bool wanted;
	uint32_t line;
	struct ct_gridpos at;
};

static inline struct ct_dim3 read_triple(const json_t *array)
{
	return (struct ct_dim3){
		(uint32_t)json_integer_value(json_array_get(array, 0)),
		(uint32_t)json_integer_value(json_array_get(array, 1)),
		(uint32_t)json_integer_value(json_array_get(array, 2)),
	};
}

// Calls check for every case; returns their number.
static inline size_t each_assertcase(void (*check)(const struct assertcase *c))
{
	CT_AUTO(ct_auto_str) struct ct_str all = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FATAL(ct_read_file(CT_TEST_DATA "/assert-lines/cases.jsonl", 1 << 20, &all, &err));
	size_t n = 0;
	for (char *line = all.data, *end; *line; line = end + 1, n++) {
		end = strchr(line, '\n');
		CU_ASSERT_PTR_NOT_NULL_FATAL(end);
		json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(row);
		const json_t *want = json_object_get(row, "want");
		struct assertcase c = {
			.id = json_string_value(json_object_get(row, "id")),
			.text = json_string_value(json_object_get(row, "text")),
			.length = json_string_length(json_object_get(row, "text")),
			.wanted = json_is_object(want),
			.file_suffix = json_string_value(json_object_get(want, "file_suffix")),
			.function = json_string_value(json_object_get(want, "func")),
			.expression = json_string_value(json_object_get(want, "expr")),
			.line = (uint32_t)json_integer_value(json_object_get(want, "line")),
			.at = {.block = read_triple(json_object_get(want, "block")), .thread = read_triple(json_object_get(want, "thread"))},
		};
		unsigned before = CU_get_number_of_failures();
		check(&c);
		if (CU_get_number_of_failures() != before)
			printf("# in case %s\n", c.id);
		json_decref(row);
	}
	return n;
}

static inline bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline bool same_dim(struct ct_dim3 a, struct ct_dim3 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

static inline bool same_place(struct ct_gridpos a, struct ct_gridpos b)
{
	return same_dim(a.block, b.block) && same_dim(a.thread, b.thread);
}

// A small generator of our own: the same numbers everywhere.
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

#endif
