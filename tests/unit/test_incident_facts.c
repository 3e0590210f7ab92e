// incident/: runs of positions and the signature, the two facts that are worked out rather than read.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "incident/incident.h"
#include "unit.h"

#define RUNS(positions, ...) ct_runs_of(&arena, positions, CT_COUNT(positions), (struct ct_dim3){__VA_ARGS__}, &n, &cut)

static bool is_run(const struct ct_dim3_run *r, struct ct_dim3 first, struct ct_dim3 last, uint64_t count)
{
	return memcmp(&r->first, &first, sizeof first) == 0 && memcmp(&r->last, &last, sizeof last) == 0 && r->count == count;
}

static void test_runs_join_across_rows_and_planes(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	size_t n = 9;
	bool cut = true;
	struct ct_dim3 wrap[] = {{0, 0, 1}, {3, 1, 0}, {2, 1, 0}, {2, 1, 0}, {1, 0, 0}, {3, 1, 0}};
	const struct ct_dim3_run *r = RUNS(wrap, 4, 2, 2);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_FALSE(cut);
	CU_ASSERT_TRUE(is_run(&r[0], (struct ct_dim3){1, 0, 0}, (struct ct_dim3){1, 0, 0}, 1));
	CU_ASSERT_TRUE(is_run(&r[1], (struct ct_dim3){2, 1, 0}, (struct ct_dim3){0, 0, 1}, 3));
	CU_ASSERT_PTR_NULL(ct_runs_of(&arena, NULL, 0, (struct ct_dim3){4, 2, 2}, &n, &cut));
	CU_ASSERT_EQUAL(n, 0);
	ct_arena_done(&arena);
}

static void test_runs_of_unknown_extent_or_outside_stand_alone(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	size_t n;
	bool cut;
	struct ct_dim3 a[] = {{2, 0, 0}, {1, 0, 0}, {1, 0, 0}, {0, 0, 0}};
	RUNS(a, 0, 1, 1);
	CU_ASSERT_EQUAL(n, 3);
	struct ct_dim3 b[] = {{4, 0, 0}, {3, 0, 0}, {2, 0, 0}, {5, 0, 0}};
	const struct ct_dim3_run *r = RUNS(b, 4, 1, 1);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_TRUE(is_run(&r[0], (struct ct_dim3){2, 0, 0}, (struct ct_dim3){3, 0, 0}, 2));
	CU_ASSERT_TRUE(is_run(&r[2], (struct ct_dim3){5, 0, 0}, (struct ct_dim3){5, 0, 0}, 1));
	ct_arena_done(&arena);
}

static void test_runs_of_the_largest_extents_do_not_overflow(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	size_t n;
	bool cut;
	struct ct_dim3 a[] = {{0, 65534, 65534}, {2147483646, 65533, 65534}, {1, 65534, 65534}};
	RUNS(a, 2147483647, 65535, 65535);
	CU_ASSERT_EQUAL(n, 1);
	// With a 64-bit linear index these two would be one place.
	struct ct_dim3 b[] = {{0, 0, 0}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {UINT32_MAX - 1, UINT32_MAX - 1, UINT32_MAX - 1}};
	RUNS(b, UINT32_MAX, UINT32_MAX, UINT32_MAX);
	CU_ASSERT_EQUAL(n, 3);
	ct_arena_done(&arena);
}

static void test_runs_are_cut_at_the_limit(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_dim3 a[CT_MAX_RUNS + 1];
	size_t n;
	bool cut;
	for (uint32_t i = 0; i < CT_COUNT(a); i++)
		a[i] = (struct ct_dim3){(CT_MAX_RUNS - i) * 2, 0, 0};
	const struct ct_dim3_run *r = ct_runs_of(&arena, a, CT_MAX_RUNS, (struct ct_dim3){1024, 1, 1}, &n, &cut);
	CU_ASSERT_EQUAL(n, CT_MAX_RUNS);
	CU_ASSERT_FALSE(cut);
	r = RUNS(a, 1024, 1, 1);
	CU_ASSERT_EQUAL(n, CT_MAX_RUNS);
	CU_ASSERT_TRUE(cut);
	CU_ASSERT_EQUAL(r[0].first.x, 0);
	ct_arena_done(&arena);
}

