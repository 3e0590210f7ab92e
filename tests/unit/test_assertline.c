// The assert line: every form that was seen in the wild, and damage never gives wrong coordinates.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "diagnose/diagnose.h"

#include "assertcases.h"

static bool parse(struct ct_arena *arena, const char *text, struct ct_assert_line *ret)
{
	return ct_parse_assert_line(arena, text, strlen(text), ret);
}

static void check_case(const struct assertcase *c)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_assert_line got = {.prefix = NULL};
	bool found = ct_parse_assert_line(&arena, c->text, c->length, &got);
	CU_ASSERT_EQUAL(found, c->wanted);
	if (found && c->wanted) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(got.file);
		CU_ASSERT(ct_ends_with(got.file, c->file_suffix));
		CU_ASSERT_EQUAL(got.line, c->line);
		CU_ASSERT(same_text(got.function, c->function));
		CU_ASSERT_STRING_EQUAL(got.expression, c->expression);
		CU_ASSERT(got.has_position);
		CU_ASSERT(same_place(got.at, c->at));
	}
	ct_arena_done(&arena);
}

static void test_every_recorded_form(void)
{
	CU_ASSERT(each_assertcase(check_case) >= 32);
}

static void test_prefix_and_file_are_parted(void)
{
	static const struct {
		const char *head, *prefix, *file;
	} cases[] = {
		{"", "", "/pytorch/aten/Loss.cu"},
		{"[rank0]:", "[rank0]:", "/pytorch/aten/Loss.cu"},
		{"[rank0]: ", "[rank0]:", "/pytorch/aten/Loss.cu"},
		{"  5%|# | 5/53 [00:14<4:42:06, 3.35s/it]", "5%|# | 5/53 [00:14<4:42:06, 3.35s/it]", "/pytorch/aten/Loss.cu"},
		{"Once upon a ", "Once upon a", "/pytorch/aten/Loss.cu"},
		{"\xff", "\xef\xbf\xbd", "/pytorch/aten/Loss.cu"},
		{"100%", "100%", "/pytorch/aten/Loss.cu"},
		{"x.py:12: UserWarning: ", "x.py:12: UserWarning:", "/pytorch/aten/Loss.cu"},
		{"\xe2\x94\x82 ", "", "/pytorch/aten/Loss.cu"},
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		const char *text = ct_arena_printf(&arena, "%s/pytorch/aten/Loss.cu:7: f: block: [1,0,0], thread: [2,0,0] Assertion `a` failed.", cases[i].head);
		struct ct_assert_line got = {.prefix = NULL};
		CU_ASSERT_FATAL(parse(&arena, text, &got));
		CU_ASSERT_STRING_EQUAL(got.prefix, cases[i].prefix);
		CU_ASSERT(same_text(got.file, cases[i].file));
		CU_ASSERT_EQUAL(got.line, 7);
		CU_ASSERT(same_text(got.function, "f"));
		CU_ASSERT(got.has_position);
	}
	ct_arena_done(&arena);
}

// Where two writers got into one line, what is still sure is kept, coordinates never.
static void test_mixed_lines_have_no_position(void)
{
	static const struct {
		const char *text, *file;
		uint32_t line;
	} cases[] = {
		{"/pytorch/aten/x.cu/pytorch/aten/x.cu:115: operator():115: operator():: block: [12: block: [16,0,0,0,0], thread: [], thread: [60,0,0] "
		 "Assertion `a` failed.",
		 "/pytorch/aten/x.cu", 115},
		{"a/x.cu:115: f:115: f: block: [3,0,0], thread: [60,0,0] Assertion `a` failed.", "a/x.cu", 115},
		{"a/x.cu:115: f:116: f: block: [3,0,0], thread: [60,0,0] Assertion `a` failed.", "a/x.cu", 0},
		{"a/x.cua/x.cu:115: f: block: [x.cu:115: f: block: [1612,0,0], thread: [60,0,0] Assertion `a` failed.", NULL, 0},
		{"x.cu:1: f: block: [1,0,0], thread: [x.cu:1: f: block: [2,0,0], thread: [3,0,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1,0,0], thread: [3,0,0] Assertion `0,0], thread: [4,0,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1,0,0], thread: [3,0,0,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1,0,0], thread: [1024,0,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1,65535,0], thread: [1,0,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1,0,0], thread: [1000,2,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1,0,0], thread: [0,0,64] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [99999999999,0,0], thread: [0,0,0] Assertion `a` failed.", "x.cu", 1},
		{"x.cu:1: f: block: [1\n2,0,0], thread: [0,0,0] Assertion `a` failed.", NULL, 0},
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct ct_assert_line got = {.has_position = false};
		bool found = parse(&arena, cases[i].text, &got);
		CU_ASSERT_FALSE(got.has_position);
		CU_ASSERT_EQUAL(got.at.thread.x, 0);
		if (!cases[i].file)
			continue;
		CU_ASSERT(found);
		CU_ASSERT(same_text(got.file, cases[i].file));
		CU_ASSERT_EQUAL(got.line, cases[i].line);
		if (found)
			CU_ASSERT_STRING_EQUAL(got.expression, "a");
	}
	ct_arena_done(&arena);
}

