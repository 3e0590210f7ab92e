// The stream: the same whatever the pieces, equal lines once, bounded whatever comes in.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "diagnose/diagnose.h"

#include "assertcases.h"
#include "lines.h"

static struct ct_incident *read_all(const char *text, size_t length, size_t piece, uint64_t seed)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	struct ct_incident *incident = ct_incident_new();
	feed(lines, 2, text, length, piece, &seed);
	ct_loglines_finish(lines, incident);
	return incident;
}

static struct ct_incident *read_text(const char *text)
{
	return read_all(text, strlen(text), 4096, 0);
}

static void check_streamed(const struct assertcase *c, struct ct_incident *incident)
{
	const struct ct_assert *a = &incident->assertion;
	CU_ASSERT_EQUAL(a->present, c->wanted);
	if (a->present && c->wanted) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(a->file);
		CU_ASSERT(ct_ends_with(a->file, c->file_suffix));
		CU_ASSERT_EQUAL(a->line, c->line);
		CU_ASSERT(same_text(a->function, c->function));
		CU_ASSERT_STRING_EQUAL(a->expression, c->expression);
		CU_ASSERT_STRING_EQUAL(a->source, "log");
		CU_ASSERT(a->has_first);
		CU_ASSERT(same_place(a->first, c->at));
		CU_ASSERT_EQUAL(a->n_block_runs, 1);
		CU_ASSERT(same_dim(a->block_runs[0].first, c->at.block));
		CU_ASSERT_EQUAL(a->n_lines, strcmp(c->id, "P25") == 0 ? 2 : 1);
	}
	ct_incident_free(incident);
}

static void check_case(const struct assertcase *c)
{
	for (size_t piece = 1; piece <= c->length; piece += piece < 40 ? 1 : 23)
		check_streamed(c, read_all(c->text, c->length, piece, 0));
	for (uint64_t seed = 1; seed <= 20; seed++)
		check_streamed(c, read_all(c->text, c->length, 0, seed));
	// As a terminal passes it on: every line end is "\r\n".
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	for (size_t i = 0; i < c->length; i++)
		c->text[i] == '\n' ? ct_str_add(&text, "\r\n") : ct_str_addc(&text, c->text[i]);
	ct_str_add(&text, "\r\n");
	for (uint64_t seed = 1; seed <= 5; seed++)
		check_streamed(c, read_all(text.data, text.length, 0, seed));
	// Between other output, with colours inside.
	ct_str_clear(&text);
	ct_str_add(&text, "epoch 1\n\x1b[31m");
	ct_str_append(&text, c->text, c->length);
	ct_str_add(&text, "\x1b[0m\x1b]0;title\a\nTraceback (most recent call last):\n");
	for (uint64_t seed = 1; seed <= 5; seed++)
		check_streamed(c, read_all(text.data, text.length, 0, seed));
}

static void test_every_recorded_form_in_any_pieces(void)
{
	CU_ASSERT(each_assertcase(check_case) >= 32);
}

