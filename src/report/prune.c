// Retention: the oldest reports go; see report.h. A folder is removed only if its name, its owner and everything in it are a report's.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/report.h"
#include "report/report_priv.h"

enum { DATE_LENGTH = 15 };  // "20261201-024907"
#define GONE ".gone"

struct names {
	struct ct_arena arena;
	const char **rows;
	size_t n;
};

// A name that ct_report_id() made, an ending "-2" included.
static bool is_report_name(const char *name)
{
	static const char form[] = "dddddddd-dddddd-";
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
			return false;
	for (const char *p = name; *p; p++)
		if (!ct_report_is_safe(*p))
			return false;
	return strlen(name) <= CT_ID_LENGTH;
}

static bool is_report_file(const char *name)
{
	static const char *const names[] = {CT_REPORT_INCIDENT, CT_REPORT_SUMMARY, CT_REPORT_LOG, CT_REPORT_DUMP, CT_REPORT_RECORD};
	for (size_t i = 0; i < CT_COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return ct_starts_with(name, "report.");
}

static bool is_ours(int fd, const char *name, mode_t kind)
{
	struct stat st;
	return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid();
}

static DIR *open_dir(int base_fd, const char *name)
{
	int fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

// Nothing in it but what a report has: what somebody added (a note, a core) is not ours to remove.
static bool holds_a_report_only(int base_fd, const char *name)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = open_dir(base_fd, name);
	bool has_incident = false;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (!is_report_file(e->d_name) || !is_ours(dirfd(dir), e->d_name, S_IFREG))
			return false;
		has_incident = has_incident || strcmp(e->d_name, CT_REPORT_INCIDENT) == 0;
	}
	return has_incident;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The reports, oldest first: their names begin with their time.
static bool list_reports(const char *base_dir, int base_fd, struct names *names, struct ct_error *err)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = open_dir(base_fd, ".");
	if (!dir)
		return ct_fail_errno(err, "%s", base_dir);
	for (struct dirent *e; (e = readdir(dir));) {
		if (!is_report_name(e->d_name) || !is_ours(base_fd, e->d_name, S_IFDIR))
			continue;
		names->rows = ct_arena_grow(&names->arena, names->rows, &names->n, sizeof *names->rows);
		names->rows[names->n - 1] = ct_arena_strdup(&names->arena, e->d_name);
	}
	if (names->n)
		qsort(names->rows, names->n, sizeof *names->rows, compare);
	return true;
}

// It vanishes at once, by a rename to a name that no reader looks at; then it is emptied. Who does the same at the same time loses that
// rename, which is no failure.
static bool remove_report(int base_fd, const char *name, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str gone = CT_STR_INIT;
	ct_str_addf(&gone, ".%s.%d" GONE, name, (int)getpid());
	if (renameat(base_fd, name, base_fd, ct_str_text(&gone)) != 0)
		return errno == ENOENT || ct_fail_errno(err, "%s", name);
	CT_AUTO(ct_auto_closedir) DIR *dir = open_dir(base_fd, ct_str_text(&gone));
	for (struct dirent *e; dir && (e = readdir(dir));)
		if (is_report_file(e->d_name))
			unlinkat(dirfd(dir), e->d_name, 0);
	return unlinkat(base_fd, ct_str_text(&gone), AT_REMOVEDIR) == 0 || ct_fail_errno(err, "%s", ct_str_text(&gone));
}

static const char *oldest_name(struct ct_arena *arena, unsigned days, int64_t now_us)
{
	time_t seconds = (time_t)(now_us / 1000000 - (int64_t)days * 86400);
	struct tm tm;
	char text[DATE_LENGTH + 1] = "";
	if (!days || !gmtime_r(&seconds, &tm) || strftime(text, sizeof text, "%Y%m%d-%H%M%S", &tm) != DATE_LENGTH)
		return NULL;
	return ct_arena_strdup(arena, text);
}

bool ct_report_prune(const char *base_dir, const char *newest_id, unsigned keep, unsigned keep_days, int64_t now_us, size_t *ret_removed, struct ct_error *err)
{
	struct names names = {.arena = CT_ARENA_INIT};
	CT_AUTO(ct_auto_close) int base_fd = open(base_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = base_fd >= 0 ? list_reports(base_dir, base_fd, &names, err) : ct_fail_errno(err, "%s", base_dir);
	const char *oldest = oldest_name(&names.arena, keep_days, now_us);
	size_t left = names.n;
	*ret_removed = 0;
	for (size_t i = 0; ok && i < names.n; i++) {
		const char *name = names.rows[i];
		bool is_old = oldest && strncmp(name, oldest, DATE_LENGTH) < 0;
		if (!is_old && !(keep && left > keep))
			continue;
		left--;
		if (strcmp(name, newest_id) == 0 || !holds_a_report_only(base_fd, name))
			continue;
		ok = remove_report(base_fd, name, err);
		*ret_removed += ok;
	}
	ct_arena_done(&names.arena);
	return ok;
}
