// Failure as a value: what, where, why, and what to do. Lives in the caller's frame:
// nothing to free, works when memory is out.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_ERROR_H
#define CT_ERROR_H

#include <stdbool.h>

enum ct_code {
	CT_OK = 0,
	CT_USAGE,        // the person at the keyboard asked for something that cannot be
	CT_SYSTEM,       // a system call failed; text ends with strerror()
	CT_FORMAT,       // input that is not what it claims to be
	CT_NOT_FOUND,    // a program, file or symbol that is not there
	CT_DENIED,       // permission: ptrace, file modes, seccomp
	CT_TIMEOUT,      // a deadline passed
	CT_LIMIT,        // larger than we are willing to handle
	CT_UNAVAILABLE,  // the fact cannot be had here, and that is not a defect
};

struct ct_error {
	enum ct_code code;
	char text[512];  // one line, no trailing full stop or newline
	char hint[256];  // what to do about it; "" when there is nothing to say
};

#define CT_ERROR_INIT {.code = CT_OK, .text = "", .hint = ""}

// All of these return false, so that a failing function can end in `return ct_fail(...)`.
// err may be NULL everywhere: then only the false remains.

// Sets code and text.
bool ct_fail(struct ct_error *err, enum ct_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));
// As ct_fail() with CT_SYSTEM (CT_NOT_FOUND for ENOENT, CT_DENIED for EPERM and EACCES) and ": strerror(errno)" appended.
bool ct_fail_errno(struct ct_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Puts the outer context in front: "dump.nvcore: section table ...". Keeps code and hint.
bool ct_fail_in(struct ct_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Adds what to do. Keeps code and text.
bool ct_hint(struct ct_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "usage", "system", ... for reports and tests. Never NULL.
const char *ct_code_name(enum ct_code code);

#endif
