// What diagnose/ calls of incident/, simple and weak: used only while the library does not define it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdarg.h>
#include <stdlib.h>

#include "incident/incident.h"


#define STANDIN __attribute__((weak))

STANDIN struct ct_incident *ct_incident_new(void)
{
	struct ct_incident *incident = calloc(1, sizeof *incident);
	return incident ? incident : (abort(), NULL);
}

STANDIN void ct_incident_free(struct ct_incident *incident)
{
	if (incident)
		ct_arena_done(&incident->arena);
	free(incident);
}

STANDIN void ct_incident_auto(struct ct_incident **incident)
{
	ct_incident_free(*incident);
}

STANDIN void ct_incident_add_note(struct ct_incident *incident, const char *format, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	incident->notes = ct_arena_grow(&incident->arena, incident->notes, &incident->n_notes, sizeof *incident->notes);
	incident->notes[incident->n_notes - 1] = ct_arena_strdup(&incident->arena, text);
}

STANDIN struct ct_collector *ct_incident_add_collector(struct ct_incident *incident, const char *name, enum ct_collector_status status, double milliseconds,
						       const char *detail)
{
	incident->collectors = ct_arena_grow(&incident->arena, incident->collectors, &incident->n_collectors, sizeof *incident->collectors);
	struct ct_collector *row = &incident->collectors[incident->n_collectors - 1];
	*row = (struct ct_collector){.name = name, .status = status, .milliseconds = milliseconds, .detail = detail};
	return row;
}

STANDIN const char *ct_exception_text(uint32_t code)
{
	switch (code) {
#define X(number, word, text, scope) \
	case number:                 \
		return text;
		CT_EXCEPTIONS(X)
#undef X
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct ct_dim3 *p = a, *q = b;
	if (p->z != q->z)
		return p->z < q->z ? -1 : 1;
	if (p->y != q->y)
		return p->y < q->y ? -1 : 1;
	return p->x < q->x ? -1 : p->x > q->x;
}

static uint64_t number_of(struct ct_dim3 at, struct ct_dim3 dim)
{
	return at.x + (uint64_t)dim.x * (at.y + (uint64_t)dim.y * at.z);
}

STANDIN struct ct_dim3_run *ct_runs_of(struct ct_arena *arena, struct ct_dim3 *positions, size_t count, struct ct_dim3 dim, size_t *ret_count, bool *ret_cut)
{
	struct ct_dim3_run *runs = ct_arena_array(arena, CT_MAX_RUNS, sizeof *runs);
	size_t n = 0;
	*ret_cut = false;
	qsort(positions, count, sizeof *positions, compare);
	for (size_t i = 0; i < count; i++) {
		if (n && number_of(runs[n - 1].last, dim) + 1 == number_of(positions[i], dim)) {
			runs[n - 1].last = positions[i];
			runs[n - 1].count++;
		} else if (n < CT_MAX_RUNS) {
			runs[n++] = (struct ct_dim3_run){.first = positions[i], .last = positions[i], .count = 1};
		} else {
			*ret_cut = true;
			break;
		}
	}
	*ret_count = n;
	return runs;
}
