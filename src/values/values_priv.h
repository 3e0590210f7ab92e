// What the files of values/ share: numbers, arguments with their bytes, memory in pieces.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_VALUES_PRIV_H
#define CT_VALUES_PRIV_H

#include <string.h>

#include "values/values.h"

// Holds every element and every bound, signed and unsigned ones of 64 bits; no sum or product here leaves it.
__extension__ typedef __int128 ct_wide;

enum {
	CT_VALUES_BLIND_BYTES = 64 << 10,   // of an array whose length is not known: what is read of it
	CT_VALUES_KNOWN_BYTES = 1 << 20,    // of an array whose length is known
	CT_VALUES_SINGLE_READS = 256,       // elements beyond that, one read each
	CT_VALUES_ARGUMENT_BYTES = 4096,    // of one argument: the largest known struct has 1,240
	CT_VALUES_STEPS = 4096,             // elements looked at for one thread
	CT_VALUES_COMPARISONS = 64 << 20,   // for all arrays together
};
#define CT_VALUES_ABSENT "GPU memory is not in this dump; --dump=memory or full keeps it"
#define CT_VALUES_NO_TIME "no time left to read it"

// An argument of the failing kernel.
struct ct_given {
	const struct ct_argument *row;
	const uint8_t *bytes;  // all of them; NULL: not to be had
	bool has_number;       // an integer or a bool
	ct_wide number;
	const struct ct_gpucore_view *array;  // of integers, that a pointer or a known struct leads to; NULL: none. Of a pointer without extents
	const char *name;      // by debug information or by the table
};

struct ct_values {
	struct ct_incident *incident;
	struct ct_arena scratch;  // ends with the reading
	const struct ct_values_source *source;
	const struct ct_known_kernel *rule;  // NULL: the table does not have this kernel
	struct ct_given *given;
	size_t n_given;
	bool has_dims;
	struct ct_dim3 grid, block;
	unsigned single_reads;
	uint64_t comparisons;  // made so far
};

// Bytes of device memory, malloc'd.
struct ct_piece {
	uint8_t *bytes;
	size_t size;
};
void ct_piece_done(struct ct_piece *piece);  // for CT_AUTO
// As much of it as there is, in the steps in which a debugger finds the end of an allocation. False: nothing.
bool ct_values_block(const struct ct_values *v, uint64_t address, size_t size, struct ct_piece *ret_piece);
const char *ct_values_absent(const struct ct_values *v, uint64_t address);  // why an array there could not be read
// One element, where single reads are left.
bool ct_values_one(struct ct_values *v, uint64_t address, const struct ct_integer_type *type, ct_wide *ret_number);
ct_wide ct_values_number(const uint8_t *bytes, const struct ct_integer_type *type);  // little-endian
const char *ct_values_text(struct ct_arena *arena, ct_wide number);

// The least, the greatest and where each is first; n is not 0.
struct ct_extremes {
	ct_wide least, most;
	size_t least_at, most_at;
};
struct ct_extremes ct_values_extremes(const uint8_t *bytes, size_t n, const struct ct_integer_type *type);
void ct_values_add_extremes(struct ct_arena *arena, const struct ct_extremes *e, struct ct_device_memory *row);
struct ct_device_memory *ct_values_add_row(struct ct_values *v);
void ct_values_add_element(struct ct_values *v, struct ct_device_memory *row, uint64_t index, ct_wide value, struct ct_gridpos at);

// maps.c: indices from start on, as long as they are below end, and what becomes of them.
struct ct_steps {
	ct_wide start, step, end;
	enum { CT_STEP_PLAIN, CT_STEP_DIVIDE, CT_STEP_MODULO, CT_STEP_ADD } how;
	ct_wide by;
};
// The elements that a thread reads, by the rule of its kernel; none when that is not known.
struct ct_steps ct_values_steps(const struct ct_values *v, const struct ct_gridpos *at);
// The index at a step; false: there are no more.
bool ct_steps_at(const struct ct_steps *steps, size_t number, ct_wide *ret_index);
// Elements that the rule's array has; false: not known.
bool ct_values_length(const struct ct_values *v, ct_wide *ret_length);
bool ct_values_view_length(const struct ct_gpucore_view *view, ct_wide *ret_length);
struct ct_allowed {
	ct_wide low, high, exempt;
	bool has_high, has_exempt;
};
bool ct_values_allowed(const struct ct_values *v, struct ct_allowed *ret_allowed);  // false: the bound is not known
bool ct_allowed_holds(const struct ct_allowed *allowed, ct_wide value);
const struct ct_given *ct_values_given(const struct ct_values *v, const char *name);  // by the rule's names; NULL: none

// arrays.c, functors.c, tensors.c: the parts of the incident.
void ct_values_arrays(struct ct_values *v);
void ct_values_functors(struct ct_values *v);
void ct_values_tensors(struct ct_values *v);

#endif
