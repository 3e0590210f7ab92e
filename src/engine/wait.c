// Engine wait: the target runs at native speed. With CUDA_DEVICE_WAITS_ON_EXCEPTION=1 the driver stops a process that met a GPU
// exception, says so on stderr and waits for a debugger (driver 580.159, CUDA 13.0: the launching or synchronising thread spins in
// libcuda, every other thread runs on). That line is the trigger.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "engine/engine_priv.h"

enum { MAX_CONSEQUENCES = 64 };

static bool prepare(struct ct_run *run, struct ct_error *err)
{
	(void)err;
	ct_run_setenv(run, "CUDA_DEVICE_WAITS_ON_EXCEPTION", "1");
	if (!run->options->async)
		ct_run_setenv(run, "CUDA_LAUNCH_BLOCKING", "1");
	// With the core dump variables set as well the driver neither waits nor dumps (driver 580.159, measured).
	static const char *const dump_switches[] = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP"};
	for (size_t i = 0; i < CT_COUNT(dump_switches); i++) {
		if (ct_run_getenv(run, dump_switches[i]))
			ct_run_say(run, "%s is left out for this run: with it the driver does not wait", dump_switches[i]);
		ct_run_setenv(run, dump_switches[i], NULL);
	}
	return true;
}

// In a cudatrap under cudatrap both see the line; the one that set the process up takes it.
static bool belongs_to_another(pid_t pid)
{
	char path[64], mine[64];
	CT_AUTO(ct_auto_str) struct ct_str environment = CT_STR_INIT;
	static const char name[] = "CUDATRAP_SUPERVISOR_PID=";
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	snprintf(mine, sizeof mine, "%d", (int)getpid());
	if (!ct_read_file(path, 4 * 1024 * 1024, &environment, NULL))
		return false;
	for (size_t at = 0; at < environment.length; at += strlen(environment.data + at) + 1)
		if (ct_starts_with(environment.data + at, name))
			return strcmp(environment.data + at + sizeof name - 1, mine) != 0;
	return false;
}

static bool known(const struct ct_run *run, pid_t pid)
{
	for (size_t i = 0; i < run->n_waiting; i++)
		if (run->waiting[i] == pid)
			return true;
	return false;
}

static void add_later_fault(struct ct_run *run, pid_t pid, bool same)
{
	// A program that prints such lines without end must not fill the report.
	if (run->incident->n_consequences >= MAX_CONSEQUENCES)
		return;
	double seconds = (double)(ct_now_us() - run->fault_us) / 1e6;
	ct_incident_add_consequence(run->incident, pid, seconds,
				    same ? "the same process met another GPU fault after it was let go on" : "another process stopped on a GPU fault of its own");
}

static void waiting(struct ct_run *run, pid_t pid)
{
	bool same = known(run, pid);
	// The line is foreign text: only a live process of ours is believed.
	if (!same && !ct_supervisor_has(run->supervisor, pid)) {
		ct_run_say(run, "process %d is said to wait, but it is none of ours here", (int)pid);
		return;
	}
	if (!same && belongs_to_another(pid))
		return;
	if (!same && run->n_waiting < CT_COUNT(run->waiting))
		run->waiting[run->n_waiting++] = pid;
	if (!run->incident) {
		ct_run_new_incident(run);
		ct_run_collect(run, pid);
		return;
	}
	add_later_fault(run, pid, same);
	if (run->is_ending) {
		if (!same)  // one that knows of its end already is ended with the tree
			ct_run_abort_waiting(run);
	} else if (run->collected && run->options->after_fault == CT_FAULT_CONTINUES) {
		// Nobody is there to let it go on a second time: the first fault is the report, this is the end.
		ct_incident_add_note(run->incident, "process %d met another GPU fault after it was let go on; it was ended there", (int)pid);
		ct_run_abort_waiting(run);
	}
}

// Only a debugger's detaching lets the driver go on; without one the process would wait for ever.
static bool was_let_go(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_collectors; i++)
		if (strcmp(incident->collectors[i].name, "gpu") == 0)
			return incident->collectors[i].status == CT_COLLECTOR_OK || incident->collectors[i].status == CT_COLLECTOR_PARTIAL;
	return false;
}

static void collected(struct ct_run *run)
{
	bool resume = run->options->after_fault == CT_FAULT_CONTINUES;
	if (resume && was_let_go(run->incident))
		return;
	if (resume)
		ct_incident_add_note(run->incident, "the command could not be let go on (no debugger was attached): it was ended");
	ct_run_abort_waiting(run);
}

const struct ct_engine ct_engine_wait = {
	.name = "wait",
	.summary = "native speed; at the fault the driver waits and cuda-gdb attaches",
	.prepare = prepare,
	.started = ct_run_watch_redirected,
	.waiting = waiting,
	.collected = collected,
};
