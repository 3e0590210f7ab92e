// Where CPython keeps things, version by version: a table for 3.8 to 3.12, the process's own _Py_DebugOffsets for 3.13 and later.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "pylayout/pylayout.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

// offsetof() compiled against the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1, x86-64, default build. aarch64 has the same
// layout: both are LP64 with natural alignment and none of these structures holds a platform type (pthread_t is an unsigned long).
#define STR_38 .str_length = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72
#define STR_312 .str_length = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56
#define BYTES .bytes_length = 16, .bytes_data = 32, .object_type = 8
#define THREADS_38                                                                                                              \
	.runtime_interpreters = 32, .interp_next = 0, .interp_threads = 8, .tstate_next = 8, .tstate_pthread = 176, .tstate_frame = 24, \
	.frame_back = 24, .frame_code = 32, .instr_is_index = true, .code_filename = 104, .code_name = 112, .code_firstlineno = 40, \
	.code_table = 120
static const struct ct_py_layout layouts[] = {
	{.major = 3, .minor = 8, THREADS_38, .frame_instr = 104, .instr_unit = 1, .table = CT_PY_LNOTAB, STR_38, BYTES},
	{.major = 3, .minor = 9, THREADS_38, .frame_instr = 104, .instr_unit = 1, .table = CT_PY_LNOTAB, STR_38, BYTES},
	{.major = 3, .minor = 10, THREADS_38, .frame_instr = 96, .instr_unit = 2, .table = CT_PY_LINETABLE, STR_38, BYTES},
	{.major = 3, .minor = 11,
	 .runtime_interpreters = 40, .interp_next = 0, .interp_threads = 16,
	 .tstate_next = 8, .tstate_pthread = 152, .has_native_tid = true, .tstate_native_tid = 160,
	 .tstate_frame = 56, .has_cframe = true, .cframe_frame = 8,
	 .frame_back = 48, .frame_code = 32, .frame_instr = 56, .has_is_entry = true, .frame_is_entry = 68,
	 .code_filename = 112, .code_name = 128, .code_firstlineno = 72, .code_table = 136, .code_bytecode = 184,
	 .table = CT_PY_LOCATIONS, STR_38, BYTES},
	{.major = 3, .minor = 12,
	 .runtime_interpreters = 40, .interp_next = 0, .interp_threads = 72,
	 .tstate_next = 8, .tstate_pthread = 136, .has_native_tid = true, .tstate_native_tid = 144,
	 .tstate_frame = 56, .has_cframe = true, .cframe_frame = 0,
	 .frame_back = 8, .frame_code = 0, .frame_instr = 56, .has_shim = true, .frame_owner = 70, .shim_owner = 3,
	 .code_filename = 112, .code_name = 128, .code_firstlineno = 68, .code_table = 136, .code_bytecode = 192,
	 .table = CT_PY_LOCATIONS, STR_312, BYTES},
};

enum ct_py_known ct_pylayout_of_version(unsigned major, unsigned minor, struct ct_py_layout *ret_layout)
{
	for (size_t i = 0; i < COUNT(layouts); i++)
		if (layouts[i].major == major && layouts[i].minor == minor) {
			*ret_layout = layouts[i];
			return CT_PY_KNOWN;
		}
	return CT_PY_UNKNOWN;
}

// Fields of _Py_DebugOffsets that we use, as indexes of 8-byte words from its start; the words before them are the 8-byte cookie, the
// version and the free-threaded flag. Counted in Include/internal/pycore_runtime.h (3.13) and pycore_debug_offsets.h (3.14), where
// 3.14 added threads_main, code_object_generation and tlbc_generation to the interpreter, two fields to the frame, one to the code
// object, and a group (sets) of four.
struct debug_words {
	uint8_t interpreters_head, interp_next, threads_head;
	uint8_t tstate_next, current_frame, thread_id, native_thread_id;
	uint8_t previous, executable, instr_ptr, owner;
	uint8_t filename, qualname, linetable, firstlineno, bytecode;
	uint8_t ob_type, bytes_size, bytes_data, str_state, str_length, str_ascii;
	uint8_t tlbc_index, co_tlbc;  // 0: none
};

static const struct debug_words words_313 = {
	.interpreters_head = 5, .interp_next = 8, .threads_head = 9,
	.tstate_next = 21, .current_frame = 23, .thread_id = 24, .native_thread_id = 25,
	.previous = 29, .executable = 30, .instr_ptr = 31, .owner = 33,
	.filename = 35, .qualname = 37, .linetable = 38, .firstlineno = 39, .bytecode = 43,
	.ob_type = 45, .bytes_size = 65, .bytes_data = 66, .str_state = 68, .str_length = 69, .str_ascii = 70,
};

