// The text of the lines that frames stand on, read while the files are still those of the process.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoststack/hoststack.h"
#include "hoststack/hoststack_priv.h"

enum { MAX_FILE = 4 << 20, MAX_COLUMNS = 200, MAX_FILES = 64 };

struct file {
	const char *path;
	struct ct_str text;
	bool readable;
};

// Files read so far; more than MAX_FILES means that the last place is used again and again.
struct files {
	pid_t pid;
	const char *cwd;
	struct file rows[MAX_FILES];
	size_t n;
};

static void load(struct files *files, struct file *f, const char *path)
{
	ct_str_clear(&f->text);
	f->path = path;
	f->readable = false;
	char joined[4096];
	CT_AUTO(ct_auto_close) int fd = ct_open_as(files->pid, path);
	// The process may be gone: its working directory is known all the same.
	if (fd < 0 && path[0] != '/' && files->cwd && files->cwd[0] == '/' &&
	    snprintf(joined, sizeof joined, "%s/%s", files->cwd, path) < (int)sizeof joined)
		fd = ct_open_as(files->pid, joined);
	if (fd >= 0)
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

// At most MAX_COLUMNS columns of clean UTF-8, cut between characters.
static const char *cut_columns(struct ct_arena *arena, char *text)
{
	size_t n = strlen(text);
	while (ct_text_columns(text) > MAX_COLUMNS) {
		do
			n--;
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80);
		text[n] = '\0';
	}
	return ct_arena_strdup(arena, text);
}

static const char *line_text(struct ct_arena *arena, const struct ct_str *file, uint32_t line)
{
	const char *p = ct_str_text(file), *end = p + file->length;
	for (uint32_t i = 1; i < line; i++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline)
			return NULL;
		p = newline + 1;
	}
	const char *stop = memchr(p, '\n', (size_t)(end - p));
	if (!stop)
		stop = end;
	while (p < stop && strchr(" \t\f\r", *p) && *p)
		p++;
	while (stop > p && strchr(" \t\f\r", stop[-1]) && stop[-1])
		stop--;
	// A character has at most four bytes; what is longer would be cut anyway, and cleaning it costs.
	size_t length = (size_t)(stop - p) < MAX_COLUMNS * 4 ? (size_t)(stop - p) : MAX_COLUMNS * 4;
	return length ? cut_columns(arena, ct_arena_clean(arena, p, length)) : NULL;
}

static void add_to(struct files *files, struct ct_arena *arena, struct ct_host_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ct_host_frame *f = &frames[i];
		// "<string>", "<frozen importlib._bootstrap>"; a relative path in debug information is relative to a build that is not here.
		if (f->source || !f->file || !f->line || f->file[0] == '<' || (f->kind == CT_FRAME_NATIVE && f->file[0] != '/'))
			continue;
		const struct file *file = file_at(files, f->file);
		if (file->readable)
			f->source = line_text(arena, &file->text, f->line);
	}
}

static void add_to_launches(struct files *files, struct ct_arena *arena, struct ct_launch *launches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add_to(files, arena, launches[i].python, launches[i].n_python);
		add_to(files, arena, launches[i].origin_python, launches[i].n_origin_python);
	}
}

void ct_hoststack_add_sources(struct ct_incident *incident, pid_t pid)
{
	CT_AUTO(ct_auto_free) struct files *files = ct_xrealloc(NULL, sizeof *files);
	memset(files, 0, sizeof *files);
	files->pid = pid;
	files->cwd = incident->process.cwd;
	for (size_t i = 0; i < incident->n_threads; i++) {
		add_to(files, &incident->arena, incident->threads[i].frames, incident->threads[i].n_frames);
		add_to(files, &incident->arena, incident->threads[i].python, incident->threads[i].n_python);
	}
	add_to_launches(files, &incident->arena, incident->launch.candidates, incident->launch.n_candidates);
	add_to_launches(files, &incident->arena, incident->launch.history, incident->launch.n_history);
	add_to_launches(files, &incident->arena, &incident->launch.failed_call.at, incident->launch.failed_call.present ? 1 : 0);
	for (size_t i = 0; i < files->n; i++)
		ct_str_done(&files->rows[i].text);
}
