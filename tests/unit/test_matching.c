// Which recorded launch a failing grid is, and why a call failed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "matching/matching.h"
#include "records.h"
#include "unit.h"

#define SYMBOL "_Z4sortIfEvPT_i"
#define NAME "void sort<float>(float*, int)"

struct scene {
	struct record *record;
	struct ct_incident *in;
	uint32_t sort, other;
	struct ct_record_frame train, eval;
};

static struct scene begin(void)
{
	struct scene s = {.record = record_new(), .in = ct_incident_new()};
	s.sort = record_function(s.record, SYMBOL);
	s.other = record_function(s.record, "_Z4fillPf");
	s.train = record_frame(s.record, "train", "/home/a/train.py", 12);
	s.eval = record_frame(s.record, "evaluate", "/home/a/train.py", 40);
	s.in->gpu.present = s.in->gpu.has_kernel = true;
	s.in->gpu.kernel = (struct ct_kernel){.symbol = SYMBOL, .name = NAME, .has_dims = true, .grid_dim = {1, 1, 1}, .block_dim = {32, 1, 1}};
	return s;
}

static struct ct_launches *record_open(const struct record *record)
{
	char path[] = "/tmp/ct-record-XXXXXX";
	struct ct_error err = CT_ERROR_INIT;
	struct ct_launches *launches = NULL;
	int fd = mkstemp(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	close(fd);
	bool ok = record_write(record, path) && ct_launches_open(path, &launches, &err);
	unlink(path);
	if (!ok)
		printf("# %s\n", err.text);
	CU_ASSERT_TRUE_FATAL(ok);
	return launches;
}

static void match(struct scene *s, int64_t until_ns, unsigned history)
{
	struct ct_launches *launches = record_open(s->record);
	ct_matching_grid(launches, until_ns, history, s->in);
	ct_launches_free(launches);  // what the incident holds is its own
}

static void end(struct scene *s)
{
	record_free(s->record);
	ct_incident_free(s->in);
}

static struct ct_argument pointer(const char *bytes)
{
	return (struct ct_argument){.index = 0, .offset = 0, .size_bytes = 8, .kind = CT_ARGUMENT_POINTER, .bytes = bytes};
}

static void test_the_only_launch_is_the_one(void)
{
	struct scene s = begin();
	record_launch(s.record, 0, s.other, 1000, &s.eval);
	record_launch(s.record, 0, s.sort, 2000000000, &s.train)->stream = 0x55;
	record_launch(s.record, 0, s.other, 3000000000, &s.eval);
	match(&s, 2500000000, 8);
	const struct ct_launched *l = &s.in->launch;
	CU_ASSERT_EQUAL(l->certainty, CT_CERTAINTY_UNIQUE);
	CU_ASSERT_EQUAL_FATAL(l->n_candidates, 1);
	const struct ct_launch *c = &l->candidates[0];
	CU_ASSERT_STRING_EQUAL(c->name, NAME);
	CU_ASSERT_EQUAL(c->count, 1);
	CU_ASSERT_EQUAL(c->stream, 0x55);
	CU_ASSERT_TRUE(c->has_seconds_before && c->seconds_before > 0.49 && c->seconds_before < 0.51);
	CU_ASSERT_EQUAL_FATAL(c->n_python, 1);
	CU_ASSERT_STRING_EQUAL(c->python[0].function, "train");
	CU_ASSERT_EQUAL(c->python[0].line, 12);
	CU_ASSERT_EQUAL(l->n_recorded, 3);
	end(&s);
}

static void test_a_name_does_without_a_symbol(void)
{
	struct scene s = begin();
	s.in->gpu.kernel.symbol = NULL;
	s.in->gpu.kernel.name = "sort<float>(float *, int)";
	record_launch(s.record, 0, s.other, 1000, &s.eval);
	record_launch(s.record, 0, s.sort, 2000, &s.train);
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	end(&s);
}

static void test_argument_bytes_decide_between_equal_launches(void)
{
	struct scene s = begin();
	struct ct_argument argument = pointer("0102030405060708");
	s.in->gpu.arguments = &argument;
	s.in->gpu.n_arguments = 1;
	for (unsigned char i = 0; i < 3; i++) {
		struct ct_record_launch *l = record_launch(s.record, 0, s.sort, 1000 + i, i == 1 ? &s.train : &s.eval);
		memcpy(l->arguments, "\1\2\3\4\5\6\7\10", 8);
		l->arguments[7] = i == 1 ? 8 : 9;
		l->arguments_kept = 8;
	}
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	CU_ASSERT_STRING_EQUAL(s.in->launch.candidates[0].python[0].function, "train");
	CU_ASSERT_TRUE(s.in->launch.candidates[0].arguments_equal);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.in->launch.why, "argument bytes"));
	argument.bytes = "0102030405060700";
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_NONE);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.in->launch.why, "other argument bytes"));
	end(&s);
}

