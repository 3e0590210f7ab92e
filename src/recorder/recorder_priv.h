// What the files of the reader share: the copy of a record, and which of its rows hold.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RECORDER_PRIV_H
#define CT_RECORDER_PRIV_H

#include "base/base.h"
#include "recorder/recorder.h"

struct ct_launches {
	uint8_t *bytes;  // the file as it was read; what nobody had written yet is zero
	struct ct_record_head head;  // as it was after the rest had been read
	struct ct_launches_row *rows;
	size_t n_rows;
	const struct ct_record_failure **failures;
	size_t n_failures;
	struct ct_arena arena;  // the texts, and the two arrays
	// Texts that were asked for, by row; NULL: not yet. In the arena.
	const char **function_names;
	struct ct_launches_frame *code_names;
};

// How many rows of a ring have been written to.
static inline uint64_t ct_launches_rows_of(const struct ct_record_ring *ring)
{
	return ring->begun < ring->capacity ? ring->begun : ring->capacity;
}

// index.c: fills rows and failures from the bytes, and repairs counts that are out of bounds.
void ct_launches_index(struct ct_launches *launches);

// Row `number` of a table of n rows of size bytes at `at`; NULL when the row holds another one.
const void *ct_launches_table_row(const struct ct_launches *launches, uint64_t at, uint32_t n, size_t size_bytes, uint64_t number);

#endif