static void test_a_burst_becomes_one_entry(void)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	for (int i = 0; i < 100000; i++) {
		char line[256];
		// Ranks alternate, the path differs in its root.
		int n = snprintf(line, sizeof line, "[rank%d]:%s/aten/Indexing.cu:1146: f: block: [%d,%d,0], thread: [%d,0,0] Assertion `a < b` failed.\n",
				 i % 3 == 0, i % 7 ? "/pytorch" : "/opt/pytorch", i % 1000 % 40, i % 1000 / 40, i % 128);
		ct_loglines_feed(lines, 2, line, (size_t)n);
	}
	ct_loglines_finish(lines, incident);
	const struct ct_assert *a = &incident->assertion;
	CU_ASSERT_EQUAL(a->n_lines, 100000);
	CU_ASSERT_EQUAL_FATAL(a->n_block_runs, 1);
	CU_ASSERT_EQUAL(a->block_runs[0].count, 1000);
	CU_ASSERT_EQUAL(a->block_runs[0].last.x, 39);
	CU_ASSERT_EQUAL(a->block_runs[0].last.y, 24);
	CU_ASSERT_EQUAL_FATAL(a->n_thread_runs, 1);
	CU_ASSERT_EQUAL(a->thread_runs[0].count, 128);
	CU_ASSERT_FALSE(a->block_runs_cut);
	CU_ASSERT_EQUAL_FATAL(incident->n_log, 1);
	CU_ASSERT_EQUAL(incident->log[0].kind, CT_LOG_ASSERT);
	CU_ASSERT_EQUAL(incident->log[0].count, 100000);
	CU_ASSERT_STRING_EQUAL(incident->log[0].prefix, "[rank1]:");
	CU_ASSERT(ct_starts_with(incident->log[0].text, "/opt/pytorch/aten/"));
	size_t length = 0;
	const char *raw = ct_loglines_raw(lines, &length);
	CU_ASSERT(length > 250 * 1024 && length <= 256 * 1024 + 64);
	CU_ASSERT(ct_starts_with(raw, "[rank1]:/opt/pytorch/aten/Indexing.cu:1146"));
	CU_ASSERT(ct_ends_with(raw, " more lines)\n"));
}

static void test_more_positions_than_kept_are_counted(void)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	for (int i = 0; i < 70000; i++) {
		char line[128];
		int n = snprintf(line, sizeof line, "x.cu:1: f: block: [%d,0,0], thread: [0,0,0] Assertion `a` failed.\n", i);
		ct_loglines_feed(lines, 2, line, (size_t)n);
	}
	ct_loglines_finish(lines, incident);
	CU_ASSERT_EQUAL(incident->assertion.n_lines, 70000);
	CU_ASSERT(incident->assertion.block_runs_cut);
	CU_ASSERT_FALSE(incident->assertion.thread_runs_cut);
	CU_ASSERT_EQUAL_FATAL(incident->assertion.n_block_runs, 1);
	CU_ASSERT_EQUAL(incident->assertion.block_runs[0].count, 65536);
}

static void test_different_asserts_stay_apart(void)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	for (int i = 0; i < 1000; i++) {
		char line[128];
		int n = snprintf(line, sizeof line, "x.cu:%d: f: block: [0,0,0], thread: [%d,0,0] Assertion `a` failed.\n", i, i);
		ct_loglines_feed(lines, 2, line, (size_t)n);
	}
	ct_loglines_finish(lines, incident);
	CU_ASSERT_EQUAL(incident->assertion.line, 0);
	CU_ASSERT_EQUAL(incident->assertion.n_lines, 1);
	// 64 of them, and one row that counts the others.
	CU_ASSERT_EQUAL_FATAL(incident->n_log, 65);
	CU_ASSERT_EQUAL(incident->log[64].kind, CT_LOG_OTHER);
	CU_ASSERT_EQUAL(incident->log[64].count, 1000 - 64);
}

static void test_damaged_lines_count_for_the_whole_one(void)
{
	static const char text[] =
		"a/x.cu:115: f:115: f: block: [3,0,0], thread: [60,0,0] Assertion `a` failed.\n"
		"a/x.cu:115: f: block: [1,0,0], thread: [2,0,0] Assertion `a` failed.\n"
		"block: [1,0,0], thread: [7,0,0] Assertion `a` failed.\n"
		"a/x.cua/x.cu:115: f: block: [1: block: [22,0,0], thread: [9,0,0] Assertion `a` failed.\n";
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = read_text(text);
	CU_ASSERT_EQUAL(incident->n_log, 1);
	CU_ASSERT_EQUAL(incident->assertion.n_lines, 4);
	CU_ASSERT(same_text(incident->assertion.function, "f"));
	CU_ASSERT_EQUAL(incident->assertion.first.thread.x, 2);
	CU_ASSERT_EQUAL_FATAL(incident->assertion.n_thread_runs, 2);
	CU_ASSERT_EQUAL(incident->assertion.thread_runs[0].first.x, 2);
	CU_ASSERT_EQUAL(incident->assertion.thread_runs[1].first.x, 7);
}

