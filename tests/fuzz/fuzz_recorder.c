// Any bytes as a record of launches: it is refused, or read within its bounds.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "recorder/recorder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct ct_launches *l)
{
	size_t n, n_failures, at = 0;
	struct ct_launches_frame frame;
	struct ct_launches_address address;
	ct_launches_rows(l, &n);
	for (const struct ct_launches_row *row; (row = ct_launches_next(l, 0, &at));) {
		for (unsigned i = 0; i < row->launch->n_frames; i++)
			ct_launches_frame(l, &row->launch->frames[i], &frame);
		for (unsigned i = 0; i < row->launch->n_native; i++)
			ct_launches_address(l, row->launch->native[i], &address);
		ct_launches_function(l, row->launch->function);
		ct_launches_graph(l, row->launch->graph);
		ct_launches_forward_of(l, row);
	}
	if (at != n)
		abort();
	const struct ct_record_failure *const *failures = ct_launches_failures(l, &n_failures);
	for (size_t i = 0; i < n_failures; i++)
		ct_launches_of_failure(l, failures[i]);
}

// Where a piece goes: the first rows of each part.
static uint64_t place_of(const struct ct_record_head *head, uint8_t part, uint8_t row)
{
	switch (part & 7) {
	case 0:
		return head->rings_at + row % head->n_rings * sizeof(struct ct_record_ring);
	case 1:
		return head->functions_at + row * sizeof(struct ct_record_function);
	case 2:
		return head->codes_at + row * sizeof(struct ct_record_code);
	case 3:
		return head->graphs_at + row * sizeof(struct ct_record_graph);
	case 4:
		return head->failures_at + row % CT_RECORD_FAILURES * sizeof(struct ct_record_failure);
	case 5:
		return head->places_at + row * sizeof(struct ct_record_place);
	case 6:
		return (part & 8 ? head->code_text.at : head->function_text.at) + row * 64;
	default:
		return head->launches_at + row * sizeof(struct ct_record_launch) + part / 8 % 12 * 64;
	}
}

// The input is pieces of a record that is good otherwise: two bytes that say where, then 64.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct ct_record_head head = {.pid = 1};
	if (fd < 0)
		fd = memfd_create("record", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	memcpy(head.magic, CT_RECORD_MAGIC, sizeof head.magic);
	ct_record_lay_out(CT_RECORD_MIN_DEPTH, &head);
	head.code_text.head = head.function_text.head = size;
	if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)head.file_bytes) != 0 || pwrite(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
		return 0;
	for (; size >= 66; data += 66, size -= 66) {
		if (pwrite(fd, data + 2, 64, (off_t)place_of(&head, data[0], data[1])) != 64)
			return 0;
	}
	struct ct_launches *l = NULL;
	if (ct_launches_open_fd(fd, &l, NULL)) {
		use(l);
		ct_launches_free(l);
	}
	return 0;
}