static void test_launches_of_one_line_are_one_candidate(void)
{
	struct scene s = begin();
	for (int i = 0; i < 5; i++)
		record_launch(s.record, 0, s.sort, 1000 + i, &s.train);
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	CU_ASSERT_EQUAL(s.in->launch.candidates[0].count, 5);
	record_launch(s.record, 0, s.sort, 2000, &s.eval);
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_SEVERAL);
	CU_ASSERT_EQUAL_FATAL(s.in->launch.n_candidates, 2);
	CU_ASSERT_STRING_EQUAL(s.in->launch.candidates[0].python[0].function, "evaluate");
	CU_ASSERT_EQUAL(s.in->launch.candidates[1].count, 5);
	end(&s);
}

static void test_when_launches_wait_the_last_one_is_it(void)
{
	struct scene s = begin();
	record_launch(s.record, 0, s.sort, 1000, &s.eval);
	struct ct_record_launch *last = record_launch(s.record, 0, s.sort, 2000, &s.train);
	last->result = last->state << 32 | CT_RECORD_PENDING;
	s.in->launch_blocking = true;
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	CU_ASSERT_STRING_EQUAL(s.in->launch.candidates[0].python[0].function, "train");
	CU_ASSERT_TRUE(s.in->launch.candidates[0].pending);
	end(&s);
}

static void test_refused_and_later_launches_are_none(void)
{
	struct scene s = begin();
	record_result(record_launch(s.record, 0, s.sort, 1000, &s.train), 1);
	record_launch(s.record, 0, s.sort, 9000, &s.eval);
	match(&s, 5000, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_NONE);
	// With the error that its own kernel left behind it is not refused.
	record_result(record_launch(s.record, 0, s.sort, 2000, &s.train), 719);
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.n_candidates, 2);
	end(&s);
}

static void test_nothing_that_fits_is_said_why(void)
{
	struct scene s = begin();
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_NONE);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.in->launch.why, "past the recorder"));
	record_launch(s.record, 0, s.sort, 1000, &s.train)->grid[0] = 2;
	match(&s, 0, 8);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.in->launch.why, "other dimensions"));
	s.in->gpu.has_kernel = false;
	match(&s, 0, 8);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.in->launch.why, "no failing kernel was read"));
	CU_ASSERT_EQUAL(s.in->launch.n_history, 1);
	s.in->gpu.has_kernel = true;
	s.in->gpu.kernel.symbol = "gone";
	for (uint64_t i = 0; i <= ct_record_ring_rows(CT_RECORD_MIN_DEPTH, 0); i++)
		record_launch(s.record, 0, s.other, 2000 + (int64_t)i, &s.eval);
	match(&s, 0, 8);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.in->launch.why, "the record holds 2048 of 2050 launches"));
	end(&s);
}

static void test_history_is_of_the_launches_stream(void)
{
	struct scene s = begin();
	for (int i = 0; i < 3; i++)
		record_launch(s.record, 0, s.other, 1000 + i, &s.eval)->stream = 7;
	record_launch(s.record, 1, s.other, 1500, &s.eval)->stream = 8;
	record_launch(s.record, 0, s.sort, 2000, &s.train)->stream = 7;
	record_launch(s.record, 0, s.other, 3000, &s.eval)->stream = 7;
	match(&s, 0, 8);
	const struct ct_launched *l = &s.in->launch;
	CU_ASSERT_EQUAL_FATAL(l->n_history, 2);
	CU_ASSERT_STRING_EQUAL(l->history[0].symbol, SYMBOL);
	CU_ASSERT_EQUAL(l->history[1].count, 3);
	match(&s, 0, 1);
	CU_ASSERT_EQUAL(l->n_history, 1);
	match(&s, 0, 0);
	CU_ASSERT_EQUAL(l->n_history, 0);
	end(&s);
}

