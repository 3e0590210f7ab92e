// Small texts and numbers of the commands.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shell/shell_priv.h"

// One coordinate at *text, which moves behind it.
static bool take_coordinate(const char **text, uint32_t *ret)
{
	char *end;
	errno = 0;
	if (**text < '0' || **text > '9')
		return false;
	unsigned long n = strtoul(*text, &end, 10);
	if (errno || n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	*text = end;
	return true;
}

bool ct_shell_parse_dim3(const char *text, struct ct_dim3 *ret_dim)
{
	struct ct_dim3 d = {0, 0, 0};
	uint32_t *const parts[] = {&d.x, &d.y, &d.z};
	bool open = *text == '(';
	text += open;
	for (size_t i = 0; i < CT_COUNT(parts); i++) {
		if (!take_coordinate(&text, parts[i]))
			return false;
		if (*text != ',' || i == CT_COUNT(parts) - 1)
			break;
		text++;
	}
	if (open && *text++ != ')')
		return false;
	if (*text)
		return false;
	*ret_dim = d;
	return true;
}

bool ct_shell_parse_u64(const char *text, uint64_t *ret_value)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hexadecimal ? text + 2 : text;
	char *end;
	errno = 0;
	// strtoull takes blanks, signs and a second prefix, too.
	if (!*digits || digits[strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789")])
		return false;
	unsigned long long n = strtoull(digits, &end, hexadecimal ? 16 : 10);
	if (errno || *end)
		return false;
	*ret_value = n;
	return true;
}

const char *ct_shell_dim3(struct ct_arena *arena, struct ct_dim3 d)
{
	return ct_arena_printf(arena, "(%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", d.x, d.y, d.z);
}

const char *ct_shell_flat(struct ct_arena *arena, const char *text)
{
	return text ? ct_arena_line(arena, text, strlen(text)) : "";
}

const char *ct_shell_exception(struct ct_arena *arena, uint32_t code)
{
	const char *text = ct_exception_text(code);
	return text ? text : ct_arena_printf(arena, "exception %" PRIu32, code);
}

bool ct_shell_dump_only(struct ct_error *err, const char *what)
{
	ct_fail(err, CT_UNAVAILABLE, "a stored incident does not hold %s", what);
	return ct_hint(err, "a GPU core dump does: run with CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1");
}
