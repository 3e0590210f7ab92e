// The command line that runs a whole program under cuda-gdb without the program noticing.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// A POSIX shell redirects descriptors of one digit only.
enum { FIRST_FD = 3, LAST_FD = 9 };

// Variables that cuda-gdb, the two shells or gdb itself would change, or that would change cuda-gdb: the program gets its own values back
// from CUDATRAP_KEEP_NAME (gdbscripts/cudatrap/live.py).
static const char *const kept[] = {
	"SHELL", "LINES", "COLUMNS", "PWD", "OLDPWD", "SHLVL", "LC_ALL", "LANGUAGE", "LD_PRELOAD", "LD_AUDIT", "DEBUGINFOD_URLS",
	"CUDATRAP_GDBSCRIPTS",
};

// The first shell: descriptors that are closed are /dev/null for the program (a shell cannot pass "closed" on); what it was started with becomes the program's, and /dev/null and the log cuda-gdb's.
#define FIRST_SHELL \
	"[ -e /proc/$$/fd/0 ] || exec </dev/null; [ -e /proc/$$/fd/1 ] || exec >/dev/null; " \
	"CUDATRAP_GDB_CORE=$(ulimit -S -c); export CUDATRAP_GDB_CORE; ulimit -S -c 0; " \
	"exec \"$@\" %d<&0 %d>&1 %d>&2 </dev/null >\"$CUDATRAP_GDB_LOG\" 2>&1"

// The same for a session: cuda-gdb keeps the terminal; what it says on stderr belongs between its other words.
#define FIRST_SHELL_OF_SESSION \
	"CUDATRAP_GDB_CORE=$(ulimit -S -c); export CUDATRAP_GDB_CORE; ulimit -S -c 0; exec \"$@\" %d<&0 %d>&1 %d>&2 2>&1"

#define RUN_LIVE "python import os, sys; sys.path.insert(0, os.environ['CUDATRAP_GDBSCRIPTS']); import cudatrap.live; cudatrap.live.run()"

#define RUN_LIVE_SESSION \
	"python import os, sys; sys.path.insert(0, os.environ['CUDATRAP_GDBSCRIPTS']); import cudatrap.livesession; cudatrap.livesession.run()"

struct words {
	struct ct_arena *arena;
	char **rows;
	size_t count;
};

static void add(struct words *words, const char *text)
{
	words->rows = ct_arena_grow(words->arena, words->rows, &words->count, sizeof *words->rows);
	words->rows[words->count - 1] = (char *)text;
}

bool ct_cudagdb_free_fds(int ret_fds[3], struct ct_error *err)
{
	int found = 0;
	for (int fd = LAST_FD; fd >= FIRST_FD && found < 3; fd--)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			ret_fds[found++] = fd;
	if (found == 3)
		return true;
	ct_fail(err, CT_LIMIT, "fewer than three of the descriptors 3 to 9 are free");
	return ct_hint(err, "close some before starting cudatrap, or use another engine");
}

// Is this variable put aside for the program? PYTHONHOME and the like would be those of cuda-gdb's own Python.
static bool is_kept(const char *entry)
{
	size_t n = strcspn(entry, "=");
	for (size_t i = 0; i < CT_COUNT(kept); i++)
		if (strlen(kept[i]) == n && strncmp(entry, kept[i], n) == 0)
			return true;
	return ct_starts_with(entry, "PYTHON");
}

