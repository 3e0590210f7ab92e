// C++ names and paths made short enough to read. Private to render/.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_RENDER_NAMES_H
#define CT_RENDER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

// "void at::native::(anonymous namespace)::k<float, long>(float*, long)" -> "k<float, long>": no return type, parameters, scopes.
const char *ct_name_bare(struct ct_arena *arena, const char *name);
// The bare name in at most columns. Given up in this order: scopes inside the template arguments, what is nested in them,
// the ones in the middle, all of them, the middle of the name.
const char *ct_name_fit(struct ct_arena *arena, const char *name, size_t columns);

// A source path as a reader knows it: what follows site-packages, or relative to cwd (may be NULL), or as it is.
const char *ct_path_short(const char *path, const char *cwd);
// "/x/libtorch_cuda.so.2" -> "libtorch_cuda"
const char *ct_library_name(struct ct_arena *arena, const char *module);

#endif
