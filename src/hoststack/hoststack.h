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
	const char *test;  // of pytest, when one runs: "tests/test_loss.py::test_range (call)"; NULL
};

// Walks the interpreter's structures of a running, blocked or stopped process: CPython 3.8 to 3.14, x86-64 and aarch64 layouts are the
// same. CT_UNAVAILABLE when it is not a Python process or not a version we know (says which); CT_DENIED, CT_NOT_FOUND as below.
// Needs no stop of the process: a thread that runs Python code just then may be shown in the middle of a call.
bool ct_hoststack_python_walk(struct ct_arena *arena, pid_t pid, struct ct_python_stacks *ret_stacks, struct ct_error *err);

// Reads the agent's answer (JSON) into the same form. Entry flags are not in it; up to Python 3.10 they follow from the version.
// CT_UNAVAILABLE with the agent's own words when it answered with an error.
bool ct_hoststack_python_parse(struct ct_arena *arena, const char *json, size_t length, struct ct_python_stacks *ret_stacks, struct ct_error *err);

struct ct_tensors_about {
	size_t n_libraries;   // of arrays, in use in the process; 0: there is nothing to list
	const char *missing;  // what is not in the list, in words; NULL when it is whole
};

// Reads the agent's answer to "tensors" into incident->tensors and incident->python_locals, after those that are there. On failure the incident is as it was.
// CT_UNAVAILABLE with the agent's own words when it answered with an error.
bool ct_hoststack_tensors_parse(struct ct_incident *incident, const char *json, size_t length, struct ct_tensors_about *ret_about, struct ct_error *err);

// Names, lines and sources from the agent, entry flags from the walk for the threads in which both saw the same functions; threads that
// only one of them saw as they are. The result borrows from both.
void ct_hoststack_combine(struct ct_arena *arena, const struct ct_python_stacks *agent, const struct ct_python_stacks *walk,
			  struct ct_python_stacks *ret_stacks);

// Native stacks of all threads appended to incident->threads. Each thread is stopped only while its own stack is read, and always goes on
// as it was before, stopped ones stay stopped. One tracer at a time: not while a debugger is attached.
// CT_DENIED: ptrace is refused, the hint says by whom. CT_NOT_FOUND: the process is gone.
// CT_TIMEOUT: the deadline came first; the threads read until then are in the incident.
// spare_writers: threads that are in a write(2) are left out and not stopped; a driver may be writing its dump.
bool ct_hoststack_native(struct ct_incident *incident, pid_t pid, int64_t deadline_us, bool spare_writers, struct ct_error *err);

// Puts the Python frames in the place of the interpreter's own, and drops the interpreter's other frames. Where the numbers do not
// agree a thread keeps its native frames, gets the Python frames in `python`, and merge_note says the numbers. Threads that exist on one
// side only are kept as they are: those of the Python side are added, with their frames in `frames`. Texts are copied.
void ct_hoststack_merge(struct ct_incident *incident, const struct ct_python_stacks *stacks);

// Fills `source` of Python frames, and of native frames that have an absolute path, from the files as process pid sees them (0, or a
// process that is gone: as we do): regular files up to 4 MiB, the line trimmed and cut at 200 columns. The users' own frames get an excerpt, at
// most 64 in the threads and 64 in the launches, where the file is older than the code: of Python than began_us (ct_hoststack_began_us();
// 0: none get one), of native code than its module. Where it is newer a note says so.
void ct_hoststack_add_sources(struct ct_incident *incident, pid_t pid, int64_t began_us);

// When the process began: wall clock, microseconds since the epoch; 0: not known.
int64_t ct_hoststack_began_us(pid_t pid);

// Marks the launching thread and moves it to the front: by launch_tid when not 0, else the thread that is blocked in a launch or
// synchronisation call of libcuda; says how it knows. No thread is marked when there is no telling: a note says why.
void ct_hoststack_mark_launching(struct ct_incident *incident, int64_t launch_tid);

// Marks thread tid as the launching one, for the reason given, and moves it to the front; a thread without frames is added when it is not
// among the threads.
void ct_hoststack_mark_thread(struct ct_incident *incident, int64_t tid, const char *name, const char *why);
// For a process that may not be stopped: marks the one thread of its own that is at work when every other sleeps. False: there is not
// exactly one. Takes some milliseconds.
bool ct_hoststack_mark_running(struct ct_incident *incident, pid_t pid);

// May this process attach to another one? Tried on a child; err says why not, with what to do.
bool ct_hoststack_can_trace(struct ct_error *err);

#endif
