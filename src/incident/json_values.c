// Single JSON values of an untrusted document; see json_values.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "incident/json_values.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add_path(struct ct_str *path, const struct ct_json_at *at)
{
	if (!at->up)
		return;
	add_path(path, at->up);
	if (!at->key)
		ct_str_addf(path, "[%zu]", at->index);
	else
		ct_str_addf(path, "%s%s", path->length ? "." : "", at->key);
}

bool ct_json_fail(const struct ct_json_at *at, struct ct_error *err, enum ct_code code, const char *format, ...)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	add_path(&path, at);
	char what[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(what, sizeof what, format, ap);
	va_end(ap);
	return ct_fail(err, code, "%s%s%s", ct_str_text(&path), path.length ? ": " : "", what);
}

bool ct_json_read_text(const json_t *value, const struct ct_json_at *at, struct ct_arena *arena, const char **ret_text, struct ct_error *err)
{
	if (!json_is_string(value))
		return ct_json_fail(at, err, CT_FORMAT, "not a string");
	size_t length = json_string_length(value);
	if (length > CT_INCIDENT_MAX_TEXT)
		return ct_json_fail(at, err, CT_LIMIT, "%zu bytes of text, at most %d are read", length, CT_INCIDENT_MAX_TEXT);
	*ret_text = ct_arena_clean(arena, json_string_value(value), length);
	return true;
}

static bool read_integer(const json_t *value, const struct ct_json_at *at, int64_t least, int64_t most, int64_t *ret_number, struct ct_error *err)
{
	if (!json_is_integer(value))
		return ct_json_fail(at, err, CT_FORMAT, "not a whole number");
	int64_t number = json_integer_value(value);
	if (number < least || number > most)
		return ct_json_fail(at, err, CT_FORMAT, "%" PRId64 " is not in %" PRId64 "..%" PRId64, number, least, most);
	*ret_number = number;
	return true;
}

static bool read_u32(const json_t *value, const struct ct_json_at *at, uint32_t *ret_number, struct ct_error *err)
{
	int64_t number = 0;
	if (!read_integer(value, at, 0, UINT32_MAX, &number, err))
		return false;
	*ret_number = (uint32_t)number;
	return true;
}

static bool read_hex(const json_t *value, const struct ct_json_at *at, uint64_t *ret_number, struct ct_error *err)
{
	const char *text = json_is_string(value) ? json_string_value(value) : "";
	size_t digits = strlen(text) > 2 ? strlen(text) - 2 : 0;
	if (!ct_starts_with(text, "0x") || digits < 1 || digits > 16 || strspn(text + 2, "0123456789abcdefABCDEF") != digits)
		return ct_json_fail(at, err, CT_FORMAT, "not a hex string");
	*ret_number = strtoull(text + 2, NULL, 16);
	return true;
}

static bool read_dim3(const json_t *value, const struct ct_json_at *at, struct ct_dim3 *ret_dim, struct ct_error *err)
{
	if (!json_is_array(value) || json_array_size(value) != 3)
		return ct_json_fail(at, err, CT_FORMAT, "not [x, y, z]");
	uint32_t *const parts[] = {&ret_dim->x, &ret_dim->y, &ret_dim->z};
	for (size_t i = 0; i < CT_COUNT(parts); i++) {
		struct ct_json_at here = {.up = at, .index = i};
		if (!read_u32(json_array_get(value, i), &here, parts[i], err))
			return false;
	}
	return true;
}

// A word that is not known is refused, not guessed: a new word raises the version.
static bool read_word(const struct ct_words *set, const json_t *value, const struct ct_json_at *at, unsigned *ret_value, struct ct_error *err)
{
	if (!json_is_string(value))
		return ct_json_fail(at, err, CT_FORMAT, "not a string");
	for (size_t i = 0; i < set->n_words; i++)
		if (strcmp(set->words[i], json_string_value(value)) == 0) {
			*ret_value = (unsigned)i;
			return true;
		}
	CT_AUTO(ct_auto_str) struct ct_str words = CT_STR_INIT;
	for (size_t i = 0; i < set->n_words; i++)
		ct_str_addf(&words, "%s%s", i ? ", " : "", set->words[i]);
	return ct_json_fail(at, err, CT_FORMAT, "none of %s", ct_str_text(&words));
}

#define STORE(value) memcpy(row + f->offset, &(value), sizeof(value))

static bool read_number(const struct ct_field *f, const json_t *value, const struct ct_json_at *at, char *row, struct ct_error *err)
{
	if (f->type == CT_FIELD_U32 || f->type == CT_FIELD_CODE) {
		uint32_t number = 0;
		if (!read_u32(value, at, &number, err))
			return false;
		STORE(number);
		return true;
	}
	int64_t least = f->type == CT_FIELD_INT ? INT_MIN : f->type == CT_FIELD_COUNT ? 0 : INT64_MIN;
	int64_t most = f->type == CT_FIELD_INT ? INT_MAX : INT64_MAX, number = 0;
	if (!read_integer(value, at, least, most, &number, err))
		return false;
	if (f->type == CT_FIELD_INT) {
		int small = (int)number;
		STORE(small);
	} else {
		STORE(number);  // as uint64_t: the same bits
	}
	return true;
}

bool ct_json_read_value(const struct ct_field *f, const json_t *value, const struct ct_json_at *at, struct ct_arena *arena, char *row,
			struct ct_error *err)
{
	switch (f->type) {
	case CT_FIELD_TEXT: {
		const char *text = NULL;
		if (!ct_json_read_text(value, at, arena, &text, err))
			return false;
		STORE(text);
		return true;
	}
	case CT_FIELD_BOOL: {
		if (!json_is_boolean(value))
			return ct_json_fail(at, err, CT_FORMAT, "neither true nor false");
		bool flag = json_is_true(value);
		STORE(flag);
		return true;
	}
	case CT_FIELD_REAL: {
		if (!json_is_number(value))
			return ct_json_fail(at, err, CT_FORMAT, "not a number");
		double number = json_number_value(value);
		STORE(number);
		return true;
	}
	case CT_FIELD_HEX: {
		uint64_t number = 0;
		if (!read_hex(value, at, &number, err))
			return false;
		STORE(number);
		return true;
	}
	case CT_FIELD_DIM3: {
		struct ct_dim3 dim = {0, 0, 0};
		if (!read_dim3(value, at, &dim, err))
			return false;
		STORE(dim);
		return true;
	}
	case CT_FIELD_WORD: {
		unsigned word = 0;
		if (!read_word(f->words, value, at, &word, err))
			return false;
		STORE(word);
		return true;
	}
	default:
		return read_number(f, value, at, row, err);
	}
}