static void test_default_streams_of_threads_are_apart(void)
{
	struct scene s = begin();
	record_launch(s.record, 0, s.other, 1000, &s.eval)->flags = CT_RECORD_PER_THREAD;
	record_launch(s.record, 1, s.other, 1500, &s.eval)->flags = CT_RECORD_PER_THREAD;
	record_launch(s.record, 1, s.sort, 2000, &s.train)->stream = 2;
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.n_history, 2);
	CU_ASSERT_TRUE(s.in->launch.candidates[0].stream_of_thread);
	end(&s);
}

static void test_backward_launch_carries_the_forward(void)
{
	struct scene s = begin();
	struct ct_record_launch *forward = record_launch(s.record, 0, s.other, 1000, &s.train);
	forward->flags = CT_RECORD_SEQUENCE;
	forward->torch_sequence = 6;
	struct ct_record_launch *backward = record_launch(s.record, 1, s.sort, 2000, NULL);
	backward->flags = CT_RECORD_NODE;
	backward->node_sequence = 5;
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	const struct ct_launch *c = &s.in->launch.candidates[0];
	CU_ASSERT_TRUE(c->backward);
	CU_ASSERT_EQUAL(c->origin, CT_LAUNCH_ORIGIN_FORWARD);
	CU_ASSERT_EQUAL_FATAL(c->n_origin_python, 1);
	CU_ASSERT_STRING_EQUAL(c->origin_python[0].function, "train");
	end(&s);
}

// Without the forward, the call of backward() that waits for it.
static void test_backward_launch_carries_its_call(void)
{
	struct scene s = begin();
	struct ct_record_frame call = record_frame(s.record, "Tensor.backward", "/venv/lib/python3.12/site-packages/torch/_tensor.py", 647);
	struct ct_record_launch *first = record_launch(s.record, 0, s.other, 1000, &call);
	first->frames[1] = s.train;
	first->n_frames = 2;
	record_launch(s.record, 1, s.sort, 2000, NULL)->flags = CT_RECORD_NODE;
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.candidates[0].origin, CT_LAUNCH_ORIGIN_CALL);
	CU_ASSERT_EQUAL_FATAL(s.in->launch.candidates[0].n_origin_python, 2);
	CU_ASSERT_EQUAL(s.in->launch.candidates[0].origin_python[1].line, 12);
	record_launch(s.record, 0, s.other, 1500, &s.eval);  // the thread is out of that call
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.candidates[0].origin, CT_LAUNCH_ORIGIN_NONE);
	CU_ASSERT_TRUE(s.in->launch.candidates[0].backward);
	end(&s);
}

static void test_graph_launch_carries_the_capture(void)
{
	struct scene s = begin();
	struct ct_record_launch *captured = record_launch(s.record, CT_RECORD_CAPTURE_RING, s.sort, 1000, &s.train);
	captured->flags = CT_RECORD_CAPTURED;
	captured->capture = 9;
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_NONE);  // captured, but never launched
	for (int i = 0; i < 3; i++) {
		struct ct_record_launch *launch = record_launch(s.record, 0, 0, 2000 + i, &s.eval);
		launch->flags = CT_RECORD_GRAPH;
		launch->capture = i == 0 ? 8 : 9;
	}
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	const struct ct_launch *c = &s.in->launch.candidates[0];
	CU_ASSERT_TRUE(c->graph);
	CU_ASSERT_EQUAL(c->count, 2);
	CU_ASSERT_STRING_EQUAL(c->python[0].function, "evaluate");
	CU_ASSERT_EQUAL(c->origin, CT_LAUNCH_ORIGIN_CAPTURE);
	CU_ASSERT_STRING_EQUAL(c->origin_python[0].function, "train");
	end(&s);
}

