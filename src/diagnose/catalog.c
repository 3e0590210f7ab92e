// The tables of data/, read and searched; see catalog.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "diagnose/catalog.h"

#include <stdlib.h>
#include <string.h>

enum { CATALOG_COLUMNS = 17, CALLS_COLUMNS = 6, CAUSE_COLUMNS = 6 };

// ---- Reading -------------------------------------------------------------------------------------------------

static void take_catalog_row(void *context, char **f)
{
	struct ct_catalog *c = context;
	c->rows = ct_arena_grow(&c->arena, c->rows, &c->n_rows, sizeof *c->rows);
	c->rows[c->n_rows - 1] = (struct ct_catalog_row){.id = f[0], .framework = f[1], .file = f[2], .line = f[3], .function = f[5], .kernel = f[6],
		.expression = f[7], .offending = f[10], .meaning = f[13], .causes = f[14], .check = f[15]};
}

static void take_call_row(void *context, char **f)
{
	struct ct_catalog *c = context;
	c->calls = ct_arena_grow(&c->arena, c->calls, &c->n_calls, sizeof *c->calls);
	c->calls[c->n_calls - 1] = (struct ct_call_cause){.id = f[0], .error = (uint32_t)strtoul(f[1], NULL, 10), .limit = f[2], .meaning = f[3], .causes = f[4], .check = f[5]};
}

static void take_cause_row(void *context, char **f)
{
	struct ct_catalog *c = context;
	c->causes = ct_arena_grow(&c->arena, c->causes, &c->n_causes, sizeof *c->causes);
	c->causes[c->n_causes - 1] = (struct ct_cause_text){.id = f[0], .family = f[1], .when = f[2], .text = f[3], .evidence = f[4], .check = f[5]};
}

bool ct_catalog_open(const char *dir, struct ct_catalog **ret_catalog, struct ct_error *err)
{
	CT_AUTO(ct_catalog_auto) struct ct_catalog *c = ct_xrealloc(NULL, sizeof *c);
	*c = (struct ct_catalog){.arena = CT_ARENA_INIT, .rules = CT_RULES_INIT};
	if (!ct_tsv_read(&c->arena, dir, "assert-catalog.tsv", CATALOG_COLUMNS, take_catalog_row, c, err) ||
	    !ct_rules_read(dir, &c->rules, err) ||
	    !ct_tsv_read(&c->arena, dir, "call-causes.tsv", CALLS_COLUMNS, take_call_row, c, err) ||
	    !ct_tsv_read(&c->arena, dir, "causes.tsv", CAUSE_COLUMNS, take_cause_row, c, err))
		return false;
	*ret_catalog = c;
	c = NULL;
	return true;
}

void ct_catalog_free(struct ct_catalog *catalog)
{
	if (!catalog)
		return;
	ct_rules_done(&catalog->rules);
	ct_arena_done(&catalog->arena);
	free(catalog);
}

void ct_catalog_auto(struct ct_catalog **catalog)
{
	ct_catalog_free(*catalog);
}

// ---- Names ---------------------------------------------------------------------------------------------------

bool ct_diagnose_base_name(const char *name, struct ct_span *ret_name)
{
	return ct_rules_base_name(name, &ret_name->at, &ret_name->length);
}

bool ct_catalog_lists(const char *list, const char *id)
{
	size_t n = strlen(id);
	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, id, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
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
