// C++ names as people write them, whatever the name.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DEMANGLE_H
#define CT_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

// Longest mangled name that is looked at, and the longest plain one: the rest is cut off. No kernel name of PyTorch comes near either.
enum { CT_MANGLED_MAX = 16384, CT_PLAIN_MAX = 65536 };

// What all the names of one report may cost together, in microseconds of processor time: a file full of hostile names must not take a
// second for each. Names that need no care cost nothing.
struct ct_demangle_budget {
	int64_t left_us;
};
#define CT_DEMANGLE_BUDGET_INIT {400000}

// Appends the plain form of an Itanium C++ name ("_Z...") to ret_plain. False, and ret_plain as it was, when it is none or its expansion
// would take too long: two hundred bytes of substitutions can stand for gigabytes. Names that might are expanded in a child process that
// is ended after 0.4 s, as long as the budget lasts; the caller must not reap children away. budget NULL: one for this name alone.
bool ct_demangle_bounded(const char *mangled, struct ct_demangle_budget *budget, struct ct_str *ret_plain);

#endif
