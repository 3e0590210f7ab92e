// The summary of a report: what a list of thousands needs of each, in a few hundred bytes; see report.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "render/render.h"
#include "report/report.h"
#include "report/report_priv.h"

enum { MAX_LINE = 500 };  // bytes of a text in a summary

const struct ct_report_text ct_summary_texts[] = {
	{"signature", offsetof(struct ct_summary, signature)},
	{"host", offsetof(struct ct_summary, host)},
	{"boot_id", offsetof(struct ct_summary, boot_id)},
	{"kernel", offsetof(struct ct_summary, kernel)},
	{"detail", offsetof(struct ct_summary, detail)},
	{"command", offsetof(struct ct_summary, command)},
	{"follower", offsetof(struct ct_summary, follower)},
	{"job", offsetof(struct ct_summary, rank.job)},
	{"launcher", offsetof(struct ct_summary, rank.launcher)},
	{NULL, 0},
};

const char *ct_report_line(struct ct_arena *arena, const char *text)
{
	if (!text)
		return NULL;
	size_t length = strlen(text), most = length < MAX_LINE ? length : MAX_LINE;
	while (most < length && most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;  // not within a character
	return ct_arena_line(arena, text, most);
}

static const char *first_follower(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_log; i++)
		if (incident->log[i].kind == CT_LOG_FOLLOWER && incident->log[i].text)
			return incident->log[i].text;
	return NULL;
}

static const char *first_error(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_log; i++)
		if (incident->log[i].kind == CT_LOG_CUDA_ERROR)
			return incident->log[i].text;
	return NULL;
}

// What the kind leaves open: the assert's text, the exception, the error.
static const char *detail_of(const struct ct_incident *incident)
{
	const struct ct_gpu *gpu = &incident->gpu;
	if (incident->assertion.present)
		return incident->assertion.expression;
	if (incident->kind == CT_FAULT_API_ERROR && incident->launch.failed_call.present)
		return incident->launch.failed_call.why ? incident->launch.failed_call.why : incident->launch.failed_call.error_name;
	if (gpu->n_groups && gpu->groups[0].has_exception)
		return ct_exception_text(gpu->groups[0].exception);
	return first_error(incident);
}

static const char *kernel_of(struct ct_arena *arena, const struct ct_incident *incident)
{
	const struct ct_kernel *k = &incident->gpu.kernel;
	const char *name = incident->gpu.has_kernel && k->name ? k->name : incident->assertion.present ? incident->assertion.function : NULL;
	if (!name && incident->kind == CT_FAULT_API_ERROR && incident->launch.failed_call.present)
		name = incident->launch.failed_call.at.name;
	if (name)
		return ct_report_line(arena, ct_render_kernel_word(arena, name));
	return incident->gpu.has_kernel ? ct_report_line(arena, k->symbol) : NULL;
}

static const char *command_of(struct ct_arena *arena, const struct ct_incident *incident)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < incident->n_command && s.length < MAX_LINE; i++)
		ct_str_addf(&s, "%s%s", i ? " " : "", incident->command[i]);
	return s.length ? ct_report_line(arena, s.data) : NULL;
}

void ct_summary_of(struct ct_incident *incident, struct ct_arena *arena, struct ct_summary *ret_summary)
{
	*ret_summary = (struct ct_summary){
		.signature = ct_arena_strdup(arena, ct_incident_signature(incident)),
		.time_us = incident->time_us,
		.monotonic_us = incident->monotonic_us,
		.pid = incident->process.pid,
		.host = ct_report_line(arena, incident->host),
		.boot_id = ct_report_line(arena, incident->boot_id),
		.kind = incident->kind,
		.kernel = kernel_of(arena, incident),
		.detail = ct_report_line(arena, detail_of(incident)),
		.command = command_of(arena, incident),
		.follower = ct_report_line(arena, first_follower(incident)),
		.own_fault = incident->gpu.present || incident->assertion.present,
		.rank = incident->rank,
	};
	ret_summary->rank.job = ct_report_line(arena, incident->rank.job);
	ret_summary->rank.launcher = ct_report_line(arena, incident->rank.launcher);
}

bool ct_summary_is_follower(const struct ct_summary *summary)
{
	return summary->follower && !summary->own_fault;
}

bool ct_report_put_texts(json_t *object, const struct ct_report_text *texts, const void *row)
{
	bool ok = true;
	for (; texts->key; texts++) {
		const char *text;
		memcpy(&text, (const char *)row + texts->offset, sizeof text);
		if (text)
			ok &= json_object_set_new(object, texts->key, json_string(text)) == 0;
	}
	return ok;
}