static void test_numbers_behind_a_torn_line_are_not_trusted(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *torn =
		read_text("x.cu:1: f: block: [\nx.cu:1: f: block: [1216,0,0], thread: [0,0,0] Assertion `a` failed.\n");
	CU_ASSERT(torn->assertion.present);
	CU_ASSERT_FALSE(torn->assertion.has_first);
	CU_ASSERT_EQUAL(torn->assertion.n_block_runs, 0);
	// Until its end has passed, or enough lines have that it never will.
	CT_AUTO(ct_incident_auto) struct ct_incident *ended = read_text("x.cu:1: f: block: [\nx.cu:1: f: block: [1216,0,0], thread: [0,0,0] Assertion `a` failed.\n"
									  ",0,0], thread: [0,0,0] Assertion `a` failed.\n"
									  "x.cu:1: f: block: [7,0,0], thread: [0,0,0] Assertion `a` failed.\n");
	CU_ASSERT(ended->assertion.has_first);
	CU_ASSERT_EQUAL(ended->assertion.first.block.x, 7);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	ct_str_add(&text, "x.cu:1: f: block: [\n");
	for (int i = 0; i < 1100; i++)
		ct_str_add(&text, "x.cu:1: f: block: [8,0,0], thread: [0,0,0] Assertion `a` failed.\n");
	CT_AUTO(ct_incident_auto) struct ct_incident *killed = read_text(text.data);
	CU_ASSERT(killed->assertion.has_first);
	CU_ASSERT_EQUAL(killed->assertion.n_lines, 1100);
	// A program's own "block: [" is no torn line.
	CT_AUTO(ct_incident_auto) struct ct_incident *own = read_text("block: [64, 128]\nblock: [\n  64]\n"
									"x.cu:1: f: block: [6,0,0], thread: [0,0,0] Assertion `a` failed.\n");
	CU_ASSERT(own->assertion.has_first);
	CU_ASSERT_EQUAL(own->n_log, 1);
}

// Two processes write their lines in pieces to one terminal: what comes out is true or has no position.
static void test_interleaved_writers_give_no_wrong_position(void)
{
	enum { WRITERS = 2, LINES = 3 };
	static const char *const pieces[] = {
		"/p/x.cu", ":115", ": op()", ": block: [", NULL, ",", "0", ",0", "], thread: [",
		NULL, ",0,0", "] Assertion `", "a", "` failed.", "\n",
	};
	uint64_t seed = 5;
	size_t n_placed = 0;
	for (int round = 0; round < 20000; round++) {
		CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
		size_t at[WRITERS] = {0}, line[WRITERS] = {0};
		uint32_t stay = 1 + next_random(&seed) % 20;  // how often the writer changes
		for (size_t w = 0; line[0] < LINES || line[1] < LINES;) {
			if (next_random(&seed) % stay == 0 || line[w] == LINES)
				w = line[!w] < LINES ? !w : w;
			// Block 11 to 13 and 21 to 23, thread 111 to 113 and 121 to 123.
			if (pieces[at[w]])
				ct_str_add(&text, pieces[at[w]]);
			else
				ct_str_addf(&text, "%s%zu%zu", at[w] > 4 ? "1" : "", w + 1, line[w] + 1);
			at[w] = (at[w] + 1) % CT_COUNT(pieces);
			line[w] += at[w] == 0;
		}
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = read_all(text.data, text.length, 0, (uint64_t)round);
		const struct ct_assert *a = &incident->assertion;
		bool right = true;
		for (size_t i = 0; i < a->n_block_runs; i++)
			right = right && a->block_runs[i].first.x / 10 >= 1 && a->block_runs[i].last.x / 10 <= 2 && a->block_runs[i].first.x % 10 >= 1 &&
				a->block_runs[i].last.x % 10 <= 3 && a->block_runs[i].last.y == 0;
		for (size_t i = 0; i < a->n_thread_runs; i++)
			right = right && a->thread_runs[i].first.x / 10 >= 11 && a->thread_runs[i].last.x / 10 <= 12 && a->thread_runs[i].first.x % 10 >= 1 &&
				a->thread_runs[i].last.x % 10 <= 3 && a->thread_runs[i].last.y == 0;
		// Block and thread of one line.
		if (a->has_first)
			right = right && a->first.thread.x == 100 + a->first.block.x;
		CU_ASSERT(right);
		if (!right) {
			printf("# round %d: first block %u thread %u\n%s\n", round, a->first.block.x, a->first.thread.x, text.data);
			break;
		}
		n_placed += a->has_first;
	}
	CU_ASSERT(n_placed > 1000);
}

