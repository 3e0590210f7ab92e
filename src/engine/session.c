// A cuda-gdb session on the terminal: when there can be one, what it is told, how it ends.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_priv.h"

enum { LOOK_AGAIN_MS = 200 };

static bool has_terminal(void)
{
	CT_AUTO(ct_auto_close) int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool ct_run_want_session(struct ct_run *run, struct ct_error *err)
{
	if (!run->options->interactive)
		return true;
	if (run->options->engine == CT_ENGINE_CORE) {
		ct_fail(err, CT_USAGE, "-i: engine core has no session: the driver ends the process when it has written its dump");
		return ct_hint(err, "engine live or wait has one; `cudatrap shell` looks into the dump");
	}
	if (!has_terminal()) {
		static const char line[] = "cudatrap: -i: standard input and output are no terminal: running without a session\n";
		ct_write_all(STDERR_FILENO, line, sizeof line - 1, NULL);
		return true;
	}
	run->interactive = true;
	if (run->options->engine == CT_ENGINE_AUTO) {
		run->engine = &ct_engine_live;
		run->engine_why = "default of -i";
	}
	return true;
}

void ct_run_say_plain(const struct ct_run *run)
{
	const char *what = run->gdb.python ? "is older than 12.7" : "has no Python";
	if (!run->gdb.has_gdb_cuda)
		dprintf(STDERR_FILENO, "cudatrap: this cuda-gdb (%s) %s: plain cuda-gdb, with " CT_CUDAGDB_PLAIN "\n", run->gdb.version, what);
}

const char *ct_run_program(struct ct_run *run)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	return n > 0 ? ct_arena_printf(&run->arena, "%.*s", (int)n, path) : "cudatrap";
}

// ---- The scratch folder ---------------------------------------------------------------------------------------------

bool ct_run_in_scratch(const struct ct_run *run, const char *name)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	ct_str_addf(&path, "%s/%s", run->scratch, name);
	return access(ct_str_text(&path), F_OK) == 0;
}

static void on_folder_changed(void *context, int fd)
{
	struct ct_run *run = context;
	char events[4096];
	while (read(fd, events, sizeof events) > 0)
		;
	run->look(run);
}

static void look_again(void *context)
{
	struct ct_run *run = context;
	run->look(run);
	if (!run->look_done)
		ct_supervisor_timer(run->supervisor, ct_now_us() + (int64_t)LOOK_AGAIN_MS * 1000, look_again, run);
}

void ct_run_watch_scratch(struct ct_run *run, void (*look)(struct ct_run *run))
{
	run->look = look;
	run->folder_watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (run->folder_watch < 0 || inotify_add_watch(run->folder_watch, run->scratch, IN_MOVED_TO) < 0) {
		// A user may have few of them (fs.inotify.max_user_instances), and editors take them all.
		ct_run_say(run, "no inotify here: looking for a fault now and then");
		look_again(run);
		return;
	}
	ct_supervisor_watch(run->supervisor, run->folder_watch, on_folder_changed, run);
	look(run);
}

// ---- What the session is told ---------------------------------------------------------------------------------------

static bool to_json(const struct ct_incident *incident, struct ct_str *ret_text, struct ct_error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool ok = out && ct_incident_write_json(incident, out, err);
	if (out)
		ok = fclose(out) == 0 && ok;
	if (ok)
		ct_str_append(ret_text, text, size);
	free(text);
	return ok;
}

static bool write_incident(const struct ct_run *run, const struct ct_incident *incident, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	CT_AUTO(ct_auto_close) int dir = open(run->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return to_json(incident, &text, err) && ct_write_file_at(dir, CT_CUDAGDB_SESSION_INCIDENT, ct_str_text(&text), text.length, err);
}

// As the incident is now: what the output and the ending add, the report folder has when the session is over.
static struct ct_incident *copy_of(struct ct_run *run, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_incident *copy = NULL;
	return to_json(run->incident, &text, err) && ct_incident_read_json(ct_str_text(&text), text.length, &copy, err) ? copy : NULL;
}

void ct_run_tell_session(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	if (run->session_told)
		return;
	run->session_told = true;
	run->look_done = true;
	if (run->supervisor)
		ct_run_read_redirected(run);
	struct ct_incident *copy = copy_of(run, &err);
	if (copy) {
		ct_loglines_so_far(run->fault_lines ? run->fault_lines : run->lines, copy);
		copy->ending.kind = CT_ENDING_RUNNING;
		copy->ending.detail = "it was handed over to a cuda-gdb session";
		ct_run_diagnose(copy);
		ct_run_show(run, copy, NULL);
	}
	if (!copy || !write_incident(run, copy, &err))
		ct_run_say(run, "the session was not told of the fault: %s", err.text);
	ct_incident_free(copy);
}

// The session's cuda-gdb has attached and written the GPU part.
static void take_gpu(struct ct_run *run)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	if (run->session_told || !ct_run_in_scratch(run, CT_CUDAGDB_LIVE_JSON))
		return;
	ct_str_addf(&path, "%s/" CT_CUDAGDB_LIVE_JSON, run->scratch);
	if (!ct_read_file(ct_str_text(&path), CT_INCIDENT_MAX_BYTES, &text, &err) ||
	    !ct_incident_read_gpu_json(run->incident, ct_str_text(&text), text.length, &err))
		ct_incident_add_collector(run->incident, "gpu", CT_COLLECTOR_FAILED, 0, ct_arena_strdup(&run->incident->arena, err.text));
	ct_collect_launches(&run->job, run->incident);
	ct_run_tell_session(run);
}

