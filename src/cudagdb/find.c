// Finds a cuda-gdb that works, by running each candidate.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

// A cold start from a network file system takes seconds; the warm one 65 ms.
#define PROBE_TIMEOUT_MS 20000

static void note(struct ct_arena *arena, struct ct_cudagdb_search *search, const struct ct_candidate *candidate, const char *what)
{
	if (!search)
		return;
	search->lines = ct_arena_grow(arena, search->lines, &search->n_lines, sizeof *search->lines);
	search->lines[search->n_lines - 1] = ct_arena_printf(arena, "%s (%s): %s", candidate->path, candidate->found_by, what);
}

// "12.4" behind marker in text; NULL: not there.
static const char *version_behind(struct ct_arena *arena, const char *text, const char *marker)
{
	const char *at = strstr(text, marker);
	if (!at)
		return NULL;
	at += strlen(marker);
	size_t n = strspn(at, "0123456789.");
	while (n && at[n - 1] == '.')
		n--;
	return n && isdigit((unsigned char)at[0]) ? ct_arena_strndup(arena, at, n) : NULL;
}

// `show version` begins "NVIDIA (R) cuda-gdb 13.0", before 13 "NVIDIA (R) CUDA Debugger" and on the next line "12.4 release".
static const char *debugger_version(struct ct_arena *arena, const char *text)
{
	const char *version = version_behind(arena, text, "cuda-gdb ");
	return version ? version : version_behind(arena, text, "CUDA Debugger\n");
}

// What is wrong with a program that ended like this; NULL: nothing.
static const char *complaint(struct ct_arena *arena, const struct ct_child_result *result, int64_t timeout_ms)
{
	if (result->timed_out)
		return ct_arena_printf(arena, "did not answer within %.0f s", (double)timeout_ms / 1000);
	if (WIFSIGNALED(result->wait_status))
		return ct_arena_printf(arena, "crashed (signal %d)", WTERMSIG(result->wait_status));
	if (WIFEXITED(result->wait_status) && WEXITSTATUS(result->wait_status) != 0)
		return ct_arena_printf(arena, "does not run (status %d)", WEXITSTATUS(result->wait_status));
	return NULL;
}

// Runs the candidate and asks it what it is. NULL: it works; else why it does not.
static const char *probe(struct ct_arena *arena, const struct ct_candidate *candidate, char *const *environment, int64_t timeout_ms,
			 struct ct_cudagdb *ret_gdb)
{
	static const char *const settings[] = {"LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", NULL};
	const char *argv[] = {
		candidate->path, "-nx", "-q", "-batch", "-ex", "show version",
		"-ex", "python import sys, gdb; print('ct-python %d.%d.%d ct-cuda %d' % (sys.version_info[:3] + (hasattr(gdb, 'cuda'),)))", NULL,
	};
	CT_AUTO(ct_auto_str) struct ct_str output = CT_STR_INIT;
	struct ct_child child = {
		.argv = (char *const *)argv,
		.environment = ct_environ_for_gdb(arena, environment, settings),
		.cwd = "/",
		.deadline_us = ct_now_us() + timeout_ms * 1000,
		.output = &output,
	};
	struct ct_child_result result;
	struct ct_error err = CT_ERROR_INIT;
	if (!ct_child_run(&child, &result, &err))
		return ct_arena_printf(arena, "cannot be executed: %s", err.text);
	const char *why = complaint(arena, &result, timeout_ms);
	const char *text = ct_str_text(&output);
	const char *version = debugger_version(arena, text);
	if (why || !version)
		return why ? why : "is no cuda-gdb: it does not say its version";
	*ret_gdb = (struct ct_cudagdb){
		.path = candidate->path,
		.found_by = candidate->found_by,
		.version = version,
		.python = version_behind(arena, text, "ct-python "),
		.has_gdb_cuda = strstr(text, "ct-cuda 1") != NULL,
	};
	return NULL;
}

static const char *limits_of(const struct ct_cudagdb *gdb)
{
	if (!gdb->python)
		return "works, but has no Python: fewer facts can be read with it";
	return "works, but is older than 12.7 (no gdb.cuda): fewer facts can be read with it";
}

bool ct_cudagdb_find_in(struct ct_arena *arena, const char *root, const char *explicit_path, char *const *environment, const char *target_exe,
			int64_t timeout_ms, struct ct_cudagdb *ret_gdb, struct ct_cudagdb_search *ret_search, struct ct_error *err)
{
	if (ret_search)
		*ret_search = (struct ct_cudagdb_search){.lines = NULL, .n_lines = 0};
	size_t n;
	struct ct_candidate *candidates = ct_cudagdb_candidates(arena, root, explicit_path, environment, target_exe, &n);
	struct ct_cudagdb second = {.path = NULL};
	for (size_t i = 0; i < n; i++) {
		struct ct_cudagdb gdb = {.path = NULL};
		const char *why = probe(arena, &candidates[i], environment, timeout_ms, &gdb);
		if (why && candidates[i].explicit_choice) {
			note(arena, ret_search, &candidates[i], why);
			ct_fail(err, CT_NOT_FOUND, "%s (given by %s) %s", candidates[i].path, candidates[i].found_by, why);
			return ct_hint(err, "give the path of a cuda-gdb that runs, or leave it out to have it searched for");
		}
		if (!why && gdb.has_gdb_cuda) {
			*ret_gdb = gdb;
			return true;
		}
		note(arena, ret_search, &candidates[i], why ? why : limits_of(&gdb));
		if (!why && !second.path)
			second = gdb;
	}
	if (second.path) {
		*ret_gdb = second;
		return true;
	}
	ct_fail(err, CT_NOT_FOUND, n ? "no cuda-gdb works; %zu tried" : "no cuda-gdb found", n);
	return ct_hint(err, "install the CUDA toolkit's cuda-gdb (conda: cuda-gdb), or give its path with --cuda-gdb or CUDATRAP_CUDA_GDB");
}

bool ct_cudagdb_find(struct ct_arena *arena, const char *explicit_path, char *const *environment, const char *target_exe, struct ct_cudagdb *ret_gdb,
		     struct ct_cudagdb_search *ret_search, struct ct_error *err)
{
	return ct_cudagdb_find_in(arena, "", explicit_path, environment, target_exe, PROBE_TIMEOUT_MS, ret_gdb, ret_search, err);
}

bool ct_cudagdb_exists(char *const *environment, const char *target_exe)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	size_t n = 0;
	const struct ct_candidate *rows = ct_cudagdb_candidates(&arena, "", NULL, environment, target_exe, &n);
	for (size_t i = 0; i < n; i++)
		if (access(rows[i].path, X_OK) == 0)
			return true;
	return false;
}
