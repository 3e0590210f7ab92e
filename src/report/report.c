// The report folder; see report.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render/render.h"
#include "report/report_priv.h"

enum { REPORT_WIDTH = 100, MAX_TRIES = 9999 };

static const char incident_name[] = "incident.json", text_name[] = "report.txt", log_name[] = "log.txt";

// Opens base_dir, which may be a symbolic link to a folder; makes it when it is missing.
static int open_base(const char *base_dir, bool *ret_made, struct ct_error *err)
{
	*ret_made = mkdir(base_dir, 0700) == 0;
	if (!*ret_made && errno != EEXIST) {
		ct_fail_errno(err, "report folder %s", base_dir);
		ct_hint(err, "choose a folder that exists and can be written");
		return -1;
	}
	int fd = open(base_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		ct_fail_errno(err, "report folder %s", base_dir);
		ct_hint(err, "choose a folder that exists and can be written");
	}
	return fd;
}

// Makes a folder that nobody had before: mkdir() neither follows links nor takes what exists. Two processes
// of one second get different names. Returns its descriptor, -1 on failure.
static int make_folder(int base_fd, struct ct_incident *incident, const char *base_dir, struct ct_error *err)
{
	const char *id = incident->id && ct_report_id_is_safe(incident->id) ? incident->id : ct_report_id(incident);
	const char *name = id;
	for (int i = 2; mkdirat(base_fd, name, 0700) != 0; i++) {
		if (errno != EEXIST || i > MAX_TRIES) {
			ct_fail_errno(err, "report folder %s/%s", base_dir, name);
			ct_hint(err, "choose a folder that can be written");
			return -1;
		}
		name = ct_arena_printf(&incident->arena, "%s-%d", id, i);
	}
	incident->id = name;
	int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	// The umask may have taken the owner's own bits.
	if (fd < 0 || fchmod(fd, 0700) != 0) {
		ct_fail_errno(err, "report folder %s/%s", base_dir, name);
		unlinkat(base_fd, name, AT_REMOVEDIR);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static bool write_rendered(int dir_fd, const char *file, const char *format, const struct ct_incident *incident, const struct ct_render_options *options,
			   struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str bytes = CT_STR_INIT;
	return ct_render_to_str(ct_renderer_find(format), incident, options, &bytes, err) &&
	       ct_write_file_at(dir_fd, file, ct_str_text(&bytes), bytes.length, err);
}

static bool write_files(int dir_fd, const struct ct_incident *incident, const char *path, const char *log, size_t log_length, struct ct_error *err)
{
	struct ct_render_options options = {.color = false, .width = REPORT_WIDTH, .native = false, .all_threads = false, .report_path = path};
	return ct_write_file_at(dir_fd, log_name, log ? log : "", log ? log_length : 0, err) &&
	       write_rendered(dir_fd, incident_name, "json", incident, &options, err) && write_rendered(dir_fd, text_name, "text", incident, &options, err);
}

static void remove_folder(int base_fd, int dir_fd, const char *name)
{
	static const char *const files[] = {incident_name, text_name, log_name};
	for (size_t i = 0; i < CT_COUNT(files); i++)
		unlinkat(dir_fd, files[i], 0);
	unlinkat(base_fd, name, AT_REMOVEDIR);
}

static const char *join(struct ct_arena *arena, const char *base_dir, const char *name)
{
	return ct_arena_printf(arena, "%s%s%s", base_dir, ct_ends_with(base_dir, "/") ? "" : "/", name);
}

bool ct_report_write(struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path, struct ct_error *err)
{
	bool made = false;
	const char *old_id = incident->id;
	CT_AUTO(ct_auto_close) int base_fd = open_base(base_dir, &made, err);
	if (base_fd < 0)
		return false;
	CT_AUTO(ct_auto_close) int dir_fd = make_folder(base_fd, incident, base_dir, err);
	bool ok = dir_fd >= 0;
	if (ok) {
		const char *path = join(&incident->arena, base_dir, incident->id);
		ok = write_files(dir_fd, incident, path, log, log_length, err);
		if (ok) {
			*ret_path = path;
			return true;
		}
		ct_fail_in(err, "%s", path);
		ct_hint(err, "the disk may be full or its quota used up: choose a folder on another one");
		remove_folder(base_fd, dir_fd, incident->id);
	}
	incident->id = old_id;
	if (made)
		rmdir(base_dir);
	return false;
}
