// What the files of the Python walk share: a reader of foreign memory, the layout of one CPython version, line tables.
// Everything read is another process's memory while it runs: any value may be garbage, so each use is bounded.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_PYTHON_PRIV_H
#define CT_PYTHON_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoststack/hoststack.h"

enum {
	CT_PY_MAX_INTERPRETERS = 64,
	CT_PY_MAX_THREADS = 512,
	CT_PY_MAX_FRAMES = 256,
	CT_PY_MAX_STRING = 4096,            // code points
	CT_PY_MAX_TABLE = 1024 * 1024,      // bytes of one line table
	CT_PY_MAX_READ = 64 * 1024 * 1024,  // bytes of one walk, so that a hostile process costs a bounded time
	CT_PY_DEBUG_OFFSETS = 1024,         // bytes read from the start of _PyRuntime; 3.14's table is below 800
};

// Where the walk gets memory from: a live process, a core file, a test. read() is all or nothing.
struct ct_memory {
	bool (*read)(void *context, uint64_t address, void *ret_bytes, size_t size);
	void *context;
};

enum ct_py_table { CT_PY_LNOTAB, CT_PY_LINETABLE, CT_PY_LOCATIONS };

// Byte offsets within the structures of one CPython version, 64-bit build.
struct ct_py_layout {
	unsigned major, minor, micro;
	bool has_micro;
	bool free_threaded;
	uint64_t runtime_interpreters;  // _PyRuntimeState.interpreters.head
	uint64_t interp_next, interp_threads;
	uint64_t tstate_next, tstate_pthread;
	bool has_native_tid;
	uint64_t tstate_native_tid;
	uint64_t tstate_frame;         // the frame, or with has_cframe a structure that points to it
	bool has_cframe;
	uint64_t cframe_frame;
	uint64_t frame_back, frame_code, frame_instr;
	bool instr_is_index;           // frame_instr is an int: bytes, or with instr_unit 2 code units; else a pointer into the code
	unsigned instr_unit;
	bool has_is_entry;             // 3.11: a flag in the frame
	uint64_t frame_is_entry;
	bool has_shim;                 // 3.12+: a frame of owner >= shim_owner is no Python frame but the start of a C activation
	uint64_t frame_owner;
	uint8_t shim_owner;
	bool has_tlbc;                 // free-threaded 3.14+: bytecode per thread
	uint64_t frame_tlbc_index, code_tlbc;
	uint64_t code_filename, code_name, code_firstlineno, code_table, code_bytecode;
	enum ct_py_table table;
	uint64_t str_length, str_state, str_ascii, str_compact;  // the last two: where the characters begin
	uint64_t bytes_length, bytes_data;
	uint64_t object_type;
};

// Fills the layout of a version without debug offsets (3.8 to 3.12). CT_UNAVAILABLE names the version.
bool ct_py_layout_of_version(unsigned major, unsigned minor, struct ct_py_layout *ret_layout, struct ct_error *err);
// Reads _Py_DebugOffsets (3.13+), the first `size` bytes of _PyRuntime. CT_NOT_FOUND: no such table there.
bool ct_py_layout_of_debug_offsets(const void *bytes, size_t size, struct ct_py_layout *ret_layout, struct ct_error *err);
// "3.12.1"; "3.9" when the last part is not known; a "t" behind it for a free-threaded build.
const char *ct_py_version_text(struct ct_arena *arena, const struct ct_py_layout *layout);

// The line of the instruction, 0 when the table has none for it. instr is in bytes for lnotab and 3.10's line table, in code units for
// the location table of 3.11+. A damaged table gives some line or 0, never a read outside table[0..size).
uint32_t ct_py_line(enum ct_py_table kind, const uint8_t *table, size_t size, uint32_t firstlineno, int64_t instr);

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