static const struct debug_words words_314 = {
	.interpreters_head = 5, .interp_next = 8, .threads_head = 9,
	.tstate_next = 24, .current_frame = 26, .thread_id = 27, .native_thread_id = 28,
	.previous = 32, .executable = 33, .instr_ptr = 34, .owner = 36,
	.filename = 40, .qualname = 42, .linetable = 43, .firstlineno = 44, .bytecode = 48,
	.ob_type = 51, .bytes_size = 75, .bytes_data = 76, .str_state = 78, .str_length = 79, .str_ascii = 80,
	.tlbc_index = 38, .co_tlbc = 49,
};

enum { WORD_VERSION = 1, WORD_FREE_THREADED = 2, MAX_WORD = 80, MAX_OFFSET = 1 << 20 };

static uint64_t word(const uint8_t *bytes, uint8_t index)
{
	uint64_t value;
	memcpy(&value, bytes + (size_t)index * 8, sizeof value);
	return value;
}

static void layout_from_words(const uint8_t *b, const struct debug_words *w, struct ct_py_layout *l)
{
	l->runtime_interpreters = word(b, w->interpreters_head);
	l->interp_next = word(b, w->interp_next);
	l->interp_threads = word(b, w->threads_head);
	l->tstate_next = word(b, w->tstate_next);
	l->tstate_frame = word(b, w->current_frame);
	l->tstate_pthread = word(b, w->thread_id);
	l->has_native_tid = true;
	l->tstate_native_tid = word(b, w->native_thread_id);
	l->frame_back = word(b, w->previous);
	l->frame_code = word(b, w->executable);
	l->frame_instr = word(b, w->instr_ptr);
	l->has_shim = true;
	l->frame_owner = word(b, w->owner);
	l->shim_owner = 3;  // 3.13: FRAME_OWNED_BY_CSTACK; 3.14: FRAME_OWNED_BY_INTERPRETER, and 4 is the C stack
	l->code_filename = word(b, w->filename);
	l->code_name = word(b, w->qualname);
	l->code_table = word(b, w->linetable);
	l->code_firstlineno = word(b, w->firstlineno);
	l->code_bytecode = word(b, w->bytecode);
	l->table = CT_PY_LOCATIONS;
	l->object_type = word(b, w->ob_type);
	l->bytes_length = word(b, w->bytes_size);
	l->bytes_data = word(b, w->bytes_data);
	l->str_state = word(b, w->str_state);
	l->str_length = word(b, w->str_length);
	l->str_ascii = word(b, w->str_ascii);
	l->str_compact = l->str_ascii + 16;  // PyCompactUnicodeObject adds utf8_length and utf8
	l->has_tlbc = l->free_threaded && w->tlbc_index;
	if (l->has_tlbc) {
		l->frame_tlbc_index = word(b, w->tlbc_index);
		l->code_tlbc = word(b, w->co_tlbc);
	}
}

// The offsets come from the process: absurd ones would only make the walk read elsewhere, but say so instead.
static bool offsets_are_sane(const struct ct_py_layout *l)
{
	const uint64_t all[] = {
		l->runtime_interpreters, l->interp_next, l->interp_threads, l->tstate_next, l->tstate_frame, l->tstate_pthread,
		l->tstate_native_tid, l->frame_back, l->frame_code, l->frame_instr, l->frame_owner, l->code_filename, l->code_name,
		l->code_table, l->code_firstlineno, l->code_bytecode, l->object_type, l->bytes_length, l->bytes_data, l->str_state,
		l->str_length, l->str_ascii, l->frame_tlbc_index, l->code_tlbc,
	};
	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i] > MAX_OFFSET)
			return false;
	return l->bytes_data && l->str_ascii && l->code_bytecode && l->code_filename && l->code_name;
}

enum ct_py_known ct_pylayout_of_debug_offsets(const void *bytes, size_t size, struct ct_py_layout *ret_layout)
{
	if (size < (MAX_WORD + 1) * 8 || memcmp(bytes, "xdebugpy", 8) != 0)
		return CT_PY_NO_TABLE;
	uint64_t version = word(bytes, WORD_VERSION);
	struct ct_py_layout l = {
		.major = (unsigned)(version >> 24 & 0xff), .minor = (unsigned)(version >> 16 & 0xff), .micro = (unsigned)(version >> 8 & 0xff),
		.has_micro = true, .free_threaded = word(bytes, WORD_FREE_THREADED) != 0,
	};
	const struct debug_words *words = l.major != 3 ? NULL : l.minor == 13 ? &words_313 : l.minor == 14 ? &words_314 : NULL;
	if (words)
		layout_from_words(bytes, words, &l);
	*ret_layout = l;
	return !words ? CT_PY_UNKNOWN : offsets_are_sane(&l) ? CT_PY_KNOWN : CT_PY_ABSURD;
}
