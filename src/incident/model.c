// The incident's life, its rows, and the words of its enums; see incident.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdarg.h>
#include <string.h>

#include "incident/incident_priv.h"

struct ct_incident *ct_incident_new(void)
{
	struct ct_incident *incident = ct_xrealloc(NULL, sizeof *incident);
	*incident = (struct ct_incident){.arena = CT_ARENA_INIT};
	return incident;
}

void ct_incident_free(struct ct_incident *incident)
{
	if (!incident)
		return;
	ct_arena_done(&incident->arena);
	free(incident);
}

void ct_incident_auto(struct ct_incident **incident)
{
	ct_incident_free(*incident);
}

static const char *keep(struct ct_incident *incident, const char *text)
{
	return text ? ct_arena_clean(&incident->arena, text, strlen(text)) : NULL;
}

struct ct_collector *ct_incident_add_collector(struct ct_incident *incident, const char *name, enum ct_collector_status status, double milliseconds,
					       const char *detail)
{
	incident->collectors = ct_arena_grow(&incident->arena, incident->collectors, &incident->n_collectors, sizeof *incident->collectors);
	struct ct_collector *row = &incident->collectors[incident->n_collectors - 1];
	*row = (struct ct_collector){.name = keep(incident, name), .status = status, .milliseconds = milliseconds, .detail = keep(incident, detail)};
	return row;
}

void ct_incident_add_note(struct ct_incident *incident, const char *format, ...)
{
	CT_AUTO(ct_auto_free) char *text = NULL;
	va_list ap;
	va_start(ap, format);
	int n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		text = ct_xstrdup(format);  // out of memory while formatting: the bare sentence is better than none
	incident->notes = ct_arena_grow(&incident->arena, incident->notes, &incident->n_notes, sizeof *incident->notes);
	incident->notes[incident->n_notes - 1] = keep(incident, text);
}

void ct_incident_add_environment(struct ct_incident *incident, const char *name, const char *value)
{
	incident->environment = ct_arena_grow(&incident->arena, incident->environment, &incident->n_environment, sizeof *incident->environment);
	incident->environment[incident->n_environment - 1] = (struct ct_pair){.name = keep(incident, name), .value = keep(incident, value)};
}

void ct_incident_add_progress(struct ct_incident *incident, const char *name, const char *value)
{
	for (size_t i = 0; i < incident->n_progress; i++) {
		if (strcmp(incident->progress[i].name, name) == 0) {
			incident->progress[i].value = keep(incident, value);
			return;
		}
	}
	if (incident->n_progress >= CT_MAX_PROGRESS)
		return;
	incident->progress = ct_arena_grow(&incident->arena, incident->progress, &incident->n_progress, sizeof *incident->progress);
	incident->progress[incident->n_progress - 1] = (struct ct_pair){.name = keep(incident, name), .value = keep(incident, value)};
}

const struct ct_host_thread *ct_incident_launching(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_threads; i++)
		if (incident->threads[i].launching)
			return &incident->threads[i];
	return NULL;
}

struct ct_host_thread *ct_incident_add_thread(struct ct_incident *incident, int64_t tid, const char *name)
{
	incident->threads = ct_arena_grow(&incident->arena, incident->threads, &incident->n_threads, sizeof *incident->threads);
	struct ct_host_thread *row = &incident->threads[incident->n_threads - 1];
	*row = (struct ct_host_thread){.tid = tid, .name = keep(incident, name)};
	return row;
}

struct ct_value *ct_incident_add_value(struct ct_incident *incident, const char *name, const char *text, const char *how)
{
	incident->values = ct_arena_grow(&incident->arena, incident->values, &incident->n_values, sizeof *incident->values);
	struct ct_value *row = &incident->values[incident->n_values - 1];
	*row = (struct ct_value){.name = keep(incident, name), .text = keep(incident, text), .how = keep(incident, how)};
	return row;
}

struct ct_consequence *ct_incident_add_consequence(struct ct_incident *incident, int64_t pid, double seconds_after, const char *text)
{
	incident->consequences = ct_arena_grow(&incident->arena, incident->consequences, &incident->n_consequences, sizeof *incident->consequences);
	struct ct_consequence *row = &incident->consequences[incident->n_consequences - 1];
	*row = (struct ct_consequence){.pid = pid, .seconds_after = seconds_after, .text = keep(incident, text)};
	return row;
}

// Of a value outside the enum (a mistake of ours): said to be unknown rather than taken for another.
static const char *word_of(const struct ct_words *set, unsigned value)
{
	return value < set->n_words ? set->words[value] : "unknown";
}

