// Where CPython keeps things, 3.8 to 3.14, and its line tables. Shared by the walk from outside, the agent inside the target and the
// reader of its records: libc only, and nothing else of cudatrap.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_PYLAYOUT_H
#define CT_PYLAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CT_PY_DEBUG_OFFSETS = 1024 };  // bytes to read from the start of _PyRuntime; 3.14's table is below 800

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

enum ct_py_known {
	CT_PY_KNOWN,
	CT_PY_NO_TABLE,  // no debug offsets at the start of _PyRuntime
	CT_PY_UNKNOWN,   // a version that is not known here; major, minor and free_threaded are filled
	CT_PY_ABSURD,    // debug offsets that make no sense; the same
};

// The layout of a version without debug offsets (3.8 to 3.12).
enum ct_py_known ct_pylayout_of_version(unsigned major, unsigned minor, struct ct_py_layout *ret_layout);
// From _Py_DebugOffsets (3.13+), the first `size` bytes of _PyRuntime.
enum ct_py_known ct_pylayout_of_debug_offsets(const void *bytes, size_t size, struct ct_py_layout *ret_layout);

// The line of the instruction, 0 when the table has none for it. instr is in bytes for lnotab and 3.10's line table, in code units for
// the location table of 3.11+. A damaged table gives some line or 0, never a read outside table[0..size).
uint32_t ct_py_line(enum ct_py_table kind, const uint8_t *table, size_t size, uint32_t firstlineno, int64_t instr);

#endif
