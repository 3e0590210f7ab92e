// Any bytes as the memory of a Python process: the walk ends, within its limits, whatever the version.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "hoststack/python_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Repeated from 64 KiB on for a MiB, so that small numbers in the input are pointers into it.
enum { BASE = 0x10000, LENGTH = 0x100000 };

struct input {
	const uint8_t *data;
	size_t size;
};

static bool read_input(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	const struct input *in = context;
	uint8_t *out = ret_bytes;
	if (address < BASE || address - BASE > LENGTH || size > LENGTH - (address - BASE))
		return false;
	for (size_t i = 0; i < size; i++)
		out[i] = in->data[(address - BASE + i) % in->size];
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct input in = {data + 1, size - 1};
	const struct ct_memory memory = {read_input, &in};
	const struct ct_py_place place = {.runtime = BASE, .major = 3, .minor = 8 + data[0] % 5};
	struct ct_py_layout layout;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_python_stacks stacks = {0};
	struct ct_error err = CT_ERROR_INIT;
	if (ct_py_layout_at(&memory, &place, &layout, &err) && ct_py_walk_memory(&arena, &memory, &place, &layout, NULL, NULL, &stacks, &err)) {
		if (stacks.n_threads > CT_PY_MAX_THREADS)
			abort();
		for (size_t i = 0; i < stacks.n_threads; i++)
			if (stacks.threads[i].n_frames > CT_PY_MAX_FRAMES)
				abort();
	}
	ct_arena_done(&arena);
	for (unsigned kind = CT_PY_LNOTAB; kind <= CT_PY_LOCATIONS; kind++)
		ct_py_line((enum ct_py_table)kind, in.data, in.size, 1, data[0]);
	return 0;
}
