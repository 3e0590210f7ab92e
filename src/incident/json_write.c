// Incident -> JSON, by the tables of fields.c.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "incident/incident_priv.h"

static json_t *object_of(const struct ct_table *table, const char *row);

// jansson refuses invalid UTF-8. Texts of an incident are clean; one that is not must not cost the report.
static json_t *text_of(const char *text)
{
	json_t *value = json_string(text);
	if (value)
		return value;
	CT_AUTO(ct_auto_str) struct ct_str clean = CT_STR_INIT;
	ct_str_append_clean(&clean, text, strlen(text));
	return json_string(ct_str_text(&clean));
}

static json_t *hex_of(uint64_t number)
{
	char text[24];
	snprintf(text, sizeof text, "0x%" PRIx64, number);
	return json_string(text);
}

static json_t *texts_of(const char *const *texts, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(array, text_of(texts[i] ? texts[i] : "")) != 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *rows_of(const struct ct_table *table, const char *rows, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(array, object_of(table, rows + i * table->row_bytes)) != 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *numbers_of(const int64_t *numbers, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(array, json_integer(numbers[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

// A member of the struct at row; the tables know its type.
#define MEMBER(type, name) type name; memcpy(&name, row + f->offset, sizeof name)

static json_t *number_of(const struct ct_field *f, const char *row)
{
	if (f->type == CT_FIELD_U32 || f->type == CT_FIELD_CODE) {
		MEMBER(uint32_t, number);
		return json_integer(number);
	}
	if (f->type == CT_FIELD_INT) {
		MEMBER(int, number);
		return json_integer(number);
	}
	if (f->type == CT_FIELD_COUNT) {
		MEMBER(uint64_t, number);
		return json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number);
	}
	MEMBER(int64_t, number);
	return json_integer(number);
}

static json_t *word_of(const struct ct_field *f, const char *row)
{
	MEMBER(unsigned, value);
	return value < f->words->n_words ? json_string(f->words->words[value]) : NULL;
}

static json_t *dim3_of(const struct ct_field *f, const char *row)
{
	MEMBER(struct ct_dim3, p);
	return json_pack("[I, I, I]", (json_int_t)p.x, (json_int_t)p.y, (json_int_t)p.z);
}

static json_t *array_of(const struct ct_field *f, const char *row)
{
	size_t count;
	memcpy(&count, row + f->count, sizeof count);
	if (f->type == CT_FIELD_TEXTS) {
		MEMBER(const char *const *, texts);
		return texts_of(texts, count);
	}
	if (f->type == CT_FIELD_I64S) {
		MEMBER(const int64_t *, numbers);
		return numbers_of(numbers, count);
	}
	MEMBER(const char *, rows);
	return rows_of(f->table, rows, count);
}

static json_t *value_of(const struct ct_field *f, const char *row)
{
	switch (f->type) {
	case CT_FIELD_TEXT: {
		MEMBER(const char *, text);
		return text_of(text ? text : "");  // "": required and forgotten
	}
	case CT_FIELD_BOOL: {
		MEMBER(bool, flag);
		return json_boolean(flag);
	}
	case CT_FIELD_REAL: {
		MEMBER(double, number);
		return json_real(number);
	}
	case CT_FIELD_HEX: {
		MEMBER(uint64_t, number);
		return hex_of(number);
	}
	case CT_FIELD_TEXTS:
	case CT_FIELD_I64S:
	case CT_FIELD_ROWS:
		return array_of(f, row);
	case CT_FIELD_DIM3:
		return dim3_of(f, row);
	case CT_FIELD_WORD:
		return word_of(f, row);
	case CT_FIELD_OBJECT:
		return object_of(f->table, row + f->offset);
	case CT_FIELD_U32:
	case CT_FIELD_CODE:
	case CT_FIELD_INT:
	case CT_FIELD_COUNT:
	case CT_FIELD_I64:
	case CT_FIELD_TIME:
		break;
	}
	return number_of(f, row);
}

static bool is_zero(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) == 0;
}

static bool flag_at(const char *row, size_t has)
{
	bool flag;
	memcpy(&flag, row + has - 1, sizeof flag);
	return flag;
}

// Whether there is anything to say, before its JSON is made.
static bool is_known(const struct ct_field *f, const char *row)
{
	if (f->has && f->type != CT_FIELD_ROWS && !flag_at(row, f->has))
		return false;
	if (f->flags & CT_FIELD_REQUIRED)
		return true;
	if (f->type == CT_FIELD_TEXT) {
		MEMBER(const char *, text);
		return text != NULL;
	}
	if (f->type == CT_FIELD_REAL) {
		MEMBER(double, number);
		return isfinite(number);  // JSON has no other
	}
	if (f->type == CT_FIELD_BOOL)
		return flag_at(row, f->offset + 1);
	if (f->type == CT_FIELD_WORD && f->flags & CT_FIELD_OMIT_ZERO) {
		MEMBER(unsigned, value);
		return value != 0;
	}
	return true;
}

// The same in words, for people, beside a value that programs read.
static bool put_gloss(json_t *object, const struct ct_field *f, const json_t *value)
{
	if (f->type == CT_FIELD_CODE) {
		const char *word = ct_exception_word((uint32_t)json_integer_value(value));
		return !word || json_object_set_new(object, "name", json_string(word)) == 0;
	}
	if (f->type == CT_FIELD_TIME && json_integer_value(value) > 0) {
		char text[64];
		ct_format_time(json_integer_value(value), text, sizeof text);
		return json_object_set_new(object, "time", json_string(text)) == 0;
	}
	return true;
}

// A list that has nothing to say when it is empty. The shape of a scalar is empty, and known.
static bool is_list(const struct ct_field *f)
{
	return f->type == CT_FIELD_TEXTS || f->type == CT_FIELD_ROWS || (f->type == CT_FIELD_I64S && !f->has);
}

static bool put(json_t *object, const struct ct_field *f, const char *row)
{
	if (!is_known(f, row))
		return true;
	json_t *value = value_of(f, row);
	if (!value)
		return false;
	bool empty = (f->type == CT_FIELD_OBJECT && !f->has && json_object_size(value) == 0) || (is_list(f) && json_array_size(value) == 0) ||
		     (f->flags & CT_FIELD_OMIT_ZERO && is_zero(value));
	if (empty) {
		json_decref(value);
		return true;
	}
	if (json_object_set_new(object, f->key, value) != 0)
		return false;
	return put_gloss(object, f, value);
}

// NULL when memory is out or the struct holds what it cannot: an enum value that does not exist.
static json_t *object_of(const struct ct_table *table, const char *row)
{
	json_t *object = json_object();
	for (size_t i = 0; object && i < table->n_fields; i++)
		if (!put(object, &table->fields[i], row)) {
			json_decref(object);
			object = NULL;
		}
	return object;
}

// Length of the array of numbers that starts at text, 0 when it holds anything else.
static size_t numbers_length(const char *text)
{
	if (text[0] != '[')
		return 0;
	size_t n = 1 + strspn(text + 1, " \n,-0123456789");
	return text[n] == ']' ? n + 1 : 0;
}

// Copies JSON text with arrays of numbers on one line: [31, 0, 0]. jansson can indent all or nothing.
static void add_compact(struct ct_str *out, const char *text)
{
	bool in_string = false;
	while (*text) {
		size_t n = in_string ? 0 : numbers_length(text);
		for (size_t i = 0; i < n; i++)
			if (text[i] == ',')
				ct_str_add(out, ", ");
			else if (text[i] != ' ' && text[i] != '\n')
				ct_str_addc(out, text[i]);
		text += n;
		if (n)
			continue;
		if (in_string && text[0] == '\\')
			ct_str_addc(out, *text++);
		else if (text[0] == '"')
			in_string = !in_string;
		ct_str_addc(out, *text++);
	}
}

bool ct_incident_write_json(const struct ct_incident *incident, FILE *out, struct ct_error *err)
{
	json_t *object = object_of(&ct_incident_table, (const char *)incident);
	json_t *whole = json_pack("{s:i}", "version", CT_INCIDENT_VERSION);
	bool made = object && whole && json_object_update(whole, object) == 0;
	json_decref(object);
	// 12 digits: milliseconds and seconds to the microsecond without 0.1 becoming 0.10000000000000001.
	CT_AUTO(ct_auto_free) char *text = made ? json_dumps(whole, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)) : NULL;
	json_decref(whole);
	if (!text)
		return ct_fail(err, CT_FORMAT, "incident as JSON: a value that has no JSON form, or memory is out");
	CT_AUTO(ct_auto_str) struct ct_str compact = CT_STR_INIT;
	add_compact(&compact, text);
	ct_str_addc(&compact, '\n');
	if (fwrite(compact.data, 1, compact.length, out) != compact.length || fflush(out) != 0)
		return ct_fail_errno(err, "incident as JSON: write");
	return true;
}
