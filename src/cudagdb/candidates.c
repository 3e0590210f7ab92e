// Where a cuda-gdb could be: the search order, without running anything.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"

struct list {
	struct ct_arena *arena;
	struct ct_candidate *rows;
	size_t count;
};

// The same file under a second name is tried once.
static bool is_known(const struct list *list, const char *path)
{
	struct stat a, b;
	if (stat(path, &a) != 0)
		return false;
	for (size_t i = 0; i < list->count; i++)
		if (stat(list->rows[i].path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return true;
	return false;
}

// Adds path when a file is there; what it is worth is found out by running it.
static void add(struct list *list, const char *path, const char *found_by)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || is_known(list, path))
		return;
	list->rows = ct_arena_grow(list->arena, list->rows, &list->count, sizeof *list->rows);
	list->rows[list->count - 1] = (struct ct_candidate){
		.path = ct_arena_strdup(list->arena, path),
		.found_by = ct_arena_strdup(list->arena, found_by),
	};
}

static void add_explicit(struct list *list, const char *path, const char *found_by)
{
	list->rows = ct_arena_grow(list->arena, list->rows, &list->count, sizeof *list->rows);
	list->rows[list->count - 1] = (struct ct_candidate){
		.path = ct_arena_strdup(list->arena, path),
		.found_by = found_by,
		.explicit_choice = true,
	};
}

static void add_below(struct list *list, const char *dir, const char *found_by)
{
	if (dir && *dir)
		add(list, ct_arena_printf(list->arena, "%s/bin/cuda-gdb", dir), found_by);
}

const char *ct_cudagdb_in_path(struct ct_arena *arena, const char *path, const char *name)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");
		const char *full = ct_arena_printf(arena, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
		struct stat st;
		if (stat(full, &st) == 0 && S_ISREG(st.st_mode) && access(full, X_OK) == 0)
			return full;
		path += n + (path[n] == ':');
	}
	return NULL;
}

// All matches, the highest version first: cuda-13.0 before cuda-12.4.
static void add_matches(struct list *list, const char *pattern)
{
	glob_t found;
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	size_t first = list->count;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add(list, found.gl_pathv[i], found.gl_pathv[i]);
	for (size_t i = first; i < list->count; i++) {
		size_t best = i;
		for (size_t j = i + 1; j < list->count; j++)
			if (strverscmp(list->rows[j].path, list->rows[best].path) > 0)
				best = j;
		struct ct_candidate row = list->rows[i];
		list->rows[i] = list->rows[best];
		list->rows[best] = row;
	}
	globfree(&found);
}

// Characters that glob() would take for its own.
static bool is_plain(const char *path)
{
	return !strpbrk(path, "*?[\\");
}

// /x/env/bin/python3 -> /x/env/bin/cuda-gdb and the nvidia wheels below /x/env/lib.
static void add_beside(struct list *list, const char *target_exe)
{
	const char *slash = target_exe ? strrchr(target_exe, '/') : NULL;
	if (!slash || !is_plain(target_exe))
		return;
	const char *bin = ct_arena_strndup(list->arena, target_exe, (size_t)(slash - target_exe));
	add(list, ct_arena_printf(list->arena, "%s/cuda-gdb", bin), "the target's environment");
	add_matches(list, ct_arena_printf(list->arena, "%s/../lib/python3*/site-packages/nvidia/*/bin/cuda-gdb", bin));
}

struct ct_candidate *ct_cudagdb_candidates(struct ct_arena *arena, const char *root, const char *explicit_path, char *const *environment,
					   const char *target_exe, size_t *ret_count)
{
	struct list list = {.arena = arena};
	const char *chosen = ct_environ_get(environment, "CUDATRAP_CUDA_GDB");
	const char *path = ct_environ_get(environment, "PATH");
	if (explicit_path)
		add_explicit(&list, explicit_path, "--cuda-gdb");
	else if (chosen && *chosen)
		add_explicit(&list, chosen, "CUDATRAP_CUDA_GDB");
	if (list.count) {
		// A name without a slash is looked up as a shell would.
		struct ct_candidate *only = &list.rows[0];
		const char *found = strchr(only->path, '/') ? NULL : ct_cudagdb_in_path(arena, path, only->path);
		if (found)
			only->path = found;
		*ret_count = list.count;
		return list.rows;
	}
	const char *in_path = ct_cudagdb_in_path(arena, path, "cuda-gdb");
	if (in_path)
		add(&list, in_path, "PATH");
	add_below(&list, ct_environ_get(environment, "CUDA_HOME"), "CUDA_HOME");
	add_below(&list, ct_environ_get(environment, "CUDA_PATH"), "CUDA_PATH");
	add(&list, ct_arena_printf(arena, "%s/usr/local/cuda/bin/cuda-gdb", root), "/usr/local/cuda");
	add_matches(&list, ct_arena_printf(arena, "%s/usr/local/cuda-*/bin/cuda-gdb", root));
	add(&list, ct_arena_printf(arena, "%s/opt/cuda/bin/cuda-gdb", root), "/opt/cuda");
	add_below(&list, ct_environ_get(environment, "CONDA_PREFIX"), "CONDA_PREFIX");
	add_beside(&list, target_exe);
	*ret_count = list.count;
	return list.rows;
}
