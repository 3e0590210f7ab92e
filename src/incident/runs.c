// Positions of threads or blocks as runs: 300,000 asserting threads become one line.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "incident/incident.h"

// x fastest. This order is that of the linear index over any extent that holds the positions, but needs no
// multiplication that a hostile extent (three times 2^32 - 1) could make overflow.
static int compare(const void *left, const void *right)
{
	const struct ct_dim3 *a = left, *b = right;
	if (a->z != b->z)
		return a->z < b->z ? -1 : 1;
	if (a->y != b->y)
		return a->y < b->y ? -1 : 1;
	return a->x < b->x ? -1 : a->x > b->x;
}

static bool is_inside(struct ct_dim3 p, struct ct_dim3 dim)
{
	return p.x < dim.x && p.y < dim.y && p.z < dim.z;  // never, when a component of dim is zero
}

// Whether b is the position after a.
static bool follows(struct ct_dim3 a, struct ct_dim3 b, struct ct_dim3 dim)
{
	if (!is_inside(a, dim) || !is_inside(b, dim))
		return false;
	if (++a.x == dim.x) {
		a.x = 0;
		if (++a.y == dim.y) {
			a.y = 0;
			a.z++;
		}
	}
	return compare(&a, &b) == 0;
}

struct ct_dim3_run *ct_runs_of(struct ct_arena *arena, struct ct_dim3 *positions, size_t count, struct ct_dim3 dim, size_t *ret_count, bool *ret_cut)
{
	struct ct_dim3_run *runs = NULL;
	size_t n = 0;
	*ret_count = 0;
	*ret_cut = false;
	if (count == 0)
		return NULL;
	qsort(positions, count, sizeof *positions, compare);
	for (size_t i = 0; i < count; i++) {
		struct ct_dim3 p = positions[i];
		if (i && compare(&positions[i - 1], &p) == 0)
			continue;  // said twice, counted once
		if (n && follows(runs[n - 1].last, p, dim)) {
			runs[n - 1].last = p;
			runs[n - 1].count++;
			continue;
		}
		if (n == CT_MAX_RUNS) {
			*ret_cut = true;
			break;
		}
		runs = ct_arena_grow(arena, runs, &n, sizeof *runs);
		runs[n - 1] = (struct ct_dim3_run){.first = p, .last = p, .count = 1};
	}
	*ret_count = n;
	return runs;
}
