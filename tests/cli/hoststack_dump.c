// Prints what src/hoststack/ sees of a process as one JSON object, for hoststack.py.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hoststack/hoststack.h"

static json_t *text(const char *t)
{
	return t ? json_string(t) : json_null();
}

static json_t *python_json(const struct ct_python_stacks *stacks)
{
	json_t *threads = json_array();
	for (size_t i = 0; i < stacks->n_threads; i++) {
		const struct ct_python_thread *t = &stacks->threads[i];
		json_t *frames = json_array();
		for (size_t k = 0; k < t->n_frames; k++) {
			const struct ct_python_frame *f = &t->frames[k];
			json_array_append_new(frames, json_pack("{s:o,s:o,s:i,s:b,s:b}", "function", text(f->function), "file", text(f->file), "line",
								(int)f->line, "has_entry", f->has_entry, "entry", f->is_entry));
		}
		json_array_append_new(threads, json_pack("{s:I,s:o,s:b,s:o}", "tid", (json_int_t)t->tid, "name", text(t->name), "cut", t->cut,
							 "frames", frames));
	}
	return json_pack("{s:o,s:o}", "version", text(stacks->version), "threads", threads);
}

static json_t *frames_json(const struct ct_host_frame *frames, size_t n)
{
	json_t *list = json_array();
	for (size_t k = 0; k < n; k++) {
		const struct ct_host_frame *f = &frames[k];
		json_array_append_new(list, json_pack("{s:s,s:o,s:o,s:i,s:o,s:I,s:o}", "kind", f->kind == CT_FRAME_PYTHON ? "python" : "native",
						      "function", text(f->function), "file", text(f->file), "line", (int)f->line, "module",
						      text(f->module), "offset", (json_int_t)f->offset, "source", text(f->source)));
	}
	return list;
}

static json_t *threads_json(const struct ct_incident *incident)
{
	json_t *list = json_array();
	for (size_t i = 0; i < incident->n_threads; i++) {
		const struct ct_host_thread *t = &incident->threads[i];
		json_array_append_new(list, json_pack("{s:I,s:o,s:b,s:o,s:o,s:o,s:b}", "tid", (json_int_t)t->tid, "name", text(t->name), "merged",
						      t->merged, "note", text(t->merge_note), "frames", frames_json(t->frames, t->n_frames),
						      "python", frames_json(t->python, t->n_python), "launching", t->launching));
	}
	return list;
}

static json_t *error_json(const struct ct_error *err)
{
	return json_pack("{s:s,s:s,s:s}", "code", ct_code_name(err->code), "text", err->text, "hint", err->hint);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: hoststack_dump PID [DEADLINE_MS]\n");
		return 99;
	}
	pid_t pid = (pid_t)strtol(argv[1], NULL, 10);
	long deadline_ms = argc > 2 ? strtol(argv[2], NULL, 10) : 30000;
	json_t *root = json_object();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_python_stacks stacks = {0};
	struct ct_error err = CT_ERROR_INIT;

	int64_t t0 = ct_now_us();
	bool walked = ct_hoststack_python_walk(&incident->arena, pid, &stacks, &err);
	json_object_set_new(root, "walk_us", json_integer(ct_now_us() - t0));
	json_object_set_new(root, walked ? "walk" : "walk_error", walked ? python_json(&stacks) : error_json(&err));

	err = (struct ct_error)CT_ERROR_INIT;
	t0 = ct_now_us();
	bool unwound = ct_hoststack_native(incident, pid, t0 + deadline_ms * 1000, false, &err);
	json_object_set_new(root, "native_us", json_integer(ct_now_us() - t0));
	if (!unwound)
		json_object_set_new(root, "native_error", error_json(&err));
	json_object_set_new(root, "native", threads_json(incident));

	ct_hoststack_merge(incident, &stacks);
	ct_hoststack_mark_launching(incident, 0);
	ct_hoststack_add_sources(incident, pid, ct_hoststack_began_us(pid));
	json_object_set_new(root, "merged", threads_json(incident));
	json_t *notes = json_array();
	for (size_t i = 0; i < incident->n_notes; i++)
		json_array_append_new(notes, json_string(incident->notes[i]));
	json_object_set_new(root, "notes", notes);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	json_object_set_new(root, "max_rss_kb", json_integer(usage.ru_maxrss));
	json_dumpf(root, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(root);
	return 0;
}
