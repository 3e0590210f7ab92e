// Any bytes as a summary, a marker, a file of known faults: refused, or texts that are clean single lines.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *text)
{
	if (text && (strpbrk(text, "\n\t\x1b\x7f") || strlen(text) > 1600))  // 500 bytes, each of which may become U+FFFD
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_summary s;
	struct ct_marker m;
	struct ct_known_list known;
	if (ct_summary_read((const char *)data, size, &arena, &s, NULL)) {
		check_line(s.host);
		check_line(s.command);
		if (!ct_signature_is_valid(s.signature))
			abort();
		free(ct_summary_json(&s));
	}
	if (ct_marker_read((const char *)data, size, &arena, &m, NULL))
		check_line(m.follower);
	if (ct_known_parse(&arena, (const char *)data, size, "known", &known, NULL))
		for (size_t i = 0; i < known.n; i++)
			if (ct_known_find(&known, known.rows[i].signature) != &known.rows[i] || !known.rows[i].reason)
				abort();
	return 0;
}