static void test_many_places_are_cut(void)
{
	struct scene s = begin();
	for (uint32_t i = 0; i < 100; i++) {
		struct ct_record_frame f = record_frame(s.record, "f", "many.py", i + 1);
		record_launch(s.record, 0, s.sort, 1000 + i, &f);
	}
	match(&s, 0, 8);
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_SEVERAL);
	CU_ASSERT_EQUAL(s.in->launch.n_candidates, CT_MAX_CANDIDATES);
	CU_ASSERT_TRUE(s.in->launch.candidates_cut);
	CU_ASSERT_EQUAL(s.in->launch.candidates[0].python[0].line, 100);
	end(&s);
}

// ---- Failing calls ---------------------------------------------------------------------------------------------------

static bool failed(struct scene *s, bool process_failed)
{
	struct ct_launches *launches = record_open(s->record);
	int64_t when = 0;
	s->in->launch = (struct ct_launched){.present = false};
	bool has = ct_matching_has_failed_call(launches, process_failed, &when);
	bool ok = ct_matching_failed_call(launches, process_failed, 8, s->in);
	CU_ASSERT_EQUAL(has, ok);
	CU_ASSERT_EQUAL(ok, s->in->launch.failed_call.present);
	ct_launches_free(launches);
	return ok;
}

static void test_a_block_too_large(void)
{
	struct scene s = begin();
	struct ct_record_launch *l = record_launch(s.record, 0, s.sort, 1000, &s.train);
	l->block[0] = 2048;
	record_result(l, 1);
	struct ct_record_failure *f = record_failure(s.record, "cuLaunchKernel", 1, 1000);
	f->block[0] = 2048;
	f->launch = 1;
	f->function = s.sort;
	f->max_threads = f->max_block_threads = f->max_block[0] = 1024;
	record_launch(s.record, 0, s.other, 5000, &s.eval);
	record_failure(s.record, "cuLaunchKernel", 1, 6000);
	CU_ASSERT_TRUE_FATAL(failed(&s, false));
	const struct ct_failed_call *c = &s.in->launch.failed_call;
	CU_ASSERT_STRING_EQUAL(c->error_name, "CUDA_ERROR_INVALID_VALUE");
	CU_ASSERT_STRING_EQUAL(c->why, "a block of 2048 threads, where 1024 are allowed");
	CU_ASSERT_TRUE(c->went_on && c->ignored && c->is_launch);
	CU_ASSERT_EQUAL(c->n_later, 1);
	CU_ASSERT_EQUAL_FATAL(c->n_limits, 2);
	CU_ASSERT_TRUE(c->limits[0].exceeded && c->limits[0].asked == 2048 && c->limits[0].limit == 1024);
	CU_ASSERT_STRING_EQUAL(c->at.name, NAME);
	CU_ASSERT_STRING_EQUAL(c->at.python[0].function, "train");
	end(&s);
}

static const char *why(void (*set)(struct ct_record_failure *f), const char *call, int32_t result, struct ct_arena *arena)
{
	struct scene s = begin();
	struct ct_record_failure *f = record_failure(s.record, call, result, 1000);
	set(f);
	CU_ASSERT_TRUE_FATAL(failed(&s, true));
	const char *text = s.in->launch.failed_call.why ? ct_arena_strdup(arena, s.in->launch.failed_call.why) : "-";
	end(&s);
	return text;
}

static void kernel_limit(struct ct_record_failure *f)
{
	f->block[0] = 1024;
	f->max_threads = 512;
	f->max_block_threads = 1024;
	f->registers = 128;
}

static void registers(struct ct_record_failure *f)
{
	f->block[0] = 1024;
	f->registers = 128;
	f->registers_block = 65536;
}

static void shared(struct ct_record_failure *f)
{
	f->shared_bytes = 240000;
	f->static_shared = 16;
	f->max_shared_optin = 232448;
}

static void dynamic(struct ct_record_failure *f)
{
	f->shared_bytes = 65536;
	f->max_dynamic_shared = 49152;
	f->max_shared_optin = 232448;
}

static void empty_grid(struct ct_record_failure *f)
{
	f->grid[1] = 0;
}

