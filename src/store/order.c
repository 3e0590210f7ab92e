// The order in time of reports from several machines; see store_priv.h.
//
// Wall clocks are all that two machines have in common, and they may be apart. Within one boot of one machine the monotonic clock orders,
// whatever became of the wall clock meanwhile: the wall time of its earliest report places them all among those of other machines.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "store/store_priv.h"

static bool has_monotonic(const struct ct_summary *s)
{
	return s->boot_id && s->monotonic_us > 0;
}

// By boot, then by the monotonic clock; those without one last.
static int compare_boots(const void *a, const void *b)
{
	const struct ct_summary *x = &((const struct ct_ordered *)a)->report->summary, *y = &((const struct ct_ordered *)b)->report->summary;
	if (!has_monotonic(x) || !has_monotonic(y))
		return has_monotonic(y) - has_monotonic(x);
	int order = strcmp(x->boot_id, y->boot_id);
	return order ? order : (x->monotonic_us > y->monotonic_us) - (x->monotonic_us < y->monotonic_us);
}

static int compare_times(const void *a, const void *b)
{
	const struct ct_ordered *x = a, *y = b;
	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return strcmp(x->report->path, y->report->path);
}

void ct_store_order(struct ct_ordered *rows, size_t count)
{
	if (!count)
		return;
	qsort(rows, count, sizeof *rows, compare_boots);
	const struct ct_summary *base = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct ct_summary *s = &rows[i].report->summary;
		rows[i].at_us = s->time_us;
		if (!has_monotonic(s))
			continue;
		if (!base || strcmp(base->boot_id, s->boot_id) != 0)
			base = s;
		// Values of a file: the sum may not fit.
		if (__builtin_add_overflow(base->time_us, s->monotonic_us - base->monotonic_us, &rows[i].at_us))
			rows[i].at_us = s->time_us;
	}
	qsort(rows, count, sizeof *rows, compare_times);
}
