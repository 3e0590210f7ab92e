// cudatrap list --format html: the groups of list.c as a page.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

#include "commands/list_priv.h"

enum { SHOWN = 50, ROWS = 9 };  // texts of a row; rows of a fault

static void add_row(struct ct_listing_entry *e, const char *label, const char *text)
{
	if (text && *text)
		e->rows[e->n_rows++] = (struct ct_listing_row){label, text};
}

static const char *join(struct ct_arena *arena, const char *const *texts, size_t n)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < n && i < SHOWN; i++)
		ct_str_addf(&s, "%s%s", i ? ", " : "", texts[i]);
	if (n > SHOWN)
		ct_str_addf(&s, " (+%zu)", n - SHOWN);
	return ct_arena_strdup(arena, ct_str_text(&s));
}

static const char *time_text(struct ct_arena *arena, int64_t us)
{
	char text[32] = "time not known";
	if (us > 0)
		ct_format_time(us, text, sizeof text);
	return ct_arena_strdup(arena, text);
}

static const char *mark_of(struct ct_arena *arena, const struct ct_store_group *g)
{
	if (!g->known)
		return "new";
	const char *until = g->known->has_expiry ? g->known->expiry : "";
	if (g->expired)
		return ct_arena_printf(arena, "new again: known until the end of %s, %s", until, g->known->reason);
	return ct_arena_printf(arena, "known%s%s: %s", *until ? " until " : "", until, g->known->reason);
}

static void fill(const struct ct_list *l, const struct ct_store_group *g, struct ct_listing_entry *e)
{
	struct ct_arena *arena = &l->store->arena;
	const struct ct_summary *s = &g->newest->summary;
	e->heading = ct_arena_printf(arena, "%s%s%s%s%s", ct_fault_kind_headline(s->kind), s->kernel ? " in " : "", s->kernel ? s->kernel : "",
				     s->detail && *s->detail ? ": " : "", s->detail ? s->detail : "");
	e->mark = l->has_known ? mark_of(arena, g) : NULL;
	e->is_bad = ct_store_group_is_new(g);
	e->rows = ct_arena_array(arena, ROWS, sizeof *e->rows);
	add_row(e, "reports", ct_arena_printf(arena, "%zu", g->n_reports));
	add_row(e, "first seen", time_text(arena, g->first_us));
	add_row(e, "last seen", time_text(arena, g->last_us));
	add_row(e, "hosts", join(arena, g->hosts, g->n_hosts));
	add_row(e, "ranks", g->n_ranks ? ct_store_ranges(arena, g->ranks, g->n_ranks) : NULL);
	add_row(e, "jobs", join(arena, g->jobs, g->n_jobs));
	add_row(e, "commands", join(arena, g->commands, g->n_commands));
	add_row(e, "newest report", g->newest->path);
	add_row(e, "signature", g->signature);
}

bool ct_list_print_html(const struct ct_list *l)
{
	struct ct_arena *arena = &l->store->arena;
	struct ct_error err = CT_ERROR_INIT;
	struct ct_listing_entry *entries = ct_arena_array(arena, l->n_groups, sizeof *entries);
	size_t n_reports = 0, n_new = 0;
	for (size_t i = 0; i < l->n_groups; i++) {
		fill(l, &l->groups[i], &entries[i]);
		n_reports += l->groups[i].n_reports;
		n_new += ct_store_group_is_new(&l->groups[i]);
	}
	CT_AUTO(ct_auto_str) struct ct_str subtitle = CT_STR_INIT;
	if (l->has_known)
		ct_str_addf(&subtitle, "%zu new, %zu known. ", n_new, l->n_groups - n_new);
	if (l->store->n_skipped_all)
		ct_str_addf(&subtitle, "%zu could not be read. ", l->store->n_skipped_all);
	ct_str_add(&subtitle, "The fault seen last comes first; times are UTC.");
	const struct ct_listing listing = {
		.title = ct_arena_printf(arena, "%zu report%s of %zu fault%s", n_reports, n_reports == 1 ? "" : "s", l->n_groups, l->n_groups == 1 ? "" : "s"),
		.subtitle = ct_str_text(&subtitle),
		.entries = entries,
		.n_entries = l->n_groups,
	};
	return ct_render_html_listing(&listing, stdout, &err);
}
