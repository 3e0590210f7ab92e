// Ranks without a report: from the markers of --job-dir, else from the size of the job; see store_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_priv.h"

// What became of a rank that left a marker but no report, in groups of one kind.
struct fate {
	const char *how;
	struct ct_who who;
};

struct fates {
	struct fate *row;
	size_t n;
};

static void add_fate(struct ct_arena *arena, struct fates *fates, const char *how, const struct ct_marker *m)
{
	size_t i = 0;
	while (i < fates->n && strcmp(fates->row[i].how, how) != 0)
		i++;
	if (i == fates->n) {
		fates->row = ct_arena_grow(arena, fates->row, &fates->n, sizeof *fates->row);
		fates->row[i].how = how;
	}
	ct_who_add(arena, &fates->row[i].who, &m->rank, m->host, m->pid);
}

static bool equal_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

// A report of this rank from the time after its marker: the one that its cudatrap wrote before it was killed itself.
static bool has_report(const struct ct_job_part *part, const struct ct_marker *m)
{
	for (size_t i = 0; i < part->n_rows; i++) {
		const struct ct_store_report *r = part->rows[i].report;
		if (m->report ? strcmp(m->report, r->id) == 0
			      : r->summary.rank.has_rank && r->summary.rank.rank == m->rank.rank && equal_texts(r->summary.host, m->host) &&
					r->summary.time_us >= m->time_us)
			return true;
	}
	return false;
}

static const char *how_ended(struct ct_arena *arena, const struct ct_marker *m)
{
	if (m->report)
		return "wrote a report that is not here";
	if (!m->ended)
		return "left neither report nor end: still running, or killed together with cudatrap (SIGKILL, out of memory, machine lost)";
	const char *ended = ct_arena_printf(arena, "ended with status %d", m->status);
	if (m->signal == SIGTERM)
		ended = "got SIGTERM (so launchers end the others)";
	else if (m->signal) {
		const char *name = sigabbrev_np(m->signal);
		ended = name ? ct_arena_printf(arena, "died of SIG%s", name) : ct_arena_printf(arena, "died of signal %d", m->signal);
	}
	return ct_arena_printf(arena, "%s and left no report%s", ended, m->follower ? "; the output speaks of another rank's fault" : "");
}

static void note_fates(struct ct_job_part *part)
{
	struct fates fates = {.row = NULL, .n = 0};
	for (size_t i = 0; i < part->n_markers; i++) {
		const struct ct_marker *m = part->markers[i];
		bool fine = m->ended && !m->status && !m->signal && !m->report;
		if (!fine && !has_report(part, m))
			add_fate(part->arena, &fates, how_ended(part->arena, m), m);
	}
	for (size_t i = 0; i < fates.n; i++)
		ct_job_note(part, ct_arena_printf(part->arena, "%s %s", ct_who_text(part->arena, &fates.row[i].who), fates.row[i].how));
}

static uint32_t world_size(const struct ct_job_part *part)
{
	uint32_t size = 0;
	for (size_t i = 0; i < part->n_rows; i++) {
		const struct ct_rank *r = &part->rows[i].report->summary.rank;
		size = r->has_world_size && r->world_size > size ? r->world_size : size;
	}
	for (size_t i = 0; i < part->n_markers; i++) {
		const struct ct_rank *r = &part->markers[i]->rank;
		size = r->has_world_size && r->world_size > size ? r->world_size : size;
	}
	return size;
}

// Ranks of the job that neither report nor marker names. More than a million come from a damaged file.
static void note_absent(struct ct_job_part *part)
{
	enum { MAX_WORLD = 1000000 };
	uint32_t size = world_size(part);
	if (size < 2 || size > MAX_WORLD)
		return;
	bool *seen = ct_arena_array(part->arena, size, sizeof *seen);
	for (size_t i = 0; i < part->n_rows; i++) {
		const struct ct_rank *r = &part->rows[i].report->summary.rank;
		if (r->has_rank && r->rank < size)
			seen[r->rank] = true;
	}
	for (size_t i = 0; i < part->n_markers; i++)
		if (part->markers[i]->rank.rank < size)
			seen[part->markers[i]->rank.rank] = true;
	uint32_t *absent = ct_arena_array(part->arena, size, sizeof *absent);
	size_t n = 0;
	for (uint32_t i = 0; i < size; i++)
		if (!seen[i])
			absent[n++] = i;
	if (!n)
		return;
	const char *which = ct_store_ranges(part->arena, absent, n);
	ct_job_note(part, ct_arena_printf(part->arena,
					  part->n_markers ? "rank%s %s of %" PRIu32 " left no trace here: never started, not run under cudatrap, or with another --job-dir"
							  : "rank%s %s of %" PRIu32 " left no report: whether ended, killed or vanished only --job-dir would tell",
					  n > 1 ? "s" : "", which, size));
}

void ct_job_vanished(struct ct_job_part *part)
{
	note_fates(part);
	note_absent(part);
}
