// Shell-like words; see cli.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "cli/cli.h"

bool ct_cli_split(struct ct_arena *arena, const char *text, char ***ret_words, size_t *ret_count, struct ct_error *err)
{
	char **words = NULL;
	size_t n = 0;
	for (const char *p = text;;) {
		p += strspn(p, " \t\n");
		if (!*p)
			break;
		CT_AUTO(ct_auto_str) struct ct_str word = CT_STR_INIT;
		for (char quote = 0; *p && (quote || !strchr(" \t\n", *p)); p++) {
			if (quote ? *p == quote : *p == '\'' || *p == '"')
				quote = quote ? 0 : *p;
			else if (*p == '\\' && quote != '\'' && p[1])
				ct_str_addc(&word, *++p);
			else
				ct_str_addc(&word, *p);
			if (quote && !p[1])
				return ct_fail(err, CT_USAGE, "a quote is not closed: %s", text);
		}
		words = ct_arena_grow(arena, words, &n, sizeof *words);
		words[n - 1] = ct_arena_strdup(arena, ct_str_text(&word));
	}
	*ret_words = words;
	*ret_count = n;
	return true;
}
