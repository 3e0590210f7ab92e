// What the files of the Python walk share: a reader of foreign memory, and how to find the interpreter in it.
// Everything read is another process's memory while it runs: any value may be garbage, so each use is bounded.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_PYTHON_PRIV_H
#define CT_PYTHON_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoststack/hoststack.h"
#include "pylayout/pylayout.h"

enum {
	CT_PY_MAX_INTERPRETERS = 64,
	CT_PY_MAX_THREADS = 512,
	CT_PY_MAX_FRAMES = 256,
	CT_PY_MAX_STRING = 4096,            // code points
	CT_PY_MAX_TABLE = 1024 * 1024,      // bytes of one line table
	CT_PY_MAX_READ = 64 * 1024 * 1024,  // bytes of one walk, so that a hostile process costs a bounded time
};

// Where the walk gets memory from: a live process, a core file, a test. read() is all or nothing.
struct ct_memory {
	bool (*read)(void *context, uint64_t address, void *ret_bytes, size_t size);
	void *context;
};

// Fills the layout of a version without debug offsets (3.8 to 3.12). CT_UNAVAILABLE names the version.
bool ct_py_layout_of_version(unsigned major, unsigned minor, struct ct_py_layout *ret_layout, struct ct_error *err);
// Reads _Py_DebugOffsets (3.13+), the first `size` bytes of _PyRuntime. CT_NOT_FOUND: no such table there.
bool ct_py_layout_of_debug_offsets(const void *bytes, size_t size, struct ct_py_layout *ret_layout, struct ct_error *err);
// "3.12.1"; "3.9" when the last part is not known; a "t" behind it for a free-threaded build.
const char *ct_py_version_text(struct ct_arena *arena, const struct ct_py_layout *layout);

// Where a process keeps its interpreter.
struct ct_py_place {
	uint64_t runtime;          // address of _PyRuntime
	uint64_t code_type;        // address of PyCode_Type; 0 unknown
	uint64_t version_address;  // of Py_Version (3.11+), an unsigned long PY_VERSION_HEX; 0 unknown
	unsigned major, minor;     // from file names; 0 unknown
};

// The layout for the interpreter at place: debug offsets, else Py_Version, else the version of the file names.
bool ct_py_layout_at(const struct ct_memory *memory, const struct ct_py_place *place, struct ct_py_layout *ret_layout, struct ct_error *err);
// All threads of all interpreters. Thread ids below 3.11 are left to resolve_tid (may be NULL), which gets the pthread_t.
bool ct_py_walk_memory(struct ct_arena *arena, const struct ct_memory *memory, const struct ct_py_place *place, const struct ct_py_layout *layout,
		       int64_t (*resolve_tid)(void *context, uint64_t pthread), void *context, struct ct_python_stacks *ret_stacks,
		       struct ct_error *err);

// A str object as clean UTF-8 in the arena; NULL when it is not one. At most CT_PY_MAX_STRING code points.
const char *ct_py_string(struct ct_arena *arena, const struct ct_memory *memory, const struct ct_py_layout *layout, uint64_t object);

// Finds _PyRuntime in the executable or libpython of a process. CT_UNAVAILABLE: not a Python process.
bool ct_py_find(pid_t pid, struct ct_py_place *ret_place, struct ct_error *err);

#endif
