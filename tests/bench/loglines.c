// How fast output passes: plain text, and bursts of assert lines. Prints, asserts nothing.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>

#include "diagnose/diagnose.h"

enum { N_LINES = 100000, PIECE_BYTES = 16384 };  // a read of the supervisor

static void measure(const char *name, const struct ct_str *text)
{
	struct ct_loglines *lines = ct_loglines_new();
	struct ct_incident *incident = ct_incident_new();
	int64_t start = ct_now_us();
	for (size_t at = 0; at < text->length; at += PIECE_BYTES)
		ct_loglines_feed(lines, 2, text->data + at, text->length - at < PIECE_BYTES ? text->length - at : PIECE_BYTES);
	int64_t fed = ct_now_us();
	ct_loglines_finish(lines, incident);
	double us = (double)(fed - start) + 1;
	printf("%-32s %8.1f MB/s %10.0f lines/s %6.3f us/line  finish %" PRId64 " us, %zu entries\n", name, (double)text->length / us,
	       N_LINES / us * 1e6, us / N_LINES, ct_now_us() - fed, incident->n_log);
	ct_loglines_free(lines);
	ct_incident_free(incident);
}

int main(void)
{
	struct ct_str text = CT_STR_INIT;
	for (int i = 0; i < N_LINES; i++)
		ct_str_addf(&text, "epoch %d: step %d of 1000, loss 0.%06d, learning rate 0.0003, 1234 samples/s, gradient norm 1.%d\n", i / 1000, i % 1000, i, i);
	measure("plain text", &text);
	static const char form[] = "%s/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [%d,0,0], thread: [%d,0,0] "
				   "Assertion `srcIndex < srcSelectDimSize` failed.\n";
	ct_str_clear(&text);
	for (int i = 0; i < N_LINES; i++)
		ct_str_addf(&text, form, "", i / 128, i % 128);
	measure("assert lines", &text);
	ct_str_clear(&text);
	for (int i = 0; i < N_LINES; i++)
		ct_str_addf(&text, form, i & 1 ? "[rank1]:" : "[rank0]:", i, i % 128);
	measure("assert lines, ranks alternating", &text);
	ct_str_done(&text);
	return 0;
}