// Only names that a shell can set: others cannot be given back, so they stay where they are.
static bool is_shell_name(const char *entry)
{
	size_t n = strcspn(entry, "=");
	if (!n || strchr("0123456789", entry[0]))
		return false;
	return strspn(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

// The program's environment, with some variables put aside.
static void add_program_environment(struct words *words, char *const *environment)
{
	CT_AUTO(ct_auto_str) struct ct_str names = CT_STR_INIT;
	for (size_t i = 0; i < CT_COUNT(kept); i++)
		ct_str_addf(&names, "%s ", kept[i]);
	for (char *const *e = environment; *e; e++) {
		if (ct_starts_with(*e, "CUDATRAP_GDB_") || ct_starts_with(*e, "CUDATRAP_KE"))
			continue;  // of an outer run
		if (!is_kept(*e) || !is_shell_name(*e)) {
			add(words, *e);
			continue;
		}
		add(words, ct_arena_printf(words->arena, "CUDATRAP_KEEP_%s", *e));
		if (ct_starts_with(*e, "PYTHON") && !ct_starts_with(*e, "PYTHONDONTWRITEBYTECODE="))
			ct_str_addf(&names, "%.*s ", (int)strcspn(*e, "="), *e);
	}
	add(words, ct_arena_printf(words->arena, "CUDATRAP_KEPT=PYTHONDONTWRITEBYTECODE %s", ct_str_text(&names)));
}

static char **live_environment(struct ct_arena *arena, const struct ct_cudagdb_live *live)
{
	struct words words = {.arena = arena};
	add_program_environment(&words, live->environment);
	add(&words, "SHELL=/bin/sh");  // gdb starts the program through it and quotes for it
	add(&words, "LC_ALL=C.UTF-8");
	add(&words, "PYTHONDONTWRITEBYTECODE=1");
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDBSCRIPTS=%s", ct_cudagdb_scripts_dir()));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_DATA=%s", ct_data_dir()));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_OUT=%s/" CT_CUDAGDB_LIVE_JSON, live->scratch_dir));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_HOST=%s/" CT_CUDAGDB_LIVE_HOST, live->scratch_dir));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_READ=%s/" CT_CUDAGDB_LIVE_READ, live->scratch_dir));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_STATUS=%s/" CT_CUDAGDB_LIVE_STATUS, live->scratch_dir));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_LOG=%s/" CT_CUDAGDB_LOG, live->scratch_dir));
	add(&words, live->continue_after ? "CUDATRAP_GDB_AFTER=continue" : "CUDATRAP_GDB_AFTER=end");
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_FDS=%d %d %d", live->fds[0], live->fds[1], live->fds[2]));
	add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_BREAK=%s", live->break_on ? live->break_on : ""));
	if (live->interactive) {
		add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_SESSION=%s/" CT_CUDAGDB_SESSION_INCIDENT, live->scratch_dir));
		add(&words, ct_arena_printf(arena, "CUDATRAP_GDB_PROGRAM=%s", live->program));
	}
	add(&words, live->api_failures ? "CUDATRAP_GDB_API_FAILURES=1" : "CUDATRAP_GDB_API_FAILURES=");
	add(&words, NULL);
	return words.rows;
}

static bool check_fds(const int *fds, struct ct_error *err)
{
	for (int i = 0; i < 3; i++)
		if (fds[i] < FIRST_FD || fds[i] > LAST_FD || fds[i] == fds[(i + 1) % 3])
			return ct_fail(err, CT_USAGE, "descriptors for the program: three different ones from 3 to 9 are needed");
	return true;
}

// Without Python: no scripts, so no descriptors set aside and no status file; the program is cuda-gdb's child like any other.
static bool plain_argv(struct ct_arena *arena, const struct ct_cudagdb *gdb, const struct ct_cudagdb_live *live, char **program, char ***ret_argv,
		       char ***ret_environment, struct ct_error *err)
{
	static const char *const options[] = {"-nx", "-q", "-iex", "set auto-load off", "-iex", "set breakpoint pending on", "-iex", "set print thread-events off"};
	struct words words = {.arena = arena}, environment = {.arena = arena};
	const char *file;
	if (!ct_cudagdb_write_plain(arena, live->scratch_dir, false, &file, err))
		return false;
	add(&words, gdb->path);
	for (size_t i = 0; i < CT_COUNT(options); i++)
		add(&words, options[i]);
	for (char *const *e = live->environment; *e; e++) {
		if (!ct_starts_with(*e, "LD_PRELOAD=")) {
			add(&environment, *e);
			continue;
		}
		add(&words, "-iex");
		add(&words, ct_arena_printf(arena, "set environment LD_PRELOAD %s", *e + strlen("LD_PRELOAD=")));
	}
	add(&environment, NULL);
	add(&words, "-x");
	add(&words, file);
	add(&words, "-ex");
	add(&words, "run");
	add(&words, "--args");
	for (char **p = program; *p; p++)
		add(&words, *p);
	add(&words, NULL);
	*ret_argv = words.rows;
	*ret_environment = environment.rows;
	return true;
}

