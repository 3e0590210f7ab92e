// Records of launches that are not what they should be: hostile, cut, half written.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "pylayout/pylayout.h"
#include "recorder/recorder.h"
#include "unit.h"

static struct ct_record_head head;
static char path[] = "/tmp/ct-record-XXXXXX";
static int fd = -1;

static void put(uint64_t at, const void *bytes, size_t size)
{
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, bytes, size, (off_t)at), (ssize_t)size);
}

static uint64_t row_at(unsigned ring, uint64_t row)
{
	uint64_t first = 0;
	for (unsigned i = 0; i < ring; i++)
		first += ct_record_ring_rows(head.depth, i);
	return head.launches_at + (first + row) * sizeof(struct ct_record_launch);
}

// An empty record: a file of holes.
static void make_record(void)
{
	head = (struct ct_record_head){.pid = 42};
	memcpy(head.magic, CT_RECORD_MAGIC, sizeof head.magic);
	ct_record_lay_out(CT_RECORD_MIN_DEPTH, &head);
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 0), 0);
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, (off_t)head.file_bytes), 0);
	put(0, &head, sizeof head);
}

static void put_launch(unsigned ring, uint64_t number, uint64_t state, int64_t time_ns, int32_t tid)
{
	struct ct_record_launch launch = {.state = state, .result = state << 32, .time_ns = time_ns, .tid = tid};
	put(row_at(ring, (number - 1) % ct_record_ring_rows(head.depth, ring)), &launch, sizeof launch);
}

static void put_begun(unsigned ring, uint64_t begun)
{
	put(head.rings_at + ring * sizeof(struct ct_record_ring) + offsetof(struct ct_record_ring, begun), &begun, sizeof begun);
}

static struct ct_launches *open_record(void)
{
	struct ct_launches *l = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(ct_launches_open(path, &l, &err));
	return l;
}

static void test_order_and_threads(void)
{
	make_record();
	put_launch(0, 1, 2, 100, 7);
	put_launch(0, 2, 4, 300, 7);
	put_launch(1, 1, 2, 200, 8);
	put_begun(0, 2);
	put_begun(1, 1);
	struct ct_launches *l = open_record();
	size_t n = 0, at = 0;
	const struct ct_launches_row *rows = ct_launches_rows(l, &n);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_EQUAL(rows[0].launch->time_ns, 300);
	CU_ASSERT_EQUAL(rows[1].launch->time_ns, 200);
	CU_ASSERT_EQUAL(rows[2].launch->time_ns, 100);
	CU_ASSERT_PTR_EQUAL(ct_launches_next(l, 8, &at), &rows[1]);
	CU_ASSERT_PTR_NULL(ct_launches_next(l, 8, &at));
	ct_launches_free(l);
}

