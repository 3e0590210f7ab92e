// Many reports: reading folder trees of them, grouping them by fault, merging those of one job. Never prints, has no clock.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_STORE_H
#define CT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "incident/incident.h"
#include "report/report.h"

// ---- Reading ----------------------------------------------------------------------------------------------------

struct ct_store_report {
	struct ct_summary summary;
	const char *path;  // of its folder
	const char *id;    // last component of the path
};

struct ct_store_skipped {
	const char *path, *why;
};

enum { CT_STORE_MAX_SKIPPED = 1000, CT_STORE_MAX_DEPTH = 16, CT_STORE_MAX_REPORTS = 1000000 };

struct ct_store {
	struct ct_arena arena;  // of everything below
	struct ct_store_report *reports;  // oldest first; equal times by path
	size_t n_reports;
	struct ct_marker *markers;  // of all folders called "ranks" that were passed, oldest first
	size_t n_markers;
	struct ct_store_skipped *skipped;  // what could not be read, at most CT_STORE_MAX_SKIPPED of it
	size_t n_skipped, n_skipped_all;
};

struct ct_store *ct_store_new(void);
void ct_store_free(struct ct_store *store);  // NULL is fine
void ct_store_auto(struct ct_store **store);  // for CT_AUTO

// Adds what is in dir and below it. A folder with summary.json or incident.json is a report, and not looked into any further. Hidden
// folders are passed over (reports that are just being written), links are not followed (but dir may be one), a report that was
// reached twice counts once. What cannot be read is skipped, with a row; false only when dir itself cannot be read.
bool ct_store_read(struct ct_store *store, const char *dir, struct ct_error *err);

// A path as it can be shown: clean UTF-8, one line.
const char *ct_store_shown_path(struct ct_arena *arena, const char *path);

// ---- Dates ------------------------------------------------------------------------------------------------------

// "2026-11-30" -> its first microsecond, UTC. Only dates that exist, years 1970 to 9999.
bool ct_date_parse(const char *text, size_t length, int64_t *ret_us);
// "2026-11-30", "2026-11-30T14:00", "2026-11-30 14:00:05" (UTC), or how long before now: "30m", "12h", "2d", "1w".
bool ct_since_parse(const char *text, int64_t now_us, int64_t *ret_us, struct ct_error *err);

// ---- Known faults -----------------------------------------------------------------------------------------------

struct ct_known {
	const char *signature, *reason;
	bool has_expiry;
	int64_t expires_us;  // from then on it counts as new: the end of the day
	const char *expiry;  // "2026-12-31"
	unsigned line;
};

struct ct_known_list {
	struct ct_known *rows;  // by signature
	size_t n;
};

// A line each: SIGNATURE [YYYY-MM-DD] REASON; empty ones and those that start with # are comments. CT_FORMAT names source and line of
// what is none: a signature that is not one or is there twice, a date that does not exist, a missing reason.
bool ct_known_parse(struct ct_arena *arena, const char *text, size_t length, const char *source, struct ct_known_list *ret_list, struct ct_error *err);
const struct ct_known *ct_known_find(const struct ct_known_list *list, const char *signature);  // NULL: not in it

// ---- Groups -----------------------------------------------------------------------------------------------------

struct ct_store_group {
	const char *signature;
	const struct ct_store_report *newest;
	size_t n_reports;
	int64_t first_us, last_us;
	const char **hosts, **commands, **jobs;  // each once, ascending
	size_t n_hosts, n_commands, n_jobs;
	uint32_t *ranks;  // each once, ascending
	size_t n_ranks;
	const struct ct_known *known;  // NULL: not in the list
	bool expired;                  // known, but no more
};

// The reports from since_us on (0: all; those without a time always), by signature, the one seen last first. Rows in the store's arena.
struct ct_store_group *ct_store_group(struct ct_store *store, const struct ct_known_list *known, int64_t since_us, int64_t now_us, size_t *ret_count);
bool ct_store_group_is_new(const struct ct_store_group *group);

// "0-3,7" for ascending numbers.
const char *ct_store_ranges(struct ct_arena *arena, const uint32_t *numbers, size_t count);

// ---- Ranks of one job -------------------------------------------------------------------------------------------

struct ct_merged {
	struct ct_incident *incident;  // the first fault, the others as its consequences; NULL: no report was there. The caller's
	const char *path;      // of the report of the first fault
	const char *headline;  // one line: how many reports, which rank failed first. In the store's arena, as all below
	const char **notes;    // how sure the order is, which ranks vanished; in the incident too, if there is one
	size_t n_notes;
};

// job NULL: whatever is there; CT_USAGE when that is several jobs.
bool ct_store_merge(struct ct_store *store, const char *job, int64_t since_us, struct ct_merged *ret_merged, struct ct_error *err);

#endif
