// Walking folders of reports; see store.h. Folders may come from anywhere: sizes and depth are bounded, nothing but regular files is
// read, no link is followed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

enum { MAX_SMALL_FILE = 65536 };  // a summary or marker has texts of at most 500 bytes each


struct walk {
	struct ct_store *store;
	struct ct_str text;  // of the file at hand, its memory kept
};

struct ct_store *ct_store_new(void)
{
	struct ct_store *store = ct_xrealloc(NULL, sizeof *store);
	*store = (struct ct_store){.arena = CT_ARENA_INIT};
	return store;
}

void ct_store_free(struct ct_store *store)
{
	if (!store)
		return;
	ct_arena_done(&store->arena);
	free(store);
}

void ct_store_auto(struct ct_store **store)
{
	ct_store_free(*store);
}

const char *ct_store_shown_path(struct ct_arena *arena, const char *path)
{
	return ct_arena_line(arena, path, strlen(path));
}

static void skip(struct ct_store *store, const char *path, const char *why)
{
	store->n_skipped_all++;
	if (store->n_skipped >= CT_STORE_MAX_SKIPPED)
		return;
	store->skipped = ct_arena_grow(&store->arena, store->skipped, &store->n_skipped, sizeof *store->skipped);
	store->skipped[store->n_skipped - 1] = (struct ct_store_skipped){
		.path = ct_store_shown_path(&store->arena, path), .why = ct_store_shown_path(&store->arena, why)};
}

static bool read_regular(struct walk *w, int dir_fd, const char *name, size_t limit, struct ct_error *err)
{
	struct stat st;
	// O_NONBLOCK: opening a pipe must not wait for its writer.
	CT_AUTO(ct_auto_close) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return ct_fail_errno(err, "%s", name);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return ct_fail(err, CT_FORMAT, "%s: not a file", name);
	ct_str_clear(&w->text);
	return ct_read_fd(fd, limit, &w->text, err) || ct_fail_in(err, "%s", name);
}

static bool take_summary(struct walk *w, int dir_fd, struct ct_summary *ret_summary, struct ct_error *err)
{
	return read_regular(w, dir_fd, CT_REPORT_SUMMARY, MAX_SMALL_FILE, err) &&
	       (ct_summary_read(ct_str_text(&w->text), w->text.length, &w->store->arena, ret_summary, err) || ct_fail_in(err, CT_REPORT_SUMMARY));
}

static bool take_incident(struct walk *w, int dir_fd, struct ct_summary *ret_summary, struct ct_error *err)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
	if (!read_regular(w, dir_fd, CT_REPORT_INCIDENT, CT_INCIDENT_MAX_BYTES, err))
		return false;
	if (!ct_incident_read_json(ct_str_text(&w->text), w->text.length, &incident, err))
		return ct_fail_in(err, CT_REPORT_INCIDENT);
	ct_summary_of(incident, &w->store->arena, ret_summary);
	return true;
}

static void add_report(struct ct_store *store, const char *path, const struct ct_summary *summary)
{
	store->reports = ct_arena_grow(&store->arena, store->reports, &store->n_reports, sizeof *store->reports);
	const char *kept = ct_arena_strdup(&store->arena, path);
	store->reports[store->n_reports - 1] = (struct ct_store_report){.summary = *summary, .path = kept, .id = ct_basename(kept)};
}

// Whether the folder is a report; if so it has been dealt with.
static bool is_report(struct walk *w, int dir_fd, const char *path)
{
	struct ct_summary summary;
	struct ct_error first = CT_ERROR_INIT, second = CT_ERROR_INIT;
	bool ok = take_summary(w, dir_fd, &summary, &first) || take_incident(w, dir_fd, &summary, &second);
	if (ok)
		add_report(w->store, path, &summary);
	else if (first.code == CT_NOT_FOUND && second.code == CT_NOT_FOUND)
		return false;
	else
		skip(w->store, path, second.code == CT_NOT_FOUND ? first.text : second.text);
	return true;
}

static void take_marker(struct walk *w, int dir_fd, const char *path, const char *name)
{
	struct ct_store *store = w->store;
	struct ct_error err = CT_ERROR_INIT;
	struct ct_marker marker;
	if (read_regular(w, dir_fd, name, MAX_SMALL_FILE, &err) && ct_marker_read(ct_str_text(&w->text), w->text.length, &store->arena, &marker, &err)) {
		store->markers = ct_arena_grow(&store->arena, store->markers, &store->n_markers, sizeof *store->markers);
		store->markers[store->n_markers - 1] = marker;
		return;
	}
	CT_AUTO(ct_auto_str) struct ct_str file = CT_STR_INIT;
	ct_str_addf(&file, "%s/%s", path, name);
	skip(store, ct_str_text(&file), err.text);
}