static void test_runs_of_a_whole_gpu(void)
{
	enum { N = 300000 };
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_dim3 *a = ct_xrealloc(NULL, N * sizeof *a);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t at = (uint32_t)((uint64_t)i * 7919 % N);  // 7919 is prime to N: each place once, shuffled
		a[i] = (struct ct_dim3){at % 100, at / 100 % 50, at / 5000};
	}
	size_t n;
	bool cut;
	const struct ct_dim3_run *r = ct_runs_of(&arena, a, N, (struct ct_dim3){100, 50, 60}, &n, &cut);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_EQUAL(r[0].count, N);
	free(a);
	ct_arena_done(&arena);
}

// One fault, told by its texts.
struct told {
	enum ct_fault_kind kind;
	const char *kernel, *expression, *file;
	struct ct_host_frame frames[8];
	struct ct_host_frame python[4];
};

static void add_frames(struct ct_incident *in, const struct ct_host_frame *from, size_t limit, struct ct_host_frame **list, size_t *count)
{
	for (size_t i = 0; i < limit && (from[i].function || from[i].file || from[i].module); i++) {
		*list = ct_arena_grow(&in->arena, *list, count, sizeof **list);
		(*list)[i] = from[i];
	}
}

static void sign(const struct told *t, char *ret_text)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	in->kind = t->kind;
	in->gpu.kernel.name = t->kernel;
	in->assertion.expression = t->expression;
	in->assertion.file = t->file;
	struct ct_host_thread *other = ct_incident_add_thread(in, 1, "other");
	struct ct_host_frame noise[] = {{.kind = CT_FRAME_PYTHON, .function = "noise", .file = "noise.py"}};
	add_frames(in, noise, 1, &other->frames, &other->n_frames);
	struct ct_host_thread *thread = ct_incident_add_thread(in, 2, "main");
	thread->launching = true;
	add_frames(in, t->frames, CT_COUNT(t->frames), &thread->frames, &thread->n_frames);
	add_frames(in, t->python, CT_COUNT(t->python), &thread->python, &thread->n_python);
	snprintf(ret_text, 17, "%s", ct_incident_signature(in));
}

static bool same(const struct told *a, const struct told *b)
{
	char x[17], y[17];
	sign(a, x);
	sign(b, y);
	return strcmp(x, y) == 0;
}

static const struct told base = {
	.kind = CT_FAULT_ASSERT,
	.kernel = "void at::native::(anonymous namespace)::nll<float, 4>(float*, (anonymous namespace)::P<int>)",
	.expression = "t >= 0 && t < n_classes",
	.file = "/pytorch/aten/src/Loss.cu",
	.frames = {
		{.kind = CT_FRAME_NATIVE, .function = "cudaLaunchKernel", .module = "/usr/lib/libcudart.so.12"},
		{.kind = CT_FRAME_PYTHON, .function = "cross_entropy", .file = "/usr/lib/python3/dist-packages/torch/nn/functional.py", .line = 3504},
		{.kind = CT_FRAME_PYTHON, .function = "_run", .file = "<frozen runpy>", .line = 88},
		{.kind = CT_FRAME_PYTHON, .function = "train_step", .file = "/home/a/train.py", .line = 4},
		{.kind = CT_FRAME_PYTHON, .function = "loop", .file = "/home/a/train.py", .line = 9},
		{.kind = CT_FRAME_PYTHON, .function = "main", .file = "/home/a/train.py", .line = 11},
		{.kind = CT_FRAME_PYTHON, .function = "<module>", .file = "/home/a/train.py", .line = 20},
	},
};

static void test_signature_has_not_changed(void)
{
	char text[17];
	sign(&base, text);
	CU_ASSERT_STRING_EQUAL(text, "5a73e809e4c745ca");
}

