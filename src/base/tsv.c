// See tsv.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/tsv.h"

#include <string.h>

#include "base/base.h"

enum { MAX_TABLE_BYTES = 4 << 20, MAX_COLUMNS = 32 };

// Cuts a line at its tabs, empty fields too. False when it has another number of them.
static bool cut(char *line, char **fields, size_t n)
{
	size_t found = 0;
	for (char *at = line; at; found++) {
		char *tab = strchr(at, '\t');
		if (found == n)
			return false;
		fields[found] = at;
		if (tab)
			*tab++ = '\0';
		at = tab;
	}
	return found == n;
}

bool ct_tsv_read(struct ct_arena *arena, const char *dir, const char *name, size_t columns, ct_tsv_take *take, void *context, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT, text = CT_STR_INIT;
	char *fields[MAX_COLUMNS];
	ct_str_addf(&path, "%s/%s", dir, name);
	if (!ct_read_file(ct_str_text(&path), MAX_TABLE_BYTES, &text, err))
		return ct_hint(err, "reinstall, or set CUDATRAP_DATA to the folder that holds it");
	char *line = ct_arena_clean(arena, ct_str_text(&text), text.length), *next = NULL;
	for (size_t number = 1; line && *line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (columns > MAX_COLUMNS || !cut(line, fields, columns))
			return ct_fail(err, CT_FORMAT, "%s:%zu: not %zu fields", ct_str_text(&path), number, columns);
		if (number > 1)
			take(context, fields);
	}
	return true;
}
