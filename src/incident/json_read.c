// JSON -> incident, by the tables of fields.c. The text is untrusted: a report folder may come from anywhere.
//
// Bounds: CT_INCIDENT_MAX_BYTES of text, CT_INCIDENT_MAX_ROWS in a list, CT_INCIDENT_MAX_TEXT bytes in a string; jansson nests
// 2048 deep at most and refuses invalid UTF-8, NUL bytes, and numbers that do not fit.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <jansson.h>
#include <string.h>

#include "incident/json_values.h"

struct reader {
	struct ct_arena *arena;
	struct ct_error *err;
};

static bool read_object(const struct reader *r, const struct ct_table *table, unsigned parts, const json_t *object, const struct ct_json_at *at,
			char *row);

static void set_flag(char *row, size_t has, bool flag)
{
	if (has)
		memcpy(row + has - 1, &flag, sizeof flag);
}

static bool list_size(const struct reader *r, const struct ct_field *f, const json_t *value, const struct ct_json_at *at, size_t *ret_size)
{
	size_t limit = f->limit ? f->limit : CT_INCIDENT_MAX_ROWS;
	if (!json_is_array(value))
		return ct_json_fail(at, r->err, CT_FORMAT, "not a list");
	*ret_size = json_array_size(value);
	if (*ret_size > limit)
		return ct_json_fail(at, r->err, CT_LIMIT, "%zu rows, at most %zu are read", *ret_size, limit);
	return true;
}

// Starts the list that the rows go to: empty, or with the rows that are there, copied. The copy has the room that ct_arena_grow()
// expects, however the old list was allocated; and if reading fails, the old list is as it was.
static void *start_list(const struct reader *r, const struct ct_field *f, const char *row, size_t row_bytes, size_t *ret_count)
{
	size_t old_count;
	const char *old;
	char *list = NULL;
	*ret_count = 0;
	if (f->flags & CT_FIELD_REPLACE)
		return NULL;
	memcpy(&old_count, row + f->count, sizeof old_count);
	memcpy(&old, row + f->offset, sizeof old);
	for (size_t i = 0; i < old_count; i++) {
		list = ct_arena_grow(r->arena, list, ret_count, row_bytes);
		memcpy(list + i * row_bytes, old + i * row_bytes, row_bytes);
	}
	return list;
}

static void finish_list(const struct ct_field *f, char *row, const void *list, size_t count)
{
	memcpy(row + f->offset, &list, sizeof list);
	memcpy(row + f->count, &count, sizeof count);
}

static bool read_rows(const struct reader *r, const struct ct_field *f, const json_t *value, const struct ct_json_at *at, char *row)
{
	size_t size, count, bytes = f->table->row_bytes;
	if (!list_size(r, f, value, at, &size))
		return false;
	char *list = start_list(r, f, row, bytes, &count);
	for (size_t i = 0; i < size; i++) {
		struct ct_json_at here = {.up = at, .index = i};
		list = ct_arena_grow(r->arena, list, &count, bytes);
		if (!read_object(r, f->table, 0, json_array_get(value, i), &here, list + (count - 1) * bytes))
			return false;
	}
	set_flag(row, f->has, false);  // "more exist" was said of the list that is replaced
	finish_list(f, row, list, count);
	return true;
}

static bool read_texts(const struct reader *r, const struct ct_field *f, const json_t *value, const struct ct_json_at *at, char *row)
{
	size_t size, count;
	if (!list_size(r, f, value, at, &size))
		return false;
	const char **list = start_list(r, f, row, sizeof *list, &count);
	for (size_t i = 0; i < size; i++) {
		struct ct_json_at here = {.up = at, .index = i};
		list = ct_arena_grow(r->arena, list, &count, sizeof *list);
		if (!ct_json_read_text(json_array_get(value, i), &here, r->arena, &list[count - 1], r->err))
			return false;
	}
	finish_list(f, row, list, count);
	return true;
}

static bool read_numbers(const struct reader *r, const struct ct_field *f, const json_t *value, const struct ct_json_at *at, char *row)
{
	size_t size;
	if (!list_size(r, f, value, at, &size))
		return false;
	int64_t *list = ct_arena_array(r->arena, size, sizeof *list);
	for (size_t i = 0; i < size; i++) {
		struct ct_json_at here = {.up = at, .index = i};
		const json_t *number = json_array_get(value, i);
		if (!json_is_integer(number))
			return ct_json_fail(&here, r->err, CT_FORMAT, "not a whole number");
		list[i] = json_integer_value(number);
	}
	set_flag(row, f->has, true);
	finish_list(f, row, list, size);
	return true;
}

static bool read_field(const struct reader *r, const struct ct_field *f, const json_t *value, const struct ct_json_at *at, char *row)
{
	if (f->type == CT_FIELD_ROWS)
		return read_rows(r, f, value, at, row);
	if (f->type == CT_FIELD_TEXTS)
		return read_texts(r, f, value, at, row);
	if (f->type == CT_FIELD_I64S)
		return read_numbers(r, f, value, at, row);
	if (f->type == CT_FIELD_OBJECT ? !read_object(r, f->table, 0, value, at, row + f->offset)
				       : !ct_json_read_value(f, value, at, r->arena, row, r->err))
		return false;
	set_flag(row, f->has, true);
	return true;
}

