// The recorded dumps of tests/data/gpu-cores, for the tests of gpucore and cubin.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_DUMPS_H
#define CT_DUMPS_H

#include "base/base.h"
#include "gpucore/gpucore.h"

// All that are complete.
extern const char *const dump_names[];
extern const size_t n_dumps;

char *dump_path(char *buffer, size_t size, const char *name);  // of the compressed file
// The unpacked bytes; ends the test program when the file is not there.
void dump_read(const char *name, struct ct_str *ret_bytes);
// The same of any file of tests/data, compressed with xz.
void data_read(const char *path, struct ct_str *ret_bytes);
struct ct_gpucore *dump_open(const char *name);  // the caller's

// Repeatable numbers.
uint64_t dump_random(uint64_t *state);

#endif
