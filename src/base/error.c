// Failure as a value; see error.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Puts more text behind the first n bytes; n as snprintf() gave it, so it may be past the end: then there is no room.
static void add_text(struct ct_error *err, int n, const char *more)
{
	if (n < 0 || (size_t)n >= sizeof err->text)
		return;
	size_t room = sizeof err->text - (size_t)n - 1, length = strlen(more);
	size_t kept = length < room ? length : room;
	memcpy(err->text + n, more, kept);
	err->text[(size_t)n + kept] = '\0';
}

bool ct_fail(struct ct_error *err, enum ct_code code, const char *format, ...)
{
	if (!err)
		return false;
	va_list ap;
	va_start(ap, format);
	vsnprintf(err->text, sizeof err->text, format, ap);
	va_end(ap);
	err->code = code;
	err->hint[0] = '\0';
	return false;
}

bool ct_fail_errno(struct ct_error *err, const char *format, ...)
{
	int saved = errno;
	if (!err)
		return false;
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(err->text, sizeof err->text, format, ap);
	va_end(ap);
	add_text(err, n, ": ");
	add_text(err, n < 0 ? n : n + 2, strerror(saved));
	err->code = saved == ENOENT ? CT_NOT_FOUND : saved == EPERM || saved == EACCES ? CT_DENIED : CT_SYSTEM;
	err->hint[0] = '\0';
	errno = saved;
	return false;
}

bool ct_fail_in(struct ct_error *err, const char *format, ...)
{
	if (!err)
		return false;
	char inner[sizeof err->text];
	memcpy(inner, err->text, sizeof inner);
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(err->text, sizeof err->text, format, ap);
	va_end(ap);
	add_text(err, n, ": ");
	add_text(err, n < 0 ? n : n + 2, inner);
	return false;
}

bool ct_hint(struct ct_error *err, const char *format, ...)
{
	if (!err)
		return false;
	va_list ap;
	va_start(ap, format);
	vsnprintf(err->hint, sizeof err->hint, format, ap);
	va_end(ap);
	return false;
}

const char *ct_code_name(enum ct_code code)
{
	static const char *const names[] = {
		[CT_OK] = "ok",           [CT_USAGE] = "usage",   [CT_SYSTEM] = "system",   [CT_FORMAT] = "format", [CT_NOT_FOUND] = "not found",
		[CT_DENIED] = "denied",   [CT_TIMEOUT] = "timeout", [CT_LIMIT] = "limit",   [CT_UNAVAILABLE] = "unavailable",
	};
	if ((unsigned)code >= sizeof names / sizeof names[0] || !names[code])
		return "unknown";
	return names[code];
}
