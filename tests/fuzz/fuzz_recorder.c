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

// The input is a good head's changing part and, from there on, pieces of the file: where (16 bits, in 64 bytes), then 64 bytes.
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
		uint64_t at = (uint64_t)(data[0] | data[1] << 8) * (head.file_bytes / 65536 / 8 * 8);
		if (pwrite(fd, data + 2, 64, (off_t)at) != 64)
			return 0;
	}
	struct ct_launches *l = NULL;
	if (ct_launches_open_fd(fd, &l, NULL)) {
		use(l);
		ct_launches_free(l);
	}
	return 0;
}