static bool is_folder(int dir_fd, const struct dirent *e)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void enter(struct walk *w, int dir_fd, const char *path, int depth);

static void visit(struct walk *w, int dir_fd, const char *path, const struct dirent *e, int depth)
{
	if (e->d_name[0] == '.')
		return;  // . and .., and reports that are not finished
	if (!is_folder(dir_fd, e)) {
		// A marker that is being written ends in .tmpPID.
		if (strcmp(ct_basename(path), CT_MARKER_FOLDER) == 0 && ct_ends_with(e->d_name, ".json"))
			take_marker(w, dir_fd, path, e->d_name);
		return;
	}
	CT_AUTO(ct_auto_str) struct ct_str inner = CT_STR_INIT;
	ct_str_addf(&inner, "%s%s%s", path, ct_ends_with(path, "/") ? "" : "/", e->d_name);
	CT_AUTO(ct_auto_close) int fd = openat(dir_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		skip(w->store, ct_str_text(&inner), strerror(errno));
	else
		enter(w, fd, ct_str_text(&inner), depth + 1);
}

static void enter(struct walk *w, int dir_fd, const char *path, int depth)
{
	if (w->store->n_reports >= CT_STORE_MAX_REPORTS || depth > CT_STORE_MAX_DEPTH) {
		skip(w->store, path, depth > CT_STORE_MAX_DEPTH ? "nested too deep" : "more reports than can be listed");
		return;
	}
	if (is_report(w, dir_fd, path))
		return;
	int copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	CT_AUTO(ct_auto_closedir) DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (!dir) {
		skip(w->store, path, strerror(errno));
		if (copy >= 0)
			close(copy);
		return;
	}
	errno = 0;
	for (struct dirent *e; (e = readdir(dir)); errno = 0)
		visit(w, dir_fd, path, e, depth);
	if (errno)
		skip(w->store, path, strerror(errno));
}

static int compare_paths(const void *a, const void *b)
{
	const struct ct_store_report *x = a, *y = b;
	return strcmp(x->path, y->path);
}

// The id names time, host and process: two reports of one id are the same if their folders are.
static bool same_folder(const char *a, const char *b)
{
	struct stat x, y;
	return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static int compare_ids(const void *a, const void *b)
{
	const struct ct_store_report *x = a, *y = b;
	int order = strcmp(x->id, y->id);
	return order ? order : compare_paths(a, b);
}

static int compare_times(const void *a, const void *b)
{
	const struct ct_store_report *x = a, *y = b;
	if (x->summary.time_us != y->summary.time_us)
		return x->summary.time_us < y->summary.time_us ? -1 : 1;
	return compare_paths(a, b);
}

static int compare_markers(const void *a, const void *b)
{
	const struct ct_marker *x = a, *y = b;
	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return (x->rank.rank > y->rank.rank) - (x->rank.rank < y->rank.rank);
}

static bool same_marker(const struct ct_marker *a, const struct ct_marker *b)
{
	return a->time_us == b->time_us && a->rank.rank == b->rank.rank && a->pid == b->pid;
}

static void tidy(struct ct_store *store)
{
	size_t n = 0;
	if (store->n_reports)
		qsort(store->reports, store->n_reports, sizeof *store->reports, compare_ids);
	for (size_t i = 0; i < store->n_reports; i++) {
		bool again = n && strcmp(store->reports[n - 1].id, store->reports[i].id) == 0 && same_folder(store->reports[n - 1].path, store->reports[i].path);
		if (!again)
			store->reports[n++] = store->reports[i];
	}
	store->n_reports = n;
	if (n)
		qsort(store->reports, n, sizeof *store->reports, compare_times);
	if (store->n_markers)
		qsort(store->markers, store->n_markers, sizeof *store->markers, compare_markers);
	n = 0;
	for (size_t i = 0; i < store->n_markers; i++)
		if (!n || !same_marker(&store->markers[n - 1], &store->markers[i]))
			store->markers[n++] = store->markers[i];
	store->n_markers = n;
}

bool ct_store_read(struct ct_store *store, const char *dir, struct ct_error *err)
{
	CT_AUTO(ct_auto_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ct_fail_errno(err, "%s", dir);
	struct walk w = {.store = store, .text = CT_STR_INIT};
	char *path = ct_arena_strdup(&store->arena, dir);
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = '\0';
	enter(&w, fd, path, 0);
	ct_str_done(&w.text);
	tidy(store);
	return true;
}
