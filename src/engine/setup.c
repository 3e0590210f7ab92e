// What a run needs besides its command: a scratch folder with room in it, and an agent that can be preloaded.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "engine/engine_priv.h"

// ---- Scratch folder -------------------------------------------------------------------------------------------

// What the collectors write is a few megabytes at most (CT_CUDAGDB_JSON_LIMIT is 16 MiB); below this they fail in the middle.
#define ROOM_BYTES ((uint64_t)4 << 20)

static bool has_room(const char *folder)
{
	struct statvfs fs;
	return statvfs(folder, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM_BYTES;
}

static char *make_folder(struct ct_run *run, const char *base, struct ct_error *err)
{
	char *path = ct_arena_printf(&run->arena, "%s/cudatrap-XXXXXX", base);
	if (mkdtemp(path))
		return path;
	ct_fail_errno(err, "%s", base);
	return NULL;
}

// TMPDIR first. One that is missing or full must not keep the command from running: it may never need it.
bool ct_run_make_scratch(struct ct_run *run, struct ct_error *err)
{
	const char *tmpdir = getenv("TMPDIR");
	const char *const bases[] = {tmpdir && *tmpdir == '/' ? tmpdir : "/tmp", "/tmp", "/var/tmp", "/dev/shm"};
	struct ct_error first = CT_ERROR_INIT;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < CT_COUNT(bases) && !run->scratch; i++)
			if (pass == 1 || has_room(bases[i]))
				run->scratch = make_folder(run, bases[i], first.code == CT_OK ? &first : NULL);
	}
	if (!run->scratch) {
		*err = first;
		return ct_hint(err, "set TMPDIR to a folder that can be written");
	}
	if (!ct_starts_with(run->scratch, bases[0]))
		ct_run_say(run, "%s cannot be used for temporary files: they are in %s", bases[0], run->scratch);
	return true;
}

static void remove_tree(int parent, const char *name, int depth)
{
	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth > 8)
		return;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CT_AUTO(ct_auto_closedir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_tree(dirfd(dir), e->d_name, depth + 1);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void ct_run_remove_scratch(struct ct_run *run)
{
	remove_tree(AT_FDCWD, run->scratch, 0);
	if (!run->record_dir)
		return;
	remove_tree(AT_FDCWD, run->record_dir, 0);
	close(run->record_lock);
}

void ct_run_remove_folder(int parent_fd, const char *name)
{
	remove_tree(parent_fd, name, 0);
}

// ---- Agent ------------------------------------------------------------------------------------------------------

// The dynamic linker splits LD_PRELOAD at these, and nothing quotes them.
static bool can_be_listed(const char *path)
{
	return !strpbrk(path, " :");
}

// An absolute path that can stand in LD_PRELOAD, also after the command has changed its folder.
static const char *listable_path(struct ct_run *run, const char *given, struct ct_error *err)
{
	CT_AUTO(ct_auto_free) char *real = realpath(given, NULL);
	if (!real) {
		ct_fail_errno(err, "%s", given);
		return NULL;
	}
	if (can_be_listed(real))
		return ct_arena_strdup(&run->arena, real);
	const char *link = ct_arena_printf(&run->arena, "%s/libcudatrap-agent.so", run->scratch);
	if (can_be_listed(link) && symlink(real, link) == 0)
		return link;
	ct_fail(err, CT_UNAVAILABLE, "%s: a path with a blank or a colon cannot be preloaded", real);
	return NULL;
}

// What cannot be loaded would make the dynamic linker complain in every process of the command. Outside a run the agent does nothing.
static bool can_be_loaded(const char *path, struct ct_error *err)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return ct_fail(err, CT_UNAVAILABLE, "%s", dlerror());
	dlclose(handle);
	return true;
}

static const char *find_agent(struct ct_run *run, struct ct_error *err)
{
	const char *given = getenv("CUDATRAP_AGENT");
	const char *path = listable_path(run, given && *given ? given : CT_PKGLIBDIR "/libcudatrap-agent.so", err);
	return path && can_be_loaded(path, err) ? path : NULL;
}

void ct_run_find_agent(struct ct_run *run)
{
	// In a run inside a run the outer one must see that this process is ours, with or without an agent.
	ct_run_setenv(run, "CUDATRAP_SUPERVISOR_PID", ct_arena_printf(&run->arena, "%d", (int)getpid()));
	ct_run_setenv(run, "CUDATRAP_AGENT_DIR", NULL);
	const char *path = find_agent(run, &run->agent_missing);
	char *dir = ct_arena_printf(&run->arena, "%s/agent", run->scratch);
	if (path && mkdir(dir, 0700) != 0) {
		ct_fail_errno(&run->agent_missing, "%s", dir);
		path = NULL;
	}
	if (!path) {
		ct_run_say(run, "no agent: %s", run->agent_missing.text);
		return;
	}
	run->agent_dir = dir;
	const char *others = ct_run_getenv(run, "LD_PRELOAD");
	ct_run_setenv(run, "LD_PRELOAD", others && *others ? ct_arena_printf(&run->arena, "%s %s", others, path) : path);
	ct_run_setenv(run, "CUDATRAP_AGENT_DIR", dir);
}
