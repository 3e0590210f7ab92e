// The reports of one job's ranks as one incident: the first fault, the others as its consequences; see store.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_priv.h"

enum { SOME = 4 };  // texts of a list that are shown

void ct_job_note(struct ct_job_part *part, const char *text)
{
	part->notes = ct_arena_grow(part->arena, part->notes, &part->n_notes, sizeof *part->notes);
	part->notes[part->n_notes - 1] = text;
}

void ct_who_add(struct ct_arena *arena, struct ct_who *who, const struct ct_rank *rank, const char *host, int64_t pid)
{
	if (rank->has_rank) {
		who->ranks = ct_arena_grow(arena, who->ranks, &who->n_ranks, sizeof *who->ranks);
		who->ranks[who->n_ranks - 1] = rank->rank;
	}
	who->hosts = ct_arena_grow(arena, who->hosts, &who->n_hosts, sizeof *who->hosts);
	who->hosts[who->n_hosts - 1] = host;
	who->pid = who->pid ? who->pid : pid;
}

const char *ct_who_text(struct ct_arena *arena, struct ct_who *who)
{
	size_t n_ranks = ct_store_unique_numbers(who->ranks, who->n_ranks), n_all = who->n_hosts;
	size_t n_hosts = ct_store_unique_texts(who->hosts, who->n_hosts);
	const char *hosts = n_hosts ? ct_arena_printf(arena, " on %s", ct_store_first_texts(arena, who->hosts, n_hosts, SOME)) : "";
	if (n_ranks)
		return ct_arena_printf(arena, "rank%s %s%s", n_ranks > 1 ? "s" : "", ct_store_ranges(arena, who->ranks, n_ranks), hosts);
	if (n_all > 1)
		return ct_arena_printf(arena, "%zu processes%s", n_all, hosts);
	return ct_arena_printf(arena, "process %" PRId64 "%s", who->pid, hosts);
}

static const char *who_of(struct ct_arena *arena, const struct ct_summary *s)
{
	struct ct_who who = {.n_ranks = 0};
	ct_who_add(arena, &who, &s->rank, s->host, s->pid);
	return ct_who_text(arena, &who);
}

// ---- Which reports ---------------------------------------------------------------------------------------------

static bool check_jobs(struct ct_store *store, const char **jobs, size_t n, struct ct_error *err)
{
	if (n < 2)
		return true;
	ct_fail(err, CT_USAGE, "reports of %zu jobs: %s", n, ct_store_first_texts(&store->arena, jobs, n, SOME));
	return ct_hint(err, "choose one with --job");
}

// Reports that name no job belong to any: a process may have been started with an empty environment.
static bool is_of(const char *job, const struct ct_rank *rank)
{
	return !job || !rank->job || strcmp(job, rank->job) == 0;
}

static bool choose(struct ct_store *store, const char *job, int64_t since_us, struct ct_job_part *part, struct ct_error *err)
{
	const char **jobs = ct_arena_array(part->arena, store->n_reports + store->n_markers, sizeof *jobs);
	size_t n_jobs = 0;
	part->rows = ct_arena_array(part->arena, store->n_reports, sizeof *part->rows);
	part->markers = ct_arena_array(part->arena, store->n_markers, sizeof *part->markers);
	for (size_t i = 0; i < store->n_reports; i++) {
		const struct ct_summary *s = &store->reports[i].summary;
		if ((s->time_us > 0 && s->time_us < since_us) || !is_of(job, &s->rank))
			continue;
		part->rows[part->n_rows++].report = &store->reports[i];
		jobs[n_jobs++] = s->rank.job;
	}
	for (size_t i = 0; i < store->n_markers; i++) {
		const struct ct_marker *m = &store->markers[i];
		if (m->time_us < since_us || !is_of(job, &m->rank))
			continue;
		part->markers[part->n_markers++] = m;
		jobs[n_jobs++] = m->rank.job;
	}
	n_jobs = ct_store_unique_texts(jobs, n_jobs);
	return check_jobs(store, jobs, n_jobs, err);
}

// ---- Which was first --------------------------------------------------------------------------------------------

