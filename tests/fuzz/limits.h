// What an input may cost: memory in proportion to its size. libFuzzer's -timeout bounds its time.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_FUZZ_LIMITS_H
#define CT_FUZZ_LIMITS_H

#include <stddef.h>

// Between these two, at most four times size is allocated at any moment, and a floor for what does not depend on the input: an incident and its
// arena, the tables of section types, stdio's buffers. More ends the program, as a crash would. Counts under a sanitizer only, which has the
// hooks for it; else nothing.
void ct_fuzz_limits_begin(void);
void ct_fuzz_limits_end(size_t size);

#endif
