// Opening a file of any of the three kinds; see shell.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "diagnose/diagnose.h"
#include "shell/shell_priv.h"
#include "values/values.h"

// ELF, xz and gzip begin like this; JSON cannot.
static bool looks_like_dump(const unsigned char *bytes, size_t length)
{
	return (length >= 4 && memcmp(bytes, "\177ELF", 4) == 0) || (length >= 6 && memcmp(bytes, "\3757zXZ", 6) == 0) ||
	       (length >= 2 && memcmp(bytes, "\037\213", 2) == 0);
}

static bool read_dump(struct ct_shell *shell, const char *path, int fd, struct ct_error *err)
{
	if (!ct_gpucore_open_fd(fd, path, 0, &shell->core, err))
		return false;
	shell->incident = ct_incident_new();
	shell->incident->tool_version = "cudatrap " CT_VERSION;
	shell->incident->engine = "core";
	shell->incident->engine_why = "a GPU core dump was opened";
	// A dump that was written with no kernel on the GPU still has devices and modules to look at.
	// It shows no fault, so nothing is concluded from it.
	struct ct_gpucore_grid grid;
	if (!ct_gpucore_fill(shell->core, shell->incident, NULL))
		return true;
	shell->incident->launch_blocking = ct_gpucore_n_grids(shell->core) && ct_gpucore_grid(shell->core, 0, &grid) && grid.launch_blocking;
	ct_values_with(shell->core, shell->incident, ct_data_dir());
	ct_diagnose(shell->incident);
	ct_explain_with(shell->incident, ct_data_dir());
	return true;
}

static bool read_incident(struct ct_shell *shell, const char *path, int fd, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	return (ct_read_fd(fd, CT_INCIDENT_MAX_BYTES, &text, err) && ct_incident_read_json(ct_str_text(&text), text.length, &shell->incident, err)) ||
	       ct_fail_in(err, "%s", path);
}

// A pipe cannot be looked into without taking the bytes: what comes through one is a dump (the driver writes to FIFOs).
static bool read_any(struct ct_shell *shell, const char *path, int fd, struct ct_error *err)
{
	unsigned char start[6];
	struct stat st;
	if (fstat(fd, &st) != 0)
		return ct_fail_errno(err, "%s", path);
	if (!S_ISREG(st.st_mode))
		return read_dump(shell, path, fd, err);
	ssize_t n = pread(fd, start, sizeof start, 0);
	if (n < 0)
		return ct_fail_errno(err, "%s", path);
	if (n > 0 && looks_like_dump(start, (size_t)n))
		return read_dump(shell, path, fd, err);
	if (n > 0 && !strchr("{ \t\r\n", start[0])) {
		ct_fail(err, CT_FORMAT, "%s: neither a GPU core dump nor an incident", path);
		return ct_hint(err, "give a dump, an incident.json or a report folder");
	}
	return read_incident(shell, path, fd, err);
}

static int open_path(const char *path, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str inside = CT_STR_INIT;
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		ct_str_addf(&inside, "%s/incident.json", path);
		path = ct_str_text(&inside);
	}
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		ct_fail_errno(err, "%s", path);
	return fd;
}

bool ct_shell_open(const char *path, struct ct_shell **ret_shell, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int fd = open_path(path, err);
	if (fd < 0)
		return false;
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = ct_xrealloc(NULL, sizeof *shell);
	*shell = (struct ct_shell){.render = {.width = 80}};
	if (!read_any(shell, path, fd, err))
		return false;
	shell->path = ct_arena_strdup(&shell->incident->arena, path);
	ct_shell_index_build(shell);
	shell->has_focus = shell->index.n_failing != 0;
	shell->focus = shell->has_focus ? shell->index.failing[0] : 0;
	shell->host = ct_render_main_thread(shell->incident);
	*ret_shell = shell;
	shell = NULL;
	return true;
}

void ct_shell_free(struct ct_shell *shell)
{
	if (!shell)
		return;
	ct_shell_index_done(&shell->index);
	ct_gpucore_free(shell->core);
	ct_incident_free(shell->incident);
	free(shell);
}

void ct_shell_auto(struct ct_shell **shell)
{
	ct_shell_free(*shell);
}

void ct_shell_set_render(struct ct_shell *shell, const struct ct_render_options *render)
{
	shell->render = *render;
}