static void test_signature_ignores_what_differs_between_runs(void)
{
	struct told t = base;
	t.kernel = "at::native::(anonymous namespace)::nll<float, (int)4>";
	t.expression = "  t >= 0\n\t&& t <  n_classes ";
	t.file = "C:\\build\\Loss.cu";
	t.frames[0] = (struct ct_host_frame){.kind = CT_FRAME_NATIVE, .module = "/opt/libcudart.so.13", .has_pc = true, .pc = 0x1234};
	t.frames[1].file = "/venv/lib/python3.13/site-packages/torch/nn/functional.py";
	t.frames[3].line = 400;
	t.frames[3].file = "/mnt/rank7/train.py";
	t.frames[6].function = "fourth frame";
	CU_ASSERT_TRUE(same(&base, &t));
	t = base;
	memset(t.frames, 0, sizeof t.frames);
	t.frames[0] = (struct ct_host_frame){.kind = CT_FRAME_NATIVE, .function = "_PyEval_EvalFrameDefault", .module = "/usr/bin/python3"};
	memcpy(t.python, &base.frames[3], 3 * sizeof t.python[0]);
	CU_ASSERT_TRUE(same(&base, &t));  // unmerged Python frames count as merged ones do
}

static void test_signature_ignores_place_and_process(void)
{
	struct ct_incident *const in[] = {ct_incident_new(), ct_incident_new()};
	in[1]->process.pid = 77;
	in[1]->host = "node9";
	in[1]->time_us = 5;
	ct_incident_add_environment(in[1], "RANK", "3");
	in[1]->assertion.first.block.x = 9;
	in[1]->assertion.line = 9;
	in[1]->gpu.device.index = 3;
	struct ct_group group = {.pc = 0x7f00, .exception = 12, .has_exception = true, .n_threads = 3};
	in[1]->gpu.groups = &group;
	in[1]->gpu.n_groups = 1;
	for (size_t i = 0; i < CT_COUNT(in); i++)
		in[i]->gpu.kernel.name = "f()";
	CU_ASSERT_STRING_EQUAL(ct_incident_signature(in[0]), ct_incident_signature(in[1]));
	CU_ASSERT_EQUAL(strlen(ct_incident_signature(in[0])), 16);
	for (size_t i = 0; i < CT_COUNT(in); i++)
		ct_incident_free(in[i]);
}

static void test_signature_tells_faults_apart(void)
{
	struct told t = base;
	t.kind = CT_FAULT_EXCEPTION;
	CU_ASSERT_FALSE(same(&base, &t));
	t = base;
	t.expression = "t >= 0";
	CU_ASSERT_FALSE(same(&base, &t));
	t = base;
	t.kernel = "void at::native::(anonymous namespace)::nll<c10::Half, 4>(float*, (anonymous namespace)::P<int>)";
	CU_ASSERT_FALSE(same(&base, &t));
	t = base;
	t.file = "Index.cu";
	CU_ASSERT_FALSE(same(&base, &t));
	t = base;
	t.frames[3].function = "eval_step";
	CU_ASSERT_FALSE(same(&base, &t));
	t = base;
	t.expression = NULL;
	t.file = NULL;
	CU_ASSERT_FALSE(same(&base, &t));
}

// Under --async the thread stands elsewhere: the launch that is known gives the signature of a run with waiting launches.
static void test_signature_of_a_recorded_launch(void)
{
	char wanted[17];
	sign(&base, wanted);
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	in->kind = base.kind;
	in->gpu.kernel.name = base.kernel;
	in->assertion.expression = base.expression;
	in->assertion.file = base.file;
	struct ct_host_frame elsewhere[] = {{.kind = CT_FRAME_PYTHON, .function = "synchronize", .file = "later.py"}};
	struct ct_host_thread *thread = ct_incident_add_thread(in, 2, "main");
	thread->launching = true;
	add_frames(in, elsewhere, 1, &thread->frames, &thread->n_frames);
	struct ct_launch launch = {.count = 1};
	add_frames(in, base.frames + 1, CT_COUNT(base.frames) - 1, &launch.python, &launch.n_python);
	in->launch = (struct ct_launched){.present = true, .certainty = CT_CERTAINTY_UNIQUE, .candidates = &launch, .n_candidates = 1};
	CU_ASSERT_STRING_EQUAL(ct_incident_signature(in), wanted);
	in->launch.certainty = CT_CERTAINTY_SEVERAL;
	CU_ASSERT_STRING_NOT_EQUAL(ct_incident_signature(in), wanted);
	in->launch.certainty = CT_CERTAINTY_UNIQUE;
	in->launch_blocking = true;  // the thread's own stack is whole
	CU_ASSERT_STRING_NOT_EQUAL(ct_incident_signature(in), wanted);
}

