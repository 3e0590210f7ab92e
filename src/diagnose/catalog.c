// The tables of data/, read and searched; see catalog.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "diagnose/catalog.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TABLE_BYTES = 4 << 20, CATALOG_COLUMNS = 17, VALUES_COLUMNS = 12, CALLS_COLUMNS = 6, CAUSE_COLUMNS = 6 };

// ---- Reading -------------------------------------------------------------------------------------------------

typedef void take_row(struct ct_catalog *catalog, char **fields);

static void take_catalog_row(struct ct_catalog *c, char **f)
{
	c->rows = ct_arena_grow(&c->arena, c->rows, &c->n_rows, sizeof *c->rows);
	c->rows[c->n_rows - 1] = (struct ct_catalog_row){.id = f[0], .framework = f[1], .file = f[2], .line = f[3], .function = f[5], .kernel = f[6],
		.expression = f[7], .offending = f[10], .meaning = f[13], .causes = f[14], .check = f[15]};
}

static const char *unless_dash(const char *field)
{
	return strcmp(field, "-") == 0 ? NULL : field;
}

static void take_kernel_row(struct ct_catalog *c, char **f)
{
	char *save = NULL;
	c->kernels = ct_arena_grow(&c->arena, c->kernels, &c->n_kernels, sizeof *c->kernels);
	struct ct_known_kernel *k = &c->kernels[c->n_kernels - 1];
	*k = (struct ct_known_kernel){.id = f[0], .kernel = f[1], .kinds = f[2], .array = f[4], .map = f[5], .count = unless_dash(f[6]), .high = unless_dash(f[7]),
		.wraps = unless_dash(f[8]), .exempt = unless_dash(f[9]), .value = unless_dash(f[10]), .catalog = f[11]};
	for (char *name = strtok_r(f[3], ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		k->names = ct_arena_grow(&c->arena, k->names, &k->n_names, sizeof *k->names);
		k->names[k->n_names - 1] = name;
	}
}

static void take_call_row(struct ct_catalog *c, char **f)
{
	c->calls = ct_arena_grow(&c->arena, c->calls, &c->n_calls, sizeof *c->calls);
	c->calls[c->n_calls - 1] = (struct ct_call_cause){.id = f[0], .error = (uint32_t)strtoul(f[1], NULL, 10), .limit = f[2], .meaning = f[3], .causes = f[4], .check = f[5]};
}

static void take_cause_row(struct ct_catalog *c, char **f)
{
	c->causes = ct_arena_grow(&c->arena, c->causes, &c->n_causes, sizeof *c->causes);
	c->causes[c->n_causes - 1] = (struct ct_cause_text){.id = f[0], .family = f[1], .when = f[2], .text = f[3], .evidence = f[4], .check = f[5]};
}

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

static bool read_table(struct ct_catalog *c, const char *dir, const char *name, size_t columns, take_row *take, struct ct_error *err)
{
	CT_AUTO(ct_auto_str) struct ct_str path = CT_STR_INIT, text = CT_STR_INIT;
	char *fields[CATALOG_COLUMNS];
	ct_str_addf(&path, "%s/%s", dir, name);
	if (!ct_read_file(ct_str_text(&path), MAX_TABLE_BYTES, &text, err))
		return ct_hint(err, "reinstall, or set CUDATRAP_DATA to the folder that holds it");
	char *line = ct_arena_clean(&c->arena, ct_str_text(&text), text.length), *next = NULL;
	for (size_t number = 1; line && *line; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!cut(line, fields, columns))
			return ct_fail(err, CT_FORMAT, "%s:%zu: not %zu fields", ct_str_text(&path), number, columns);
		if (number > 1)
			take(c, fields);
	}
	return true;
}

bool ct_catalog_open(const char *dir, struct ct_catalog **ret_catalog, struct ct_error *err)
{
	CT_AUTO(ct_catalog_auto) struct ct_catalog *c = ct_xrealloc(NULL, sizeof *c);
	*c = (struct ct_catalog){.arena = CT_ARENA_INIT};
	if (!read_table(c, dir, "assert-catalog.tsv", CATALOG_COLUMNS, take_catalog_row, err) ||
	    !read_table(c, dir, "assert-values.tsv", VALUES_COLUMNS, take_kernel_row, err) ||
	    !read_table(c, dir, "call-causes.tsv", CALLS_COLUMNS, take_call_row, err) ||
	    !read_table(c, dir, "causes.tsv", CAUSE_COLUMNS, take_cause_row, err))
		return false;
	*ret_catalog = c;
	c = NULL;
	return true;
}

void ct_catalog_free(struct ct_catalog *catalog)
{
	if (!catalog)
		return;
	ct_arena_done(&catalog->arena);
	free(catalog);
}

void ct_catalog_auto(struct ct_catalog **catalog)
{
	ct_catalog_free(*catalog);
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

// "operator[]" and the like at the end of name; NULL: it is a plain name.
static const char *operator_start(const char *name, const char *end)
{
	static const char word[] = "operator";
	const char *found = NULL;
	for (const char *p = strstr(name, word); p && p < end; p = strstr(p + 1, word))
		if ((p == name || !is_name(p[-1])) && !is_name(p[sizeof word - 1]))
			found = p;
	return found;
}

bool ct_diagnose_base_name(const char *name, struct ct_span *ret_name)
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
	*ret_name = (struct ct_span){.at = start, .length = (size_t)(end - start)};
	return end > start;
}

bool ct_catalog_lists(const char *list, const char *id)
{
	size_t n = strlen(id);
	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, id, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
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

const struct ct_known_kernel *ct_catalog_kernel(const struct ct_catalog *c, const char *kernel, const struct ct_argument *arguments, size_t n)
{
	struct ct_span name;
	if (!kernel || !ct_diagnose_base_name(kernel, &name))
		return NULL;
	for (size_t i = 0; i < c->n_kernels; i++) {
		const struct ct_known_kernel *k = &c->kernels[i];
		if (strlen(k->kernel) == name.length && memcmp(k->kernel, name.at, name.length) == 0 && kinds_agree(k->kinds, arguments, n))
			return k;
	}
	return NULL;
}

// ---- Calls that failed -----------------------------------------------------------------------------------------

static bool is_empty(const struct ct_launch *at)
{
	const struct ct_dim3 *g = &at->grid_dim, *b = &at->block_dim;
	return at->has_dims && !(g->x && g->y && g->z && b->x && b->y && b->z);
}

static bool row_fits(const struct ct_call_cause *row, const struct ct_failed_call *call)
{
	if (row->error != call->error)
		return false;
	if (strcmp(row->limit, "-") == 0)
		return true;
	if (strcmp(row->limit, "empty") == 0)
		return is_empty(&call->at);
	for (size_t i = 0; i < call->n_limits; i++)
		if (call->limits[i].exceeded && call->limits[i].what && strcmp(call->limits[i].what, row->limit) == 0)
			return true;
	return false;
}

const struct ct_call_cause *ct_catalog_call(const struct ct_catalog *catalog, const struct ct_failed_call *call)
{
	for (size_t i = 0; i < catalog->n_calls; i++)
		if (row_fits(&catalog->calls[i], call))
			return &catalog->calls[i];
	return NULL;
}
