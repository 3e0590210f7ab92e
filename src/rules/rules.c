// See rules.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "rules/rules.h"

#include <ctype.h>
#include <string.h>

enum { COLUMNS = 12 };

static const char *unless_dash(const char *field)
{
	return strcmp(field, "-") == 0 ? NULL : field;
}

static void take_row(void *context, char **f)
{
	struct ct_rules *r = context;
	char *save = NULL;
	r->rows = ct_arena_grow(&r->arena, r->rows, &r->n_rows, sizeof *r->rows);
	struct ct_known_kernel *k = &r->rows[r->n_rows - 1];
	*k = (struct ct_known_kernel){.id = f[0], .kernel = f[1], .kinds = f[2], .array = f[4], .map = f[5], .count = unless_dash(f[6]), .high = unless_dash(f[7]),
		.wraps = unless_dash(f[8]), .exempt = unless_dash(f[9]), .value = unless_dash(f[10]), .catalog = f[11]};
	for (char *name = strtok_r(f[3], ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		k->names = ct_arena_grow(&r->arena, k->names, &k->n_names, sizeof *k->names);
		k->names[k->n_names - 1] = name;
	}
}

bool ct_rules_read(const char *dir, struct ct_rules *rules, struct ct_error *err)
{
	return ct_tsv_read(&rules->arena, dir, "assert-values.tsv", COLUMNS, take_row, rules, err);
}

void ct_rules_done(struct ct_rules *rules)
{
	ct_arena_done(&rules->arena);
	rules->rows = NULL;
	rules->n_rows = 0;
}

// ---- Names ---------------------------------------------------------------------------------------------------

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// Where the parameter list begins: the first '(' outside <> that is not part of a name. Without one, the end.
static const char *list_start(const char *name)
{
	static const char operator_call[] = "operator()", anonymous[] = "(anonymous namespace)";
	int depth = 0;
	for (const char *p = name; *p; p++) {
		if (ct_starts_with(p, operator_call))
			p += sizeof operator_call - 2;
		else if (ct_starts_with(p, anonymous))
			p += sizeof anonymous - 2;
		else if (*p == '(' && depth == 0)
			return p;
		else
			depth += *p == '<' ? 1 : *p == '>' && depth > 0 ? -1 : 0;
	}
	return name + strlen(name);
}

// "operator[]" and the like at the end of name; NULL: it is a plain name. One among template arguments is another function's.
static const char *operator_start(const char *name, const char *end)
{
	static const char word[] = "operator";
	const char *found = NULL;
	int depth = 0;
	for (const char *p = name; p < end; p++) {
		if (ct_starts_with(p, word) && (p == name || !is_name(p[-1])) && !is_name(p[sizeof word - 1])) {
			if (depth == 0)
				found = p;
			p += sizeof word - 2;
			p += strspn(p + 1, "<>=-");  // no brackets of a template
		} else {
			depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
		}
	}
	return found;
}

bool ct_rules_base_name(const char *name, const char **ret_at, size_t *ret_length)
{
	const char *end = list_start(name), *start = operator_start(name, end);
	while (end > name && end[-1] == ' ')
		end--;
	for (int depth = 0; !start && end > name && (end[-1] == '>' || depth > 0);) {
		end--;
		depth += *end == '>' ? 1 : *end == '<' ? -1 : 0;
	}
	if (!start)
		for (start = end; start > name && is_name(start[-1]);)
			start--;
	*ret_at = start;
	*ret_length = (size_t)(end - start);
	return end > start;
}

// ---- Known kernels -------------------------------------------------------------------------------------------

static char kind_letter(enum ct_argument_kind kind)
{
	static const char letters[] = {[CT_ARGUMENT_BYTES] = 'x', [CT_ARGUMENT_POINTER] = 'p', [CT_ARGUMENT_INTEGER] = 'i', [CT_ARGUMENT_FLOAT] = 'f',
				       [CT_ARGUMENT_BOOL] = 'b', [CT_ARGUMENT_STRUCT] = 's'};
	return (unsigned)kind < sizeof letters ? letters[kind] : 'x';
}

static bool kinds_agree(const char *kinds, const struct ct_argument *arguments, size_t n)
{
	for (size_t i = 0; i < n; i++, kinds++) {
		if (*kinds == '*')
			return true;
		if (*kinds != kind_letter(arguments[i].kind))
			return false;
	}
	return *kinds == '\0' || *kinds == '*';
}

const struct ct_known_kernel *ct_rules_choose(const struct ct_rules *rules, const char *kernel, const struct ct_argument *arguments, size_t n)
{
	const char *name;
	size_t length;
	if (!kernel || !ct_rules_base_name(kernel, &name, &length))
		return NULL;
	for (size_t i = 0; i < rules->n_rows; i++) {
		const struct ct_known_kernel *k = &rules->rows[i];
		if (strlen(k->kernel) == length && memcmp(k->kernel, name, length) == 0 && kinds_agree(k->kinds, arguments, n))
			return k;
	}
	return NULL;
}

size_t ct_rules_argument(const struct ct_known_kernel *kernel, const char *name)
{
	for (size_t i = 0; name && i < kernel->n_names; i++)
		if (strcmp(kernel->names[i], name) == 0)
			return i;
	return kernel->n_names;
}
