// The environment that cuda-gdb gets: the target's or ours, less what would change cuda-gdb itself.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudagdb/cudagdb_priv.h"

// LD_LIBRARY_PATH stays: a cuda-gdb of a conda environment needs it for its libpython.
static const char *const harmful[] = {
	"LD_PRELOAD=",
	"LD_AUDIT=",
	"CUDATRAP_",           // ours: of the target's agent, or of an outer run
	"PYTHON",              // PYTHONHOME and PYTHONPATH of the target would be those of cuda-gdb's own Python
	"CUDA_LAUNCH_BLOCKING=",
	"CUDA_COREDUMP",       // CUDA_COREDUMP_FILE and so on
	"CUDA_ENABLE_",        // CUDA_ENABLE_COREDUMP_ON_EXCEPTION and so on
	"CUDA_DEVICE_WAITS_ON_EXCEPTION=",
	"CUDA_INJECTION64_PATH=",
	"DEBUGINFOD_URLS=",    // no network
	"LC_ALL=",             // what it says is looked through for English words
	"LANGUAGE=",
};

bool ct_environ_is_harmful(const char *entry)
{
	for (size_t i = 0; i < CT_COUNT(harmful); i++)
		if (ct_starts_with(entry, harmful[i]))
			return true;
	return false;
}

static size_t name_length(const char *entry)
{
	const char *equals = strchr(entry, '=');
	return equals ? (size_t)(equals - entry) : strlen(entry);
}

static bool is_set_by(const char *entry, const char *const *settings)
{
	size_t n = name_length(entry);
	for (; *settings; settings++)
		if (name_length(*settings) == n && strncmp(entry, *settings, n) == 0)
			return true;
	return false;
}

const char *ct_environ_get(char *const *environment, const char *name)
{
	size_t n = strlen(name);
	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

char **ct_environ_for_gdb(struct ct_arena *arena, char *const *environment, const char *const *settings)
{
	char **result = NULL;
	size_t count = 0;
	for (; environment && *environment; environment++) {
		if (ct_environ_is_harmful(*environment) || is_set_by(*environment, settings))
			continue;
		result = ct_arena_grow(arena, result, &count, sizeof *result);
		result[count - 1] = *environment;
	}
	for (; *settings; settings++) {
		result = ct_arena_grow(arena, result, &count, sizeof *result);
		result[count - 1] = (char *)*settings;
	}
	return ct_arena_grow(arena, result, &count, sizeof *result);
}

const char *ct_environ_tmpdir_of(struct ct_arena *arena, pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	if (!ct_read_file(path, (size_t)4 << 20, &text, NULL))
		return NULL;
	for (size_t at = 0; at < text.length; at += strlen(text.data + at) + 1)
		if (ct_starts_with(text.data + at, "TMPDIR="))
			return ct_arena_strdup(arena, text.data + at + strlen("TMPDIR="));
	return NULL;
}

const char *ct_cudagdb_scripts_dir(void)
{
	const char *dir = getenv("CUDATRAP_GDBSCRIPTS");
	return dir && *dir ? dir : CT_PKGDATADIR "/gdbscripts";
}