static void test_an_open_record_ends_with_the_stream(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = read_text("x.cu:1: f: block: [1,0,0], thread: [0,0,0] Assertion `a` failed.\n"
									     "x.cu:1: f: block: [2,0,0], thread: [0,0,0] Asser");
	CU_ASSERT_EQUAL(incident->assertion.n_lines, 1);
	CU_ASSERT_EQUAL_FATAL(incident->n_log, 2);
	CU_ASSERT_EQUAL(incident->log[1].kind, CT_LOG_OTHER);
	// A message that never ends does not swallow what follows.
	CT_AUTO(ct_incident_auto) struct ct_incident *never = read_text("x.cu:1: f: block: [1,0,0], thread: [0,0,0] Assertion `a\n"
									  "y.cu:1: f: block: [2,0,0], thread: [0,0,0] Assertion `b` failed.\n");
	CU_ASSERT_STRING_EQUAL(never->assertion.expression, "b");
}

static void test_kinds_of_lines(void)
{
	static const struct {
		const char *text;
		int kind;  // -1: not kept
	} cases[] = {
		{"RuntimeError: CUDA error: device-side assert triggered", CT_LOG_CUDA_ERROR},
		{"torch.AcceleratorError: CUDA error: an illegal memory access was encountered", CT_LOG_CUDA_ERROR},
		{"RuntimeError: cuda runtime error (59) : device-side assert triggered at /x/THCTensorCopy.c:18", CT_LOG_CUDA_ERROR},
		{"RuntimeError: reduce failed to synchronize: device-side assert triggered", CT_LOG_CUDA_ERROR},
		{"RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle, ...)`", CT_LOG_CUDA_ERROR},
		{"RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", CT_LOG_CUDA_ERROR},
		{"RuntimeError: Triton Error [CUDA]: misaligned address", CT_LOG_CUDA_ERROR},
		{"cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory access was encountered", CT_LOG_CUDA_ERROR},
		{"numba.cuda.cudadrv.driver.CudaAPIError: [716] Call to cuMemcpyDtoH results in UNKNOWN_CUDA_ERROR", CT_LOG_CUDA_ERROR},
		{"IndexError: In function 'kernel', file /abs/x.py, line 6, tid=[0, 0, 0] ctaid=[0, 0, 0]: error", CT_LOG_CUDA_ERROR},
		{"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: x: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access", CT_LOG_CUDA_ERROR},
		{"[CUDA_ERROR_ASSERT] Assertion `idx < dst_dim_size` failed", CT_LOG_CUDA_ERROR},
		{"[22:21:32.099][25642][CUDA][E] buffer cannot be NULL", CT_LOG_CUDA_ERROR},
		{"THCudaCheck FAIL file=/x/THCReduceAll.cuh line=339 error=59 : device-side assert triggered", CT_LOG_CUDA_ERROR},
		{"OSError: (External) CUDA error(719), unspecified launch failure.", CT_LOG_CUDA_ERROR},
		{"HOST:26024:27098 [1] include/alloc.h:125 NCCL WARN Cuda failure 710 'device-side assert triggered'", CT_LOG_FOLLOWER},
		{"[rank3]:[E830 17:28:57.1 ProcessGroupNCCL.cpp:1515] [PG 3 Rank 3] Process group watchdog thread terminated with exception: CUDA error: x",
		 CT_LOG_FOLLOWER},
		{"prterun noticed that process rank 7 with PID 4242 on node HOST exited on signal 6 (Aborted).", CT_LOG_FOLLOWER},
		{"[00:40:46.606413] coredump: SM 123/132 has finished state collection", CT_LOG_DUMP},
		{"[CONTEXT][Tensor NAME] CUDA Kernel Assertion: index is outside of accessor bounds (idx=12) >= (numel=10)", CT_LOG_ASSERT_PRINTF},
		{"[CUDA_KERNEL_ASSERT] x.cu:3: f: block: [1,0,0], thread: [2,0,0]: Assertion failed: `a`: got index = 12", CT_LOG_ASSERT_PRINTF},
		{"FATAL: kernel `NAME` is for sm80-sm90, but was built for sm70", CT_LOG_OTHER},
		{"NVRM: Xid (PCI:0000:65:00): 43, pid=1234, name=python, Ch 00000008", CT_LOG_OTHER},
		{"Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", -1},
		{"CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.", -1},
		{"For debugging consider passing CUDA_LAUNCH_BLOCKING=1", -1},
		{"Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/x.html for more information.", -1},
		{"Device-side assertions were explicitly omitted for this error check; the error probably arose while initializing the DSA handlers.", -1},
		{"INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":830, please report a bug to PyTorch.", -1},
		{"AssertionError: a", -1},
		{"a.out: app.cpp:3: void n::f(T) [with T = int]: Assertion `t == 1 && \"x\"' failed.", -1},
		{"cuda-gdb/7.12/gdb/block.c:456: internal-error: f: Assertion `gb->compunit_symtab == NULL' failed.", -1},
		{"triton_heuristics.py:533]     tl.device_assert((0 <= tmp4) & (tmp4 < 8), \"index out of bounds: 0 <= tmp4 < 8\")", -1},
		{"IndexError: Target 255 is out of bounds.", -1},
		{"EmbeddingBoundsCheck: (at least one) Out of bounds access for batch: 26. Setting idx to zero.", -1},
		{"epoch 3 loss 0.25", -1},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = read_text(cases[i].text);
		int kind = incident->n_log ? (int)incident->log[0].kind : -1;
		CU_ASSERT(incident->n_log <= 1);
		CU_ASSERT_EQUAL(kind, cases[i].kind);
		if (kind != cases[i].kind)
			printf("# %s: %d\n", cases[i].text, kind);
	}
}

static void test_printf_form_gives_the_assert_when_alone(void)
{
	static const char with_values[] = "[CUDA_KERNEL_ASSERT] x.cu:3: f: block: [1,0,0], thread: [2,0,0]: Assertion failed: `a`: got index = 12\n";
	CT_AUTO(ct_incident_auto) struct ct_incident *alone = read_text(with_values);
	CU_ASSERT(alone->assertion.present);
	CU_ASSERT_STRING_EQUAL(alone->assertion.expression, "a");
	CU_ASSERT_EQUAL(alone->assertion.first.block.x, 1);
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *both = ct_incident_new();
	static const char driver[] = "x.cu:3: f: block: [9,0,0], thread: [2,0,0] Assertion `a` failed.\n";
	ct_loglines_feed(lines, 1, with_values, sizeof with_values - 1);
	ct_loglines_feed(lines, 2, driver, sizeof driver - 1);
	ct_loglines_finish(lines, both);
	CU_ASSERT_EQUAL(both->n_log, 2);
	CU_ASSERT_EQUAL(both->assertion.first.block.x, 9);
}

static void test_prefixes_are_recognised(void)
{
	static const char *const prefixes[] = {
		"[rank0]:", "[rank3]:[rank3]:", "[80746] [rank0]:", "(RayWorkerVllm pid=5304)", "14633:", "[1,0]<stderr>:", "[default7]:",
		"(VllmWorker rank=2 pid=225) ERROR 06-26 23:10:17 [multiproc_executor.py:527]",
		"2026-01-17T18:48:10.418481013+01:00 stderr F", "Oct 04 15:02:41 host trainer[394]:",
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(prefixes); i++) {
		const char *text = ct_arena_printf(&arena, "%s RuntimeError: CUDA error: x", prefixes[i]);
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = read_text(text);
		CU_ASSERT_EQUAL_FATAL(incident->n_log, 1);
		CU_ASSERT(same_text(incident->log[0].prefix, prefixes[i]));
		CU_ASSERT_STRING_EQUAL(incident->log[0].text, "RuntimeError: CUDA error: x");
	}
	CT_AUTO(ct_incident_auto) struct ct_incident *none = read_text("12:30 [3/400] loss CUDA error: x");
	CU_ASSERT_PTR_NULL(none->log[0].prefix);
	ct_arena_done(&arena);
}

static void test_equal_lines_of_all_ranks_are_one(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident =
		read_text("[rank0]: RuntimeError: CUDA error: x at 0x7f00aa\n[rank1]: RuntimeError: CUDA error: x at 0x7eddb0\nRuntimeError: CUDA error: y\n");
	CU_ASSERT_EQUAL_FATAL(incident->n_log, 2);
	CU_ASSERT_EQUAL(incident->log[0].count, 2);
}

// ---- Whatever comes in ---------------------------------------------------------------------------------------

static void test_ten_megabytes_without_a_line_end(void)
{
	static const char line[] = "/a/x.cu:1: f: block: [1,0,0], thread: [2,0,0] Assertion `a` failed.";
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	char piece[1000];
	for (size_t i = 0; i < sizeof piece; i++)
		piece[i] = (char)(i * 7);
	for (int i = 0; i < 10000; i++)
		ct_loglines_feed(lines, 2, piece, sizeof piece);
	memset(piece, 'x', sizeof piece);
	for (int i = 0; i < 10000; i++)
		ct_loglines_feed(lines, 1, piece, sizeof piece);
	ct_loglines_feed(lines, 1, "\n", 1);
	ct_loglines_feed(lines, 1, line, sizeof line - 1);
	ct_loglines_finish(lines, incident);
	CU_ASSERT_EQUAL(incident->assertion.n_lines, 1);
	CU_ASSERT_EQUAL(incident->assertion.first.thread.x, 2);
}

static void test_anchors_without_end_are_bounded(void)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	static const char *const pieces[] = {
		"block: [", "block: [1,2,3], thread: [4,5,6] Assertion `", "x.cu:1: f: block: [1,2,3], thread: [4,5,6] Assertion `a\n",
		"GPU assertion failure message = \n", "CUDA error \x01\x02 x", "\x1b]0;", "\x1b[", "[rank0]:",
	};
	for (size_t k = 0; k < CT_COUNT(pieces); k++) {
		for (int i = 0; i < 20000; i++)
			ct_loglines_feed(lines, 2, pieces[k], strlen(pieces[k]));
		ct_loglines_feed(lines, 2, "\n", 1);
	}
	ct_loglines_finish(lines, incident);
	CU_ASSERT_FALSE(incident->assertion.present);
	CU_ASSERT(incident->n_log < 600);
	for (size_t i = 0; i < incident->n_log; i++)
		CU_ASSERT(strlen(incident->log[i].text) <= 3 * 4096);
}

