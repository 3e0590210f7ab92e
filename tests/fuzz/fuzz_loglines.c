// Any bytes as a program's output: no crash, and pieces do not matter.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "diagnose/diagnose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t read_in_pieces(const uint8_t *data, size_t size, size_t piece)
{
	struct ct_loglines *lines = ct_loglines_new();
	struct ct_incident *incident = ct_incident_new();
	for (size_t at = 0; at < size; at += piece)
		ct_loglines_feed(lines, 2, (const char *)data + at, size - at < piece ? size - at : piece);
	ct_loglines_finish(lines, incident);
	uint64_t sum = incident->n_log * 1000003 + incident->assertion.n_lines * 31 + incident->assertion.has_first;
	ct_loglines_free(lines);
	ct_incident_free(incident);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_assert_line line;
	ct_parse_assert_line(&arena, (const char *)data, size, &line);
	ct_arena_done(&arena);
	if (read_in_pieces(data, size, 1 + size) != read_in_pieces(data, size, 3))
		abort();
	return 0;
}
