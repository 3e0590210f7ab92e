// Start, loop, end; see supervisor.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "supervisor/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

// Whoever still writes after everybody of the tree is gone is none of ours: more than any pipe holds (1 MiB) is not waited for.
#define DRAIN_MOST_BYTES ((size_t)4 << 20)

static void auto_supervisor(struct ct_supervisor **s)
{
	ct_supervisor_free(*s);
}

static struct ct_supervisor *new_supervisor(const struct ct_supervisor_options *options, const struct ct_supervisor_hooks *hooks)
{
	struct ct_supervisor *s = ct_xrealloc(NULL, sizeof *s);
	*s = (struct ct_supervisor){.options = *options, .signal_fd = -1, .guardian_fd = -1, .sentinel_fd = -1, .terminal = {.fd = -1}};
	if (hooks)
		s->hooks = *hooks;
	for (size_t i = 0; i < CT_COUNT(s->relays); i++)
		s->relays[i] = (struct ct_relay){.input = -1, .target_end = -1, .output = -1, .is_drained = true};
	return s;
}

static bool prepare(struct ct_supervisor *s, struct ct_error *err)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
		return ct_fail_errno(err, "prctl(PR_SET_CHILD_SUBREAPER)");
	ct_supervisor_children_note_earlier(s);
	ct_supervisor_terminal_open(s);
	if (!ct_supervisor_signals_start(s, err) || !ct_supervisor_marker_make(s, err))
		return false;
	if (s->options.watch_stdout && !ct_supervisor_relay_open(s, CT_STDOUT, err))
		return false;
	if (!ct_supervisor_relay_open(s, CT_STDERR, err))
		return false;
	ct_supervisor_window_copy(s);
	return ct_supervisor_guardian_start(s, err);
}

bool ct_supervisor_start(const struct ct_supervisor_options *options, const struct ct_supervisor_hooks *hooks, struct ct_supervisor **ret_supervisor,
			 struct ct_error *err)
{
	if (!options->argv || !options->argv[0])
		return ct_fail(err, CT_USAGE, "no command to run");
	CT_AUTO(auto_supervisor) struct ct_supervisor *s = new_supervisor(options, hooks);
	if (!prepare(s, err) || !ct_supervisor_spawn_target(s, err))
		return false;
	if (s->own_group && s->terminal.fd >= 0 && !ct_supervisor_sentinel_start(s, err))
		return false;
	*ret_supervisor = s;
	s = NULL;
	return true;
}

pid_t ct_supervisor_target(const struct ct_supervisor *s)
{
	return s->target;
}

// Rows of the poll() set, in this order; the watches follow.
enum { POLL_SIGNALS, POLL_SENTINEL, POLL_RELAY0, POLL_RELAY1, POLL_WATCHES };

static struct pollfd relay_pollfd(const struct ct_relay *relay)
{
	if (ct_supervisor_relay_is_blocked(relay))
		return (struct pollfd){.fd = relay->output, .events = POLLOUT};
	return (struct pollfd){.fd = relay->input, .events = POLLIN};
}

static int wait_ms(const struct ct_supervisor *s)
{
	int64_t ending = ct_supervisor_ending_deadline(s), timer = ct_supervisor_timers_deadline(s);
	int64_t deadline = ending < timer ? ending : timer;
	return deadline == INT64_MAX ? -1 : ct_ms_until(deadline);
}

static void dispatch_watches(struct ct_supervisor *s, const struct pollfd *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ct_watch watch = s->watches[i];  // a copy: ready() may add rows, which moves the list
		if (watch.fd < 0 || !fds[i].revents)
			continue;
		if (fds[i].revents & POLLNVAL)
			s->watches[i].fd = -1;  // closed without a word: would be reported for ever
		else
			watch.ready(watch.context, watch.fd);
	}
	ct_supervisor_watches_compact(s);
}

// One round: wait for something, and deal with it.
static bool turn(struct ct_supervisor *s, struct ct_error *err)
{
	size_t n_watches = s->n_watches;
	CT_AUTO(ct_auto_free) struct pollfd *fds = ct_xrealloc(NULL, (POLL_WATCHES + n_watches) * sizeof *fds);
	fds[POLL_SIGNALS] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
	fds[POLL_SENTINEL] = (struct pollfd){.fd = s->sentinel_fd, .events = POLLIN};
	fds[POLL_RELAY0] = relay_pollfd(&s->relays[0]);
	fds[POLL_RELAY1] = relay_pollfd(&s->relays[1]);
	for (size_t i = 0; i < n_watches; i++)
		fds[POLL_WATCHES + i] = (struct pollfd){.fd = s->watches[i].fd, .events = POLLIN};
	if (poll(fds, POLL_WATCHES + n_watches, wait_ms(s)) < 0)
		return errno == EINTR || ct_fail_errno(err, "poll");
	for (size_t i = 0; i < CT_COUNT(s->relays); i++)
		if (fds[POLL_RELAY0 + i].revents)
			ct_supervisor_relay_pump(s, &s->relays[i]);
	if (fds[POLL_SENTINEL].revents)
		ct_supervisor_sentinel_read(s);
	if (fds[POLL_SIGNALS].revents)
		ct_supervisor_signals_read(s);
	ct_supervisor_reap(s);
	dispatch_watches(s, fds + POLL_WATCHES, n_watches);
	ct_supervisor_fire_timers(s);
	return true;
}

