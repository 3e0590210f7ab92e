// C++ names.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "hoststack/hoststack.h"

// libstdc++ and libc++abi export it (Itanium C++ ABI, section 3.4); its header is C++ only.
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

enum { MAX_MANGLED = 64 * 1024, MAX_PLAIN = 64 * 1024 };

static const char *demangle_one(struct ct_arena *arena, const char *symbol)
{
	// Without the prefix the demangler takes names for types: "i" would become "int".
	if (!ct_starts_with(symbol, "_Z") || strlen(symbol) > MAX_MANGLED)
		return symbol;
	int status = 0;
	CT_AUTO(ct_auto_free) char *plain = __cxa_demangle(symbol, NULL, NULL, &status);
	if (!plain || status != 0)
		return symbol;
	size_t length = strlen(plain);  // substitutions can make a short name enormous
	return ct_arena_strndup(arena, plain, length < MAX_PLAIN ? length : MAX_PLAIN);
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