// The first that is not a consequence by its own words; the first of all when all are.
static size_t first_fault(const struct ct_job_part *part)
{
	for (size_t i = 0; i < part->n_rows; i++)
		if (!ct_summary_is_follower(&part->rows[i].report->summary))
			return i;
	return 0;
}

static bool same_machine(const struct ct_summary *a, const struct ct_summary *b)
{
	if (a->boot_id && b->boot_id)
		return strcmp(a->boot_id, b->boot_id) == 0;
	return a->host && b->host && strcmp(a->host, b->host) == 0;
}

// The wall clocks of two machines may be apart; how far, nobody here knows. Minutes are beyond what an unkept clock is usually off.
static void note_order(struct ct_job_part *part, size_t first)
{
	enum { CLOSE_SECONDS = 60 };
	const struct ct_summary *a = &part->rows[first].report->summary;
	bool others = false;
	for (size_t i = 0; i < part->n_rows; i++) {
		const struct ct_summary *b = &part->rows[i].report->summary;
		if (i == first || same_machine(a, b))
			continue;
		others = true;
		double after = (double)(part->rows[i].at_us - part->rows[first].at_us) / 1e6;
		if (ct_summary_is_follower(b) || after > CLOSE_SECONDS)
			continue;
		ct_job_note(part, ct_arena_printf(part->arena,
						  "%s failed %.1f s later by the clock of another machine: which of the two was first is established only if their "
						  "clocks agree better than that",
						  who_of(part->arena, b), after));
		return;
	}
	if (others)
		ct_job_note(part, "machines are compared by their wall clocks; how far these are apart is not known");
}

static void note_span(struct ct_job_part *part)
{
	enum { HOURS = 12 };
	double hours = part->n_rows ? (double)(part->rows[part->n_rows - 1].at_us - part->rows[0].at_us) / 3.6e9 : 0;
	if (hours > HOURS)
		ct_job_note(part, ct_arena_printf(part->arena, "the reports are spread over %.0f hours: they may be of several runs; --since and --job choose", hours));
}

static void note_followers_only(struct ct_job_part *part, size_t first)
{
	if (part->n_rows && ct_summary_is_follower(&part->rows[first].report->summary))
		ct_job_note(part, "every report speaks of another rank's fault and none has one of its own: look at the ranks that left no report; "
				  "NCCL_DEBUG=WARN makes NCCL name the peer that it lost");
}

// ---- The others -------------------------------------------------------------------------------------------------

struct other {
	const char *key;  // what they have in common
	const char *text;
	struct ct_who who;
	size_t n;
	double seconds_after;
};

static const char *fault_text(struct ct_arena *arena, const struct ct_summary *s)
{
	return ct_arena_printf(arena, "%s%s%s%s%s", ct_fault_kind_headline(s->kind), s->kernel ? " in " : "", s->kernel ? s->kernel : "", s->detail ? ": " : "",
			       s->detail ? s->detail : "");
}

static const char *other_text(struct ct_arena *arena, const struct ct_summary *s, const struct ct_summary *first)
{
	if (ct_summary_is_follower(s))
		return ct_arena_printf(arena, "speaks of another rank's fault: %s", s->follower);
	if (strcmp(s->signature, first->signature) == 0)
		return "the same fault";
	return ct_arena_printf(arena, "another fault, %s (signature %s)", fault_text(arena, s), s->signature);
}

static void add_others(struct ct_job_part *part, size_t first, struct ct_incident *incident)
{
	static const char follower[] = "follower";
	struct other *others = NULL;
	size_t n = 0;
	const struct ct_summary *origin = &part->rows[first].report->summary;
	for (size_t i = 0; i < part->n_rows; i++) {
		const struct ct_summary *s = &part->rows[i].report->summary;
		const char *key = ct_summary_is_follower(s) ? follower : s->signature;
		size_t k = 0;
		if (i == first)
			continue;
		while (k < n && strcmp(others[k].key, key) != 0)
			k++;
		if (k == n) {
			others = ct_arena_grow(part->arena, others, &n, sizeof *others);
			others[k] = (struct other){.key = key, .text = other_text(part->arena, s, origin),
						   .seconds_after = (double)(part->rows[i].at_us - part->rows[first].at_us) / 1e6};
		}
		ct_who_add(part->arena, &others[k].who, &s->rank, s->host, s->pid);
		others[k].n++;
	}
	for (size_t k = 0; k < n; k++) {
		struct other *o = &others[k];
		const char *who = ct_who_text(part->arena, &o->who);
		const char *count = o->n > 1 ? ct_arena_printf(part->arena, " (%zu reports)", o->n) : "";
		ct_incident_add_consequence(incident, 0, o->seconds_after, ct_arena_printf(part->arena, "%s%s: %s", who, count, o->text));
	}
}

