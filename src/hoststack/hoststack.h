// Host stacks of another process: native by libdwfl, Python from outside through /proc/PID/mem, the two merged.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_HOSTSTACK_H
#define CT_HOSTSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"
#include "incident/incident.h"

struct ct_python_frame {
	const char *function;  // qualified name where the version has it, else the name
	const char *file;
	uint32_t line;
	const char *source;  // that line of the file, trimmed; NULL
	bool has_entry;      // is_entry is known
	bool is_entry;       // the interpreter's C function was entered for this frame: the frames inward of it (listed before it) up to the
			     // previous entry share one native _PyEval_EvalFrameDefault
};

struct ct_python_thread {
	int64_t tid;       // Linux thread id; 0 unknown
	const char *name;  // NULL unknown
	struct ct_python_frame *frames;  // innermost first
	size_t n_frames;
	bool cut;  // more frames exist, or the walk met something unreadable
};

struct ct_python_stacks {
	const char *version;  // "3.12.3"
	struct ct_python_thread *threads;
	size_t n_threads;
};

// Walks the interpreter's structures of a running, blocked or stopped process: CPython 3.8 to 3.14, x86-64 and aarch64 layouts are the
// same. CT_UNAVAILABLE when it is not a Python process or not a version we know (says which).
bool ct_hoststack_python_walk(struct ct_arena *arena, pid_t pid, struct ct_python_stacks *ret_stacks, struct ct_error *err);

// Reads the agent's answer (JSON) into the same form.
bool ct_hoststack_python_parse(struct ct_arena *arena, const char *json, size_t length, struct ct_python_stacks *ret_stacks, struct ct_error *err);

// Native stacks of all threads into incident->threads (stops the process for the time of it; one tracer at a time).
// launch_tid: 0 unknown; else that thread is first and marked.
bool ct_hoststack_native(struct ct_incident *incident, pid_t pid, int64_t deadline_us, struct ct_error *err);

// Puts the Python frames in the place of the interpreter's own; threads that exist on one side only are kept as they are.
void ct_hoststack_merge(struct ct_incident *incident, const struct ct_python_stacks *stacks);

// Marks the launching thread and moves it to the front: by launch_tid when not 0, else the thread that is blocked in a launch or
// synchronisation call of libcuda; says how it knows. No thread is marked when there is no telling.
void ct_hoststack_mark_launching(struct ct_incident *incident, int64_t launch_tid);

// A C++ name demangled into the arena; symbol itself when it is not mangled. Splits "$kernel$callee".
const char *ct_demangle(struct ct_arena *arena, const char *symbol);

#endif
