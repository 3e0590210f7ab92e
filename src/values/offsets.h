// PyTorch's OffsetCalculator (ATen/cuda/detail/OffsetCalculator.cuh, IntegerDivider.cuh of 2.x): from the number of an element to its places.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_OFFSETS_H
#define CT_OFFSETS_H

#include <string.h>

#include "values/values_priv.h"

enum { CT_OFFSETS_DIMS = 25 /* with CUDA */, CT_OFFSETS_ARRAYS = 3, CT_OFFSETS_WORD = 8 };

struct ct_offsets {
	uint32_t n_dims;
	uint32_t sizes[CT_OFFSETS_DIMS], strides[CT_OFFSETS_DIMS][CT_OFFSETS_ARRAYS];  // strides in bytes, one an array
};

static inline uint32_t ct_u32(const uint8_t *bytes)
{
	uint32_t n;
	memcpy(&n, bytes, sizeof n);
	return n;
}

static inline uint64_t ct_u64(const uint8_t *bytes)
{
	uint64_t n;
	memcpy(&n, bytes, sizeof n);
	return n;
}

size_t ct_offsets_bytes(size_t n_arrays);
size_t ct_offsets_aligned(size_t size);  // to words
// At the start of data, of which there are ct_offsets_bytes(); in the arena. NULL: it is something else.
const struct ct_offsets *ct_offsets_at(struct ct_arena *arena, const uint8_t *data, size_t n_arrays);
// Do the elements of an array, size bytes each, follow each other in the order of their numbers?
bool ct_offsets_dense(const struct ct_offsets *offsets, size_t array, size_t size);
// Where element `number` is in an array, in bytes.
ct_wide ct_offsets_place(const struct ct_offsets *offsets, size_t array, uint64_t number);

#endif
