// Arrays of integers whose elements a dump still holds: one element, or where a value is.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell_priv.h"

struct array {
	uint64_t address, n;
	size_t size;  // of an element
	bool is_signed;
};

// "int64", "uint8": the words of ct_device_memory.
static bool array_of(const struct ct_device_memory *m, struct array *ret_array)
{
	const char *word = m->type ? m->type : "";
	bool is_signed = *word != 'u';
	word += !is_signed;
	if (!ct_starts_with(word, "int") || m->failed)
		return false;
	unsigned long bits = strtoul(word + 3, NULL, 10);
	*ret_array = (struct array){.address = m->address, .n = m->n_elements, .size = bits / 8, .is_signed = is_signed};
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static const char *text_of(struct ct_arena *arena, const struct array *a, const uint8_t *bytes)
{
	uint64_t v = 0;
	for (size_t i = a->size; i-- > 0;)
		v = v << 8 | bytes[i];
	if (!a->is_signed)
		return ct_arena_printf(arena, "%" PRIu64, v);
	unsigned shift = (unsigned)(64 - 8 * a->size);
	return ct_arena_printf(arena, "%" PRId64, (int64_t)(v << shift) >> shift);
}

bool ct_shell_memory_element(struct ct_shell_call *call, const struct ct_device_memory *m, uint64_t index, const char **ret_text)
{
	struct array a;
	uint8_t bytes[8];
	uint64_t offset;
	if (!call->shell->core || !array_of(m, &a) || (m->whole && index >= a.n) || __builtin_mul_overflow(index, a.size, &offset) ||
	    offset > UINT64_MAX - a.address || !ct_gpucore_read_global(call->shell->core, a.address + offset, bytes, a.size))
		return false;
	*ret_text = text_of(&call->arena, &a, bytes);
	return true;
}

// value as the least bytes of an element; false: no element of that type can be it.
static bool pattern_of(const struct array *a, const char *value, uint8_t *ret_bytes)
{
	CT_AUTO(ct_arena_done) struct ct_arena scratch = CT_ARENA_INIT;
	uint64_t v = *value == '-' ? (uint64_t)strtoll(value, NULL, 10) : strtoull(value, NULL, 10);
	for (size_t i = 0; i < a->size; i++)
		ret_bytes[i] = (uint8_t)(v >> 8 * i);
	return strcmp(text_of(&scratch, a, ret_bytes), value) == 0;
}

uint64_t ct_shell_memory_find(struct ct_shell_call *call, const struct ct_device_memory *m, const char *value, uint64_t *ret_first)
{
	enum { PIECE = 1 << 16 };
	struct array a;
	uint8_t wanted[8], bytes[PIECE];
	uint64_t found = 0;
	if (!call->shell->core || !array_of(m, &a) || !pattern_of(&a, value, wanted))
		return 0;
	for (uint64_t at = 0; at < a.n;) {
		size_t n = a.n - at < PIECE / a.size ? (size_t)(a.n - at) : PIECE / a.size;
		n = ct_gpucore_read_some(call->shell->core, a.address + at * a.size, bytes, n * a.size) / a.size;
		for (size_t i = 0; i < n; i++)
			if (memcmp(bytes + i * a.size, wanted, a.size) == 0 && found++ == 0)
				*ret_first = at + i;
		if (n == 0)
			break;
		at += n;
	}
	return found;
}
