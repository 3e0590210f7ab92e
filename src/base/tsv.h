// The tables of data/: lines of tab-separated fields under a header line.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_TSV_H
#define CT_TSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

// Takes a line's fields, as many as the table has columns; they are the arena's. context is the caller's.
typedef void ct_tsv_take(void *context, char **fields);

// Reads dir/name, cleaned, and calls take for each line behind the header. A line with another number of fields is CT_FORMAT.
bool ct_tsv_read(struct ct_arena *arena, const char *dir, const char *name, size_t columns, ct_tsv_take *take, void *context, struct ct_error *err);

#endif
