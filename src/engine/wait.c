// Engine wait: the target runs at native speed. With CUDA_DEVICE_WAITS_ON_EXCEPTION=1 the driver stops a process that met a GPU
// exception, says so on stderr and waits for a debugger (driver 580.159, CUDA 13.0: the launching or synchronising thread spins in
// libcuda, every other thread runs on). That line is the trigger.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine/engine_priv.h"

enum { MAX_CONSEQUENCES = 64 };

// Where agents report that their process waits: heard also when a program's stderr goes elsewhere.
static bool open_waiting_socket(struct ct_run *run, struct ct_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (!run->agent_dir)
		return true;
	int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/waiting", run->agent_dir);
	if (n < 0 || (size_t)n >= sizeof address.sun_path) {
		ct_fail(err, CT_LIMIT, "%s: too long for a socket", run->agent_dir);
		return ct_hint(err, "set TMPDIR to a shorter path");
	}
	run->waiting_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (run->waiting_socket < 0 || bind(run->waiting_socket, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(run->waiting_socket, SOMAXCONN) != 0)
		return ct_fail_errno(err, "%s", address.sun_path);
	return true;
}

static bool prepare(struct ct_run *run, struct ct_error *err)
{
	if (!open_waiting_socket(run, err))
		return false;
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

static struct ct_waiting *find(struct ct_run *run, pid_t pid)
{
	for (size_t i = 0; i < run->n_waiting; i++)
		if (run->waiting[i].pid == pid)
			return &run->waiting[i];
	return NULL;
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

// A fault is told twice, on stderr and through the agent, in either order, or only once: the larger count is that of the faults.
static bool is_news(struct ct_run *run, pid_t pid, bool by_agent, bool *ret_same)
{
	struct ct_waiting *w = find(run, pid);
	*ret_same = w != NULL;
	if (!w) {
		if (run->n_waiting == CT_COUNT(run->waiting))
			return false;
		w = &run->waiting[run->n_waiting++];
		*w = (struct ct_waiting){.pid = pid, .is_held = true};
	}
	unsigned before = w->n_by_line > w->n_by_agent ? w->n_by_line : w->n_by_agent;
	unsigned *mine = by_agent ? &w->n_by_agent : &w->n_by_line;
	return ++*mine > before;
}

// Nobody is there to let a process go on a second time: the first fault is the report, this is the end.
static void end_second_wait(struct ct_run *run)
{
	if (!run->waits_again)
		return;
	ct_incident_add_note(run->incident, "a process met another GPU fault after the first was let pass; it was ended there");
	ct_run_abort_waiting(run);
}

static void take_waiting(struct ct_run *run, pid_t pid, bool by_agent)
{
	bool same = false;
	// Line and socket are foreign: only a live process of ours is believed.
	if (!find(run, pid) && !ct_supervisor_has(run->supervisor, pid)) {
		ct_run_say(run, "process %d is said to wait, but it is none of ours here", (int)pid);
		return;
	}
	if (!same && belongs_to_another(pid))
		return;
	if (!is_news(run, pid, by_agent, &same))
		return;
	if (!run->incident) {
		ct_run_new_incident(run);
		ct_run_collect(run, pid);
		return;
	}
	add_later_fault(run, pid, same);
	// It can wait again before the debugger that let it go on has ended.
	run->waits_again = run->waits_again || (same && run->options->after_fault == CT_FAULT_CONTINUES);
	if (run->is_ending) {
		if (!same)  // one that knows of its end already is ended with the tree
			ct_run_abort_waiting(run);
		return;
	}
	if (run->is_let_end)
		ct_run_let_all_end(run);
	else if (run->collected)
		end_second_wait(run);
}

static void waiting(struct ct_run *run, pid_t pid)
{
	take_waiting(run, pid, false);
}

static void on_waiting_socket(void *context, int fd)
{
	struct ct_run *run = context;
	for (;;) {
		CT_AUTO(ct_auto_close) int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		struct ucred peer = {.pid = 0};
		socklen_t size = sizeof peer;
		if (connection < 0)
			return;
		if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
			continue;
		ct_run_read_redirected(run);  // the log that belongs to the fault may be in a file
		take_waiting(run, peer.pid, true);
	}
}

static void started(struct ct_run *run)
{
	if (run->waiting_socket >= 0)
		ct_supervisor_watch(run->supervisor, run->waiting_socket, on_waiting_socket, run);
	ct_run_watch_redirected(run);
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
	if (run->interactive) {
		ct_run_open_session(run);
		return;
	}
	if (run->options->after_fault == CT_FAULT_IS_ERROR) {
		ct_run_let_all_end(run);
		return;
	}
	if (resume && was_let_go(run->incident)) {
		end_second_wait(run);
		return;
	}
	if (resume)
		ct_incident_add_note(run->incident, "the command could not be let go on (no debugger was attached): it was ended");
	ct_run_abort_waiting(run);
}

const struct ct_engine ct_engine_wait = {
	.name = "wait",
	.prepare = prepare,
	.started = started,
	.waiting = waiting,
	.collected = collected,
};