static bool may_finish(const struct ct_supervisor *s)
{
	return ct_supervisor_is_interrupted(s) || !s->hooks.may_finish || s->hooks.may_finish(s->hooks.context);
}

// Everybody is gone: what they wrote is still to be passed on. A pager that stands still is waited for as the target
// would have waited; when it was us who ended it, for the grace time.
static bool is_drained(struct ct_supervisor *s)
{
	bool drained = true;
	for (size_t i = 0; i < CT_COUNT(s->relays); i++) {
		ct_supervisor_relay_pump(s, &s->relays[i]);
		if (ct_supervisor_relay_is_blocked(&s->relays[i]))
			drained &= s->ended_by_us && ct_now_us() >= s->phase_us;
		else
			drained &= s->relays[i].is_drained;
	}
	return drained || ct_supervisor_is_interrupted(s) || s->drained_bytes > DRAIN_MOST_BYTES;
}

static void fill_result(const struct ct_supervisor *s, struct ct_supervisor_result *ret_result)
{
	// Not even SIGKILL ended it: that is what we report.
	int status = s->target_ended ? s->target_status : SIGKILL;
	bool exited = WIFEXITED(status);
	*ret_result = (struct ct_supervisor_result){
		.exited = exited,
		.exit_code = exited ? WEXITSTATUS(status) : 0,
		.signal = exited ? 0 : WTERMSIG(status),
		.timed_out = s->timed_out,
		.core_dumped = !exited && WCOREDUMP(status),
		.exit_status = s->timed_out ? 124 : exited ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		.n_left_behind = s->n_left_behind,
		.n_immortal = s->n_immortal,
	};
}

bool ct_supervisor_run(struct ct_supervisor *s, struct ct_supervisor_result *ret_result, struct ct_error *err)
{
	ct_supervisor_reap(s);  // the SIGCHLD of a short life may have been read while we waited for the exec
	for (;;) {
		bool agreed = s->target_ended && may_finish(s);
		ct_supervisor_ending_step(s, agreed);
		// Nobody lives, but the last to die may still be there to be reaped; and may_finish() is asked again after the
		// drain: the last words may have started something.
		if (s->phase == CT_PHASE_EMPTY) {
			ct_supervisor_reap(s);
			if (is_drained(s) && may_finish(s))
				break;
		}
		if (!turn(s, err))
			return false;
	}
	fill_result(s, ret_result);
	return true;
}

void ct_supervisor_free(struct ct_supervisor *s)
{
	if (!s)
		return;
	s->hooks = (struct ct_supervisor_hooks){.context = NULL};
	// Started and not brought to its end: an error of ours must not leave it running.
	if (s->target > 0 && s->phase != CT_PHASE_EMPTY) {
		s->ended_by_us = true;
		ct_supervisor_tree_kill(s);
	}
	ct_supervisor_children_end(s);
	ct_supervisor_terminal_close(s);
	for (size_t i = 0; i < CT_COUNT(s->relays); i++)
		ct_supervisor_relay_close(&s->relays[i]);
	if (s->guardian_fd >= 0)
		close(s->guardian_fd);
	if (s->sentinel_fd >= 0)
		close(s->sentinel_fd);
	ct_supervisor_signals_stop(s);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	free(s->watches);
	free(s->timers);
	free(s->envp);
	free(s->marker);
	free(s);
}

void ct_supervisor_end_as(const struct ct_supervisor_result *result)
{
	if (!result->exited && !result->timed_out && result->signal > 0) {
		const struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
		struct sigaction by_default = {.sa_handler = SIG_DFL};
		sigset_t set;
		setrlimit(RLIMIT_CORE, &no_core);  // the target has written its own
		sigemptyset(&set);
		sigaddset(&set, result->signal);
		sigaction(result->signal, &by_default, NULL);
		fflush(NULL);
		raise(result->signal);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	exit(result->exit_status);
}
