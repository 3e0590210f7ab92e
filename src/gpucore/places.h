// A hash table of places: where lanes stand or failed, with what is needed to choose and order the groups.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_GPUCORE_PLACES_H
#define CT_GPUCORE_PLACES_H

#include "gpucore/gpucore_priv.h"

enum ct_place_kind {
	CT_PLACE_FAULT,   // lanes flagged with anything but an assert, by the warp's error PC, else the lane's PC
	CT_PLACE_ASSERT,  // lanes flagged with an assert, by PC
	CT_PLACE_PC,      // all other lanes, by PC
};

struct ct_place {
	enum ct_place_kind kind;
	bool used;
	size_t device;
	uint64_t grid_id, pc;
	uint64_t n_threads, n_warps;
	size_t last_warp;
	struct ct_gridpos first;  // of its lanes
	int group;                // -1: none
};

struct ct_places {
	struct ct_place *rows;  // 2^n
	size_t room, n_rows;
	size_t last;  // most lanes stand where the one before them does
};

void ct_places_init(struct ct_places *places);
void ct_places_done(struct ct_places *places);
// The place; made when there is none and `make`, else NULL. Borrowed until the next one is made.
struct ct_place *ct_places_find(struct ct_places *places, enum ct_place_kind kind, const struct ct_gpucore_lane *lane, uint64_t pc, bool make);

// x fastest: by block, then by thread.
int ct_gridpos_compare(const struct ct_gridpos *a, const struct ct_gridpos *b);

#endif