static bool value_of(const struct ct_words *set, const char *word, unsigned *ret_value)
{
	for (size_t i = 0; i < set->n_words; i++)
		if (strcmp(set->words[i], word) == 0) {
			*ret_value = (unsigned)i;
			return true;
		}
	return false;
}

#define WORD_FUNCTIONS(name, type, set)                             \
	const char *name##_word(enum type value)                    \
	{                                                           \
		return word_of(&(set), (unsigned)value);            \
	}                                                           \
	bool name##_parse(const char *word, enum type *ret_value)   \
	{                                                           \
		unsigned value;                                     \
		if (!value_of(&(set), word, &value))                \
			return false;                               \
		*ret_value = (enum type)value;                      \
		return true;                                        \
	}                                                           \
	_Static_assert(sizeof(enum type) == sizeof(unsigned), "the JSON tables store enums as unsigned")

#define SET(name, words_) const struct ct_words name = {.words = words_, .n_words = CT_COUNT(words_)}
#define X(name, word, headline) word,
static const char *const fault_kinds[] = {CT_FAULT_KINDS(X)};
#undef X
#define X(name, word) word,
static const char *const group_reasons[] = {CT_GROUP_REASONS(X)};
static const char *const log_kinds[] = {CT_LOG_KINDS(X)};
static const char *const frame_kinds[] = {CT_FRAME_KINDS(X)};
static const char *const collector_statuses[] = {CT_COLLECTOR_STATUSES(X)};
static const char *const endings[] = {CT_ENDINGS(X)};
static const char *const argument_kinds[] = {CT_ARGUMENT_KINDS(X)};
static const char *const tensor_roles[] = {CT_TENSOR_ROLES(X)};
static const char *const check_kinds[] = {CT_CHECK_KINDS(X)};
static const char *const check_statuses[] = {CT_CHECK_STATUSES(X)};
static const char *const certainties[] = {CT_CERTAINTIES(X)};
static const char *const origins[] = {CT_LAUNCH_ORIGINS(X)};
#undef X
SET(ct_fault_kind_words, fault_kinds);
SET(ct_group_reason_words, group_reasons);
SET(ct_log_kind_words, log_kinds);
SET(ct_frame_kind_words, frame_kinds);
SET(ct_collector_status_words, collector_statuses);
SET(ct_ending_words, endings);
SET(ct_argument_kind_words, argument_kinds);
SET(ct_tensor_role_words, tensor_roles);
SET(ct_check_kind_words, check_kinds);
SET(ct_check_status_words, check_statuses);
SET(ct_certainty_words, certainties);
SET(ct_launch_origin_words, origins);

WORD_FUNCTIONS(ct_fault_kind, ct_fault_kind, ct_fault_kind_words);
WORD_FUNCTIONS(ct_group_reason, ct_group_reason, ct_group_reason_words);
WORD_FUNCTIONS(ct_log_kind, ct_log_kind, ct_log_kind_words);
WORD_FUNCTIONS(ct_frame_kind, ct_frame_kind, ct_frame_kind_words);
WORD_FUNCTIONS(ct_collector_status, ct_collector_status, ct_collector_status_words);
WORD_FUNCTIONS(ct_ending, ct_ending_kind, ct_ending_words);
WORD_FUNCTIONS(ct_argument_kind, ct_argument_kind, ct_argument_kind_words);
WORD_FUNCTIONS(ct_tensor_role, ct_tensor_role, ct_tensor_role_words);
WORD_FUNCTIONS(ct_check_kind, ct_check_kind, ct_check_kind_words);
WORD_FUNCTIONS(ct_check_status, ct_check_status, ct_check_status_words);
WORD_FUNCTIONS(ct_certainty, ct_certainty, ct_certainty_words);
WORD_FUNCTIONS(ct_launch_origin, ct_launch_origin, ct_launch_origin_words);

const char *ct_fault_kind_headline(enum ct_fault_kind kind)
{
#define X(name, word, headline) headline,
	static const char *const headlines[] = {CT_FAULT_KINDS(X)};
#undef X
	return (unsigned)kind < CT_COUNT(headlines) ? headlines[kind] : headlines[CT_FAULT_UNKNOWN];
}

const char *ct_exception_word(uint32_t code)
{
	switch (code) {
#define X(number, word, text, scope) case number: return word;
		CT_EXCEPTIONS(X)
#undef X
	}
	return NULL;
}

const char *ct_exception_text(uint32_t code)
{
	switch (code) {
#define X(number, word, text, scope) case number: return text;
		CT_EXCEPTIONS(X)
#undef X
	}
	return NULL;
}
