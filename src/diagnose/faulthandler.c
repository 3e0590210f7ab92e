// The stacks that Python's faulthandler prints when the driver aborts the process (Python/traceback.c, _Py_DumpTracebackThreads, 3.8 to 3.14):
// what is left to know when nobody could be asked.
//   Fatal Python error: Aborted
//
//   Thread 0x00007f3c5d7fa640 (most recent call first):
//     File "/home/u/train.py", line 19 in main
//   Current thread 0x00007f3c9a2c1740 [python3] (most recent call first):
//     <no Python frame>
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose_priv.h"

enum { MAX_TEXT = 64 * 1024, MAX_FRAMES = 100 };  // faulthandler's own limit of frames (MAX_FRAME_DEPTH)

static const char start[] = "Fatal Python error:";

static bool belongs(const char *text)
{
	return !*text || ct_starts_with(text, "Thread 0x") || ct_starts_with(text, "Current thread 0x") || ct_starts_with(text, "  ");
}

void ct_faulthandler_line(struct ct_faulthandler *f, const char *text, size_t length)
{
	// Most lines: no copy for them.
	if (!f->is_open && (length < sizeof start - 1 || memcmp(text, start, sizeof start - 1) != 0))
		return;
	CT_AUTO(ct_auto_str) struct ct_str line = CT_STR_INIT;
	ct_str_append(&line, text, length);
	if (ct_starts_with(ct_str_text(&line), start)) {
		ct_str_clear(&f->text);
		f->is_open = true;
		return;
	}
	f->is_open = belongs(ct_str_text(&line)) && f->text.length + length < MAX_TEXT;
	if (f->is_open && length) {
		ct_str_append(&f->text, text, length);
		ct_str_addc(&f->text, '\n');
	}
}

void ct_faulthandler_done(struct ct_faulthandler *f)
{
	ct_str_done(&f->text);
}

// `  File "NAME", line N in FUNCTION`; a name may hold quotes, so the last `", line ` counts.
static bool parse_frame(struct ct_arena *arena, const char *line, size_t length, struct ct_host_frame *ret_frame)
{
	static const char head[] = "  File \"", middle[] = "\", line ", tail[] = " in ";
	if (length < sizeof head || memcmp(line, head, sizeof head - 1) != 0)
		return false;
	const char *file = line + sizeof head - 1, *end = line + length, *at = NULL;
	for (const char *p = file; p + sizeof middle - 1 <= end; p++)
		if (memcmp(p, middle, sizeof middle - 1) == 0)
			at = p;
	if (!at)
		return false;
	char *rest;
	unsigned long number = strtoul(at + sizeof middle - 1, &rest, 10);
	if (rest + sizeof tail - 1 > end || memcmp(rest, tail, sizeof tail - 1) != 0)
		return false;
	rest += sizeof tail - 1;
	*ret_frame = (struct ct_host_frame){
		.kind = CT_FRAME_PYTHON,
		.function = ct_arena_clean(arena, rest, (size_t)(end - rest)),
		.file = ct_arena_clean(arena, file, (size_t)(at - file)),
		.line = number <= UINT32_MAX ? (uint32_t)number : 0,
	};
	return true;
}

static bool has_python(const struct ct_incident *incident)
{
	for (size_t i = 0; i < incident->n_threads; i++) {
		const struct ct_host_thread *t = &incident->threads[i];
		if (t->n_python)
			return true;
		for (size_t k = 0; k < t->n_frames; k++)
			if (t->frames[k].kind == CT_FRAME_PYTHON)
				return true;
	}
	return false;
}

static void add_thread(struct ct_incident *incident, const struct ct_host_frame *frames, size_t n, unsigned *n_threads)
{
	if (!n)
		return;
	struct ct_host_thread *t = ct_incident_add_thread(incident, 0, NULL);
	t->frames = ct_arena_array(&incident->arena, n, sizeof *t->frames);
	memcpy(t->frames, frames, n * sizeof *t->frames);
	t->n_frames = n;
	++*n_threads;
}

void ct_faulthandler_fill(const struct ct_faulthandler *f, struct ct_incident *incident)
{
	if (!f->text.length || has_python(incident))
		return;
	CT_AUTO(ct_auto_free) struct ct_host_frame *frames = ct_xrealloc(NULL, MAX_FRAMES * sizeof *frames);
	size_t n = 0, first = incident->n_threads;
	unsigned n_threads = 0;
	bool has_launching = ct_incident_launching(incident) != NULL;
	for (const char *line = f->text.data, *end = line + f->text.length; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = newline ? (size_t)(newline - line) : (size_t)(end - line);
		if (*line != ' ') {
			add_thread(incident, frames, n, &n_threads);
			n = 0;
		} else if (n < MAX_FRAMES && parse_frame(&incident->arena, line, length, &frames[n])) {
			n++;
		}
		line += length + 1;
	}
	add_thread(incident, frames, n, &n_threads);
	if (!n_threads)
		return;
	ct_incident_add_collector(incident, "faulthandler", CT_COLLECTOR_OK, 0, "the stacks that Python printed when it was aborted");
	if (n_threads == 1 && !has_launching) {
		incident->threads[first].launching = true;
		incident->threads[first].why_launching = "the only thread with Python frames when the driver aborted the process";
	} else if (n_threads > 1)
		ct_incident_add_note(incident, "Python printed the stacks of %u threads; which of them launched the kernel is not known", n_threads);
}