static void tall_grid(struct ct_record_failure *f)
{
	f->grid[1] = 70000;
	f->max_grid[1] = 65535;
}

static void huge(struct ct_record_failure *f)
{
	f->grid[0] = f->grid[1] = f->grid[2] = f->block[0] = f->block[1] = f->block[2] = UINT32_MAX;
	f->max_block_threads = 1024;
	f->registers = 255;
	f->registers_block = 65536;
}

static void memory(struct ct_record_failure *f)
{
	f->bytes = UINT64_C(200) << 30;
	f->free_bytes = UINT64_C(120) << 30;
	f->total_bytes = UINT64_C(140) << 30;
}

static void image(struct ct_record_failure *f)
{
	f->sm_major = 9;
	f->sm_minor = 0;
}

static void nothing_known(struct ct_record_failure *f)
{
	f->bytes = 0;
}

static void test_why_a_call_failed(void)
{
	static const struct {
		void (*set)(struct ct_record_failure *f);
		const char *call;
		int32_t result;
		const char *why;
	} cases[] = {
		{kernel_limit, "cuLaunchKernel", 1, "a block of 1024 threads, where this kernel allows 512 (for its registers, 128 a thread, or its launch bounds)"},
		{registers, "cuLaunchKernelEx", 701, "1024 threads with 128 registers need 131072 registers a block, where the device has 65536"},
		{shared, "cuLaunchKernel", 1, "240016 bytes of shared memory a block, where the device has 232448"},
		{dynamic, "cuLaunchKernel", 1,
		 "65536 bytes of dynamic shared memory, where this kernel allows 49152; more must be allowed first (cudaFuncAttributeMaxDynamicSharedMemorySize)"},
		{empty_grid, "cuLaunchKernel", 1, "a grid of (1,0,1) blocks is empty"},
		{tall_grid, "cuLaunchKernel", 1, "70000 blocks of the grid in y, where 65535 are allowed"},
		{huge, "cuLaunchKernel", 1, "a block of 9223372036854775807 threads, where 1024 are allowed"},
		{memory, "cuMemAlloc_v2", 2,
		 "214748364800 bytes (200.00 GiB) were asked for, 128849018880 (120.00 GiB) of 140.00 GiB were free"},
		{image, "cuLibraryLoadData", 209, "the device is sm_90, and the module has neither code for it nor PTX to make it from"},
		{nothing_known, "cuLaunchKernel", 719, "a kernel that was launched before failed, and this call returned its error"},
		{nothing_known, "cuMemAlloc_v2", 2, "-"},
		{nothing_known, "cuLaunchKernel", 1, "-"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct ct_arena arena = CT_ARENA_INIT;
		const char *text = why(cases[i].set, cases[i].call, cases[i].result, &arena);
		CU_ASSERT_STRING_EQUAL(text, cases[i].why);
		if (strcmp(text, cases[i].why) != 0)
			printf("# case %zu: %s\n", i, text);
		ct_arena_done(&arena);
	}
}

static void test_which_failing_call_is_told(void)
{
	struct scene s = begin();
	CU_ASSERT_FALSE(failed(&s, true));
	record_failure(s.record, "cuMemAlloc_v2", 2, 1000)->bytes = 1;
	CU_ASSERT_FALSE(failed(&s, false));  // an allocator may ask again
	CU_ASSERT_TRUE(failed(&s, true));
	record_launch(s.record, 0, s.other, 1500, &s.eval);  // the process got over it
	CU_ASSERT_FALSE(failed(&s, true));
	record_failure(s.record, "cuMemAlloc_v2", 2, 2000)->bytes = 2;
	CU_ASSERT_TRUE(failed(&s, true));
	record_failure(s.record, "cuLaunchKernel", 719, 3000)->is_sticky = 1;
	s.record->head->sticky = 719;
	s.record->head->sticky_failure = 3;
	CU_ASSERT_TRUE(failed(&s, false));
	CU_ASSERT_TRUE(s.in->launch.failed_call.sticky);
	record_failure(s.record, "cuLaunchKernel", 701, 4000);
	CU_ASSERT_TRUE(failed(&s, false));
	CU_ASSERT_EQUAL(s.in->launch.failed_call.error, 701);
	record_failure(s.record, "cuLaunchHostFunc", 1, 500);
	CU_ASSERT_TRUE(failed(&s, false));
	CU_ASSERT_STRING_EQUAL(s.in->launch.failed_call.call, "cuLaunchKernel");
	CU_ASSERT_PTR_NULL(ct_matching_error_name(12345));
	end(&s);
}

// Numbers that refer to nothing, and counts beyond their arrays.
static void test_a_refused_launch_beside_a_fault(void)
{
	struct scene s = begin();
	record_launch(s.record, 0, s.sort, 2000, &s.train);
	record_failure(s.record, "cuLaunchKernel", 719, 3000);
	match(&s, 0, 8);
	struct ct_launches *launches = record_open(s.record);
	ct_matching_refused_launch(launches, s.in);
	ct_launches_free(launches);
	CU_ASSERT_FALSE(s.in->launch.failed_call.present);  // that one followed from the fault
	record_failure(s.record, "cuLaunchKernel", 1, 1000)->function = s.other;
	launches = record_open(s.record);
	ct_matching_refused_launch(launches, s.in);
	ct_launches_free(launches);
	CU_ASSERT_TRUE(s.in->launch.failed_call.present);
	CU_ASSERT_STRING_EQUAL(s.in->launch.failed_call.at.name, "fill(float*)");
	CU_ASSERT_EQUAL(s.in->launch.certainty, CT_CERTAINTY_UNIQUE);
	end(&s);
}

static void test_a_hostile_record_is_only_strange(void)
{
	struct scene s = begin();
	for (unsigned i = 0; i < 8; i++) {
		struct ct_record_launch *l = record_launch(s.record, i, s.sort, INT64_MAX - i, &s.train);
		l->n_frames = l->n_native = 255;
		l->arguments_kept = 65535;
		l->flags = UINT32_MAX;
		l->graph = UINT32_MAX;
		l->frames[1].code = UINT32_MAX;
		l->node_sequence = UINT64_MAX;
	}
	struct ct_argument argument = {.index = 0, .offset = UINT32_MAX, .size_bytes = 8, .bytes = "00zz"};
	s.in->gpu.arguments = &argument;
	s.in->gpu.n_arguments = 1;
	struct ct_record_failure *f = record_failure(s.record, "cuLaunchKernel", INT32_MIN, INT64_MIN);
	f->n_frames = UINT32_MAX;
	f->launch = UINT64_MAX;
	f->bytes = f->free_bytes = f->total_bytes = UINT64_MAX;
	match(&s, INT64_MAX, 1000);
	CU_ASSERT_TRUE(failed(&s, true));
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_fclose) FILE *out = fopen("/dev/null", "w");
	CU_ASSERT_TRUE(ct_incident_write_json(s.in, out, &err));
	end(&s);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"the only launch is the one", test_the_only_launch_is_the_one},
		{"a name does without a symbol", test_a_name_does_without_a_symbol},
		{"argument bytes decide between equal launches", test_argument_bytes_decide_between_equal_launches},
		{"launches of one line are one candidate", test_launches_of_one_line_are_one_candidate},
		{"when launches wait the last one is it", test_when_launches_wait_the_last_one_is_it},
		{"refused and later launches are none", test_refused_and_later_launches_are_none},
		{"nothing that fits is said why", test_nothing_that_fits_is_said_why},
		{"history is of the launch's stream", test_history_is_of_the_launches_stream},
		{"default streams of threads are apart", test_default_streams_of_threads_are_apart},
		{"backward launch carries the forward", test_backward_launch_carries_the_forward},
		{"backward launch carries its call", test_backward_launch_carries_its_call},
		{"graph launch carries the capture", test_graph_launch_carries_the_capture},
		{"many places are cut", test_many_places_are_cut},
		{"a block too large", test_a_block_too_large},
		{"why a call failed", test_why_a_call_failed},
		{"which failing call is told", test_which_failing_call_is_told},
		{"a refused launch beside a fault", test_a_refused_launch_beside_a_fault},
		{"a hostile record is only strange", test_a_hostile_record_is_only_strange},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("matching", tests);
}
