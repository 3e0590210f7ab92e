// agent_launches FILE: prints a record of launches, one line each, newest first; for tests and a look by hand.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "recorder/recorder.h"

static void print_frames(const struct ct_launches *l, const struct ct_record_frame *frames, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct ct_launches_frame f;
		if (ct_launches_frame(l, &frames[i], &f))
			printf(" %s:%s:%" PRIu32, f.function, ct_basename(f.file), f.line);
		else
			printf(" ?");
	}
}

static void print_launch(const struct ct_launches *l, const struct ct_launches_row *row)
{
	const struct ct_record_launch *launch = row->launch;
	const char *name = ct_launches_function(l, launch->function);
	printf("launch %" PRIu32 ".%" PRIu64 " %s%s%s grid %" PRIu32 ",%" PRIu32 ",%" PRIu32 " block %" PRIu32 ",%" PRIu32 ",%" PRIu32 " stream %" PRIu64
	       " arguments ",
	       row->ring, row->number, name ? name : "?", launch->flags & CT_RECORD_GRAPH ? " graph" : "",
	       launch->flags & CT_RECORD_PER_THREAD ? " per-thread" : "", launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
	       launch->block[1], launch->block[2], launch->stream);
	for (unsigned i = 0; i < launch->arguments_kept; i++)
		printf("%02x", launch->arguments[i]);
	if (row->has_result)
		printf("/%" PRIu32 " result %" PRId32 " frames", launch->arguments_bytes, row->result);
	else
		printf("/%" PRIu32 " in the call frames", launch->arguments_bytes);
	print_frames(l, launch->frames, launch->n_frames);
	const struct ct_launches_row *forward = ct_launches_forward_of(l, row);
	if (launch->flags & CT_RECORD_NODE)
		printf(" backward of %" PRIu64, forward ? forward->number : 0);
	if (launch->capture)
		printf(" capture %" PRIu64, launch->capture);
	putchar('\n');
}

static void free_launches(struct ct_launches **l)
{
	ct_launches_free(*l);
}

int main(int argc, char **argv)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(free_launches) struct ct_launches *l = NULL;
	if (argc < 2)
		return 99;
	if (!ct_launches_open(argv[1], &l, &err)) {
		printf("%s: %s\n", ct_code_name(err.code), err.text);
		return 1;
	}
	struct ct_launches_about about;
	ct_launches_about(l, &about);
	printf("pid %" PRId64 " depth %" PRIu64 " seen %" PRIu64 " kept %" PRIu64 " without ring %" PRIu64 " python %s frames %s sticky %" PRId32 "\n",
	       about.pid, about.depth, about.n_seen, about.n_kept, about.n_not_recorded, about.python ? about.python : "-",
	       about.no_frames ? about.no_frames : "yes", about.sticky);
	size_t n, at = 0, limit = argc > 2 ? (size_t)atol(argv[2]) : SIZE_MAX;
	const struct ct_record_failure *const *failures = ct_launches_failures(l, &n);
	for (size_t i = 0; i < n; i++) {
		printf("failure %s result %" PRId32 " bytes %" PRIu64 " free %" PRIu64 " block %" PRIu32 " max %" PRId32 " sm %" PRId32 " sticky %" PRIu32 " frames",
		       failures[i]->call, failures[i]->result, failures[i]->bytes, failures[i]->free_bytes, failures[i]->block[0], failures[i]->max_threads,
		       failures[i]->sm_major, failures[i]->is_sticky);
		print_frames(l, failures[i]->frames, failures[i]->n_frames);
		putchar('\n');
	}
	for (const struct ct_launches_row *row; limit-- && (row = ct_launches_next(l, 0, &at));)
		print_launch(l, row);
	return 0;
}
