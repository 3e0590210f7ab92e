// A cuda-gdb session on the terminal, attached to a process; and what a cuda-gdb without Python gets in place of the scripts.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

#define RUN_SESSION "python import os, sys; sys.path.insert(0, os.environ['CUDATRAP_GDBSCRIPTS']); import cudatrap.session; cudatrap.session.run()"

// Plain commands of every cuda-gdb since 10: those of the scripts that are needed most. Names with a dash, because prefixes for
// user-defined commands came later.
static const char plain[] =
	"define trap-why\n  info cuda kernels\n  cuda device sm warp lane block thread\n  print/x $errorpc\n  backtrace 4\nend\n"
	"document trap-why\nShow the kernels, the thread in focus, the error's address and where it stands.\nend\n"
	"define trap-threads\n  info cuda threads\nend\n"
	"document trap-threads\nShow the threads on the GPU, in groups that stand at the same place.\nend\n"
	"define trap-thread\n  if $argc == 1\n    cuda thread $arg0\n  end\n  if $argc == 2\n    cuda block $arg0 thread $arg1\n  end\n"
	"  cuda device sm warp lane block thread\nend\n"
	"document trap-thread\nShow the focus, or move it.\nUsage: trap-thread [[BLOCK] THREAD]\nend\n"
	"define trap-stack\n  backtrace\nend\n"
	"document trap-stack\nShow the device call stack at the focus.\nend\n"
	"define trap-regs\n  info registers\nend\n"
	"document trap-regs\nShow the registers at the focus.\nend\n"
	"define trap-asm\n  x/9i $pc - 64\nend\n"  // four instructions of 16 bytes (sm_70 and later) before it
	"document trap-asm\nShow the instructions around the focus.\nend\n";

// Detaching would let the driver run on past the fault. When its tracer dies the process goes on waiting.
static const char plain_leave[] = "define hook-quit\n  shell kill -KILL $PPID\nend\n";

bool ct_cudagdb_write_plain(struct ct_arena *arena, const char *scratch_dir, bool leave, const char **ret_path, struct ct_error *err)
{
	const char *path = ct_arena_printf(arena, "%s/trap.gdb", scratch_dir);
	const char *text = ct_arena_printf(arena, "%s%s", plain, leave ? plain_leave : "");
	*ret_path = path;
	return ct_write_file_at(-1, path, text, strlen(text), err);
}

bool ct_cudagdb_session_argv(struct ct_arena *arena, const struct ct_cudagdb *gdb, const struct ct_cudagdb_session *session, char ***ret_argv,
			     char ***ret_environment, struct ct_error *err)
{
	const char *const scripted[] = {
		gdb->path, "-nx", "-q", "-iex", "set pagination off", "-iex", "set confirm off", "-iex", "set auto-solib-add off", "-iex", "set auto-load off",
		"-iex", "set debuginfod enabled off", "-iex", CT_CUDAGDB_QUIET_START, "-ex", RUN_SESSION, NULL,
	};
	const char *file = NULL;
	if (!gdb->has_gdb_cuda && !ct_cudagdb_write_plain(arena, session->scratch_dir, session->leave, &file, err))
		return false;
	const char *const bare[] = {
		gdb->path, "-nx", "-q", "-iex", "set auto-solib-add off", "-iex", "set auto-load off", "-iex", "set print thread-events off", "-x", file, "-p",
		ct_arena_printf(arena, "%d", (int)session->pid), NULL,
	};
	const char *const *words = file ? bare : scripted;
	const char *tmpdir = ct_environ_tmpdir_of(arena, session->pid);
	const char *settings[] = {
		"LC_ALL=C.UTF-8",
		"PYTHONDONTWRITEBYTECODE=1",
		ct_arena_printf(arena, "CUDATRAP_GDBSCRIPTS=%s", ct_cudagdb_scripts_dir()),
		ct_arena_printf(arena, "CUDATRAP_GDB_DATA=%s", ct_data_dir()),
		ct_arena_printf(arena, "CUDATRAP_GDB_OUT=%s/" CT_CUDAGDB_LIVE_JSON, session->scratch_dir),
		ct_arena_printf(arena, "CUDATRAP_GDB_SESSION=%s/" CT_CUDAGDB_SESSION_INCIDENT, session->scratch_dir),
		ct_arena_printf(arena, "CUDATRAP_GDB_LOG=%s/" CT_CUDAGDB_LOG, session->scratch_dir),
		ct_arena_printf(arena, "CUDATRAP_GDB_PROGRAM=%s", session->program),
		ct_arena_printf(arena, "CUDATRAP_GDB_PID=%d", (int)session->pid),
		session->leave ? "CUDATRAP_GDB_AFTER=leave" : "CUDATRAP_GDB_AFTER=detach",
		ct_arena_printf(arena, "TMPDIR=%s", tmpdir ? tmpdir : "/tmp"),
		NULL,
	};
	char **argv = NULL;
	size_t n = 0;
	do {
		argv = ct_arena_grow(arena, argv, &n, sizeof *argv);
		argv[n - 1] = (char *)words[n - 1];
	} while (words[n - 1]);
	*ret_argv = argv;
	*ret_environment = ct_environ_for_gdb(arena, environ, settings);
	return true;
}

bool ct_cudagdb_session_explain(const char *scratch_dir, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str log = CT_STR_INIT;
	ct_str_addf(&path, "%s/" CT_CUDAGDB_LOG, scratch_dir);
	if (ct_read_file(ct_str_text(&path), CT_CUDAGDB_LOG_LIMIT, &log, NULL) && ct_cudagdb_known_reason(ct_str_text(&log), err))
		return false;
	return ct_fail(err, CT_SYSTEM, "the session's cuda-gdb ended before it had read the GPU");
}
