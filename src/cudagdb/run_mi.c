// A cuda-gdb without Python or gdb.cuda: started, asked over its machine interface, sent away.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// cuda-gdb needs this to let go of a process and of its session folder.
#define GOODBYE_MS 5000

static bool open_target(struct ct_mi_session *session, const struct ct_cudagdb_job *job, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!job->pid)
		return ct_mi_ask(session, "-target-select cudacore " CT_CUDAGDB_CORE_NAME, &answer, err);
	return ct_mi_ask(session, ct_arena_printf(session->arena, "-target-attach %d", (int)job->pid), &answer, err);
}

static void let_go(struct ct_mi_session *session, const struct ct_cudagdb_job *job)
{
	struct ct_mi_record answer;
	if (job->pid && job->after == CT_AFTER_LEAVE)
		return;  // ct_cudagdb_collect_mi() ends it
	if (job->pid)
		ct_mi_ask(session, "-target-detach", &answer, NULL);
	ct_mi_ask(session, "-gdb-exit", &answer, NULL);
}

static bool converse(struct ct_mi_session *session, const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_str *ret_json,
		     struct ct_error *err)
{
	if (!open_target(session, job, err))
		return false;
	bool ok = ct_mi_collect(session, gdb, ret_json, err);
	let_go(session, job);
	return ok;
}

static void write_log(const struct ct_cudagdb_job *job, struct ct_arena *arena, const struct ct_str *log)
{
	const char *path = ct_arena_printf(arena, "%s/" CT_CUDAGDB_LOG, job->scratch_dir);
	ct_write_file_at(-1, path, ct_str_text(log), log->length, NULL);  // an absolute path: the descriptor is not looked at
	if (job->verbose)
		ct_write_all(STDERR_FILENO, ct_str_text(log), log->length, NULL);
}

bool ct_cudagdb_collect_mi(const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_arena *arena, char *const *environment,
			   struct ct_str *ret_json, struct ct_error *err)
{
	const char *argv[] = {
		gdb->path, "-nx", "-q", "--interpreter=mi", "-iex", "set pagination off", "-iex", "set confirm off", "-iex", "set auto-solib-add off",
		"-iex", "set auto-load off", NULL,
	};
	struct ct_child child = {.argv = (char *const *)argv, .environment = environment, .cwd = job->scratch_dir};
	pid_t pid;
	CT_AUTO(ct_auto_close) int input = -1;
	CT_AUTO(ct_auto_close) int output = -1;
	if (!ct_child_start(&child, &pid, &input, &output, err))
		return ct_fail_in(err, "cuda-gdb %s", gdb->version);
	ct_cudagdb_note_session(job->scratch_dir, ct_environ_get(environment, "TMPDIR"), pid);
	struct ct_mi_session session = {.arena = arena, .input = input, .output = output, .deadline_us = job->deadline_us};
	struct ct_error inner = CT_ERROR_INIT;
	bool ok = converse(&session, gdb, job, ret_json, &inner);
	if (job->pid && job->after == CT_AFTER_LEAVE)
		kill(-pid, SIGKILL);  // at the end of its input it would detach
	close(input);
	input = -1;
	struct ct_child_result result;
	int64_t goodbye_us = ct_now_us() + (int64_t)GOODBYE_MS * 1000;
	ct_child_finish(pid, goodbye_us < job->deadline_us ? goodbye_us : job->deadline_us, &result);
	ct_cudagdb_clean_up(job->scratch_dir, 0, NULL);
	write_log(job, arena, &session.log);
	if (!ok) {
		struct ct_error known = CT_ERROR_INIT;
		result.timed_out = inner.code == CT_TIMEOUT;
		ct_cudagdb_explain(ct_str_text(&session.log), &result, &known);
		// Its own message says more than that there is no result.
		bool told = strstr(known.text, "left no result") == NULL;
		ct_fail(err, told ? known.code : inner.code, "%s", told ? known.text : inner.text);
		ct_hint(err, "%s", told ? known.hint : inner.hint);
		ct_fail_in(err, "cuda-gdb %s", gdb->version);
	}
	ct_str_done(&session.buffer);
	ct_str_done(&session.log);
	return ok;
}