static void test_pieces_do_not_matter(void)
{
	static const char *const parts[] = {
		"x.cu:1: f: block: [1,0,0], thread: [4,0,0] Assertion `a` failed.", "\n", "\r", "\r\n", "CUDA error: x", "\x1b[31m", "block: [", "12", "\0",
		"You can now attach a debugger to the application (PID ",
		"5)", "/p/y.cu:3:", "\n", ":16: g: ", "block: [2,0,0], thread: [5,0,0] Asserti", "on `b` failed.", " ", "[rank1]: ", "NCCL WARN x",
	};
	uint64_t seed = 99;
	for (int round = 0; round < 300; round++) {
		CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
		for (int i = 0; i < 30; i++) {
			const char *part = parts[next_random(&seed) % CT_COUNT(parts)];
			ct_str_append(&text, part, *part ? strlen(part) : 1);
		}
		CT_AUTO(ct_incident_auto) struct ct_incident *whole = read_all(text.data, text.length, text.length, 0);
		CT_AUTO(ct_incident_auto) struct ct_incident *pieces = read_all(text.data, text.length, 0, (uint64_t)round);
		CU_ASSERT_EQUAL_FATAL(whole->n_log, pieces->n_log);
		for (size_t i = 0; i < whole->n_log; i++) {
			CU_ASSERT_EQUAL(whole->log[i].count, pieces->log[i].count);
			CU_ASSERT_STRING_EQUAL(whole->log[i].text, pieces->log[i].text);
			CU_ASSERT(same_text(whole->log[i].prefix, pieces->log[i].prefix));
		}
		CU_ASSERT_EQUAL(whole->assertion.n_lines, pieces->assertion.n_lines);
		CU_ASSERT_EQUAL(whole->assertion.has_first, pieces->assertion.has_first);
		CU_ASSERT(same_place(whole->assertion.first, pieces->assertion.first));
	}
}

