// Markers: a file a rank that says that it started, and later how it ended; see report.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"
#include "report/report_priv.h"

static const struct ct_report_text marker_texts[] = {
	{"host", offsetof(struct ct_marker, host)},
	{"boot_id", offsetof(struct ct_marker, boot_id)},
	{"report", offsetof(struct ct_marker, report)},
	{"follower", offsetof(struct ct_marker, follower)},
	{"job", offsetof(struct ct_marker, rank.job)},
	{"launcher", offsetof(struct ct_marker, rank.launcher)},
	{NULL, 0},
};

static char *marker_json(const struct ct_marker *m)
{
	json_t *object = json_pack("{s:i, s:I, s:I, s:I, s:b, s:i, s:i, s:I, s:I}", "version", 1, "pid", (json_int_t)m->pid, "time_us", (json_int_t)m->time_us,
				   "monotonic_us", (json_int_t)m->monotonic_us, "ended", (int)m->ended, "status", m->status, "signal", m->signal, "end_time_us",
				   (json_int_t)m->end_time_us, "end_monotonic_us", (json_int_t)m->end_monotonic_us);
	bool ok = object && ct_report_put_texts(object, marker_texts, m) && ct_report_put_rank(object, &m->rank);
	char *text = ok ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(object);
	return text;
}

// Equal for start and end of one run, different for all others that share the folder.
static const char *marker_name(struct ct_arena *arena, const struct ct_marker *m)
{
	enum { JOB_CHARACTERS = 40, HOST_CHARACTERS = 64 };
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_report_add_safe(&s, m->rank.job && *m->rank.job ? m->rank.job : "job", JOB_CHARACTERS);
	ct_str_addf(&s, "-rank%" PRIu32 "-", m->rank.rank);
	ct_report_add_safe(&s, m->host ? m->host : "host", HOST_CHARACTERS);
	ct_str_addf(&s, "-%" PRId64 "-%" PRId64 ".json", m->pid, m->time_us);
	if (s.data[0] == '.' || s.data[0] == '-')
		s.data[0] = '_';
	return ct_arena_strndup(arena, s.data, s.length);
}

static bool make_folder(const char *path, struct ct_error *err)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return true;
	return ct_fail_errno(err, "%s", path);
}

bool ct_marker_write(const char *job_dir, const struct ct_marker *marker, struct ct_error *err)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	const char *folder = ct_arena_printf(&arena, "%s/" CT_MARKER_FOLDER, job_dir);
	if (!make_folder(job_dir, err) || !make_folder(folder, err))
		return false;
	CT_AUTO(ct_auto_close) int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ct_fail_errno(err, "%s", folder);
	CT_AUTO(ct_auto_free) char *text = marker_json(marker);
	if (!text)
		return ct_fail(err, CT_FORMAT, "%s: a marker that has no JSON form", folder);
	return ct_write_file_at(fd, marker_name(&arena, marker), text, strlen(text), err) || ct_fail_in(err, "%s", folder);
}

bool ct_marker_read(const char *text, size_t length, struct ct_arena *arena, struct ct_marker *ret_marker, struct ct_error *err)
{
	struct ct_marker m = {.pid = 0};
	json_t *root = ct_report_parse(text, length, "marker", err);
	if (!root)
		return false;
	ct_report_get_texts(root, marker_texts, arena, &m);
	ct_report_get_rank(root, &m.rank);
	m.pid = ct_report_get_number(root, "pid");
	m.time_us = ct_report_get_number(root, "time_us");
	m.monotonic_us = ct_report_get_number(root, "monotonic_us");
	m.end_time_us = ct_report_get_number(root, "end_time_us");
	m.end_monotonic_us = ct_report_get_number(root, "end_monotonic_us");
	m.ended = json_is_true(json_object_get(root, "ended"));
	m.status = (int)(ct_report_get_number(root, "status") & 0xff);
	m.signal = (int)(ct_report_get_number(root, "signal") & 0x7f);
	json_decref(root);
	if (!m.rank.has_rank)
		return ct_fail(err, CT_FORMAT, "a marker without a rank");
	*ret_marker = m;
	return true;
}