static void tell_without_gpu(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	if (!run->session_told && run->gdb.has_gdb_cuda && !ct_cudagdb_session_explain(run->scratch, &err)) {
		const char *why = err.hint[0] ? ct_arena_printf(&run->incident->arena, "%s (%s)", err.text, err.hint) : err.text;
		ct_incident_add_collector(run->incident, "gpu", CT_COLLECTOR_FAILED, 0, ct_arena_strdup(&run->incident->arena, why));
	}
	ct_run_tell_session(run);
}

static bool prepare_session(struct ct_run *run, pid_t pid, bool leave, struct ct_error *err)
{
	const struct ct_cudagdb_session session = {.pid = pid, .scratch_dir = run->scratch, .program = ct_run_program(run), .leave = leave};
	if (!run->gdb.has_gdb_cuda)
		ct_run_tell_session(run);  // there are no scripts to wait for it
	ct_run_say_plain(run);
	return ct_cudagdb_session_argv(&run->arena, &run->gdb, &session, &run->session_argv, &run->session_environment, err);
}

static int become_session(void *context)
{
	const struct ct_run *run = context;
	dup2(STDOUT_FILENO, STDERR_FILENO);
	execve(run->session_argv[0], run->session_argv, run->session_environment);
	return 127;
}

// A cuda-gdb that was killed leaves a folder in the TMPDIR that it shared with the process.
static void clean_up_after(const struct ct_run *run, pid_t session)
{
	static const char name[] = "TMPDIR=";
	for (char **e = run->session_environment; *e; e++)
		if (ct_starts_with(*e, name))
			ct_cudagdb_clean_up(run->scratch, session, *e + sizeof name - 1);
}

// ---- Under the supervisor -------------------------------------------------------------------------------------------

void ct_run_open_session(struct ct_run *run)
{
	struct ct_error err = CT_ERROR_INIT;
	bool leave = run->options->after_fault != CT_FAULT_CONTINUES;
	if (prepare_session(run, run->fault_pid, leave, &err)) {
		ct_run_watch_scratch(run, take_gpu);
		run->session = ct_supervisor_spawn_front(run->supervisor, become_session, run, &err);
	}
	if (run->session > 0)
		return;
	run->session = 0;
	ct_run_complain(&err, 0);
	tell_without_gpu(run);
	ct_run_abort_waiting(run);
}

void ct_run_session_ended(struct ct_run *run)
{
	clean_up_after(run, run->session);
	run->session = 0;
	take_gpu(run);
	tell_without_gpu(run);
	if (run->options->after_fault == CT_FAULT_IS_ERROR)
		ct_run_let_all_end(run);
	else if (run->options->after_fault == CT_FAULT_ENDS_RUN)
		ct_run_abort_waiting(run);
}

// ---- Alone ----------------------------------------------------------------------------------------------------------

static void wait_for_session(struct ct_run *run, pid_t session)
{
	static const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
	for (;;) {
		int status;
		pid_t ended = waitpid(session, &status, run->session_told ? 0 : WNOHANG);
		if (ended == session || (ended < 0 && errno != EINTR))
			return;
		take_gpu(run);
		if (!run->session_told)
			nanosleep(&pause, NULL);
	}
}

bool ct_run_hold_session(struct ct_run *run, pid_t pid, bool leave, struct ct_error *err)
{
	if (!prepare_session(run, pid, leave, err))
		return false;
	struct termios modes;
	bool has_modes = tcgetattr(STDIN_FILENO, &modes) == 0;
	pid_t parent = getpid(), session = fork();
	if (session < 0)
		return ct_fail_errno(err, "fork");
	if (session == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == parent ? become_session(run) : 1);
	}
	// The keyboard's signals go to the whole group; they are meant for cuda-gdb.
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	wait_for_session(run, session);
	clean_up_after(run, session);
	tcsetpgrp(STDIN_FILENO, getpgrp());
	if (has_modes)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
	tell_without_gpu(run);
	return true;
}
