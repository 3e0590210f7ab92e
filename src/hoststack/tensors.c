// The agent's list of tensors, read as what it is: bytes from another process. Format: src/agent/agent.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <jansson.h>
#include <string.h>

#include "hoststack/hoststack.h"

// The agent stops at 4 MiB of rows (MAX_TOTAL in src/agent/tensors.py).
enum { MAX_JSON = 5 << 20, MAX_TEXT = 4096 };

static void auto_json(json_t **value)
{
	json_decref(*value);
}

// A clean text; NULL when there is none, or an empty one.
static const char *text_of(struct ct_arena *arena, const json_t *value)
{
	size_t length = json_string_length(value);
	return length ? ct_arena_clean(arena, json_string_value(value), length < MAX_TEXT ? length : MAX_TEXT) : NULL;
}

static bool read_about(struct ct_arena *arena, const char *json, size_t length, struct ct_tensors_about *about, struct ct_error *err)
{
	json_error_t where;
	CT_AUTO(auto_json) json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &where);
	if (!root)
		return ct_fail(err, CT_FORMAT, "no JSON at byte %d", where.position);
	const char *error = text_of(arena, json_object_get(root, "error"));
	if (error)
		return ct_fail(err, CT_UNAVAILABLE, "%s", error);
	const json_t *libraries = json_object_get(root, "libraries");
	if (!json_is_array(libraries))
		return ct_fail(err, CT_FORMAT, "libraries is no list");
	about->n_libraries = json_array_size(libraries);
	about->missing = text_of(arena, json_object_get(root, "detail"));
	return true;
}

bool ct_hoststack_tensors_parse(struct ct_incident *incident, const char *json, size_t length, struct ct_tensors_about *ret_about, struct ct_error *err)
{
	struct ct_tensors_about about = {0};
	if (length > MAX_JSON)
		return ct_fail(err, CT_LIMIT, "the agent's list of tensors: %zu bytes, more than %d", length, MAX_JSON);
	if (!read_about(&incident->arena, json, length, &about, err) || !ct_incident_read_tensors_json(incident, json, length, err))
		return ct_fail_in(err, "the agent's list of tensors");
	*ret_about = about;
	return true;
}
