// A program of ours that must not harm anybody: own session, no core files, a deadline, dies with us.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// Between killing a group and giving up on its death: only a process in an uninterruptible wait takes longer.
#define REAP_MS 5000
#define WAIT_STEP_MS 10

static void reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (int s = 1; s < NSIG; s++)
		sigaction(s, &action, NULL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

// In the child, after fork(): only what is safe there. Reports errno to report_fd when it cannot go on.
static void become(const struct ct_child *child, pid_t parent, int input, int output, int report_fd)
{
	reset_signals();
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	// An internal error of cuda-gdb leaves a core file of up to 320 MB otherwise.
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	bool ok = getppid() == parent && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 &&
		  (!child->cwd || chdir(child->cwd) == 0);
	if (ok)
		execve(child->argv[0], child->argv, child->environment);
	int saved = errno;
	ssize_t n = write(report_fd, &saved, sizeof saved);
	(void)n;
	_exit(127);
}

// The child's report of why it could not execute; 0: it could.
static int read_report(int fd)
{
	int saved = 0;
	ssize_t n;
	do
		n = read(fd, &saved, sizeof saved);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof saved ? saved : 0;
}

static bool start(const struct ct_child *child, int input, int output, pid_t *ret_pid, struct ct_error *err)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) != 0)
		return ct_fail_errno(err, "pipe");
	CT_AUTO(ct_auto_close) int report_read = report[0];
	CT_AUTO(ct_auto_close) int report_write = report[1];
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0)
		return ct_fail_errno(err, "fork");
	if (pid == 0)
		become(child, parent, input, output, report_write);
	close(report_write);
	report_write = -1;
	int failure = read_report(report_read);
	if (failure) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		errno = failure;
		return ct_fail_errno(err, "%s", child->argv[0]);
	}
	*ret_pid = pid;
	if (child->started)
		child->started(child->context, pid);
	return true;
}

static bool try_reap(pid_t pid, int *ret_status)
{
	pid_t got;
	do
		got = waitpid(pid, ret_status, WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		*ret_status = 0;  // somebody else reaped it
	return got != 0;
}

static bool reap_until(pid_t pid, int64_t deadline_us, int *ret_status)
{
	while (!try_reap(pid, ret_status)) {
		int left = ct_ms_until(deadline_us);
		if (left == 0)
			return false;
		poll(NULL, 0, left < WAIT_STEP_MS ? left : WAIT_STEP_MS);
	}
	return true;
}

void ct_child_finish(pid_t pid, int64_t deadline_us, struct ct_child_result *ret_result)
{
	*ret_result = (struct ct_child_result){.pid = pid};
	if (!reap_until(pid, deadline_us, &ret_result->wait_status)) {
		ret_result->timed_out = true;
		kill(-pid, SIGKILL);
		reap_until(pid, ct_now_us() + (int64_t)REAP_MS * 1000, &ret_result->wait_status);
	}
	kill(-pid, SIGKILL);
}

// Room left of the limit, at most n.
static size_t within_limit(size_t total, size_t n)
{
	size_t room = CT_CUDAGDB_LOG_LIMIT - total;
	return n < room ? n : room;
}

// Reads until the end of output, the deadline, or the child's death. A grandchild may hold the pipe open: that is not waited for.
static void drain(const struct ct_child *child, int output, int log, pid_t pid, bool *ret_reaped, int *ret_status)
{
	char buffer[16384];
	size_t total = 0;
	*ret_reaped = false;
	for (;;) {
		struct pollfd pfd = {.fd = output, .events = POLLIN};
		int left = ct_ms_until(child->deadline_us);
		int ready = poll(&pfd, 1, *ret_reaped ? 0 : left < 100 ? left : 100);
		if (ready > 0) {
			ssize_t n = read(output, buffer, sizeof buffer);
			if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
				return;
			if (n < 0)
				continue;
			size_t keep = within_limit(total, (size_t)n);
			if (log >= 0)
				ct_write_all(log, buffer, keep, NULL);
			if (child->verbose)
				ct_write_all(STDERR_FILENO, buffer, keep, NULL);
			if (child->output)
				ct_str_append(child->output, buffer, keep);
			total += keep;
		} else if (*ret_reaped) {
			return;
		}
		if (!*ret_reaped)
			*ret_reaped = try_reap(pid, ret_status);
		if (!*ret_reaped && ct_ms_until(child->deadline_us) == 0)
			return;
	}
}

bool ct_child_run(const struct ct_child *child, struct ct_child_result *ret_result, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int log = -1;
	if (child->log_path && (log = open(child->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
		return ct_fail_errno(err, "%s", child->log_path);
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return ct_fail_errno(err, "pipe");
	CT_AUTO(ct_auto_close) int read_end = fds[0];
	CT_AUTO(ct_auto_close) int write_end = fds[1];
	CT_AUTO(ct_auto_close) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return ct_fail_errno(err, "/dev/null");
	pid_t pid;
	if (!start(child, null, write_end, &pid, err))
		return false;
	close(write_end);
	write_end = -1;
	bool reaped;
	int status = 0;
	drain(child, read_end, log, pid, &reaped, &status);
	if (reaped) {
		kill(-pid, SIGKILL);
		*ret_result = (struct ct_child_result){.pid = pid, .wait_status = status};
	} else {
		ct_child_finish(pid, child->deadline_us, ret_result);
	}
	return true;
}

bool ct_child_start(const struct ct_child *child, pid_t *ret_pid, int *ret_input, int *ret_output, struct ct_error *err)
{
	int in[2], out[2];
	if (pipe2(in, O_CLOEXEC) != 0)
		return ct_fail_errno(err, "pipe");
	CT_AUTO(ct_auto_close) int in_read = in[0];
	CT_AUTO(ct_auto_close) int in_write = in[1];
	if (pipe2(out, O_CLOEXEC) != 0)
		return ct_fail_errno(err, "pipe");
	CT_AUTO(ct_auto_close) int out_read = out[0];
	CT_AUTO(ct_auto_close) int out_write = out[1];
	if (!start(child, in_read, out_write, ret_pid, err))
		return false;
	*ret_input = in_write;
	in_write = -1;
	*ret_output = out_read;
	out_read = -1;
	return true;
}