bool ct_cudagdb_live_argv(struct ct_arena *arena, const struct ct_cudagdb *gdb, const struct ct_cudagdb_live *live, char ***ret_argv,
			  char ***ret_environment, struct ct_error *err)
{
	if (!gdb->has_gdb_cuda && !live->interactive) {
		ct_fail(err, CT_UNAVAILABLE, "cuda-gdb %s has no gdb.cuda", gdb->version);
		return ct_hint(err, "running a program under it needs cuda-gdb 12.7 or later with Python");
	}
	if (!check_fds(live->fds, err))
		return false;
	char **program;
	if (!ct_program_resolve(arena, live->argv, live->environment, &program, err))
		return false;
	if (!gdb->has_gdb_cuda)
		return plain_argv(arena, gdb, live, program, ret_argv, ret_environment, err);
	static const char *const batch[] = {"-batch", "-iex", "set width 0", "-iex", "set height 0"};
	static const char *const options[] = {
		"-nx", "-q", "-iex", "set pagination off", "-iex", "set confirm off", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",
	};
	struct words words = {.arena = arena};
	add(&words, "/bin/sh");
	add(&words, "-c");
	add(&words, live->interactive ? ct_arena_printf(arena, FIRST_SHELL_OF_SESSION, live->fds[0], live->fds[1], live->fds[2])
				      : ct_arena_printf(arena, FIRST_SHELL, live->fds[0], live->fds[1], live->fds[2]));
	add(&words, "sh");
	add(&words, gdb->path);
	for (size_t i = 0; i < CT_COUNT(batch) && !live->interactive; i++)
		add(&words, batch[i]);
	if (live->interactive) {
		add(&words, "-iex");
		add(&words, CT_CUDAGDB_QUIET_START);
	}
	for (size_t i = 0; i < CT_COUNT(options); i++)
		add(&words, options[i]);
	add(&words, "-ex");
	add(&words, live->interactive ? RUN_LIVE_SESSION : RUN_LIVE);
	add(&words, "--args");
	for (char **p = program; *p; p++)
		add(&words, *p);
	add(&words, NULL);
	*ret_argv = words.rows;
	*ret_environment = live_environment(arena, live);
	return true;
}

bool ct_cudagdb_live_status(const char *scratch_dir, struct ct_cudagdb_live_status *ret_status, struct ct_error *err)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error local = CT_ERROR_INIT;
	if (!ct_read_file(ct_arena_printf(&arena, "%s/" CT_CUDAGDB_LIVE_STATUS, scratch_dir), 4096, &text, &local)) {
		if (local.code != CT_NOT_FOUND)
			return ct_fail(err, local.code, "%s", local.text);
		*ret_status = (struct ct_cudagdb_live_status){.pid = 0};
		return true;
	}
	json_t *root = json_loadb(ct_str_text(&text), text.length, 0, NULL);
	if (!json_is_object(root)) {
		json_decref(root);
		return ct_fail(err, CT_FORMAT, "%s/" CT_CUDAGDB_LIVE_STATUS ": not a JSON object", scratch_dir);
	}
	const json_t *exited = json_object_get(root, "exited"), *signaled = json_object_get(root, "signaled");
	*ret_status = (struct ct_cudagdb_live_status){
		.pid = (pid_t)json_integer_value(json_object_get(root, "pid")),
		.exited = json_is_integer(exited),
		.signaled = json_is_integer(signaled),
		.aborted = json_is_true(json_object_get(root, "aborted")),
		.status = (int)json_integer_value(json_is_integer(exited) ? exited : signaled),
	};
	json_decref(root);
	return true;
}

bool ct_cudagdb_live_explain(const char *scratch_dir, struct ct_error *err)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(ct_auto_str) struct ct_str log = CT_STR_INIT;
	const char *path = ct_arena_printf(&arena, "%s/" CT_CUDAGDB_LOG, scratch_dir);
	if (ct_read_file(path, CT_CUDAGDB_LOG_LIMIT, &log, NULL) && ct_cudagdb_known_reason(ct_str_text(&log), err))
		return ct_fail_in(err, "the command was not started");
	return ct_fail(err, CT_SYSTEM, "the command was not started: cuda-gdb ended before it, for a reason that it did not give");
}
