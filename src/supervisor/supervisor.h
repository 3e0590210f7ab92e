// Runs a command so that it cannot tell the difference: input, output, signals, job control and exit status pass
// through unchanged; its stderr is seen on the way. Owns the process tree: nothing that it started outlives it.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Where a difference remains, it is this one: stderr takes a way around stdout, so that on one terminal or file their order
// may change by a moment; input cannot be read from fd 2 (`more` does, when there is no /dev/tty); SIGSTOP to us, which
// nobody can pass on, stops us alone; a kill() of our whole process group reaches a target that shares it twice
// (terminal.c says when it does); a reader of stderr that goes away ends the copying, so that the target gets its SIGPIPE.
#ifndef CT_SUPERVISOR_H
#define CT_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

struct ct_supervisor;

enum ct_stream { CT_STDOUT = 1, CT_STDERR = 2 };

struct ct_supervisor_options {
	char *const *argv;    // NULL-terminated; argv[0] is looked up in PATH of envp
	char *const *envp;    // the target's whole environment; CUDATRAP_RUN_ID is added to it. Both must outlive the supervisor.
	bool watch_stdout;    // pass stdout through us too (pty or pipe, as stderr), so that hooks.output sees it
	int64_t timeout_ms;   // 0: none; then SIGTERM, after grace_ms SIGKILL
	int64_t grace_ms;     // between asking a process to end and ending it
};

// Called from ct_supervisor_run() only, in its thread; they must be quick and may call the functions below.
struct ct_supervisor_hooks {
	void *context;
	// Bytes of the target or any descendant, already passed on. Everything that a child wrote comes before its
	// child_ended, unless our own stream is blocked.
	void (*output)(void *context, enum ct_stream stream, const char *bytes, size_t length);
	// A child of ours was reaped: the target, an orphan adopted from its tree, or a helper process that the hooks started.
	void (*child_ended)(void *context, pid_t pid, int wait_status);
	// Asked, often, when the target has ended: false keeps the loop running (a collection is under way) and what the
	// target left behind alive. Not asked any more after two of SIGINT, SIGTERM, SIGHUP, SIGQUIT since the target's
	// end: somebody wants out.
	bool (*may_finish)(void *context);
};

// How it ended. exit_status is what our own should be when nothing was trapped.
struct ct_supervisor_result {
	bool exited;         // with exit_code, else killed by signal
	int exit_code, signal;
	bool timed_out;
	bool core_dumped;
	int exit_status;     // exit_code, or 128 + signal; 124 after a timeout
	unsigned n_left_behind;  // processes that the target left running, that did not end by themselves at once, and that were ended
	unsigned n_immortal;     // processes that even SIGKILL did not end within seconds (a hung driver)
};

// Starts the target. Belongs into the main thread, before any other is made: signals are blocked from here to
// ct_supervisor_free(), and the target dies when this thread ends. On failure to execute it: CT_NOT_FOUND (our status: 127) or CT_DENIED (126); other codes are 125.
bool ct_supervisor_start(const struct ct_supervisor_options *options, const struct ct_supervisor_hooks *hooks, struct ct_supervisor **ret_supervisor,
			 struct ct_error *err);
pid_t ct_supervisor_target(const struct ct_supervisor *supervisor);
// The loop: returns when the target has ended, its output is drained, and may_finish() agrees.
bool ct_supervisor_run(struct ct_supervisor *supervisor, struct ct_supervisor_result *ret_result, struct ct_error *err);
void ct_supervisor_free(struct ct_supervisor *supervisor);  // ends helpers, restores the terminal; NULL is fine
// Ends us as the target ended: by the same signal (without a core file of our own), or with exit_status. To a shell
// `$?` is 128 + n either way, but a script stops at Ctrl-C only when its command died of it. Call after ct_supervisor_free().
_Noreturn void ct_supervisor_end_as(const struct ct_supervisor_result *result);

// Extra descriptors and one-shot timers for the loop (helper processes' pipes, deadlines). ready() is called as long as fd
// is readable or at its end, so it must read, or unwatch before it closes.
void ct_supervisor_watch(struct ct_supervisor *supervisor, int fd, void (*ready)(void *context, int fd), void *context);
void ct_supervisor_unwatch(struct ct_supervisor *supervisor, int fd);
void ct_supervisor_timer(struct ct_supervisor *supervisor, int64_t deadline_us, void (*fire)(void *context), void *context);

// Starts a helper process of our own that is not part of the target's tree: it is reaped through child_ended, never
// signalled by the supervisor's own ending of the tree, and dies with us, what it started too. It has a session of its own,
// the signal mask and dispositions that we were started with, and our descriptors. -1 on failure. entry runs in the child and its result is the status.
pid_t ct_supervisor_spawn_helper(struct ct_supervisor *supervisor, int (*entry)(void *context), void *context, struct ct_error *err);

// The same for a program that a person works with: it stays in our session, in a process group of its own that has the terminal until
// it ends, however it ends. Nobody could continue it, so Ctrl-Z is off meanwhile. The target is in the background then.
pid_t ct_supervisor_spawn_front(struct ct_supervisor *supervisor, int (*entry)(void *context), void *context, struct ct_error *err);

// Ends the target and everything it started: first_signal to each, SIGKILL to what is left after the grace time, or at
// once when two signals as above arrive meanwhile (each is passed on to the target as well) or end_tree(SIGKILL) is called.
// Returns at once; the loop does it. Processes stopped by a tracer are covered (SIGCONT, SIGKILL).
void ct_supervisor_end_tree(struct ct_supervisor *supervisor, int first_signal);
bool ct_supervisor_is_ending(const struct ct_supervisor *supervisor);
// Two of SIGINT, SIGTERM, SIGHUP, SIGQUIT have come since the end began: be quick, whatever is under way.
bool ct_supervisor_is_interrupted(const struct ct_supervisor *supervisor);

// Live descendants of the target (target included), at most max; returns how many there are.
size_t ct_supervisor_tree(const struct ct_supervisor *supervisor, pid_t *ret_pids, size_t max);
// Is pid one of them?
bool ct_supervisor_has(const struct ct_supervisor *supervisor, pid_t pid);

#endif
