// The agent's answer, read as what it is: bytes from another process. Format: src/agent/agent.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "hoststack/hoststack.h"

// More than a process sensibly has; the agent itself sends less. The document is limited, too: jansson takes about ten times its size.
enum { MAX_JSON = 16 << 20, MAX_THREADS = 4096, MAX_FRAMES = 4096, MAX_TEXT = 16 * 1024 };

static void auto_json(json_t **value)
{
	json_decref(*value);
}

// A string member as clean text, *ret_text NULL when it is absent or null. False: it is something else.
static bool get_text(struct ct_arena *arena, const json_t *object, const char *key, const char **ret_text)
{
	const json_t *value = json_object_get(object, key);
	*ret_text = NULL;
	if (!value || json_is_null(value))
		return true;
	if (!json_is_string(value))
		return false;
	size_t length = json_string_length(value);
	*ret_text = ct_arena_clean(arena, json_string_value(value), length < MAX_TEXT ? length : MAX_TEXT);
	return true;
}

static bool get_number(const json_t *object, const char *key, int64_t max, int64_t *ret_number)
{
	const json_t *value = json_object_get(object, key);
	*ret_number = 0;
	if (!value || json_is_null(value))
		return true;
	*ret_number = json_integer_value(value);
	return json_is_integer(value) && *ret_number >= 0 && *ret_number <= max;
}

static bool parse_frame(struct ct_arena *arena, const json_t *object, struct ct_python_frame *frame)
{
	int64_t line = 0;
	if (!json_is_object(object) || !get_text(arena, object, "function", &frame->function) || !get_text(arena, object, "file", &frame->file) ||
	    !get_text(arena, object, "source", &frame->source) || !get_number(object, "line", INT32_MAX, &line))
		return false;
	frame->line = (uint32_t)line;
	return true;
}

static bool parse_thread(struct ct_arena *arena, const json_t *object, bool always_entry, struct ct_python_thread *thread, struct ct_error *err)
{
	const json_t *frames = json_object_get(object, "frames");
	if (!json_is_object(object) || !get_number(object, "tid", INT32_MAX, &thread->tid) || !get_text(arena, object, "name", &thread->name))
		return ct_fail(err, CT_FORMAT, "tid and name are a number and a string");
	if (!json_is_array(frames))
		return ct_fail(err, CT_FORMAT, "frames is no list");
	size_t n = json_array_size(frames);
	thread->cut = n > MAX_FRAMES;
	thread->n_frames = thread->cut ? MAX_FRAMES : n;
	thread->frames = ct_arena_array(arena, thread->n_frames, sizeof *thread->frames);
	for (size_t i = 0; i < thread->n_frames; i++) {
		if (!parse_frame(arena, json_array_get(frames, i), &thread->frames[i]))
			return ct_fail(err, CT_FORMAT, "frames[%zu]: function, file and source are strings, line is a number", i);
		thread->frames[i].has_entry = thread->frames[i].is_entry = always_entry;
	}
	return true;
}

// Up to CPython 3.10 each Python frame has a C activation of its own.
static bool every_frame_is_entry(const char *version)
{
	if (!version || !ct_starts_with(version, "3."))
		return false;
	char *end = NULL;
	unsigned long minor = strtoul(version + 2, &end, 10);
	return end != version + 2 && minor <= 10;
}

static bool parse_document(struct ct_arena *arena, const json_t *root, struct ct_python_stacks *stacks, struct ct_error *err)
{
	int64_t version = 0;
	const char *error = NULL;
	if (!json_is_object(root) || !get_number(root, "version", INT64_MAX, &version) || version != 1)
		return ct_fail(err, CT_FORMAT, "not an object of version 1");
	if (!get_text(arena, root, "error", &error) || !get_text(arena, root, "python", &stacks->version))
		return ct_fail(err, CT_FORMAT, "error and python are strings");
	if (error)
		return ct_fail(err, CT_UNAVAILABLE, "%s", error);
	if (!get_text(arena, root, "test", &stacks->test))
		return ct_fail(err, CT_FORMAT, "test is a string");
	const json_t *threads = json_object_get(root, "threads");
	if (!json_is_array(threads))
		return ct_fail(err, CT_FORMAT, "threads is no list");
	size_t n = json_array_size(threads);
	if (n > MAX_THREADS)
		return ct_fail(err, CT_LIMIT, "%zu threads, more than %d", n, MAX_THREADS);
	bool always_entry = every_frame_is_entry(stacks->version);
	stacks->n_threads = n;
	stacks->threads = ct_arena_array(arena, n, sizeof *stacks->threads);
	for (size_t i = 0; i < n; i++)
		if (!parse_thread(arena, json_array_get(threads, i), always_entry, &stacks->threads[i], err))
			return ct_fail_in(err, "threads[%zu]", i);
	return true;
}

bool ct_hoststack_python_parse(struct ct_arena *arena, const char *json, size_t length, struct ct_python_stacks *ret_stacks, struct ct_error *err)
{
	struct ct_python_stacks stacks = {0};
	json_error_t where;
	if (length > MAX_JSON)
		return ct_fail(err, CT_LIMIT, "the agent's answer: %zu bytes, more than %d", length, MAX_JSON);
	CT_AUTO(auto_json) json_t *root = json_loadb(json, length, 0, &where);
	if (!root) {
		// jansson quotes the text near the error: foreign bytes, so only the place is repeated.
		return ct_fail(err, CT_FORMAT, "the agent's answer: no JSON at byte %d", where.position);
	}
	if (!parse_document(arena, root, &stacks, err))
		return ct_fail_in(err, "the agent's answer");
	*ret_stacks = stacks;
	return true;
}
