// Lines of earlier sessions, in $XDG_STATE_HOME/cudatrap/history, for their owner alone. Without a place for them a session works as well.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <readline/history.h>

#include "shell/shell_priv.h"

enum { MAX_LINES = 1000 };

// The XDG base directory specification: an absolute path, else ~/.local/state.
static const char *state_folder(struct ct_arena *arena)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (xdg && *xdg == '/')
		return ct_arena_printf(arena, "%s/cudatrap", xdg);
	return home && *home == '/' ? ct_arena_printf(arena, "%s/.local/state/cudatrap", home) : NULL;
}

static bool make_folders(struct ct_arena *arena, const char *path)
{
	char *part = ct_arena_strdup(arena, path);
	for (char *p = part + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(part, 0700) != 0 && errno != EEXIST)
			return false;
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}

// Only a regular file: a FIFO would wait, and what a link names may be another's.
static int open_history(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || fchmod(fd, 0600) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void ct_shell_history_load(struct ct_arena *arena)
{
	const char *folder = state_folder(arena);
	using_history();
	stifle_history(MAX_LINES);
	if (!folder)
		return;
	const char *path = ct_arena_printf(arena, "%s/history", folder);
	CT_AUTO(ct_auto_close) int fd = open_history(path, O_RDONLY);
	if (fd >= 0)
		read_history(path);
}

// Appended, so that two sessions at a time keep each other's lines.
void ct_shell_history_save(struct ct_arena *arena, size_t n_new)
{
	const char *folder = state_folder(arena);
	if (!folder || !make_folders(arena, folder))
		return;
	const char *path = ct_arena_printf(arena, "%s/history", folder);
	CT_AUTO(ct_auto_close) int fd = open_history(path, O_WRONLY | O_CREAT | O_APPEND);
	if (fd < 0)
		return;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	HIST_ENTRY **entries = history_list();
	size_t n = history_length > 0 ? (size_t)history_length : 0;
	for (size_t i = n > n_new ? n - n_new : 0; entries && i < n; i++)
		ct_str_addf(&text, "%s\n", entries[i]->line);
	if (ct_write_all(fd, ct_str_text(&text), text.length, NULL))
		history_truncate_file(path, MAX_LINES);
}
