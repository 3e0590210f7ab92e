// C++ names.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "hoststack/hoststack.h"

static const char *demangle_one(struct ct_arena *arena, const char *symbol)
{
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	return ct_demangle_bounded(symbol, &plain) ? ct_arena_strndup(arena, ct_str_text(&plain), plain.length) : symbol;
}

const char *ct_demangle(struct ct_arena *arena, const char *symbol)
{
	if (symbol[0] != '$')
		return demangle_one(arena, symbol);
	// "$kernel$callee": a device function kept local to a kernel (ptxas). The callee says where we are.
	const char *second = strchr(symbol + 1, '$');
	if (!second || second == symbol + 1 || !second[1] || second[1] == '$')
		return symbol;
	return demangle_one(arena, second + 1);
}
