// With --job-dir: a marker that this rank started, and how it ended, so that one that vanishes is missed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "engine/engine_priv.h"
#include "report/report.h"

// A marker that cannot be written must not cost the run.
static void write_marker(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	if (ct_marker_write(run->options->job_dir, &run->marker, &err))
		return;
	run->has_marker = false;
	dprintf(STDERR_FILENO, "cudatrap: --job-dir: %s: merge will not know how this rank ended\n", err.text);
}

void ct_run_rank_started(struct ct_run *run)
{
	struct ct_marker *m = &run->marker;
	if (!run->options->job_dir)
		return;
	if (!ct_collect_rank(&run->arena, ct_run_lookup, run, &m->rank) || !m->rank.has_rank) {
		ct_run_say(run, "--job-dir: no launcher's rank in the environment, no marker is written");
		return;
	}
	m->pid = getpid();
	m->time_us = ct_wall_us();
	m->monotonic_us = ct_now_us();
	m->host = ct_run_host(&run->arena);
	m->boot_id = ct_run_boot_id(&run->arena);
	run->has_marker = true;
	write_marker(run);
}

static const char *follower_of(const struct ct_incident *incident)
{
	for (size_t i = 0; incident && i < incident->n_log; i++)
		if (incident->log[i].kind == CT_LOG_FOLLOWER)
			return incident->log[i].text;
	return NULL;
}

void ct_run_rank_ended(struct ct_run *run, int exit_status)
{
	struct ct_marker *m = &run->marker;
	const struct ct_supervisor_result *r = &run->result;
	if (!run->has_marker)
		return;
	m->ended = true;
	m->signal = r->signal;
	m->status = r->signal ? 0 : r->exited ? r->exit_code : exit_status;
	m->end_time_us = ct_wall_us();
	m->end_monotonic_us = ct_now_us();
	m->report = run->report_id;
	m->follower = follower_of(run->incident);
	write_marker(run);
}
