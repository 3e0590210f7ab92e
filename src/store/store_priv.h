// What the files of store/ share.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_STORE_PRIV_H
#define CT_STORE_PRIV_H

#include "store/store.h"

// Sorts texts (NULLs last) and removes equal neighbours and NULLs; returns how many are left.
size_t ct_store_unique_texts(const char **texts, size_t count);
size_t ct_store_unique_numbers(uint32_t *numbers, size_t count);
// "a, b, c (+4)": the first ones only.
const char *ct_store_first_texts(struct ct_arena *arena, const char *const *texts, size_t count, size_t most);

// A report among those of one job.
struct ct_ordered {
	const struct ct_store_report *report;
	int64_t at_us;  // wall clock, corrected so that reports of one boot of one machine stand as its monotonic clock has them
};

// order.c: sorts by at_us, which it fills in.
void ct_store_order(struct ct_ordered *rows, size_t count);

// One job's share of the store.
struct ct_job_part {
	struct ct_arena *arena;
	struct ct_ordered *rows;  // in order
	size_t n_rows;
	const struct ct_marker **markers;
	size_t n_markers;
	const char **notes;
	size_t n_notes;
};

void ct_job_note(struct ct_job_part *part, const char *text);
// "rank 3 on gpu7", "ranks 0-2,4 on gpu7, gpu8"; "process 4242 on gpu7" for reports without ranks.
struct ct_who {
	uint32_t *ranks;
	size_t n_ranks;
	const char **hosts;
	size_t n_hosts;
	int64_t pid;
};
void ct_who_add(struct ct_arena *arena, struct ct_who *who, const struct ct_rank *rank, const char *host, int64_t pid);
const char *ct_who_text(struct ct_arena *arena, struct ct_who *who);
// vanished.c: notes on the ranks that have no report.
void ct_job_vanished(struct ct_job_part *part);

#endif
