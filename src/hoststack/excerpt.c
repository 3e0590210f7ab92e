// The lines around a frame's own, and whether the file can be what the process runs; see hoststack_priv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hoststack/hoststack.h"
#include "hoststack/hoststack_priv.h"

enum {
	TAB = 4,                // columns
	CLOCKS_APART = 1000000, // microseconds: the kernel tells starts in ticks of 10 ms, file systems in up to seconds
};

static int64_t us_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t ct_hoststack_began_us(pid_t pid)
{
	char path[64];
	uint64_t ticks = 0;
	struct timespec since_boot;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (pid <= 0 || !ct_read_file(path, 4096, &text, NULL) || clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0)
		return 0;
	// The name may hold anything; starttime is the 20th number behind it (proc(5), field 22).
	const char *rest = strrchr(ct_str_text(&text), ')');
	long per_second = sysconf(_SC_CLK_TCK);
	if (!rest || per_second <= 0 ||
	    sscanf(rest + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64, &ticks) != 1)
		return 0;
	return ct_wall_us() - us_of(since_boot) + (int64_t)(ticks / (uint64_t)per_second) * 1000000 +
	       (int64_t)(ticks % (uint64_t)per_second) * (1000000 / per_second);
}

struct ct_file_times ct_file_times(const struct stat *st)
{
	int64_t written = us_of(st->st_mtim), changed = us_of(st->st_ctim);
	// A copy that keeps its times, put in the place of the old file, has a new ctime.
	return (struct ct_file_times){.written_us = written, .changed_us = changed > written ? changed : written};
}

// A program's own code was compiled before the program was linked: what make goes by, too.
static enum ct_source_age age_by_module(pid_t pid, const char *module, const struct ct_file_times *source)
{
	struct stat st;
	CT_AUTO(ct_auto_close) int fd = module && module[0] == '/' ? ct_open_as(pid, module) : -1;
	if (fd < 0 || fstat(fd, &st) != 0)
		return CT_SOURCE_UNKNOWN;
	return source->written_us <= ct_file_times(&st).written_us + CLOCKS_APART ? CT_SOURCE_OLDER : CT_SOURCE_NEWER;
}

enum ct_source_age ct_source_age(pid_t pid, int64_t began_us, const struct ct_host_frame *f, const struct ct_file_times *times)
{
	if (f->kind == CT_FRAME_NATIVE)
		return age_by_module(pid, f->module, times);
	if (!began_us)
		return CT_SOURCE_UNKNOWN;
	return times->changed_us <= began_us + CLOCKS_APART ? CT_SOURCE_OLDER : CT_SOURCE_NEWER;
}

const char *ct_source_line(const struct ct_str *file, uint32_t line, size_t *ret_length)
{
	const char *p = ct_str_text(file), *end = p + file->length;
	for (uint32_t i = 1; i < line; i++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		if (!newline)
			return NULL;
		p = newline + 1;
	}
	const char *stop = memchr(p, '\n', (size_t)(end - p));
	if (!stop && p == end)
		return NULL;
	*ret_length = (size_t)((stop ? stop : end) - p);
	return p;
}

const char *ct_source_cut(struct ct_arena *arena, const char *text, size_t length)
{
	// A character has at most four bytes; what is longer would be cut anyway, and cleaning it costs.
	char *clean = ct_arena_clean(arena, text, length < CT_SOURCE_COLUMNS * 4 ? length : CT_SOURCE_COLUMNS * 4);
	size_t n = strlen(clean);
	while (ct_text_columns(clean) > CT_SOURCE_COLUMNS) {
		do
			n--;
		while (n && ((unsigned char)clean[n] & 0xc0) == 0x80);
		clean[n] = '\0';
	}
	return clean;
}

// Indentation means something here, and a tab has another width wherever it is shown.
static const char *line_of_excerpt(struct ct_arena *arena, const char *p, size_t length)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	while (length && (p[length - 1] == '\r' || p[length - 1] == ' ' || p[length - 1] == '\t'))
		length--;
	for (size_t i = 0; i < length && s.length < CT_SOURCE_COLUMNS * 4; i++) {
		size_t blanks = p[i] == '\t' ? TAB - s.length % TAB : 0;
		if (!blanks)
			ct_str_addc(&s, p[i]);
		while (blanks--)
			ct_str_addc(&s, ' ');
	}
	return ct_source_cut(arena, ct_str_text(&s), s.length);
}

void ct_excerpt_add(struct ct_arena *arena, const struct ct_str *file, struct ct_host_frame *f)
{
	uint32_t first = f->line > CT_EXCERPT_AROUND ? f->line - CT_EXCERPT_AROUND : 1;
	const char **lines = ct_arena_array(arena, 2 * CT_EXCERPT_AROUND + 1, sizeof *lines);
	size_t n = 0;
	for (uint32_t i = first; i - first <= CT_EXCERPT_AROUND + (f->line - first); i++) {
		size_t length = 0;
		const char *p = ct_source_line(file, i, &length);
		if (!p)
			break;
		lines[n++] = line_of_excerpt(arena, p, length);
	}
	f->excerpt = lines;
	f->n_excerpt = n;
	f->excerpt_line = first;
}
