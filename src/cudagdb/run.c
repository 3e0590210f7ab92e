// Runs cuda-gdb on a process or a dump, with our scripts in it, and brings back the document that they write.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

#define JSON_NAME "gpu.json"

// What every cuda-gdb of ours is told before it does anything. -iex: what follows must hold before it attaches. Without the symbols of
// every library, attaching to a PyTorch process takes 1.1 s in place of 12 (measured); cuda-gdb finds the CUDA side all the same.
#define QUIET \
	"-nx", "-q", "-batch", "-iex", "set pagination off", "-iex", "set confirm off", "-iex", "set width 0", "-iex", "set height 0", "-iex", \
		"set auto-solib-add off", "-iex", "set print thread-events off", "-iex", "set print inferior-events off", "-iex", \
		"set auto-load off", "-iex", "set debuginfod enabled off"

#define RUN_MAIN "python import os, sys; sys.path.insert(0, os.environ['CUDATRAP_GDBSCRIPTS']); import cudatrap.main; cudatrap.main.run()"

// cuda-gdb and the driver in the target must agree on TMPDIR to find each other; a dump is nobody else's.
static const char *tmpdir_for(struct ct_arena *arena, const struct ct_cudagdb_job *job)
{
	return job->pid ? ct_environ_tmpdir_of(arena, job->pid) : job->scratch_dir;
}

static char **environment_for(struct ct_arena *arena, const struct ct_cudagdb_job *job, const char *tmpdir)
{
	static const char *const after[] = {[CT_AFTER_DETACH] = "detach", [CT_AFTER_LEAVE] = "leave"};
	const char *settings[] = {
		"LC_ALL=C.UTF-8",
		"PYTHONDONTWRITEBYTECODE=1",
		ct_arena_printf(arena, "CUDATRAP_GDBSCRIPTS=%s", ct_cudagdb_scripts_dir()),
		ct_arena_printf(arena, "CUDATRAP_GDB_OUT=%s/" JSON_NAME, job->scratch_dir),
		ct_arena_printf(arena, "CUDATRAP_GDB_DATA=%s", ct_data_dir()),
		ct_arena_printf(arena, "CUDATRAP_GDB_AFTER=%s", job->pid ? after[job->after] : ""),
		ct_arena_printf(arena, "CUDATRAP_GDB_INCIDENT=%s", job->incident_path ? job->incident_path : ""),
		job->keep_image ? ct_arena_printf(arena, "CUDATRAP_GDB_IMAGE=%s/" CT_CUDAGDB_IMAGE, job->scratch_dir) : "CUDATRAP_GDB_IMAGE=",
		ct_arena_printf(arena, "TMPDIR=%s", tmpdir ? tmpdir : "/tmp"),
		NULL,
	};
	return ct_environ_for_gdb(arena, environ, settings);
}

struct session {
	const char *scratch_dir, *tmpdir;
};

static void note_session(void *context, pid_t pid)
{
	const struct session *session = context;
	ct_cudagdb_note_session(session->scratch_dir, session->tmpdir, pid);
}

static bool run_scripts(const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_arena *arena, struct ct_str *log,
			struct ct_child_result *ret_result, struct ct_error *err)
{
	const char *attach[] = {gdb->path, QUIET, "-ex", RUN_MAIN, "-p", ct_arena_printf(arena, "%d", (int)job->pid), NULL};
	const char *open[] = {gdb->path, QUIET, "-ex", "target cudacore " CT_CUDAGDB_CORE_NAME, "-ex", RUN_MAIN, NULL};
	const char *tmpdir = tmpdir_for(arena, job);
	struct session session = {.scratch_dir = job->scratch_dir, .tmpdir = tmpdir};
	struct ct_child child = {
		.started = note_session,
		.context = &session,
		.argv = (char *const *)(job->pid ? attach : open),
		.environment = environment_for(arena, job, tmpdir),
		.cwd = job->scratch_dir,
		.deadline_us = job->deadline_us,
		.log_path = ct_arena_printf(arena, "%s/" CT_CUDAGDB_LOG, job->scratch_dir),
		.verbose = job->verbose,
		.output = log,
	};
	if (!ct_child_run(&child, ret_result, err))
		return false;
	ct_cudagdb_clean_up(job->scratch_dir, 0, NULL);
	return true;
}

// `target cudacore` takes its argument as it is, to the end of the line: a link in cuda-gdb's folder spares it from odd paths.
static bool link_core(const struct ct_cudagdb_job *job, struct ct_arena *arena, struct ct_error *err)
{
	if (!ct_cudagdb_check_core(job->core_path, err))
		return false;
	CT_AUTO(ct_auto_free) char *target = realpath(job->core_path, NULL);
	const char *link = ct_arena_printf(arena, "%s/" CT_CUDAGDB_CORE_NAME, job->scratch_dir);
	if (!target || (unlink(link) != 0 && errno != ENOENT) || symlink(target, link) != 0)
		return ct_fail_errno(err, "%s", link);
	return true;
}

static bool check_job(const struct ct_cudagdb_job *job, struct ct_arena *arena, struct ct_error *err)
{
	if (job->pid > 0)
		return true;
	if (!job->core_path)
		return ct_fail(err, CT_USAGE, "neither a process nor a dump to read");
	return link_core(job, arena, err);
}

// A document without a GPU part: cuda-gdb was in the process, and the CUDA side was refused or is not there.
static bool has_gpu_part(const struct ct_str *json)
{
	json_t *root = json_loadb(ct_str_text(json), json->length, 0, NULL);
	bool has = json_is_object(json_object_get(root, "gpu"));
	json_decref(root);
	return has;
}

static bool read_document(const char *path, const struct ct_str *log, const struct ct_child_result *result, struct ct_str *ret_json, struct ct_error *err)
{
	// Written whole before the target is let go: it counts even if cuda-gdb crashed or hung after that.
	struct ct_error missing = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	if (ct_read_file(path, CT_CUDAGDB_JSON_LIMIT, &json, &missing)) {
		if (!has_gpu_part(&json) && ct_cudagdb_known_reason(ct_str_text(log), err))
			return false;
		ct_str_append(ret_json, ct_str_text(&json), json.length);
		return true;
	}
	if (missing.code != CT_NOT_FOUND)
		return ct_fail(err, missing.code, "%s", missing.text);
	return ct_cudagdb_explain(ct_str_text(log), result, err);
}

bool ct_cudagdb_collect(const struct ct_cudagdb *gdb, const struct ct_cudagdb_job *job, struct ct_str *ret_json, struct ct_error *err)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	if (!check_job(job, &arena, err))
		return false;
	if (!gdb->has_gdb_cuda)
		return ct_cudagdb_collect_mi(gdb, job, &arena, environment_for(&arena, job, tmpdir_for(&arena, job)), ret_json, err);
	const char *json_path = ct_arena_printf(&arena, "%s/" JSON_NAME, job->scratch_dir);
	if (unlink(json_path) != 0 && errno != ENOENT)
		return ct_fail_errno(err, "%s", json_path);
	CT_AUTO(ct_auto_str) struct ct_str log = CT_STR_INIT;
	struct ct_child_result result;
	if (!run_scripts(gdb, job, &arena, &log, &result, err))
		return ct_fail_in(err, "cuda-gdb %s", gdb->version);
	return read_document(json_path, &log, &result, ret_json, err) || ct_fail_in(err, "cuda-gdb %s", gdb->version);
}
