// The text of the lines that frames stand on, read while the files are still those of the process.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoststack/hoststack.h"
#include "hoststack/hoststack_priv.h"

enum {
	MAX_FILE = 4 << 20,
	MAX_FILES = 64,
	MAX_EXCERPTS = 64,  // of the threads, and of the recorded launches
};

struct file {
	const char *path;
	struct ct_str text;
	struct ct_file_times times;
	bool readable;
};

// Files read so far; more than MAX_FILES means that the last place is used again and again.
struct files {
	struct ct_incident *incident;
	pid_t pid;
	int64_t began_us;
	struct file rows[MAX_FILES];
	size_t n;
	size_t excerpts_left;
};

static void load(struct files *files, struct file *f, const char *path)
{
	ct_str_clear(&f->text);
	f->path = path;
	f->readable = false;
	char joined[4096];
	const char *cwd = files->incident->process.cwd;
	struct stat st;
	CT_AUTO(ct_auto_close) int fd = ct_open_as(files->pid, path);
	// The process may be gone: its working directory is known all the same.
	if (fd < 0 && path[0] != '/' && cwd && cwd[0] == '/' &&
	    snprintf(joined, sizeof joined, "%s/%s", cwd, path) < (int)sizeof joined)
		fd = ct_open_as(files->pid, joined);
	// The kernel's own files have no size, and their reads may wait.
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0 || st.st_size > MAX_FILE)
		return;
	f->times = ct_file_times(&st);
	f->readable = ct_read_fd(fd, MAX_FILE, &f->text, NULL);
}

static const struct file *file_at(struct files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->rows[i].path, path) == 0)
			return &files->rows[i];
	if (files->n < MAX_FILES)
		files->n++;
	load(files, &files->rows[files->n - 1], path);
	return &files->rows[files->n - 1];
}

static const char *trimmed_line(struct ct_arena *arena, const struct ct_str *file, uint32_t line)
{
	size_t length = 0;
	const char *p = ct_source_line(file, line, &length);
	for (; length && *p && strchr(" \t\f\r", *p); p++)
		length--;
	while (length && p[length - 1] && strchr(" \t\f\r", p[length - 1]))
		length--;
	return length ? ct_source_cut(arena, p, length) : NULL;
}

// What stood there when the code was made may be another text than what stands there now.
static void say_changed(struct files *files, const struct ct_host_frame *f)
{
	struct ct_incident *in = files->incident;
	CT_AUTO(ct_auto_str) struct ct_str note = CT_STR_INIT;
	ct_str_addf(&note, "%s was changed after %s: the source lines shown may not be those that ran", f->file,
		    f->kind == CT_FRAME_PYTHON ? "the process began" : "the program was built");
	for (size_t i = 0; i < in->n_notes; i++)
		if (strcmp(in->notes[i], ct_str_text(&note)) == 0)
			return;
	ct_incident_add_note(in, "%s", ct_str_text(&note));
}

static bool wants_excerpt(const struct files *files, const struct ct_host_frame *f)
{
	return files->excerpts_left && !f->n_excerpt && ct_frame_class_of(f) == CT_FRAME_USER;
}

static void add_excerpt(struct files *files, const struct file *file, struct ct_host_frame *f)
{
	enum ct_source_age age = ct_source_age(files->pid, files->began_us, f, &file->times);
	if (age == CT_SOURCE_NEWER)
		say_changed(files, f);
	if (age != CT_SOURCE_OLDER)
		return;
	files->excerpts_left--;
	ct_excerpt_add(&files->incident->arena, &file->text, f);
}

static void add_to(struct files *files, struct ct_host_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ct_host_frame *f = &frames[i];
		// "<string>", "<frozen importlib._bootstrap>"; a relative path in debug information is relative to a build that is not here.
		if (!f->file || !f->line || f->file[0] == '<' || (f->kind == CT_FRAME_NATIVE && f->file[0] != '/'))
			continue;
		if (f->source && !wants_excerpt(files, f))
			continue;
		const struct file *file = file_at(files, f->file);
		const char *line = file->readable ? trimmed_line(&files->incident->arena, &file->text, f->line) : NULL;
		if (!f->source)
			f->source = line;
		// Whoever gave another line has read it before the file was changed.
		if (line && strcmp(line, f->source) == 0 && wants_excerpt(files, f))
			add_excerpt(files, file, f);
	}
}

static void add_to_launches(struct files *files, struct ct_launch *launches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_to(files, launches[i].python, launches[i].n_python);
		add_to(files, launches[i].origin_python, launches[i].n_origin_python);
	}
}

static void add_to_threads(struct files *files, struct ct_host_thread *threads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_to(files, threads[i].frames, threads[i].n_frames);
		add_to(files, threads[i].python, threads[i].n_python);
	}
}

static size_t count_excerpts(const struct ct_host_frame *frames, size_t n)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		found += frames[i].n_excerpt > 0;
	return found;
}

// Those that an earlier look has given count.
static size_t excerpts_left(const struct ct_incident *in)
{
	size_t found = 0;
	for (size_t i = 0; i < in->n_threads; i++)
		found += count_excerpts(in->threads[i].frames, in->threads[i].n_frames) + count_excerpts(in->threads[i].python, in->threads[i].n_python);
	return found < MAX_EXCERPTS ? MAX_EXCERPTS - found : 0;
}

void ct_hoststack_add_sources(struct ct_incident *incident, pid_t pid, int64_t began_us)
{
	CT_AUTO(ct_auto_free) struct files *files = ct_xrealloc(NULL, sizeof *files);
	struct ct_launched *launch = &incident->launch;
	*files = (struct files){.incident = incident, .pid = pid, .began_us = began_us, .excerpts_left = excerpts_left(incident)};
	add_to_threads(files, incident->threads, incident->n_threads);
	files->excerpts_left = MAX_EXCERPTS;
	add_to_launches(files, launch->candidates, launch->n_candidates);
	add_to_launches(files, &launch->failed_call.at, launch->failed_call.present ? 1 : 0);
	// Of what went before only the places are shown.
	files->excerpts_left = 0;
	add_to_launches(files, launch->history, launch->n_history);
	for (size_t i = 0; i < files->n; i++)
		ct_str_done(&files->rows[i].text);
}
