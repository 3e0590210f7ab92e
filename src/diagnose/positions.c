// Bounded sets of block or thread coordinates: a hash table that stops growing.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose_priv.h"

// No coordinate reaches it: ct_assert_coords() takes x below 2^31.
static const uint32_t free_slot = UINT32_MAX;

static bool same(struct ct_dim3 a, struct ct_dim3 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

static struct ct_dim3 *slot_of(struct ct_dim3 *slots, size_t n_slots, struct ct_dim3 at)
{
	uint64_t h = ((uint64_t)at.x << 32 | at.y) * 0x9e3779b97f4a7c15u + at.z * 0xc2b2ae3d27d4eb4fu;
	h ^= h >> 29;
	size_t i = (size_t)(h * 0x9e3779b97f4a7c15u >> 32) & (n_slots - 1);
	while (slots[i].x != free_slot && !same(slots[i], at))
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static void grow(struct ct_positions *p)
{
	size_t n = p->n_slots ? p->n_slots * 2 : 64;
	struct ct_dim3 *slots = ct_xrealloc(NULL, n * sizeof *slots);
	for (size_t i = 0; i < n; i++)
		slots[i].x = free_slot;
	for (size_t i = 0; i < p->n_slots; i++)
		if (p->slots[i].x != free_slot)
			*slot_of(slots, n, p->slots[i]) = p->slots[i];
	free(p->slots);
	p->slots = slots;
	p->n_slots = n;
}

void ct_positions_done(struct ct_positions *positions)
{
	free(positions->slots);
	*positions = (struct ct_positions){.slots = NULL};
}

void ct_positions_add(struct ct_positions *positions, struct ct_dim3 at)
{
	// Most lines of a burst are of the same block.
	if (positions->count && same(positions->last, at))
		return;
	if (positions->count * 2 >= positions->n_slots)
		grow(positions);
	struct ct_dim3 *slot = slot_of(positions->slots, positions->n_slots, at);
	if (slot->x != free_slot) {
		positions->last = at;
		return;
	}
	if (positions->count == CT_MAX_POSITIONS) {
		positions->cut = true;
		return;
	}
	*slot = positions->last = at;
	positions->count++;
	struct ct_dim3 *box = &positions->box;
	box->x = at.x >= box->x ? at.x + 1 : box->x;
	box->y = at.y >= box->y ? at.y + 1 : box->y;
	box->z = at.z >= box->z ? at.z + 1 : box->z;
}

void ct_positions_merge(struct ct_positions *positions, const struct ct_positions *more)
{
	for (size_t i = 0; i < more->n_slots; i++)
		if (more->slots[i].x != free_slot)
			ct_positions_add(positions, more->slots[i]);
	positions->cut |= more->cut;
}

struct ct_dim3_run *ct_positions_runs(const struct ct_positions *positions, struct ct_arena *arena, struct ct_dim3 dim, size_t *ret_count,
				      bool *ret_cut)
{
	*ret_count = 0;
	*ret_cut = positions->cut;
	if (positions->count == 0)
		return NULL;
	CT_AUTO(ct_auto_free) struct ct_dim3 *list = ct_xrealloc(NULL, positions->count * sizeof *list);
	size_t n = 0;
	for (size_t i = 0; i < positions->n_slots; i++)
		if (positions->slots[i].x != free_slot)
			list[n++] = positions->slots[i];
	struct ct_dim3 box = positions->box;
	bool fits = dim.x >= box.x && dim.y >= box.y && dim.z >= box.z;
	bool runs_cut = false;
	struct ct_dim3_run *runs = ct_runs_of(arena, list, n, fits ? dim : box, ret_count, &runs_cut);
	*ret_cut = positions->cut || runs_cut;
	return runs;
}
