// A made-up Python process in a buffer: objects laid out as a ct_py_layout says, for tests of the walk.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_FAKE_PYTHON_H
#define CT_FAKE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hoststack/python_priv.h"

enum { FAKE_BASE = 0x100000, FAKE_SIZE = 128 * 1024, FAKE_CODE_TYPE = FAKE_BASE + 64 };

struct fake {
	uint8_t bytes[FAKE_SIZE];
	uint64_t used;
	const struct ct_py_layout *layout;
	size_t n_reads;
};

static inline bool fake_read(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	struct fake *f = context;
	f->n_reads++;
	if (address < FAKE_BASE || address - FAKE_BASE > FAKE_SIZE || size > FAKE_SIZE - (address - FAKE_BASE))
		return false;
	memcpy(ret_bytes, f->bytes + (address - FAKE_BASE), size);
	return true;
}

static inline void fake_init(struct fake *f, const struct ct_py_layout *layout)
{
	memset(f, 0, sizeof *f);
	f->layout = layout;
	f->used = 4096;
}

static inline uint64_t fake_alloc(struct fake *f, size_t size)
{
	uint64_t address = FAKE_BASE + f->used;
	f->used += (size + 63) / 64 * 64;
	return address;
}

static inline void fake_put(struct fake *f, uint64_t address, const void *bytes, size_t size)
{
	memcpy(f->bytes + (address - FAKE_BASE), bytes, size);
}

static inline void fake_u64(struct fake *f, uint64_t address, uint64_t value)
{
	fake_put(f, address, &value, sizeof value);
}

static inline void fake_u32(struct fake *f, uint64_t address, uint32_t value)
{
	fake_put(f, address, &value, sizeof value);
}

// count characters of width 1, 2 or 4; ascii puts them behind the short header. kind_bit is 2, or 8 for free-threaded 3.14.
static inline uint64_t fake_str_of(struct fake *f, const void *data, size_t count, unsigned width, bool ascii, unsigned kind_bit)
{
	uint64_t object = fake_alloc(f, 128 + count * width);
	fake_u64(f, object + f->layout->str_length, count);
	fake_u32(f, object + f->layout->str_state, (uint32_t)(1 | width << kind_bit | 1u << (kind_bit + 3) | (ascii ? 1u << (kind_bit + 4) : 0)));
	fake_put(f, object + (ascii ? f->layout->str_ascii : f->layout->str_compact), data, count * width);
	return object;
}

static inline uint64_t fake_str(struct fake *f, const char *text)
{
	return fake_str_of(f, text, strlen(text), 1, true, 2);
}

// A code object whose single table row puts all of it on one line, `firstlineno`.
static inline uint64_t fake_code(struct fake *f, const char *name, const char *file, int firstlineno)
{
	static const uint8_t one_row[][2] = {{255, 0}, {254, 0}, {0x80 | 7, 0}};
	const struct ct_py_layout *l = f->layout;
	uint64_t code = fake_alloc(f, 512), table = fake_alloc(f, 128);
	fake_u64(f, table + l->bytes_length, 2);
	fake_put(f, table + l->bytes_data, one_row[l->table], 2);
	fake_u64(f, code + l->object_type, FAKE_CODE_TYPE);
	fake_u64(f, code + l->code_filename, fake_str(f, file));
	fake_u64(f, code + l->code_name, fake_str(f, name));
	fake_u32(f, code + l->code_firstlineno, (uint32_t)firstlineno);
	fake_u64(f, code + l->code_table, table);
	return code;
}

// back: the calling frame, 0 for none. entry: a C activation of its own: the flag, or a shim between this frame and back.
static inline uint64_t fake_frame(struct fake *f, uint64_t code, uint64_t back, bool entry)
{
	const struct ct_py_layout *l = f->layout;
	if (l->has_shim && entry) {
		uint64_t shim = fake_alloc(f, 128);
		fake_put(f, shim + l->frame_owner, &l->shim_owner, 1);
		fake_u64(f, shim + l->frame_back, back);
		back = shim;
	}
	uint64_t frame = fake_alloc(f, 128);
	fake_u64(f, frame + l->frame_back, back);
	fake_u64(f, frame + l->frame_code, code);
	if (l->instr_is_index)
		fake_u32(f, frame + l->frame_instr, 2);
	else
		fake_u64(f, frame + l->frame_instr, code + l->code_bytecode + 4);
	if (l->has_is_entry)
		fake_put(f, frame + l->frame_is_entry, &entry, 1);
	return frame;
}

static inline uint64_t fake_thread(struct fake *f, uint64_t frame, uint64_t tid, uint64_t next)
{
	const struct ct_py_layout *l = f->layout;
	uint64_t tstate = fake_alloc(f, 512);
	fake_u64(f, tstate + l->tstate_next, next);
	fake_u64(f, tstate + (l->has_native_tid ? l->tstate_native_tid : l->tstate_pthread), tid);
	if (l->has_cframe) {
		uint64_t cframe = fake_alloc(f, 64);
		fake_u64(f, cframe + l->cframe_frame, frame);
		frame = cframe;
	}
	fake_u64(f, tstate + l->tstate_frame, frame);
	return tstate;
}

static inline struct ct_py_place fake_place(struct fake *f, uint64_t tstate)
{
	const struct ct_py_layout *l = f->layout;
	uint64_t interp = fake_alloc(f, l->interp_threads + l->interp_next + 64), runtime = fake_alloc(f, l->runtime_interpreters + 64);
	fake_u64(f, interp + l->interp_threads, tstate);
	fake_u64(f, runtime + l->runtime_interpreters, interp);
	return (struct ct_py_place){.runtime = runtime, .code_type = FAKE_CODE_TYPE};
}

#endif
