// The guardian: a tiny process that outlives us by a moment when we are killed, and ends what we were watching.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The target itself dies with us (PR_SET_PDEATHSIG), but that does not reach its children, and with us gone nobody's
// parent numbers lead to them any more. So they are known by a mark in their environment, by the target's process
// group, and by being children of one of these. Not found is a process that has left the group, has cleared or
// overwritten its environment, and whose parent has ended; or one of another user, which we could not signal anyway.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

#define MARKER_NAME "CUDATRAP_RUN_ID"
// Runs inside runs: the marks of all of them, so that the outermost guardian finds everything.
#define MARKER_MOST_BYTES 512
// An environment of this size is still searched (the kernel allows a quarter of the stack limit: 2 MiB as a rule).
#define ENVIRON_MOST_BYTES (8u << 20)

static const char *outer_marks(char *const *envp)
{
	static const char prefix[] = MARKER_NAME "=";
	for (; *envp; envp++) {
		const char *value = *envp + sizeof prefix - 1;
		if (ct_starts_with(*envp, prefix) && strlen(value) < MARKER_MOST_BYTES && value[strspn(value, "0123456789abcdef:")] == '\0')
			return value;
	}
	return "";
}

bool ct_supervisor_marker_make(struct ct_supervisor *s, struct ct_error *err)
{
	unsigned char id[16];
	if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
		return ct_fail_errno(err, "getrandom");
	const char *outer = outer_marks(s->options.envp);
	CT_AUTO(ct_auto_str) struct ct_str marker = CT_STR_INIT;
	ct_str_addf(&marker, MARKER_NAME "=%s%s", outer, *outer ? ":" : "");
	for (size_t i = 0; i < sizeof id; i++)
		ct_str_addf(&marker, "%02x", id[i]);
	s->marker = ct_xstrdup(ct_str_text(&marker));

	size_t n = 0;
	while (s->options.envp[n])
		n++;
	s->envp = ct_xrealloc(NULL, (n + 2) * sizeof *s->envp);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!ct_starts_with(s->options.envp[i], MARKER_NAME "="))
			s->envp[kept++] = s->options.envp[i];
	s->envp[kept++] = s->marker;
	s->envp[kept] = NULL;
	return true;
}

struct guard {
	const char *id;   // ours, the last of the marker
	pid_t group;      // the target's, 0 when it shares ours
	pid_t session;
};

static bool environ_has(pid_t pid, const char *id)
{
	char path[64];
	static const char prefix[] = MARKER_NAME "=";
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file(path, ENVIRON_MOST_BYTES, &text, NULL) || text.length == 0)
		return false;
	for (const char *p = text.data; p < text.data + text.length; p += strlen(p) + 1)
		if (ct_starts_with(p, prefix) && strstr(p, id))
			return true;
	return false;
}

static bool is_guarded(const struct guard *guard, const struct ct_process *process)
{
	if (process->pid == getpid() || !ct_process_is_live(process))
		return false;
	return (guard->group && process->group == guard->group && process->session == guard->session) || environ_has(process->pid, guard->id);
}

static size_t kill_guarded(const struct guard *guard)
{
	size_t n = 0;
	CT_AUTO(ct_auto_processes) struct ct_processes all;
	ct_processes_read(&all);
	for (size_t i = 0; i < all.count; i++)
		all.rows[i].marked = is_guarded(guard, &all.rows[i]);
	ct_processes_mark_descendants(&all);
	for (size_t i = 0; i < all.count; i++) {
		if (!all.rows[i].marked || !ct_process_is_live(&all.rows[i]))
			continue;
		ct_process_signal(&all.rows[i], SIGKILL);
		n++;
	}
	return n;
}

// A process that forks while it is looked for shows up in the next round; three empty rounds and it is over.
static void kill_all_guarded(const struct guard *guard)
{
	const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
	unsigned n_empty = 0;
	for (unsigned round = 0; round < 500 && n_empty < 3; round++) {
		n_empty = kill_guarded(guard) ? 0 : n_empty + 1;
		nanosleep(&pause, NULL);
	}
}

static _Noreturn void guard_until_end(int fd, struct guard *guard)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	// In a session of its own, so that neither the terminal nor a kill of our group takes it along.
	setsid();
	prctl(PR_SET_NAME, "cudatrap-guard");
	ct_supervisor_keep_only(fd);
	if (chdir("/") != 0)
		_exit(1);
	for (;;) {
		pid_t group = 0;
		ssize_t n = read(0, &group, sizeof group);
		if (n == (ssize_t)sizeof group)
			guard->group = group;
		else if (n == 0)
			break;
		else if (n > 0 || errno != EINTR)
			_exit(1);
	}
	kill_all_guarded(guard);
	_exit(0);
}

bool ct_supervisor_guardian_start(struct ct_supervisor *s, struct ct_error *err)
{
	int ends[2];
	if (!ct_supervisor_pipe(ends, err))
		return false;
	CT_AUTO(ct_auto_close) int read_end = ends[0];
	s->guardian_fd = ends[1];
	const char *id = strrchr(s->marker, ':');
	struct guard guard = {.id = id ? id + 1 : strchr(s->marker, '=') + 1, .group = 0, .session = getsid(0)};
	pid_t pid = fork();
	if (pid < 0)
		return ct_fail_errno(err, "fork");
	if (pid == 0)
		guard_until_end(read_end, &guard);
	ct_supervisor_child_add(s, pid, CT_CHILD_GUARDIAN);
	return true;
}

void ct_supervisor_guardian_tell(struct ct_supervisor *s)
{
	// Less than PIPE_BUF: whole or not at all. When the guardian is gone there is nobody to tell, and SIGPIPE is blocked.
	if (s->own_group && write(s->guardian_fd, &s->target, sizeof s->target) < 0)
		return;
}
