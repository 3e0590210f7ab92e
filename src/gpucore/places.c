// See places.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/places.h"

void ct_places_init(struct ct_places *p)
{
	p->room = 64;
	p->n_rows = p->last = 0;
	p->rows = ct_xrealloc(NULL, p->room * sizeof *p->rows);
	memset(p->rows, 0, p->room * sizeof *p->rows);
}

void ct_places_done(struct ct_places *p)
{
	free(p->rows);
}

static bool is_place(const struct ct_place *row, enum ct_place_kind kind, const struct ct_gpucore_lane *lane, uint64_t pc)
{
	return row->used && row->pc == pc && row->grid_id == lane->grid_id && row->device == lane->device && row->kind == kind;
}

// splitmix64's finish: PCs differ in few bits.
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static size_t slot(const struct ct_place *rows, size_t room, enum ct_place_kind kind, const struct ct_gpucore_lane *lane, uint64_t pc)
{
	size_t i = mix(pc ^ mix(lane->grid_id + ((uint64_t)lane->device << 2) + kind)) & (room - 1);
	while (rows[i].used && !is_place(&rows[i], kind, lane, pc))
		i = (i + 1) & (room - 1);
	return i;
}

static void grow(struct ct_places *p)
{
	size_t room = p->room * 2;
	struct ct_place *rows = ct_xrealloc(NULL, room * sizeof *rows);
	memset(rows, 0, room * sizeof *rows);
	for (size_t i = 0; i < p->room; i++) {
		const struct ct_place *old = &p->rows[i];
		struct ct_gpucore_lane lane = {.device = old->device, .grid_id = old->grid_id};
		if (old->used)
			rows[slot(rows, room, old->kind, &lane, old->pc)] = *old;
	}
	free(p->rows);
	p->rows = rows;
	p->room = room;
	p->last = 0;
}

struct ct_place *ct_places_find(struct ct_places *p, enum ct_place_kind kind, const struct ct_gpucore_lane *lane, uint64_t pc, bool make)
{
	if (is_place(&p->rows[p->last], kind, lane, pc))
		return &p->rows[p->last];
	if (make && p->n_rows >= p->room / 2)
		grow(p);
	size_t i = slot(p->rows, p->room, kind, lane, pc);
	struct ct_place *row = &p->rows[i];
	if (!row->used && !make)
		return NULL;
	if (!row->used) {
		*row = (struct ct_place){
			.kind = kind, .used = true, .device = lane->device, .grid_id = lane->grid_id, .pc = pc, .first = lane->at, .group = -1};
		p->n_rows++;
	}
	p->last = i;
	return row;
}

static int compare_dim3(const struct ct_dim3 *a, const struct ct_dim3 *b)
{
	if (a->z != b->z)
		return a->z < b->z ? -1 : 1;
	if (a->y != b->y)
		return a->y < b->y ? -1 : 1;
	return a->x < b->x ? -1 : a->x > b->x;
}

int ct_gridpos_compare(const struct ct_gridpos *a, const struct ct_gridpos *b)
{
	int c = compare_dim3(&a->block, &b->block);
	return c ? c : compare_dim3(&a->thread, &b->thread);
}
