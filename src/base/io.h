// Whole reads and writes, files that appear at once.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_IO_H
#define CT_IO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

// Writes all of it, through EINTR and short writes; waits with poll() when fd is non-blocking.
bool ct_write_all(int fd, const void *bytes, size_t length, struct ct_error *err);
// Appends the whole of fd to ret_text; more than limit_bytes is CT_LIMIT.
bool ct_read_fd(int fd, size_t limit_bytes, struct ct_str *ret_text, struct ct_error *err);
// Appends the whole file at path; "-" is not special here. err names the path.
bool ct_read_file(const char *path, size_t limit_bytes, struct ct_str *ret_text, struct ct_error *err);
// Writes dir_fd/name with mode 0600 under a temporary name, then renames: readers see all or nothing.
// dir_fd may be AT_FDCWD.
bool ct_write_file_at(int dir_fd, const char *name, const void *bytes, size_t length, struct ct_error *err);
// The folder of the tables that come with cudatrap: CUDATRAP_DATA, else where they are installed.
const char *ct_data_dir(void);

// Copies everything that can be read from in to out.
bool ct_copy_fd(int in, int out, struct ct_error *err);
// Copies the file from to a new file to, mode 0600; a half-written one is removed.
bool ct_copy_file(const char *from, const char *to, struct ct_error *err);

#endif