static void test_half_written_rows(void)
{
	make_record();
	put_launch(0, 1, 2, 100, 7);
	put_launch(0, 2, 3, 200, 7);   // in mid-write
	put_launch(0, 3, 10, 300, 7);  // a number that does not belong in this row
	put_begun(0, 3);
	struct ct_launches *l = open_record();
	size_t n = 0;
	const struct ct_launches_row *rows = ct_launches_rows(l, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(rows[0].number, 1);
	CU_ASSERT_TRUE(rows[0].has_result);
	ct_launches_free(l);
}

static void test_counts_out_of_bounds(void)
{
	make_record();
	struct ct_record_launch launch = {.state = 2, .n_frames = 255, .n_native = 255, .arguments_kept = 65535, .function = 9};
	put(row_at(0, 0), &launch, sizeof launch);
	put_begun(0, UINT64_MAX);
	struct ct_launches *l = open_record();
	size_t n = 0;
	const struct ct_launches_row *rows = ct_launches_rows(l, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(rows[0].launch->n_frames, CT_RECORD_FRAMES);
	CU_ASSERT_EQUAL(rows[0].launch->n_native, CT_RECORD_NATIVE);
	CU_ASSERT_EQUAL(rows[0].launch->arguments_kept, CT_RECORD_ARGUMENTS);
	CU_ASSERT_FALSE(rows[0].has_result);  // its other half is of no launch
	CU_ASSERT_PTR_NULL(ct_launches_function(l, 9));
	ct_launches_free(l);
}

static void put_function(uint64_t number, uint64_t name_at, uint32_t length)
{
	const struct ct_record_function row = {.number = number, .name_at = name_at, .name_length = length, .n_parameters = UINT32_MAX};
	put(head.functions_at + (number - 1) % CT_RECORD_FUNCTIONS * sizeof row, &row, sizeof row);
}

static void test_texts_that_are_not_there(void)
{
	make_record();
	put_function(1, 0, 6);
	put_function(2, 5, 6);                            // past the end of what was written
	put_function(3, UINT64_MAX, 6);
	put_function(4, 0, UINT32_MAX);
	put_function(CT_RECORD_FUNCTIONS + 5, 0, 6);      // took the row of number 5
	put(head.function_text.at, "na\x1bme\xff", 6);
	head.function_text.head = 6;
	put(0, &head, sizeof head);
	struct ct_launches *l = open_record();
	CU_ASSERT_STRING_EQUAL(ct_launches_function(l, 1), "na\xef\xbf\xbdme\xef\xbf\xbd");
	for (uint32_t i = 0; i < 6; i++)
		if (i != 1)
			CU_ASSERT_PTR_NULL(ct_launches_function(l, i));
	CU_ASSERT_STRING_EQUAL(ct_launches_function(l, CT_RECORD_FUNCTIONS + 5), "na\xef\xbf\xbdme\xef\xbf\xbd");
	CU_ASSERT_EQUAL(ct_launches_function_row(l, 1)->n_parameters, CT_RECORD_PARAMETERS);
	ct_launches_free(l);
}

static void test_lines_of_frames(void)
{
	make_record();
	const struct ct_record_code row = {.number = 1, .function_length = 1, .file_length = 4, .table_length = 4, .first_line = 10, .table_kind = CT_PY_LNOTAB};
	put(head.codes_at, &row, sizeof row);
	put(head.code_text.at, "ff.py\x04\x01\x04\x02", 9);
	head.code_text.head = 9;
	put(0, &head, sizeof head);
	struct ct_launches *l = open_record();
	struct ct_launches_frame frame;
	CU_ASSERT_TRUE_FATAL(ct_launches_frame(l, &(struct ct_record_frame){1, 8}, &frame));
	CU_ASSERT_STRING_EQUAL(frame.function, "f");
	CU_ASSERT_STRING_EQUAL(frame.file, "f.py");
	CU_ASSERT_EQUAL(frame.line, 13);
	CU_ASSERT_FALSE(ct_launches_frame(l, &(struct ct_record_frame){2, 8}, &frame));
	CU_ASSERT_FALSE(ct_launches_frame(l, &(struct ct_record_frame){0, 8}, &frame));
	ct_launches_free(l);
}

static void test_files_that_are_refused(void)
{
	struct ct_launches *l = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_launches_open("/nonexistent/launches.1", &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	make_record();
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 5000), 0);
	CU_ASSERT_FALSE(ct_launches_open(path, &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cut to 5000"));
	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 10), 0);
	CU_ASSERT_FALSE(ct_launches_open(path, &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	for (size_t at = 0; at < offsetof(struct ct_record_head, function_text); at += 4) {
		make_record();
		uint32_t word;
		CU_ASSERT_EQUAL_FATAL(pread(fd, &word, sizeof word, (off_t)at), (ssize_t)sizeof word);
		word ^= 0x01010101;
		put(at, &word, sizeof word);
		bool is_data = at >= offsetof(struct ct_record_head, pid) && at < offsetof(struct ct_record_head, depth);
		is_data = is_data || at == offsetof(struct ct_record_head, unused);
		bool opened = ct_launches_open(path, &l, &err);
		CU_ASSERT_EQUAL(opened, is_data);
		if (opened)
			ct_launches_free(l);
		l = NULL;
	}
	CU_ASSERT_PTR_NULL(l);
}

static void test_results_that_lose_the_context(void)
{
	static const int32_t losing[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};
	size_t n = 0;
	for (int32_t result = -1; result < 1000; result++) {
		bool listed = n < CT_COUNT(losing) && losing[n] == result;
		CU_ASSERT_EQUAL(ct_record_loses_context(result), listed);
		n += listed;
	}
	CU_ASSERT_EQUAL(n, CT_COUNT(losing));
	CU_ASSERT_FALSE(ct_record_loses_context(CT_RECORD_PENDING));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"newest first, and of one thread", test_order_and_threads},
		{"a half-written row is left out", test_half_written_rows},
		{"counts out of bounds", test_counts_out_of_bounds},
		{"texts that are not there", test_texts_that_are_not_there},
		{"lines of frames", test_lines_of_frames},
		{"files that are refused", test_files_that_are_refused},
		{"results after which the context is lost", test_results_that_lose_the_context},
		CU_TEST_INFO_NULL,
	};
	fd = mkstemp(path);
	if (fd < 0)
		return 99;
	int rc = ct_unit_run("recorder", tests);
	unlink(path);
	return rc;
}
