// The likely causes: which rows of causes.tsv hold, with the numbers put in, and what the catalogue says of the check that failed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "diagnose/rules.h"

enum { MAX_CHECKS = 8 };

// ---- Words ---------------------------------------------------------------------------------------------------

static const char *word_for(struct ct_judged *j, const char *name, size_t n)
{
	const struct ct_failed_value *f = j->failed;
	struct ct_arena *arena = &j->incident->arena;
	const struct {
		const char *name, *text;
	} words[] = {
		{"value", f->text}, {"bound", f->bound}, {"array", f->array}, {"least", f->least}, {"most", f->most}, {"exempt", f->exempt}, {"detail", j->detail},
		{"last", j->numeric ? ct_arena_printf(arena, "%" PRId64, j->bound - 1) : NULL}, {"s", j->bound == 1 ? "" : "s"},
		{"count", ct_arena_printf(arena, "%" PRIu64, f->n_outside)}, {"total", ct_arena_printf(arena, "%" PRIu64, f->n_elements)},
	};
	for (size_t i = 0; i < CT_COUNT(words); i++)
		if (strlen(words[i].name) == n && memcmp(words[i].name, name, n) == 0)
			return words[i].text ? words[i].text : "?";
	return "?";
}

// "-" stands for nothing.
static const char *filled_in(struct ct_judged *j, const char *text)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	if (strcmp(text, "-") == 0)
		return NULL;
	for (const char *p = text; *p;) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;
		if (end) {
			ct_str_add(&s, word_for(j, p + 1, (size_t)(end - p - 1)));
			p = end + 1;
		} else {
			ct_str_addc(&s, *p++);
		}
	}
	return ct_arena_strndup(&j->incident->arena, ct_str_text(&s), s.length);
}

// A list of texts that grows: of a cause, or of what the check means.
struct checks {
	const char **texts;
	size_t n;
};

static void add_check(struct ct_arena *arena, struct checks *checks, const char *text, size_t length)
{
	if (length == 0 || checks->n == MAX_CHECKS)
		return;
	checks->texts = ct_arena_grow(arena, checks->texts, &checks->n, sizeof *checks->texts);
	checks->texts[checks->n - 1] = ct_arena_clean(arena, text, length);
}

// "a; b; c" as rows; a semicolon inside parentheses is part of its row.
static void add_checks(struct ct_arena *arena, struct checks *checks, const char *list)
{
	int depth = 0;
	const char *from = list;
	if (!list)
		return;
	for (const char *p = list;; p++) {
		depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
		if (*p && !(*p == ';' && depth <= 0))
			continue;
		while (*from == ' ')
			from++;
		add_check(arena, checks, from, p > from ? (size_t)(p - from) : 0);
		from = p + 1;
		if (!*p)
			return;
	}
}

static void add_often(struct ct_arena *arena, struct checks *checks, const char *causes)
{
	const char *often = ct_arena_printf(arena, "often: %s", causes);
	add_check(arena, checks, often, strlen(often));
}

// The kind of a call's failure (CUresult): the ids stay, like those of causes.tsv.
static const char *call_id(uint32_t error)
{
	enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_BINARY = 209, UNSUPPORTED_PTX = 222, OUT_OF_RESOURCES = 701, COOPERATIVE_TOO_LARGE = 720 };
	switch (error) {
	case INVALID_VALUE:
	case OUT_OF_RESOURCES:
	case COOPERATIVE_TOO_LARGE:
		return "launch-configuration";
	case OUT_OF_MEMORY:
		return "out-of-memory";
	case NO_BINARY:
	case UNSUPPORTED_PTX:
		return "no-kernel-image";
	default:
		return NULL;
	}
}

static void add_cause(struct ct_incident *incident, struct ct_cause cause, const struct checks *checks)
{
	incident->causes = ct_arena_grow(&incident->arena, incident->causes, &incident->n_causes, sizeof *incident->causes);
	cause.checks = checks->texts;
	cause.n_checks = checks->n;
	incident->causes[incident->n_causes - 1] = cause;
}

void ct_explain_call(struct ct_incident *incident, const struct ct_call_cause *row)
{
	struct ct_arena *arena = &incident->arena;
	struct checks checks = {.n = 0};
	const char *why = incident->launch.failed_call.why;
	add_checks(arena, &checks, row->check);
	add_often(arena, &checks, row->causes);
	incident->causes = NULL;
	incident->n_causes = 0;
	add_cause(incident, (struct ct_cause){.id = call_id(row->error), .text = ct_arena_strdup(arena, row->meaning), .evidence = ct_arena_strdup(arena, why)}, &checks);
	incident->meaning = (struct ct_meaning){.present = true, .row = ct_arena_strdup(arena, row->id)};
}

static struct ct_meaning meaning_of(struct ct_arena *arena, const struct ct_catalog_row *row)
{
	struct checks checks = {.n = 0};
	add_checks(arena, &checks, row->check);
	if (*row->causes && strcmp(row->causes, "-") != 0)
		add_often(arena, &checks, row->causes);
	return (struct ct_meaning){.present = true, .text = ct_arena_strdup(arena, row->meaning), .row = ct_arena_strdup(arena, row->id), .checks = checks.texts, .n_checks = checks.n};
}

static void add_row(struct ct_judged *j, const struct ct_cause_text *row)
{
	struct ct_arena *arena = &j->incident->arena;
	struct checks checks = {.n = 0};
	add_checks(arena, &checks, filled_in(j, row->check));
	add_cause(j->incident, (struct ct_cause){.id = ct_arena_strdup(arena, row->id), .text = filled_in(j, row->text), .evidence = filled_in(j, row->evidence)}, &checks);
}

// Rows of one family exclude each other: the first that holds is the one that says most.
static bool has_family(const struct ct_cause_text *const *taken, size_t n, const char *family)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(taken[i]->family, family) == 0)
			return true;
	return false;
}

void ct_explain_cause(struct ct_incident *incident, const struct ct_catalog *catalog, const struct ct_catalog_row *row, const struct ct_failed_value *failed)
{
	struct ct_judged j = ct_rule_judged(incident, failed);
	const struct ct_cause_text *taken[CT_MAX_CAUSES];
	incident->causes = NULL;
	incident->n_causes = 0;
	incident->meaning = row ? meaning_of(&incident->arena, row) : (struct ct_meaning){.present = false};
	for (size_t i = 0; catalog && i < catalog->n_causes && incident->n_causes < CT_MAX_CAUSES; i++) {
		const struct ct_cause_text *rule = &catalog->causes[i];
		if (has_family(taken, incident->n_causes, rule->family) || !ct_rule_holds(&j, rule->when))
			continue;
		taken[incident->n_causes] = rule;
		add_row(&j, rule);
		j.found_any = true;
	}
}