static void test_signature_of_kernel_names(void)
{
	static const struct {
		const char *left, *right;
		bool same;
	} cases[] = {
		{"f(int)", "f", true},
		{"void f<int>(int*)", "f<int>(int *)", true},
		{"f<P<int> >(int)", "f<P<int>>", true},
		{"f<(bool)1>(int)", "f<1>(int)", true},
		{"S::operator()(int) const", "S::operator()", true},
		{"S::operator<(int)", "S::operator<", true},
		{"S::operator<<(int)", "S::operator<(int)", false},
		{"f(int)::{lambda(float)#1}::operator()(float) const", "f(int)::{lambda(float)#12}::operator()", true},
		{"f(int)::{lambda(float)#1}::operator()(float) const", "f(int)::{lambda(int)#1}::operator()(float) const", false},
		{"g<f(int)::{lambda(float)#1}>(float)", "g<f(int)::{lambda(float)#2}>", true},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f", true},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::g(int)", false},
		{"f<0x7f20>()", "f<0x8e>()", true},
		{"f<unsigned int>()", "f<unsignedint>()", false},
		{"f<4>()", "f<8>()", false},
		{"f)>(<(", "f)>(<(", true},
		{"", "f", false},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct told a = {.kernel = cases[i].left}, b = {.kernel = cases[i].right};
		CU_ASSERT_EQUAL(same(&a, &b), cases[i].same);
		if (same(&a, &b) != cases[i].same)
			printf("# case %zu: %s\n", i, cases[i].left);
	}
}

static void test_signature_of_native_programs(void)
{
	struct told a = {.frames = {{.kind = CT_FRAME_NATIVE, .module = "/usr/lib/libcuda.so.580.95.05"},
				    {.kind = CT_FRAME_NATIVE, .function = "cudaDeviceSynchronize", .module = "/usr/lib/libcudart.so.12.4"},
				    {.kind = CT_FRAME_NATIVE, .module = "/opt/libfoo.so.1.2", .has_pc = true, .pc = 1},
				    {.kind = CT_FRAME_NATIVE, .function = "step(int)", .module = "/home/a.out"},
				    {.kind = CT_FRAME_NATIVE, .function = "main", .module = "/home/a.out"},
				    {.kind = CT_FRAME_NATIVE, .function = "__libc_start_main", .module = "/lib/libc.so.6"}}};
	struct told b = a;
	b.frames[0].module = "/other/libcuda.so.590";
	b.frames[2].module = "/usr/libfoo.so.2";
	b.frames[2].pc = 2;
	b.frames[5].module = "/lib/libc-2.31.so";
	CU_ASSERT_TRUE(same(&a, &b));
	b.frames[3].function = "stop(int)";
	CU_ASSERT_FALSE(same(&a, &b));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"runs join across rows and planes", test_runs_join_across_rows_and_planes},
		{"runs of unknown extent or outside stand alone", test_runs_of_unknown_extent_or_outside_stand_alone},
		{"runs of the largest extents do not overflow", test_runs_of_the_largest_extents_do_not_overflow},
		{"runs are cut at the limit", test_runs_are_cut_at_the_limit},
		{"runs of a whole GPU", test_runs_of_a_whole_gpu},
		{"signature has not changed", test_signature_has_not_changed},
		{"signature ignores what differs between runs", test_signature_ignores_what_differs_between_runs},
		{"signature ignores place and process", test_signature_ignores_place_and_process},
		{"signature tells faults apart", test_signature_tells_faults_apart},
		{"signature of a recorded launch", test_signature_of_a_recorded_launch},
		{"signature of kernel names", test_signature_of_kernel_names},
		{"signature of native programs", test_signature_of_native_programs},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("incident_facts", tests);
}
