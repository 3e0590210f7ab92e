// Engine live: the whole run under cuda-gdb. Its scripts stop at device assert functions and exceptions, write the GPU part and the host
// stacks into the scratch folder and wait; that file is the trigger. The process is held by that cuda-gdb, so nobody else may trace it:
// what the collectors add is read through /proc.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>
#include <string.h>

#include "engine/engine_priv.h"

// Where glibc's and CUDA's assert macros end on the device. In release builds the function is inside the driver and has no name to stop at;
// there the exception that follows it is the stop (driver 580.159, cuda-gdb 13.0).
#define BREAK_ON "__assert_fail,__assertfail"

static bool prepare(struct ct_run *run, struct ct_error *err)
{
	int fds[3];
	char **argv = NULL, **environment = NULL;
	if (!run->options->async)
		ct_run_setenv(run, "CUDA_LAUNCH_BLOCKING", "1");
	if (!ct_cudagdb_free_fds(fds, err))
		return false;
	const struct ct_cudagdb_live live = {
		.argv = run->options->argv,
		.environment = run->environment,
		.scratch_dir = run->scratch,
		.fds = fds,
		.break_on = BREAK_ON,
		.api_failures = run->options->api_failures,
		.continue_after = run->options->after_fault == CT_FAULT_CONTINUES,
		.interactive = run->interactive,
		.program = ct_run_program(run),
	};
	if (!ct_cudagdb_live_argv(&run->arena, &run->gdb, &live, &argv, &environment, err))
		return false;
	if (run->interactive)
		ct_run_say_plain(run);
	run->target_argv = argv;
	run->target_environment = environment;
	return true;
}

static void look_for_fault(struct ct_run *run)
{
	struct ct_cudagdb_live_status status;
	if (run->incident || !ct_run_in_scratch(run, CT_CUDAGDB_LIVE_JSON))
		return;
	run->look_done = true;
	ct_run_new_incident(run);
	if (!ct_cudagdb_live_status(run->scratch, &status, NULL))
		status.pid = 0;
	ct_run_collect(run, status.pid);
}

static void started(struct ct_run *run)
{
	ct_run_watch_scratch(run, look_for_fault);
}

// The scripts were told to go on by the collectors: unless the run continues they end the program by SIGABRT.
static void collected(struct ct_run *run)
{
	if (run->interactive) {
		ct_run_tell_session(run);  // who sits there decides how it goes on
		return;
	}
	if (run->options->after_fault == CT_FAULT_CONTINUES)
		return;
	run->is_ending = true;
	ct_run_end_tree_later(run);
}

const struct ct_engine ct_engine_live = {
	.name = "live",
	.prepare = prepare,
	.started = started,
	.last_look = look_for_fault,
	.collected = collected,
};
