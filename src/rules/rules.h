// The rows of data/assert-values.tsv: for which kernels it is known which element of which array a thread reads. Read here for everybody: values/
// reads the elements, diagnose/ judges them. data/README.md says what the columns mean. Never prints.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RULES_H
#define CT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "incident/incident.h"

// A kernel that the table knows. "-" in the file: NULL. Texts are the rules'.
struct ct_known_kernel {
	const char *id, *kernel, *kinds, *array, *map, *count, *high, *wraps, *exempt, *value, *catalog;
	const char **names;  // of its arguments, in order
	size_t n_names;
};

struct ct_rules {
	struct ct_arena arena;
	struct ct_known_kernel *rows;
	size_t n_rows;
};

#define CT_RULES_INIT {.arena = CT_ARENA_INIT, .rows = NULL, .n_rows = 0}

// Reads the table of a folder (ct_data_dir()). What is in *rules after a failure is to be freed all the same.
bool ct_rules_read(const char *dir, struct ct_rules *rules, struct ct_error *err);
void ct_rules_done(struct ct_rules *rules);  // frees; for CT_AUTO, too

// The row for a kernel (a demangled name; NULL: not known) with these arguments: name and the kinds of all arguments agree. NULL: none.
const struct ct_known_kernel *ct_rules_choose(const struct ct_rules *rules, const char *kernel, const struct ct_argument *arguments, size_t n);
// Which argument the row calls name; n_names: none.
size_t ct_rules_argument(const struct ct_known_kernel *kernel, const char *name);

// "f" of "void n::f<int>(float)", "operator()" of "A::operator()(int) const". Borrowed from name; false when there is none.
bool ct_rules_base_name(const char *name, const char **ret_at, size_t *ret_length);

#endif
