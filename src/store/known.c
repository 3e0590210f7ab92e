// The file of known faults; see store.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

static const char blanks[] = " \t\r\v\f";

// What follows the signature: an expiry date perhaps, then the reason.
static bool parse_rest(const char *rest, struct ct_known *row, struct ct_arena *arena, struct ct_error *err)
{
	size_t n = strcspn(rest, blanks);
	// Three numbers with dashes are meant as a date, and not as the beginning of a reason.
	bool is_date = n >= 5 && strspn(rest, "0123456789-") == n && memchr(rest, '-', n) && rest[0] != '-';
	if (is_date) {
		int64_t day;
		if (!ct_date_parse(rest, n, &day))
			return ct_fail(err, CT_FORMAT, "'%.*s' is not a date like 2026-12-31", (int)(n < 40 ? n : 40), rest);
		row->has_expiry = true;
		row->expires_us = day + INT64_C(86400) * 1000000;
		row->expiry = ct_arena_strndup(arena, rest, n);
		rest += n + strspn(rest + n, blanks);
	}
	if (!*rest)
		return ct_fail(err, CT_FORMAT, "no reason is given for %s", row->signature);
	row->reason = ct_arena_clean(arena, rest, strlen(rest));
	return true;
}

static bool parse_line(const char *line, struct ct_known *row, struct ct_arena *arena, struct ct_error *err)
{
	size_t n = strcspn(line, blanks);
	row->signature = ct_arena_clean(arena, line, n < 40 ? n : 40);
	if (!ct_signature_is_valid(row->signature) || n != strlen(row->signature))
		return ct_fail(err, CT_FORMAT, "'%s' is not a signature of 16 hexadecimal digits", row->signature);
	return parse_rest(line + n + strspn(line + n, blanks), row, arena, err);
}

static int compare(const void *a, const void *b)
{
	const struct ct_known *x = a, *y = b;
	int order = strcmp(x->signature, y->signature);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static bool fail_at(struct ct_error *err, const char *source, unsigned line)
{
	ct_fail_in(err, "%s:%u", source, line);
	return ct_hint(err, "a line each: SIGNATURE [YYYY-MM-DD] REASON");
}

static bool check_twice(const struct ct_known_list *list, const char *source, struct ct_error *err)
{
	for (size_t i = 1; i < list->n; i++) {
		const struct ct_known *row = &list->rows[i];
		if (strcmp(row[-1].signature, row->signature) != 0)
			continue;
		ct_fail(err, CT_FORMAT, "%s is on line %u already", row->signature, row[-1].line);
		return fail_at(err, source, row->line);
	}
	return true;
}

bool ct_known_parse(struct ct_arena *arena, const char *text, size_t length, const char *source, struct ct_known_list *ret_list, struct ct_error *err)
{
	struct ct_known_list list = {.rows = NULL, .n = 0};
	unsigned number = 1;
	for (const char *p = text, *end = text + length; p < end; number++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
		char *line = ct_arena_clean(arena, p, (size_t)(stop - p) - (stop > p && stop[-1] == '\r'));
		for (size_t n = strlen(line); n && strchr(blanks, line[n - 1]); n--)
			line[n - 1] = '\0';
		line += strspn(line, blanks);
		p = newline ? newline + 1 : end;
		if (!*line || *line == '#')
			continue;
		list.rows = ct_arena_grow(arena, list.rows, &list.n, sizeof *list.rows);
		list.rows[list.n - 1].line = number;
		if (!parse_line(line, &list.rows[list.n - 1], arena, err))
			return fail_at(err, source, number);
	}
	if (list.n)
		qsort(list.rows, list.n, sizeof *list.rows, compare);
	if (!check_twice(&list, source, err))
		return false;
	*ret_list = list;
	return true;
}

static int compare_signature(const void *key, const void *row)
{
	return strcmp(key, ((const struct ct_known *)row)->signature);
}

const struct ct_known *ct_known_find(const struct ct_known_list *list, const char *signature)
{
	return list && list->n ? bsearch(signature, list->rows, list->n, sizeof *list->rows, compare_signature) : NULL;
}