// Two members with one has_ flag (grid_dim, block_dim) come together or not at all.
static const struct ct_field *missing_twin(const struct ct_table *table, const struct ct_field *f, const json_t *object)
{
	for (size_t i = 0; f->has && f->type == CT_FIELD_DIM3 && i < table->n_fields; i++) {
		const struct ct_field *twin = &table->fields[i];
		if (twin->has == f->has && !json_object_get(object, twin->key))
			return twin;
	}
	return NULL;
}

static bool read_object(const struct reader *r, const struct ct_table *table, unsigned parts, const json_t *object, const struct ct_json_at *at,
			char *row)
{
	if (!json_is_object(object))
		return ct_json_fail(at, r->err, CT_FORMAT, "not an object");
	for (size_t i = 0; i < table->n_fields; i++) {
		const struct ct_field *f = &table->fields[i], *missing = NULL;
		if (parts && !(f->flags & parts))
			continue;
		const json_t *value = json_object_get(object, f->key);
		if (!value)
			missing = f->flags & CT_FIELD_REQUIRED ? f : NULL;
		else
			missing = missing_twin(table, f, object);
		struct ct_json_at here = {.up = at, .key = missing ? missing->key : f->key};
		if (missing)
			return ct_json_fail(&here, r->err, CT_FORMAT, "missing");
		if (value && !read_field(r, f, value, &here, row))
			return false;
	}
	return true;
}

static bool check_version(const json_t *root, struct ct_error *err)
{
	if (!json_is_object(root))
		return ct_fail(err, CT_FORMAT, "not a JSON object");
	const json_t *value = json_object_get(root, "version");
	if (!json_is_integer(value) || json_integer_value(value) < 1) {
		ct_fail(err, CT_FORMAT, value ? "version: not a whole number from 1" : "version: missing");
		return ct_hint(err, "is this an incident.json of cudatrap?");
	}
	if (json_integer_value(value) > CT_INCIDENT_VERSION) {
		ct_fail(err, CT_FORMAT, "version: %lld, and this cudatrap reads up to %d", (long long)json_integer_value(value), CT_INCIDENT_VERSION);
		return ct_hint(err, "read it with the cudatrap that wrote it, or a newer one");
	}
	return true;
}

// jansson quotes the text at fault: foreign bytes, possibly newlines.
static bool fail_to_parse(const json_error_t *why, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str clean = CT_STR_INIT;
	ct_str_append_clean(&clean, why->text, strlen(why->text));
	for (size_t i = 0; i < clean.length; i++)
		if (clean.data[i] == '\n' || clean.data[i] == '\t')
			clean.data[i] = ' ';
	return ct_fail(err, CT_FORMAT, "not JSON: line %d, column %d: %s", why->line, why->column, ct_str_text(&clean));
}

static void auto_json(json_t **value)
{
	json_decref(*value);
}

// What an older form says in "cause", where this one has not said it better.
static void adopt_old_cause(struct ct_incident *in)
{
	const struct ct_old_cause old = in->old_cause;
	in->old_cause = (struct ct_old_cause){.present = false};
	if (!old.present || in->n_causes || in->meaning.present)
		return;
	in->meaning = (struct ct_meaning){.present = old.meaning || old.row || (old.checks && !old.text), .text = old.meaning, .row = old.row};
	if (old.text) {
		in->causes = ct_arena_grow(&in->arena, NULL, &in->n_causes, sizeof *in->causes);
		in->causes[0] = (struct ct_cause){.id = old.id, .text = old.text, .checks = old.checks, .n_checks = old.n_checks};
	} else {
		in->meaning.checks = old.checks;
		in->meaning.n_checks = old.n_checks;
	}
}

// Reads the parts (0: everything) into the incident: all of them, or none when it fails.
static bool merge(struct ct_incident *incident, unsigned parts, const char *text, size_t length, struct ct_error *err)
{
	if (length > CT_INCIDENT_MAX_BYTES)
		return ct_fail(err, CT_LIMIT, "%zu bytes of JSON, at most %d are read", length, CT_INCIDENT_MAX_BYTES);
	json_error_t why = {.line = 0};
	CT_AUTO(auto_json) json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		return fail_to_parse(&why, err);
	if (!check_version(root, err))
		return false;
	struct ct_incident changed = *incident;
	const struct reader r = {.arena = &changed.arena, .err = err};
	const struct ct_json_at top = {.up = NULL};
	bool ok = read_object(&r, &ct_incident_table, parts, root, &top, (char *)&changed);
	if (ok)
		adopt_old_cause(&changed);
	if (ok)
		*incident = changed;
	else
		incident->arena = changed.arena;
	return ok;
}

bool ct_incident_read_json(const char *text, size_t length, struct ct_incident **ret_incident, struct ct_error *err)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	if (!merge(incident, 0, text, length, err))
		return false;
	*ret_incident = incident;
	incident = NULL;
	return true;
}

bool ct_incident_read_gpu_json(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err)
{
	return merge(incident, CT_FIELD_GPU_PART, text, length, err);
}

bool ct_incident_read_host_json(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err)
{
	return merge(incident, CT_FIELD_HOST_PART, text, length, err);
}

bool ct_incident_read_tensors_json(struct ct_incident *incident, const char *text, size_t length, struct ct_error *err)
{
	return merge(incident, CT_FIELD_TENSOR_PART, text, length, err);
}
