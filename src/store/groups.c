// Reports by signature; see store.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_priv.h"

static int compare_texts(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	if (!x || !y)
		return (x == NULL) - (y == NULL);
	return strcmp(x, y);
}

size_t ct_store_unique_texts(const char **texts, size_t count)
{
	size_t n = 0;
	if (count)
		qsort(texts, count, sizeof *texts, compare_texts);
	for (size_t i = 0; i < count && texts[i]; i++)
		if (!n || strcmp(texts[n - 1], texts[i]) != 0)
			texts[n++] = texts[i];
	return n;
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

size_t ct_store_unique_numbers(uint32_t *numbers, size_t count)
{
	size_t n = 0;
	if (count)
		qsort(numbers, count, sizeof *numbers, compare_numbers);
	for (size_t i = 0; i < count; i++)
		if (!n || numbers[n - 1] != numbers[i])
			numbers[n++] = numbers[i];
	return n;
}

const char *ct_store_ranges(struct ct_arena *arena, const uint32_t *numbers, size_t count)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0, last; i < count; i = last + 1) {
		for (last = i; last + 1 < count && numbers[last + 1] == numbers[last] + 1;)
			last++;
		ct_str_addf(&s, "%s%" PRIu32, i ? "," : "", numbers[i]);
		if (last > i)
			ct_str_addf(&s, "%s%" PRIu32, last == i + 1 ? "," : "-", numbers[last]);
	}
	return ct_arena_strndup(arena, ct_str_text(&s), s.length);
}

const char *ct_store_first_texts(struct ct_arena *arena, const char *const *texts, size_t count, size_t most)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < count && i < most; i++)
		ct_str_addf(&s, "%s%s", i ? ", " : "", texts[i]);
	if (count > most)
		ct_str_addf(&s, " (+%zu)", count - most);
	return ct_arena_strndup(arena, ct_str_text(&s), s.length);
}

// The reports of one signature, oldest first.
static void fill(struct ct_store_group *g, const struct ct_store_report *const *rows, size_t n, struct ct_arena *arena)
{
	const struct ct_store_report *newest = rows[n - 1];
	*g = (struct ct_store_group){.signature = newest->summary.signature, .newest = newest, .n_reports = n, .last_us = newest->summary.time_us};
	g->hosts = ct_arena_array(arena, n, sizeof *g->hosts);
	g->commands = ct_arena_array(arena, n, sizeof *g->commands);
	g->jobs = ct_arena_array(arena, n, sizeof *g->jobs);
	g->ranks = ct_arena_array(arena, n, sizeof *g->ranks);
	for (size_t i = 0; i < n; i++) {
		const struct ct_summary *s = &rows[i]->summary;
		if (!g->first_us)
			g->first_us = s->time_us;  // reports without a time come first
		g->hosts[i] = s->host;
		g->commands[i] = s->command;
		g->jobs[i] = s->rank.job;
		if (s->rank.has_rank)
			g->ranks[g->n_ranks++] = s->rank.rank;
	}
	g->n_hosts = ct_store_unique_texts(g->hosts, n);
	g->n_commands = ct_store_unique_texts(g->commands, n);
	g->n_jobs = ct_store_unique_texts(g->jobs, n);
	g->n_ranks = ct_store_unique_numbers(g->ranks, g->n_ranks);
}

static int compare_signatures(const void *a, const void *b)
{
	const struct ct_store_report *x = *(const struct ct_store_report *const *)a, *y = *(const struct ct_store_report *const *)b;
	int order = strcmp(x->summary.signature, y->summary.signature);
	// Within the store's array they stand oldest first.
	return order ? order : (x > y) - (x < y);
}

static int compare_groups(const void *a, const void *b)
{
	const struct ct_store_group *x = a, *y = b;
	if (x->last_us != y->last_us)
		return x->last_us > y->last_us ? -1 : 1;
	return strcmp(x->signature, y->signature);
}

static const struct ct_store_report **select_since(struct ct_store *store, int64_t since_us, size_t *ret_count)
{
	const struct ct_store_report **rows = ct_arena_array(&store->arena, store->n_reports, sizeof *rows);
	size_t n = 0;
	for (size_t i = 0; i < store->n_reports; i++)
		if (store->reports[i].summary.time_us >= since_us || store->reports[i].summary.time_us <= 0)
			rows[n++] = &store->reports[i];
	*ret_count = n;
	return rows;
}

struct ct_store_group *ct_store_group(struct ct_store *store, const struct ct_known_list *known, int64_t since_us, int64_t now_us, size_t *ret_count)
{
	size_t n, n_groups = 0;
	const struct ct_store_report **rows = select_since(store, since_us, &n);
	struct ct_store_group *groups = NULL;
	if (n)
		qsort(rows, n, sizeof *rows, compare_signatures);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && strcmp(rows[next]->summary.signature, rows[i]->summary.signature) == 0;)
			next++;
		groups = ct_arena_grow(&store->arena, groups, &n_groups, sizeof *groups);
		struct ct_store_group *g = &groups[n_groups - 1];
		fill(g, rows + i, next - i, &store->arena);
		g->known = ct_known_find(known, g->signature);
		g->expired = g->known && g->known->has_expiry && now_us >= g->known->expires_us;
	}
	if (n_groups)
		qsort(groups, n_groups, sizeof *groups, compare_groups);
	*ret_count = n_groups;
	return groups;
}

bool ct_store_group_is_new(const struct ct_store_group *group)
{
	return !group->known || group->expired;
}
