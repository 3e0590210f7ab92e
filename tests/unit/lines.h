// Feeding a stream in pieces.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_LINES_H
#define CT_LINES_H

#include "assertcases.h"
#include "diagnose/diagnose.h"

static inline void free_lines(struct ct_loglines **lines)
{
	ct_loglines_free(*lines);
}

// Feeds text in pieces; 0: pieces of seeded sizes.
static inline void feed(struct ct_loglines *lines, int stream, const char *text, size_t length, size_t piece, uint64_t *seed)
{
	while (length) {
		size_t n = piece ? piece : 1 + next_random(seed) % 17;
		n = n < length ? n : length;
		// On the heap with its exact size, so that reading beyond a piece is seen.
		CT_AUTO(ct_auto_free) char *copy = ct_xrealloc(NULL, n);
		memcpy(copy, text, n);
		ct_loglines_feed(lines, stream, copy, n);
		text += n;
		length -= n;
	}
}

#endif
