// Starting processes: the target as if we were not there, helpers that die with us.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/supervisor_priv.h"

int ct_supervisor_above_stdio(int fd)
{
	if (fd < 0 || fd > 2)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

bool ct_supervisor_pipe(int ret_ends[2], struct ct_error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return ct_fail_errno(err, "pipe");
	CT_AUTO(ct_auto_close) int read_end = ct_supervisor_above_stdio(ends[0]);
	CT_AUTO(ct_auto_close) int write_end = ct_supervisor_above_stdio(ends[1]);
	if (read_end < 0 || write_end < 0)
		return ct_fail_errno(err, "pipe");
	ret_ends[0] = read_end;
	ret_ends[1] = write_end;
	read_end = write_end = -1;
	return true;
}

static void close_from(unsigned first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)  // Linux 5.9
		return;
#endif
	long most = sysconf(_SC_OPEN_MAX);
	for (long fd = first; fd < (most < 0 || most > 65536 ? 65536 : most); fd++)
		close((int)fd);
}

void ct_supervisor_keep_only(int fd)
{
	if (dup2(fd, 0) < 0)
		_exit(1);
	close_from(1);
}

void ct_supervisor_die_with(pid_t parent)
{
	// The signal comes when the thread that forked us ends: start() and spawn_helper() belong into the main thread.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)  // it ended before the line above
		_exit(1);
}

// In the child: everything as the target would have had it without us, but for the copied streams.
static _Noreturn void become_target(const struct ct_supervisor *s, pid_t parent, bool give_terminal, int error_fd)
{
	ct_supervisor_die_with(parent);
	if (s->own_group)
		setpgid(0, 0);
	if (give_terminal)
		tcsetpgrp(s->terminal.fd, getpid());  // before exec, or a first read() would find itself in the background
	for (size_t i = 0; i < CT_COUNT(s->relays); i++)
		if (s->relays[i].input >= 0)
			dup2(s->relays[i].target_end, (int)s->relays[i].stream);
	ct_supervisor_signals_for_target(s);
	environ = s->envp;  // execvp() looks PATH up there
	execvp(s->options.argv[0], s->options.argv);
	int error = errno;
	if (write(error_fd, &error, sizeof error) < 0)
		_exit(125);
	_exit(126);
}

static bool exec_failed(const char *name, int error, struct ct_error *err)
{
	errno = error;
	ct_fail_errno(err, "%s", name);
	if (err && error != ENOENT)
		err->code = CT_DENIED;  // as in env(1): 127 when there is no such command, 126 for every other reason
	return false;
}

// Until the child has become the target or has said why not. Ctrl-Z may stop it before it has: then we stop, too.
static void wait_for_exec(struct ct_supervisor *s, int read_end)
{
	struct pollfd fds[] = {{.fd = read_end, .events = POLLIN}, {.fd = s->signal_fd, .events = POLLIN}};
	while (!fds[0].revents) {
		siginfo_t info = {.si_pid = 0};
		poll(fds, CT_COUNT(fds), -1);
		if (fds[1].revents)
			ct_supervisor_signals_read(s);
		if (waitid(P_PID, (id_t)s->target, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == s->target)
			ct_supervisor_target_stopped(s, info.si_status);
	}
}

bool ct_supervisor_spawn_target(struct ct_supervisor *s, struct ct_error *err)
{
	int ends[2], error = 0;
	if (!ct_supervisor_pipe(ends, err))
		return false;
	CT_AUTO(ct_auto_close) int read_end = ends[0];
	CT_AUTO(ct_auto_close) int write_end = ends[1];
	bool give_terminal = s->own_group && ct_supervisor_terminal_is_ours(s);
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return ct_fail_errno(err, "fork");
	if (pid == 0)
		become_target(s, parent, give_terminal, write_end);
	s->target = pid;
	if (s->own_group)
		setpgid(pid, pid);  // both sides do it: whoever comes first
	ct_supervisor_guardian_tell(s);
	close(write_end);
	write_end = -1;
	wait_for_exec(s, read_end);
	if (read(read_end, &error, sizeof error) == (ssize_t)sizeof error)
		return exec_failed(s->options.argv[0], error, err);
	return true;
}

pid_t ct_supervisor_spawn_helper(struct ct_supervisor *s, int (*entry)(void *context), void *context, struct ct_error *err)
{
	pid_t parent = getpid(), pid = fork();
	if (pid < 0) {
		ct_fail_errno(err, "fork");
		return -1;
	}
	if (pid == 0) {
		ct_supervisor_die_with(parent);
		// Away from the terminal: a debugger must not stop on it, change its modes or hear its Ctrl-C.
		setsid();
		close(s->guardian_fd);
		ct_supervisor_signals_for_target(s);
		putenv(s->marker);
		_exit(entry(context));
	}
	ct_supervisor_child_add(s, pid, CT_CHILD_HELPER);
	return pid;
}

pid_t ct_supervisor_spawn_front(struct ct_supervisor *s, int (*entry)(void *context), void *context, struct ct_error *err)
{
	if (!ct_supervisor_terminal_can_lend(s)) {
		ct_fail(err, CT_UNAVAILABLE, "there is no terminal for a session: this job is in the background");
		return -1;
	}
	pid_t parent = getpid(), pid = fork();
	if (pid < 0) {
		ct_fail_errno(err, "fork");
		return -1;
	}
	if (pid == 0) {
		ct_supervisor_die_with(parent);
		setpgid(0, 0);
		ct_supervisor_terminal_lend(s, getpid());  // before exec, or a first read() would find itself in the background
		close(s->guardian_fd);
		ct_supervisor_signals_for_target(s);
		putenv(s->marker);
		_exit(entry(context));
	}
	setpgid(pid, pid);
	ct_supervisor_terminal_lend(s, pid);
	ct_supervisor_child_add(s, pid, CT_CHILD_FRONT);
	return pid;
}

// The terminal sends its signals to its foreground group only. While that is the target's, we learn of a changed
// window or a Ctrl-C from a process that sits there and does nothing but tell.
static _Noreturn void tell_signals(int fd, pid_t parent, pid_t group)
{
	sigset_t all, told;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	ct_supervisor_die_with(parent);
	if (setpgid(0, group) != 0)
		_exit(0);  // the target has ended already
	prctl(PR_SET_NAME, "cudatrap-ears");
	ct_supervisor_keep_only(fd);
	sigemptyset(&told);
	sigaddset(&told, SIGWINCH);
	sigaddset(&told, SIGINT);
	sigaddset(&told, SIGQUIT);
	unsigned char number = SIGWINCH;  // the window may have changed before we listened
	while (write(0, &number, 1) == 1) {
		siginfo_t info = {.si_code = SI_USER};
		while (sigwaitinfo(&told, &info) < 0 || info.si_code != SI_KERNEL)
			;
		number = (unsigned char)info.si_signo;
	}
	_exit(1);
}

bool ct_supervisor_sentinel_start(struct ct_supervisor *s, struct ct_error *err)
{
	int ends[2];
	if (!ct_supervisor_pipe(ends, err))
		return false;
	s->sentinel_fd = ends[0];
	CT_AUTO(ct_auto_close) int write_end = ends[1];
	if (fcntl(s->sentinel_fd, F_SETFL, O_NONBLOCK) != 0)
		return ct_fail_errno(err, "fcntl");
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return ct_fail_errno(err, "fork");
	if (pid == 0)
		tell_signals(write_end, parent, s->target);
	ct_supervisor_child_add(s, pid, CT_CHILD_SENTINEL);
	return true;
}
