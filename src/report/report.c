// The report folder; see report.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "render/render.h"
#include "report/report_priv.h"

enum { REPORT_WIDTH = 100, MAX_TRIES = 9999, MAX_RENAMES = 20 };

static const char incident_name[] = CT_REPORT_INCIDENT, text_name[] = CT_REPORT_TEXT, log_name[] = CT_REPORT_LOG,
			summary_name[] = CT_REPORT_SUMMARY;

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

struct folder {
	const char *name, *hidden;  // to be, and while it is written
	int fd;
};

static bool is_there(int base_fd, const char *name)
{
	struct stat st;
	return fstatat(base_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

// Reserves a name by making its hidden folder: mkdir() neither follows links nor takes what exists, on NFS too. Whoever has the hidden
// folder is alone in looking for the name itself, so that two processes of one second get different names.
static bool reserve(int base_fd, const char *id, struct ct_incident *incident, struct folder *f, const char *base_dir, struct ct_error *err)
{
	for (int i = 1; i <= MAX_TRIES; i++) {
		f->name = i == 1 ? id : ct_arena_printf(&incident->arena, "%s-%d", id, i);
		f->hidden = ct_arena_printf(&incident->arena, ".%s.tmp", f->name);
		if (mkdirat(base_fd, f->hidden, 0700) == 0) {
			if (!is_there(base_fd, f->name))
				return true;
			unlinkat(base_fd, f->hidden, AT_REMOVEDIR);
			errno = EEXIST;
		} else if (errno != EEXIST && (errno != ESTALE || i > MAX_RENAMES)) {
			// ESTALE: a network's client still knew the folder of that name that another machine has renamed since.
			break;
		}
	}
	ct_fail_errno(err, "report folder %s/%s", base_dir, f->name);
	return ct_hint(err, "choose a folder that can be written");
}

static bool open_folder(int base_fd, struct folder *f, const char *base_dir, struct ct_error *err)
{
	f->fd = openat(base_fd, f->hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	// The umask may have taken the owner's own bits.
	if (f->fd >= 0 && fchmod(f->fd, 0700) == 0)
		return true;
	ct_fail_errno(err, "report folder %s/%s", base_dir, f->hidden);
	if (f->fd >= 0)
		close(f->fd);
	unlinkat(base_fd, f->hidden, AT_REMOVEDIR);
	return false;
}

static bool write_rendered(int dir_fd, const char *file, const char *format, const struct ct_incident *incident, const struct ct_render_options *options,
			   struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str bytes = CT_STR_INIT;
	return ct_render_to_str(ct_renderer_find(format), incident, options, &bytes, err) &&
	       ct_write_file_at(dir_fd, file, ct_str_text(&bytes), bytes.length, err);
}

static bool write_summary(int dir_fd, struct ct_incident *incident, struct ct_error *err)
{
	struct ct_summary summary;
	ct_summary_of(incident, &incident->arena, &summary);
	CT_AUTO(ct_auto_free) char *text = ct_summary_json(&summary);
	if (!text)
		return ct_fail(err, CT_FORMAT, "%s: a value that has no JSON form, or memory is out", summary_name);
	return ct_write_file_at(dir_fd, summary_name, text, strlen(text), err);
}

static bool write_files(int dir_fd, struct ct_incident *incident, const char *path, const char *log, size_t log_length, struct ct_error *err)
{
	struct ct_render_options options = {.color = false, .width = REPORT_WIDTH, .native = false, .all_threads = false, .report_path = path};
	return ct_write_file_at(dir_fd, log_name, log ? log : "", log ? log_length : 0, err) &&
	       write_rendered(dir_fd, incident_name, "json", incident, &options, err) && write_rendered(dir_fd, text_name, "text", incident, &options, err) &&
	       write_summary(dir_fd, incident, err);
}

static void remove_folder(int base_fd, const struct folder *f)
{
	static const char *const files[] = {incident_name, text_name, log_name, summary_name};
	for (size_t i = 0; i < CT_COUNT(files); i++)
		unlinkat(f->fd, files[i], 0);
	unlinkat(base_fd, f->hidden, AT_REMOVEDIR);
}

static const char *join(struct ct_arena *arena, const char *base_dir, const char *name)
{
	return ct_arena_printf(arena, "%s%s%s", base_dir, ct_ends_with(base_dir, "/") ? "" : "/", name);
}

// The files name the folder, so a name that turns out to be taken means that they are written again: only where mkdir() is not exclusive.
static bool write_folder(int base_fd, struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path,
			 struct ct_error *err)
{
	const char *id = incident->id && ct_report_id_is_safe(incident->id) ? incident->id : ct_report_id(incident);
	for (int left = MAX_RENAMES; ; left--) {
		struct folder f = {.fd = -1};
		if (!reserve(base_fd, id, incident, &f, base_dir, err) || !open_folder(base_fd, &f, base_dir, err))
			return false;
		CT_AUTO(ct_auto_close) int fd = f.fd;
		const char *path = join(&incident->arena, base_dir, f.name);
		incident->id = f.name;
		bool written = write_files(fd, incident, path, log, log_length, err);
		if (written && renameat(base_fd, f.hidden, base_fd, f.name) == 0) {
			*ret_path = path;
			return true;
		}
		bool taken = written && left > 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
		if (written && !taken)
			ct_fail_errno(err, "rename");
		remove_folder(base_fd, &f);
		if (taken)
			continue;
		ct_fail_in(err, "%s", path);
		return ct_hint(err, "the disk may be full or its quota used up: choose a folder on another one");
	}
}

bool ct_report_write(struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path, struct ct_error *err)
{
	bool made = false;
	const char *old_id = incident->id;
	CT_AUTO(ct_auto_close) int base_fd = open_base(base_dir, &made, err);
	if (base_fd < 0)
		return false;
	if (write_folder(base_fd, incident, base_dir, log, log_length, ret_path, err))
		return true;
	incident->id = old_id;
	if (made)
		rmdir(base_dir);
	return false;
}

bool ct_report_update(struct ct_incident *incident, const char *base_dir, const char *log, size_t log_length, const char **ret_path, struct ct_error *err)
{
	const char *path = join(&incident->arena, base_dir, incident->id);
	CT_AUTO(ct_auto_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return ct_fail_errno(err, "report folder %s", path);
	*ret_path = path;
	return write_files(fd, incident, path, log, log_length, err);
}
