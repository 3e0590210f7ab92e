// See offsets.h. Nothing is taken on trust: the divisors must agree with what they are precomputed from.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "values/offsets.h"

enum { MAX_DIMS = CT_OFFSETS_DIMS, DIVIDER_BYTES = 12 /* u32 divisor, u32 m1, u32 shift */, WORD = CT_OFFSETS_WORD };

size_t ct_offsets_bytes(size_t n_arrays)
{
	return 4 + MAX_DIMS * DIVIDER_BYTES + MAX_DIMS * 4 * n_arrays;
}

size_t ct_offsets_aligned(size_t size)
{
	return (size + WORD - 1) / WORD * WORD;
}

// IntDivider<unsigned>: shift = ceil(log2 d), m1 = 2^32 (2^shift - d) / d + 1.
static bool is_divider(uint32_t divisor, uint32_t multiplier, uint32_t shift)
{
	if (divisor == 0 || shift > 31 || (UINT64_C(1) << shift) < divisor || (shift && (UINT64_C(1) << (shift - 1)) >= divisor))
		return false;
	return multiplier == ((ct_wide)1 << 32) * (((ct_wide)1 << shift) - divisor) / divisor + 1;
}

const struct ct_offsets *ct_offsets_at(struct ct_arena *arena, const uint8_t *data, size_t n_arrays)
{
	struct ct_offsets *o = ct_arena_alloc(arena, sizeof *o);
	o->n_dims = ct_u32(data);
	if (o->n_dims > MAX_DIMS)
		return NULL;
	for (size_t dim = 0; dim < o->n_dims; dim++) {
		const uint8_t *divider = data + 4 + dim * DIVIDER_BYTES, *strides = data + 4 + MAX_DIMS * DIVIDER_BYTES + dim * 4 * n_arrays;
		if (!is_divider(ct_u32(divider), ct_u32(divider + 4), ct_u32(divider + 8)))
			return NULL;
		o->sizes[dim] = ct_u32(divider);
		for (size_t array = 0; array < n_arrays; array++)
			o->strides[dim][array] = ct_u32(strides + 4 * array);
	}
	return o;
}

bool ct_offsets_dense(const struct ct_offsets *o, size_t array, size_t size)
{
	ct_wide expected = (ct_wide)size;
	for (size_t dim = 0; dim < o->n_dims; dim++) {
		if (o->sizes[dim] > 1 && o->strides[dim][array] != expected)
			return false;
		expected *= o->sizes[dim];
		if (expected > (ct_wide)1 << 64)  // no stride of 32 bits is that long
			expected = (ct_wide)1 << 64;
	}
	return true;
}

ct_wide ct_offsets_place(const struct ct_offsets *o, size_t array, uint64_t number)
{
	ct_wide place = 0;
	for (size_t dim = 0; dim < o->n_dims; dim++) {
		place += (ct_wide)(number % o->sizes[dim] * o->strides[dim][array]);
		number /= o->sizes[dim];
	}
	return place;
}
