// Which row of the catalogue an assert is: by (base name of the file, function, expression); the line only breaks ties.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"

// ---- Texts ---------------------------------------------------------------------------------------------------

// Runs of white space become one blank: a log of 2023 has 43 of them before `&&`.
static void normalise(const char *text, struct ct_str *ret_text)
{
	for (const char *p = text; *p; p++)
		if (!isspace((unsigned char)*p))
			ct_str_addc(ret_text, *p);
		else if (ret_text->length && p[1] && !isspace((unsigned char)p[1]))
			ct_str_addc(ret_text, ' ');
}

static bool same_expression(const char *a, const char *b)
{
	CT_AUTO(ct_auto_str) struct ct_str x = CT_STR_INIT, y = CT_STR_INIT;
	normalise(a, &x);
	normalise(b, &y);
	return strcmp(ct_str_text(&x), ct_str_text(&y)) == 0;
}

// "a/b.cu" or "a/b.cu / c kernels": does one of the names in it have this base name?
static bool names_file(const char *files, const char *file)
{
	const char *base = ct_basename(file);
	size_t n = strlen(base);
	for (const char *p = strstr(files, base); p && n; p = strstr(p + 1, base))
		if ((p == files || p[-1] == '/' || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

static bool is_generated(const struct ct_catalog_row *row)
{
	return ct_starts_with(row->expression, "index out of bounds: 0 <= tmp");
}

// "index out of bounds: 0 <= tmp4 < 1 + ks0": Inductor numbers its variables; what the bound is says which row.
static bool is_generated_check(const char *expression, bool *ret_symbolic)
{
	static const char start[] = "index out of bounds: 0 <= tmp";
	if (!ct_starts_with(expression, start))
		return false;
	const char *bound = strchr(expression + sizeof start - 1, '<');
	if (!bound)
		return false;
	*ret_symbolic = strstr(bound, "ks") != NULL;
	return true;
}

static bool same_generated(const char *a, const char *b)
{
	bool x = false, y = false;
	return is_generated_check(a, &x) && is_generated_check(b, &y) && x == y;
}

// ---- Functions -----------------------------------------------------------------------------------------------

// Placeholders of the catalogue for a function that its author has not seen, or that is not there.
static bool is_open(const char *function)
{
	return function[0] == '\0' || function[0] == '(' || function[0] == '-' || strcmp(function, "call site") == 0;
}

static bool same_name(const char *list, struct ct_span name)
{
	for (const char *p = list; p;) {
		const char *end = strstr(p, " / ");
		CT_AUTO(ct_auto_str) struct ct_str one = CT_STR_INIT;
		struct ct_span base;
		ct_str_append(&one, p, end ? (size_t)(end - p) : strlen(p));
		if (ct_diagnose_base_name(ct_str_text(&one), &base) && ct_span_equal(base, name))
			return true;
		p = end ? end + 3 : NULL;
	}
	return false;
}

enum { NO_MATCH = -1 };

// How well the functions agree. An assert without one (Windows) agrees with all, better when the kernel is that row's.
static int function_score(const struct ct_catalog_row *row, const struct ct_assert *a, const char *kernel)
{
	struct ct_span name;
	bool of_kernel = kernel && ct_diagnose_base_name(kernel, &name) && same_name(row->kernel, name);
	if (!a->function || !*a->function)
		return of_kernel ? 3 : 1;
	if (ct_diagnose_base_name(a->function, &name) && same_name(row->function, name))
		return of_kernel ? 5 : 4;
	return is_open(row->function) ? (of_kernel ? 3 : 1) : NO_MATCH;
}

// ---- Rows ----------------------------------------------------------------------------------------------------

static uint32_t line_distance(const struct ct_catalog_row *row, uint32_t line)
{
	uint32_t best = UINT32_MAX;
	for (const char *p = row->line; *p && line;) {
		if (!isdigit((unsigned char)*p)) {
			p++;
			continue;
		}
		char *end = NULL;
		unsigned long n = strtoul(p, &end, 10);
		uint32_t d = n > line ? (uint32_t)(n - line) : line - (uint32_t)n;
		best = n < UINT32_MAX / 2 && d < best ? d : best;
		p = end;
	}
	return best;
}

// Rows that are for readers: nothing is printed, or what stands there is a description.
static bool is_description(const struct ct_catalog_row *row)
{
	return row->expression[0] == '(' && (ct_starts_with(row->expression, "(none") || ct_starts_with(row->expression, "(nothing"));
}

static int score(const struct ct_catalog_row *row, const struct ct_assert *a, const char *kernel)
{
	if (is_description(row) || !a->expression)
		return NO_MATCH;
	if (is_generated(row))
		return same_generated(row->expression, a->expression) && (!a->file || !ct_ends_with(a->file, ".cu")) ? 1 : NO_MATCH;
	if (!a->file || !names_file(row->file, a->file))
		return NO_MATCH;
	int functions = function_score(row, a, kernel);
	if (functions == NO_MATCH)
		return NO_MATCH;
	if (row->expression[0] == '<')  // "<the msg text itself>": the caller's own words; only the function says what it is
		return functions >= 3 && row->function[0] == '_' ? functions : NO_MATCH;
	return same_expression(row->expression, a->expression) ? functions + 8 : NO_MATCH;
}

const struct ct_catalog_row *ct_catalog_match(const struct ct_catalog *c, const struct ct_assert *a, const char *kernel, size_t *ret_n_equal)
{
	const struct ct_catalog_row *best = NULL;
	int best_score = NO_MATCH;
	uint32_t best_distance = UINT32_MAX;
	*ret_n_equal = 0;
	for (size_t i = 0; a->present && i < c->n_rows; i++) {
		const struct ct_catalog_row *row = &c->rows[i];
		int s = score(row, a, kernel);
		uint32_t d = s == NO_MATCH ? 0 : line_distance(row, a->line);
		if (s == NO_MATCH || s < best_score || (s == best_score && d > best_distance))
			continue;
		bool better = s > best_score || d < best_distance;
		bool says_else = !better && !is_generated(row) && (strcmp(best->meaning, row->meaning) != 0 || strcmp(best->offending, row->offending) != 0);
		*ret_n_equal = better ? 1 : *ret_n_equal + says_else;
		best = better ? row : best;
		best_score = s;
		best_distance = d;
	}
	return *ret_n_equal == 1 ? best : NULL;
}
