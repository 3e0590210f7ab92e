// A process that runs already: one that waits in the driver after a fault, or one that seems to hang.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_priv.h"

static bool parse_pid(const char *text, pid_t *ret_pid, struct ct_error *err)
{
	char *end = NULL;
	errno = 0;
	long n = strtol(text, &end, 10);
	if (end == text || *end || errno || n <= 0 || n > 4194304)  // PID_MAX_LIMIT (linux/threads.h)
		return ct_fail(err, CT_USAGE, "attach: '%s' is not a process id", text);
	if (kill((pid_t)n, 0) != 0 && errno == ESRCH)
		return ct_fail(err, CT_NOT_FOUND, "attach: no process %ld", n);
	*ret_pid = (pid_t)n;
	return true;
}

// Of a process that is not ours the environment tells what ours would.
static bool is_set(pid_t pid, const char *name)
{
	char path[64];
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str wanted = CT_STR_INIT;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	ct_str_addf(&wanted, "%s=1", name);
	if (!ct_read_file(path, 4 * 1024 * 1024, &text, NULL))
		return false;
	for (size_t at = 0; at < text.length; at += strlen(text.data + at) + 1)
		if (strcmp(text.data + at, ct_str_text(&wanted)) == 0)
			return true;
	return false;
}

// *ret_waits: it stays where it is.
static void read_process(struct ct_run *run, pid_t pid, bool *ret_waits)
{
	struct ct_incident *incident = ct_run_new_incident(run);
	// One that waits after its fault must not run on past it; any other one must go on as it was.
	bool waits = is_set(pid, "CUDA_DEVICE_WAITS_ON_EXCEPTION") && run->options->after_fault != CT_FAULT_CONTINUES;
	const struct ct_collect_job job = {
		.incident = incident,
		.pid = pid,
		.deadline_us = ct_now_us() + run->options->deadline_ms * 1000,
		.scratch_dir = run->scratch,
		.gdb = run->has_gdb ? &run->gdb : NULL,
		.environment = run->environment,
		.resume = !waits,
		.verbose = run->options->verbose,
		.leave_gpu = run->interactive && run->gdb.has_gdb_cuda,
	};
	incident->launch_blocking = is_set(pid, "CUDA_LAUNCH_BLOCKING");
	ct_collect_run(&job);
	incident->command = incident->process.argv;
	incident->n_command = incident->process.n_argv;
	incident->cwd = incident->process.cwd;
	incident->ending.kind = CT_ENDING_RUNNING;
	*ret_waits = waits;
	incident->ending.detail = waits ? "it was left waiting in the driver" : "it was let go on";
}

int ct_engine_attach(const struct ct_options *options)
{
	struct ct_error err = CT_ERROR_INIT;
	struct ct_run run = {.options = options, .arena = CT_ARENA_INIT, .folder_watch = -1, .dump_fd = -1, .waiting_socket = -1};
	pid_t pid = 0;
	int status = 0;
	if (options->argc != 1)
		ct_fail(&err, CT_USAGE, "attach: one process id is needed");
	else if (parse_pid(options->argv[0], &pid, &err))
		ct_run_prepare(&run, &err);
	if (err.code == CT_OK) {
		run.engine = &ct_engine_wait;
		run.engine_why = "attached to a running process";
		bool waits = false;
		read_process(&run, pid, &waits);
		if (run.interactive && !ct_run_hold_session(&run, pid, waits, &err))
			status = ct_run_complain(&err, 125);
		ct_run_diagnose(run.incident);
		ct_run_deliver(&run);
		ct_run_tell(&run);
	} else {
		status = ct_run_complain(&err, 125);
	}
	ct_run_done(&run);
	return status;
}
