// A process whose fault was read gets that fault's error from every CUDA call, through the agent, and ends by its own means: its
// exception, its except and finally, its exit status. What it would have been without us, where the driver would hold it for ever or abort it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "agent/agent.h"
#include "engine/engine_priv.h"

enum { ASK_US = 2000000 };

// What the driver returns for an exception (CUDBGException_t of cudadebugger.h -> CUresult of cuda.h, CUDA 13.0).
static unsigned error_of_exception(uint32_t exception)
{
	enum { LAUNCH_FAILED = 719 };
	static const struct {
		uint32_t exception;
		unsigned error;
	} rows[] = {
		{1, 700}, {5, 700}, {10, 700}, {14, 700}, // illegal address; out of range: an overflowing stack ends there
		{3, 714}, {9, 714},                       // hardware stack overflow
		{4, 715},                                 // illegal instruction
		{6, 716}, {11, 716},                      // misaligned address
		{7, 717},                                 // invalid address space
		{8, 718},                                 // invalid program counter
		{12, 710},                                // assert
	};
	for (size_t i = 0; i < CT_COUNT(rows); i++)
		if (rows[i].exception == exception)
			return rows[i].error;
	return LAUNCH_FAILED;
}

static unsigned error_of(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->gpu.n_groups; i++)
		if (incident->gpu.groups[i].has_exception)
			return error_of_exception(incident->gpu.groups[i].exception);
	return error_of_exception(incident->assertion.present ? 12 : 0);
}

static bool ask(const struct ct_run *run, pid_t pid, const char *request, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str answer = CT_STR_INIT;
	if (!run->agent_dir)
		return ct_fail(err, CT_NOT_FOUND, "no agent (%s)", run->agent_missing.text);
	if (!ct_agent_ask(run->agent_dir, pid, request, ct_now_us() + ASK_US, &answer, err))
		return false;
	return strstr(ct_str_text(&answer), "\"error_code\"") || ct_fail(err, CT_UNAVAILABLE, "no call of process %d goes through the agent", (int)pid);
}

bool ct_run_hold(struct ct_run *run, pid_t pid, struct ct_error *err)
{
	return ask(run, pid, "hold", err);
}

static bool let_end(struct ct_run *run, pid_t pid, struct ct_error *err)
{
	char request[32];
	run->error_code = run->error_code ? run->error_code : error_of(run->incident);
	snprintf(request, sizeof request, "fail %u", run->error_code);
	return ask(run, pid, request, err);
}

static void ending_took_too_long(void *context)
{
	struct ct_run *run = context;
	bool left = false;
	for (size_t i = 0; i < run->n_waiting; i++)
		left |= ct_supervisor_has(run->supervisor, run->waiting[i].pid);
	if (!left)
		return;
	ct_incident_add_note(run->incident, "a process that was given its fault's error had not ended %" PRId64 " s later (--ending-limit): it was ended",
			     run->options->ending_limit_ms / 1000);
	ct_run_abort_waiting(run);
}

void ct_run_let_all_end(struct ct_run *run)
{
	bool any = false;
	for (size_t i = 0; i < run->n_waiting; i++) {
		struct ct_error err = CT_ERROR_INIT;
		pid_t pid = run->waiting[i].pid;
		if (run->waiting[i].let_end || !run->waiting[i].is_held || !ct_supervisor_has(run->supervisor, pid))
			continue;
		run->waiting[i].let_end = let_end(run, pid, &err);
		if (run->waiting[i].let_end) {
			any = true;
			continue;
		}
		ct_run_say(run, "process %d cannot be let end by itself: %s", (int)pid, err.text);
		ct_run_abort_waiting(run);
		return;
	}
	if (!any || run->is_let_end)
		return;
	run->is_let_end = true;
	ct_supervisor_timer(run->supervisor, ct_now_us() + run->options->ending_limit_ms * 1000, ending_took_too_long, run);
	ct_run_deliver_early_later(run);
}
