// The likely cause: what the catalogue says of the check that failed, with the numbers put in where they are certain.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"

enum { MAX_CHECKS = 8 };

// Kernels whose bound is a number of classes.
static bool is_label(const struct ct_failed_value *f)
{
	return f->bound_name && strcmp(f->bound_name, "n_classes") == 0;
}

static bool number(const char *text, int64_t *ret_number)
{
	char *end = NULL;
	if (!text || !*text)
		return false;
	*ret_number = strtoll(text, &end, 10);
	return *end == '\0';
}

// What the number itself suggests about labels; "" when nothing. Each says what it rests on.
static const char *label_hint(struct ct_arena *arena, const struct ct_failed_value *f, int64_t value, int64_t bound)
{
	const struct ct_device_memory *m = f->memory;
	int64_t least, most, exempt;
	bool ranged = m && m->whole && number(m->min, &least) && number(m->max, &most);
	bool has_exempt = number(f->exempt, &exempt);
	if (ranged && least == 1 && most == bound)
		return ct_arena_printf(arena, "; the labels run from 1 to %" PRId64 ", so they seem to count from 1 and not from 0", most);
	if (value == 255 && has_exempt && exempt != 255)
		return ct_arena_printf(arena, "; 255 often marks what is to be ignored, and ignore_index is %" PRId64, exempt);
	if (value < 0 && has_exempt && exempt != value)
		return ct_arena_printf(arena, "; a negative label usually marks what is to be ignored, and ignore_index is %" PRId64, exempt);
	return "";
}

static const char *cause_text(struct ct_arena *arena, const struct ct_failed_value *f)
{
	int64_t value = 0, bound = 0;
	if (!f->known || !number(f->text, &value))
		return NULL;
	bool bounded = number(f->bound, &bound);
	if (bounded && is_label(f))
		return ct_arena_printf(arena, "label %" PRId64 " for a model with %" PRId64 " output%s, which allows labels 0 .. %" PRId64 "%s", value, bound,
				       bound == 1 ? "" : "s", bound - 1, label_hint(arena, f, value, bound));
	if (bounded)
		return ct_arena_printf(arena, "index %" PRId64 " in %s, where the size is %" PRId64 " and allows up to %" PRId64, value, f->array, bound, bound - 1);
	return ct_arena_printf(arena, "the value %" PRId64 " in %s", value, f->array);
}

static void add_check(struct ct_incident *incident, const char *text, size_t length)
{
	struct ct_cause *c = &incident->cause;
	if (length == 0 || c->n_checks == MAX_CHECKS)
		return;
	c->checks = ct_arena_grow(&incident->arena, c->checks, &c->n_checks, sizeof *c->checks);
	c->checks[c->n_checks - 1] = ct_arena_clean(&incident->arena, text, length);
}

// "a; b; c" as rows; a semicolon inside parentheses is part of its row.
static void add_checks(struct ct_incident *incident, const char *list)
{
	int depth = 0;
	const char *from = list;
	for (const char *p = list;; p++) {
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (*p && !(*p == ';' && depth <= 0))
			continue;
		while (*from == ' ')
			from++;
		add_check(incident, from, p > from ? (size_t)(p - from) : 0);
		from = p + 1;
		if (!*p)
			return;
	}
}

static void add_often(struct ct_incident *incident, const char *causes)
{
	const char *often = ct_arena_printf(&incident->arena, "often: %s", causes);
	add_check(incident, often, strlen(often));
}

void ct_explain_call(struct ct_incident *incident, const struct ct_call_cause *row)
{
	struct ct_arena *arena = &incident->arena;
	const char *why = incident->launch.failed_call.why;
	incident->cause = (struct ct_cause){.present = true, .row = ct_arena_strdup(arena, row->id),
					    .text = ct_arena_printf(arena, "%s%s%s", row->meaning, why ? ": " : "", why ? why : "")};
	add_checks(incident, row->check);
	add_often(incident, row->causes);
}

void ct_explain_cause(struct ct_incident *incident, const struct ct_catalog_row *row, const struct ct_failed_value *failed)
{
	struct ct_arena *arena = &incident->arena;
	incident->cause = (struct ct_cause){.present = true, .row = ct_arena_strdup(arena, row->id), .meaning = ct_arena_strdup(arena, row->meaning)};
	incident->cause.text = cause_text(arena, failed);
	add_checks(incident, row->check);
	if (!*row->causes || strcmp(row->causes, "-") == 0)
		return;
	add_often(incident, row->causes);
}
