// Engine live: the whole run under cuda-gdb. Its scripts stop at device assert functions and exceptions, write the GPU part and the host
// stacks into the scratch folder and wait; that file is the trigger. The process is held by that cuda-gdb, so nobody else may trace it:
// what the collectors add is read through /proc.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>

#include "engine/engine_priv.h"

// Where glibc's and CUDA's assert macros end on the device. In release builds the function is inside the driver and has no name to stop at;
// there the exception that follows it is the stop (driver 580.159, cuda-gdb 13.0).
#define BREAK_ON "__assert_fail,__assertfail"

enum { LOOK_AGAIN_MS = 200 };

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
	};
	if (!ct_cudagdb_live_argv(&run->arena, &run->gdb, &live, &argv, &environment, err))
		return false;
	run->target_argv = argv;
	run->target_environment = environment;
	return true;
}

static bool exists(const struct ct_run *run, const char *name)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/%s", run->scratch, name);
	return access(ct_str_text(&path), F_OK) == 0;
}

static void look_for_fault(struct ct_run *run)
{
	struct ct_cudagdb_live_status status;
	if (run->incident || !exists(run, CT_CUDAGDB_LIVE_JSON))
		return;
	ct_run_new_incident(run);
	if (!ct_cudagdb_live_status(run->scratch, &status, NULL))
		status.pid = 0;
	ct_run_collect(run, status.pid);
}

static void on_folder_changed(void *context, int fd)
{
	struct ct_run *run = context;
	char events[4096];
	while (read(fd, events, sizeof events) > 0)
		;
	look_for_fault(run);
}

static void look_again(void *context)
{
	struct ct_run *run = context;
	look_for_fault(run);
	if (!run->incident)
		ct_supervisor_timer(run->supervisor, ct_now_us() + (int64_t)LOOK_AGAIN_MS * 1000, look_again, run);
}

static void started(struct ct_run *run)
{
	run->folder_watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (run->folder_watch < 0 || inotify_add_watch(run->folder_watch, run->scratch, IN_MOVED_TO) < 0) {
		// A user may have few of them (fs.inotify.max_user_instances), and editors take them all.
		ct_run_say(run, "no inotify here: looking for a fault now and then");
		look_again(run);
		return;
	}
	ct_supervisor_watch(run->supervisor, run->folder_watch, on_folder_changed, run);
	look_for_fault(run);
}

// The scripts were told to go on by the collectors: unless the run continues they end the program by SIGABRT.
static void collected(struct ct_run *run)
{
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