// ---- The whole --------------------------------------------------------------------------------------------------

// What its summary tells, when the report itself cannot be read any more.
static struct ct_incident *from_summary(const struct ct_summary *s, const struct ct_error *err)
{
	struct ct_incident *incident = ct_incident_new();
	struct ct_arena *arena = &incident->arena;
	incident->time_us = s->time_us;
	incident->kind = s->kind;
	incident->host = ct_arena_strdup(arena, s->host);
	incident->rank = s->rank;
	incident->rank.job = ct_arena_strdup(arena, s->rank.job);
	incident->rank.launcher = ct_arena_strdup(arena, s->rank.launcher);
	incident->process.pid = s->pid;
	ct_incident_add_note(incident, "only the summary of the first report could be read: %s", err->text);
	return incident;
}

static struct ct_incident *read_incident(const struct ct_store_report *report)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_incident *incident = NULL;
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	ct_str_addf(&path, "%s/" CT_REPORT_INCIDENT, report->path);
	if (ct_read_file(ct_str_text(&path), CT_INCIDENT_MAX_BYTES, &text, &err) &&
	    ct_incident_read_json(ct_str_text(&text), text.length, &incident, &err))
		return incident;
	return from_summary(&report->summary, &err);
}

static size_t count_hosts(const struct ct_job_part *part)
{
	const char **hosts = ct_arena_array(part->arena, part->n_rows, sizeof *hosts);
	for (size_t i = 0; i < part->n_rows; i++)
		hosts[i] = part->rows[i].report->summary.host;
	return ct_store_unique_texts(hosts, part->n_rows);
}

static const char *headline(const struct ct_job_part *part, size_t first)
{
	if (!part->n_rows)
		return ct_arena_printf(part->arena, "no report; %zu marker%s of ranks", part->n_markers, part->n_markers == 1 ? "" : "s");
	const struct ct_summary *s = &part->rows[first].report->summary;
	size_t hosts = count_hosts(part);
	const char *job = s->rank.job ? ct_arena_printf(part->arena, " of job %s", s->rank.job) : "";
	const char *what = ct_summary_is_follower(s) ? "spoke first, of another rank's fault" : "failed first";
	return ct_arena_printf(part->arena, "%zu report%s%s from %zu host%s: %s %s", part->n_rows, part->n_rows == 1 ? "" : "s", job, hosts, hosts == 1 ? "" : "s",
			       who_of(part->arena, s), what);
}

bool ct_store_merge(struct ct_store *store, const char *job, int64_t since_us, struct ct_merged *ret_merged, struct ct_error *err)
{
	struct ct_job_part part = {.arena = &store->arena};
	if (!choose(store, job, since_us, &part, err))
		return false;
	ct_store_order(part.rows, part.n_rows);
	size_t first = first_fault(&part);
	struct ct_incident *incident = NULL;
	if (part.n_rows) {
		incident = read_incident(part.rows[first].report);
		add_others(&part, first, incident);
		note_order(&part, first);
		note_span(&part);
		note_followers_only(&part, first);
	}
	ct_job_vanished(&part);
	for (size_t i = 0; incident && i < part.n_notes; i++)
		ct_incident_add_note(incident, "%s", part.notes[i]);
	*ret_merged = (struct ct_merged){.incident = incident, .path = part.n_rows ? part.rows[first].report->path : NULL, .headline = headline(&part, first), .notes = part.notes, .n_notes = part.n_notes};
	return true;
}