static void test_cut_by_a_traceback(void)
{
	static const char text[] = "/pytorch/aten/IndexKernelUtils.cu    return forward_call(*args, **kwargs)\n"
				   ":16: vectorized_gather_kernel: block: [5,0,0], thread: [6,0,0] Assertion `ind` failed.";
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_assert_line got;
	CU_ASSERT_FATAL(parse(&arena, text, &got));
	CU_ASSERT(same_text(got.file, "/pytorch/aten/IndexKernelUtils.cu"));
	CU_ASSERT_EQUAL(got.line, 16);
	CU_ASSERT(same_text(got.function, "vectorized_gather_kernel"));
	CU_ASSERT(got.has_position);
	CU_ASSERT_EQUAL(got.at.thread.x, 6);
	// Without the line before, the rest still holds.
	CU_ASSERT_FATAL(parse(&arena, strchr(text, '\n') + 1, &got));
	CU_ASSERT_PTR_NULL(got.file);
	CU_ASSERT_EQUAL(got.line, 16);
	CU_ASSERT(got.has_position);
	// Neither file nor function.
	CU_ASSERT_FATAL(parse(&arena, "block: [5,0,0], thread: [6,0,0] Assertion `ind` failed.", &got));
	CU_ASSERT_PTR_NULL(got.file);
	CU_ASSERT_PTR_NULL(got.function);
	CU_ASSERT_EQUAL(got.line, 0);
	CU_ASSERT(got.has_position);
	ct_arena_done(&arena);
}

static void test_words_torn_by_line_breaks(void)
{
	static const char dsa[] = "GPU assertion failure message = a\n  File containing assertion = x.cu:9\n  Device function containing assertion = f\n"
				  "  Thread ID that failed assertion = [4,5,6]\n  Block ID that failed assertion = [1,2,3]\n";
	static const char *const texts[] = {
		"x.cu:9: f: block: [1,2,3], thread: [4,5,6] Asserti\non `a` failed.",
		"x.cu:9: f: block: [1,2,3],\nthread: [4,5,6] Assertion `a` failed.",
		"x.cu:9: f: block: [1,2,3], thr\nead: [4,5,6]\n Assertion `a` failed.",
		"x.cu:9:\nf: block: [1,2,3], thread: [4,5,6] Assertion\n`a` failed.",
		"x.cu:9: f:\nblock: [1,2,3], thread: [4,5,6] Assertion `a` failed.[12/400]",
		"x.cu:9: f: block: [1,2,3], thread: [4,5,6] Assertion `a` failed.Traceback: it failed.",
		"x.cu:9: f: block: [1,2,3], thread: [4,5,6] Assertion 'a' failed.",
		"x.cu:9: f: block: [1,2,3], thread: [4,5,6]: Assertion failed: `a`: Expected 0 <= index < 10, but got index = 12",
		dsa,
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(texts); i++) {
		struct ct_assert_line got = {.file = ""};
		CU_ASSERT_FATAL(parse(&arena, texts[i], &got));
		CU_ASSERT(same_text(got.file, "x.cu"));
		CU_ASSERT_EQUAL(got.line, 9);
		CU_ASSERT(same_text(got.function, "f"));
		CU_ASSERT_STRING_EQUAL(got.expression, "a");
		CU_ASSERT(got.has_position);
		CU_ASSERT(same_place(got.at, (struct ct_gridpos){{1, 2, 3}, {4, 5, 6}}));
	}
	ct_arena_done(&arena);
}

static void test_look_alikes_are_none(void)
{
	static const char *const texts[] = {
		"",
		"python: ../csrc/x.cpp:120: void f(): Assertion `p' failed.",
		"INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":830, please report a bug to PyTorch.",
		"AssertionError: block: [1,2,3]",
		"block: [64, 128]\nthread: [1, 2]",
		"x.cu:1: f: block: [0,0,0], thread: [0,0,0]",
		"x.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion",
		"x.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `t >= 0",
		"Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
		"GPU assertion failure message = a\n  File containing assertion = x.cu:9\n",
	};
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_assert_line got;
	for (size_t i = 0; i < CT_COUNT(texts); i++)
		CU_ASSERT_FALSE(parse(&arena, texts[i], &got));
	ct_arena_done(&arena);
}

static void mutate(char *text, size_t length, uint64_t *seed)
{
	static const char bytes[] = "\0\n\r\x1b`'[](),:0919 \xff\xe2" "block: [Assertion failed.";
	for (uint32_t n = next_random(seed) % 6; n && length; n--)
		text[next_random(seed) % length] = bytes[next_random(seed) % (sizeof bytes - 1)];
}

static void check_mutations(const struct assertcase *c)
{
	uint64_t seed = 7;
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t cut = 0; cut <= c->length; cut++) {
		// Exact size on the heap: a byte read too far is seen by the sanitizer.
		CT_AUTO(ct_auto_free) char *copy = ct_xrealloc(NULL, cut);
		struct ct_assert_line got = {.has_position = false};
		memcpy(copy, c->text, cut);
		// A text cut short holds the true coordinates or none.
		if (ct_parse_assert_line(&arena, copy, cut, &got) && got.has_position)
			CU_ASSERT(same_place(got.at, c->at));
		mutate(copy, cut, &seed);
		ct_parse_assert_line(&arena, copy, cut, &got);
	}
	ct_arena_done(&arena);
}

static void test_cut_and_mutated_cases_are_harmless(void)
{
	each_assertcase(check_mutations);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"every recorded form", test_every_recorded_form},
		{"prefix and file are parted", test_prefix_and_file_are_parted},
		{"mixed lines have no position", test_mixed_lines_have_no_position},
		{"cut by a traceback", test_cut_by_a_traceback},
		{"words torn by line breaks", test_words_torn_by_line_breaks},
		{"look-alikes are none", test_look_alikes_are_none},
		{"cut and mutated cases are harmless", test_cut_and_mutated_cases_are_harmless},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("assertline", tests);
}