static void test_raw_lines_are_cleaned(void)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	static const char text[] = "plain\nCUDA \x1b[31merror\x1b[0m: \x01\xff\nplain\n";
	ct_loglines_feed(lines, 2, text, sizeof text - 1);
	size_t length = 0;
	CU_ASSERT_STRING_EQUAL(ct_loglines_raw(lines, &length), "CUDA error: \xef\xbf\xbd\xef\xbf\xbd\n");
	CU_ASSERT_EQUAL(length, strlen("CUDA error: ??\n") + 4);
}

static void test_a_damaged_line_does_not_replace_the_image(void)
{
	CT_AUTO(free_lines) struct ct_loglines *lines = ct_loglines_new();
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	static const char text[] = "block: [1,0,0], thread: [7,0,0] Assertion `a` failed.\n";
	incident->assertion = (struct ct_assert){.present = true, .source = "image", .file = "x.cu", .line = 3, .expression = "a"};
	ct_loglines_feed(lines, 2, text, sizeof text - 1);
	ct_loglines_finish(lines, incident);
	CU_ASSERT_STRING_EQUAL(incident->assertion.source, "image");
	CU_ASSERT_STRING_EQUAL(incident->assertion.file, "x.cu");
	CU_ASSERT_EQUAL(incident->assertion.n_lines, 1);
	CU_ASSERT_EQUAL(incident->assertion.first.thread.x, 7);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"every recorded form in any pieces", test_every_recorded_form_in_any_pieces},
		{"a burst becomes one entry", test_a_burst_becomes_one_entry},
		{"more positions than kept are counted", test_more_positions_than_kept_are_counted},
		{"different asserts stay apart", test_different_asserts_stay_apart},
		{"damaged lines count for the whole one", test_damaged_lines_count_for_the_whole_one},
		{"numbers behind a torn line are not trusted", test_numbers_behind_a_torn_line_are_not_trusted},
		{"interleaved writers give no wrong position", test_interleaved_writers_give_no_wrong_position},
		{"an open record ends with the stream", test_an_open_record_ends_with_the_stream},
		{"kinds of lines", test_kinds_of_lines},
		{"printf form gives the assert when alone", test_printf_form_gives_the_assert_when_alone},
		{"prefixes are recognised", test_prefixes_are_recognised},
		{"equal lines of all ranks are one", test_equal_lines_of_all_ranks_are_one},
		{"ten megabytes without a line end", test_ten_megabytes_without_a_line_end},
		{"anchors without end are bounded", test_anchors_without_end_are_bounded},
		{"pieces do not matter", test_pieces_do_not_matter},
		{"raw lines are cleaned", test_raw_lines_are_cleaned},
		{"a damaged line does not replace the image", test_a_damaged_line_does_not_replace_the_image},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("loglines", tests);
}
