// What the files of matching/ share.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_MATCHING_PRIV_H
#define CT_MATCHING_PRIV_H

#include "matching/matching.h"

// ---- place.c: rows of the record as launches of the incident

// Who launched row; origin (NULL: none) is the launch that its other frames are of: the captured one of a graph's, the forward's of a backward
// pass. Of a backward pass without one, the call of backward() is looked for. Texts go to the incident's arena.
struct ct_launch ct_place_of(const struct ct_launches *record, const struct ct_launches_row *row, const struct ct_launches_row *origin, int64_t until_ns,
			     struct ct_incident *incident);
// Python frames of a launch or a failing call.
struct ct_host_frame *ct_place_python(const struct ct_launches *record, const struct ct_record_frame *frames, size_t n, struct ct_incident *incident,
				      size_t *ret_n);
// Names of a function of the record; NULL when it has none.
void ct_place_name(const struct ct_launches *record, uint32_t function, struct ct_incident *incident, const char **ret_symbol, const char **ret_name);
// The same of rows, without looking anything up: equal code, instructions and, without Python frames, return addresses. Not their origins.
bool ct_place_equal_rows(const struct ct_record_launch *a, const struct ct_record_launch *b);
// Equal places: kernel, frames and what they are. Dimensions and times may differ.
bool ct_place_equal(const struct ct_launch *a, const struct ct_launch *b);
// What went on the stream of `from`: it and what was launched there before; from NULL: the newest of all streams.
void ct_place_history(const struct ct_launches *record, const struct ct_launches_row *from, int64_t until_ns, unsigned limit, struct ct_incident *incident);

// ---- limits.c

// Fills call->limits and call->why from what the record has of them.
void ct_limits_of(const struct ct_record_failure *failure, struct ct_arena *arena, struct ct_failed_call *call);

#endif
