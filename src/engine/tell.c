// Who else is told of a report: a command of the user's; syslog.c tells the system's log.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/engine_priv.h"
#include "render/render.h"
#include "report/report.h"

enum { HOOK_SECONDS = 30, HOOK_POLL_MS = 20 };

static void become(char **argv, char *const *variables)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	setpgid(0, 0);
	int null = open("/dev/null", O_RDONLY);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	// Standard output is the command's.
	dup2(STDERR_FILENO, STDOUT_FILENO);
	for (; *variables; variables++)
		putenv(*variables);
	execvp(argv[0], argv);
	_exit(errno == ENOENT ? 127 : 126);
}

// Its whole group ends with it when the time is over.
static bool wait_for_hook(pid_t pid, int *ret_status, struct ct_error *err)
{
	int64_t until = ct_now_us() + (int64_t)HOOK_SECONDS * 1000000;
	for (;;) {
		pid_t got = waitpid(pid, ret_status, WNOHANG);
		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR)
			return ct_fail_errno(err, "waiting for it");
		if (ct_now_us() >= until) {
			kill(-pid, SIGKILL);
			waitpid(pid, ret_status, 0);
			return ct_fail(err, CT_TIMEOUT, "it was ended after %d seconds", HOOK_SECONDS);
		}
		poll(NULL, 0, HOOK_POLL_MS);
	}
}

static bool run_hook(struct ct_run *run, const char *path, struct ct_error *err)
{
	struct ct_arena *arena = &run->arena;
	char **words = NULL;
	size_t n = 0;
	int status = 0;
	if (!ct_cli_split(arena, run->options->on_report, &words, &n, err))
		return false;
	char **argv = ct_arena_array(arena, n + 2, sizeof *argv);
	memcpy(argv, words, n * sizeof *argv);
	argv[n] = ct_arena_strdup(arena, path);
	char *variables[] = {
		ct_arena_printf(arena, "CUDATRAP_REPORT=%s", path),
		ct_arena_printf(arena, "CUDATRAP_KIND=%s", ct_fault_kind_word(run->incident->kind)),
		ct_arena_printf(arena, "CUDATRAP_SIGNATURE=%s", ct_incident_signature(run->incident)),
		NULL,
	};
	pid_t pid = n ? fork() : -1;
	if (pid == 0)
		become(argv, variables);
	if (pid < 0)
		return n ? ct_fail_errno(err, "fork") : ct_fail(err, CT_USAGE, "it is empty");
	setpgid(pid, pid);
	if (!wait_for_hook(pid, &status, err))
		return false;
	if (WIFSIGNALED(status))
		return ct_fail(err, CT_SYSTEM, "it was ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status) == 0 || ct_fail(err, CT_SYSTEM, "it ended with status %d", WEXITSTATUS(status));
}

static const char *absolute(struct ct_run *run, const char *path)
{
	return !path || *path == '/' ? path : ct_arena_printf(&run->arena, "%s/%s", run->cwd, path);
}

void ct_run_tell_others(struct ct_run *run, const char *report_path)
{
	struct ct_error err = CT_ERROR_INIT;
	const char *path = absolute(run, report_path);
	if (run->options->syslog && !ct_run_log(run->incident, path, &err))
		dprintf(STDERR_FILENO, "cudatrap: --syslog: nothing was logged: %s\n", err.text);
	if (run->options->on_report && path && !run_hook(run, path, &err))
		dprintf(STDERR_FILENO, "cudatrap: --on-report: %s: %s\n", run->options->on_report, err.text);
}