bool ct_report_put_rank(json_t *object, const struct ct_rank *rank)
{
	bool ok = true;
	if (rank->has_rank)
		ok &= json_object_set_new(object, "rank", json_integer(rank->rank)) == 0;
	if (rank->has_local_rank)
		ok &= json_object_set_new(object, "local_rank", json_integer(rank->local_rank)) == 0;
	if (rank->has_world_size)
		ok &= json_object_set_new(object, "world_size", json_integer(rank->world_size)) == 0;
	return ok;
}

char *ct_summary_json(const struct ct_summary *s)
{
	json_t *object = json_pack("{s:i, s:i, s:I, s:I, s:I, s:s, s:b}", "version", 1, "signature_version", CT_SIGNATURE_VERSION, "time_us", (json_int_t)s->time_us,
				   "monotonic_us", (json_int_t)s->monotonic_us, "pid", (json_int_t)s->pid, "kind", ct_fault_kind_word(s->kind), "own_fault",
				   (int)s->own_fault);
	bool ok = object && ct_report_put_texts(object, ct_summary_texts, s) && ct_report_put_rank(object, &s->rank);
	char *text = ok ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(object);
	return text;
}

json_t *ct_report_parse(const char *text, size_t length, const char *what, struct ct_error *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
	const json_t *version = json_object_get(root, "version");
	bool is_json = root != NULL;
	if (root && json_is_integer(version) && json_integer_value(version) == 1)
		return root;
	json_decref(root);
	ct_fail(err, CT_FORMAT, is_json ? "not a %s of version 1" : "a %s that is not JSON", what);
	return NULL;
}

void ct_report_get_texts(const json_t *root, const struct ct_report_text *texts, struct ct_arena *arena, void *row)
{
	for (; texts->key; texts++) {
		const json_t *value = json_object_get(root, texts->key);
		const char *text = json_is_string(value) ? ct_report_line(arena, json_string_value(value)) : NULL;
		memcpy((char *)row + texts->offset, &text, sizeof text);
	}
}

int64_t ct_report_get_number(const json_t *root, const char *key)
{
	return json_integer_value(json_object_get(root, key));  // 0 for anything else
}

static bool get_u32(const json_t *root, const char *key, uint32_t *ret_number)
{
	const json_t *value = json_object_get(root, key);
	json_int_t n = json_integer_value(value);
	if (!json_is_integer(value) || n < 0 || n > UINT32_MAX)
		return false;
	*ret_number = (uint32_t)n;
	return true;
}

void ct_report_get_rank(const json_t *root, struct ct_rank *rank)
{
	rank->has_rank = get_u32(root, "rank", &rank->rank);
	rank->has_local_rank = get_u32(root, "local_rank", &rank->local_rank);
	rank->has_world_size = get_u32(root, "world_size", &rank->world_size);
}

static bool take(const json_t *root, struct ct_arena *arena, struct ct_summary *s, struct ct_error *err)
{
	ct_report_get_texts(root, ct_summary_texts, arena, s);
	ct_report_get_rank(root, &s->rank);
	s->time_us = ct_report_get_number(root, "time_us");
	s->monotonic_us = ct_report_get_number(root, "monotonic_us");
	s->pid = ct_report_get_number(root, "pid");
	s->own_fault = json_is_true(json_object_get(root, "own_fault"));
	const char *kind = json_string_value(json_object_get(root, "kind"));
	if (!kind || !ct_fault_kind_parse(kind, &s->kind))
		return ct_fail(err, CT_FORMAT, "kind: not a kind of fault");
	if (ct_report_get_number(root, "signature_version") != CT_SIGNATURE_VERSION)
		return ct_fail(err, CT_UNAVAILABLE, "signature of another version");
	if (!s->signature || !ct_signature_is_valid(s->signature))
		return ct_fail(err, CT_FORMAT, "signature: not 16 hexadecimal digits");
	return true;
}

bool ct_summary_read(const char *text, size_t length, struct ct_arena *arena, struct ct_summary *ret_summary, struct ct_error *err)
{
	struct ct_summary s = {.signature = NULL};
	json_t *root = ct_report_parse(text, length, "summary", err);
	bool ok = root && take(root, arena, &s, err);
	json_decref(root);
	if (ok)
		*ret_summary = s;
	return ok;
}

bool ct_signature_is_valid(const char *text)
{
	return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}
