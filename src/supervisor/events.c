// Descriptors and timers that others hang into the loop.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "supervisor/supervisor_priv.h"

void ct_supervisor_watch(struct ct_supervisor *s, int fd, void (*ready)(void *context, int fd), void *context)
{
	s->watches = ct_xrealloc(s->watches, (s->n_watches + 1) * sizeof *s->watches);
	s->watches[s->n_watches++] = (struct ct_watch){.fd = fd, .ready = ready, .context = context};
}

// Only marks the row: the loop may be walking the list. ct_supervisor_watches_compact() removes it.
void ct_supervisor_unwatch(struct ct_supervisor *s, int fd)
{
	for (size_t i = 0; i < s->n_watches; i++)
		if (s->watches[i].fd == fd)
			s->watches[i].fd = -1;
}

void ct_supervisor_watches_compact(struct ct_supervisor *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n_watches; i++)
		if (s->watches[i].fd >= 0)
			s->watches[kept++] = s->watches[i];
	s->n_watches = kept;
}

void ct_supervisor_timer(struct ct_supervisor *s, int64_t deadline_us, void (*fire)(void *context), void *context)
{
	s->timers = ct_xrealloc(s->timers, (s->n_timers + 1) * sizeof *s->timers);
	s->timers[s->n_timers++] = (struct ct_timer){.deadline_us = deadline_us, .fire = fire, .context = context};
}

static struct ct_timer *earliest_timer(const struct ct_supervisor *s)
{
	struct ct_timer *best = NULL;
	for (size_t i = 0; i < s->n_timers; i++)
		if (!best || s->timers[i].deadline_us < best->deadline_us)
			best = &s->timers[i];
	return best;
}

int64_t ct_supervisor_timers_deadline(const struct ct_supervisor *s)
{
	const struct ct_timer *timer = earliest_timer(s);
	return timer ? timer->deadline_us : INT64_MAX;
}

// One that fires may set the next; with a deadline in the past that one waits for the next round of the loop.
void ct_supervisor_fire_timers(struct ct_supervisor *s)
{
	int64_t now = ct_now_us();
	for (size_t budget = s->n_timers; budget; budget--) {
		struct ct_timer *timer = earliest_timer(s);
		if (!timer || timer->deadline_us > now)
			return;
		struct ct_timer due = *timer;
		*timer = s->timers[--s->n_timers];
		due.fire(due.context);
	}
}
