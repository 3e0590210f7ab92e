// C++ names as people write them, whatever the name.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DEMANGLE_H
#define CT_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

// Longest mangled name that is looked at, and the longest plain one: the rest is cut off. No kernel name of PyTorch comes near either.
enum { CT_MANGLED_MAX = 16384, CT_PLAIN_MAX = 65536 };

// Appends the plain form of an Itanium C++ name ("_Z...") to ret_plain. False, and ret_plain as it was, when it is none or its expansion
// would take too long: two hundred bytes of substitutions can stand for gigabytes. Names that might are expanded in a child process that
// is ended when it takes more than a second; the caller must not reap children away.
bool ct_demangle_bounded(const char *mangled, struct ct_str *ret_plain);

#endif
