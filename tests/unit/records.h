// Records of launches made by hand, as the agent would leave them.
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CT_TEST_RECORDS_H
#define CT_TEST_RECORDS_H

#include "recorder/recorder.h"

struct record {
	unsigned char *bytes;
	struct ct_record_head *head;
	unsigned n_codes, n_functions;
};

struct record *record_new(void);
void record_free(struct record *record);
// The number of a kernel, of a Python function whose code begins at this line.
uint32_t record_function(struct record *record, const char *symbol);
struct ct_record_frame record_frame(struct record *record, const char *function, const char *file, uint32_t line);
// One more launch in a ring: complete, of 1 block of 32 threads, result 0, with the frame unless it is NULL. Change it as the test wants.
struct ct_record_launch *record_launch(struct record *record, unsigned ring, uint32_t function, int64_t time_ns, const struct ct_record_frame *frame);
void record_result(struct ct_record_launch *launch, int32_t result);
struct ct_record_failure *record_failure(struct record *record, const char *call, int32_t result, int64_t time_ns);
bool record_write(const struct record *record, const char *path);

#endif
