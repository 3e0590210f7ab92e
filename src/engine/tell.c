// Who else is told of a report: a command of the user's, the system's log.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>

#include "engine/engine_priv.h"
#include "render/render.h"
#include "report/report.h"

enum { HOOK_SECONDS = 30, HOOK_POLL_MS = 20 };

// ---- The command of --on-report ---------------------------------------------------------------------------------

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

// ---- The system's log -------------------------------------------------------------------------------------------

// Of this message and no other, so that journalctl MESSAGE_ID=... finds all of them.
#define MESSAGE_ID "039c2603295143f7a913d13a2fef9d23"
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static void add_field(struct ct_str *s, struct ct_arena *arena, const char *name, const char *value)
{
	// A newline would end the field (systemd, "Native Journal Protocol").
	if (value && *value)
		ct_str_addf(s, "%s=%s\n", name, ct_arena_line(arena, value, strlen(value)));
}

bool ct_run_log_journal(struct ct_incident *incident, const char *path, const char *socket_path, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ct_arena *arena = &incident->arena;
	struct ct_summary summary;
	ct_summary_of(incident, arena, &summary);
	add_field(&s, arena, "MESSAGE", ct_run_log_line(incident, path));
	ct_str_add(&s, "MESSAGE_ID=" MESSAGE_ID "\nPRIORITY=3\nSYSLOG_IDENTIFIER=cudatrap\n");
	add_field(&s, arena, "CUDATRAP_REPORT", path);
	add_field(&s, arena, "CUDATRAP_SIGNATURE", summary.signature);
	add_field(&s, arena, "CUDATRAP_KIND", ct_fault_kind_word(incident->kind));
	add_field(&s, arena, "CUDATRAP_KERNEL", summary.kernel);
	add_field(&s, arena, "CUDATRAP_COMMAND", summary.command);
	if (strlen(socket_path) >= sizeof address.sun_path)
		return ct_fail(err, CT_LIMIT, "%s: too long for a socket", socket_path);
	strcpy(address.sun_path, socket_path);
	CT_AUTO(ct_auto_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || sendto(fd, s.data, s.length, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) < 0)
		return ct_fail_errno(err, "%s", socket_path);
	return true;
}

const char *ct_run_log_line(struct ct_incident *incident, const char *path)
{
	struct ct_summary summary;
	ct_summary_of(incident, &incident->arena, &summary);
	return ct_arena_printf(&incident->arena, "%s%s%s%s%s; signature %s; report %s", ct_fault_kind_headline(incident->kind), summary.kernel ? " in " : "",
			       summary.kernel ? summary.kernel : "", summary.detail ? ": " : "", summary.detail ? summary.detail : "", summary.signature,
			       path ? path : "not written");
}

static bool log_it(struct ct_incident *incident, const char *path, struct ct_error *err)
{
	if (ct_run_log_journal(incident, path, JOURNAL_SOCKET, err))
		return true;
	if (access("/dev/log", W_OK) != 0)
		return ct_fail(err, CT_UNAVAILABLE, "there is neither " JOURNAL_SOCKET " nor /dev/log");
	openlog("cudatrap", LOG_PID | LOG_NDELAY, LOG_USER);
	syslog(LOG_ERR, "[" MESSAGE_ID "] %s", ct_run_log_line(incident, path));
	closelog();
	return true;
}

// ---- All of them ----------------------------------------------------------------------------------------------------

static const char *absolute(struct ct_run *run, const char *path)
{
	return !path || *path == '/' ? path : ct_arena_printf(&run->arena, "%s/%s", run->cwd, path);
}

void ct_run_tell_others(struct ct_run *run, const char *report_path)
{
	struct ct_error err = CT_ERROR_INIT;
	const char *path = absolute(run, report_path);
	if (run->options->syslog && !log_it(run->incident, path, &err))
		dprintf(STDERR_FILENO, "cudatrap: --syslog: nothing was logged: %s\n", err.text);
	if (run->options->on_report && path && !run_hook(run, path, &err))
		dprintf(STDERR_FILENO, "cudatrap: --on-report: %s: %s\n", run->options->on_report, err.text);
}
