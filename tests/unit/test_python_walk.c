// The Python walk on made-up memory: every version's layout and line table, damaged and hostile structures.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "fake_python.h"
#include "unit.h"

// Debug offsets with the values of CPython 3.13.0 and, for 3.14, made-up ones that all differ, so that a wrong word shows.
static void make_debug_offsets(uint8_t *bytes, unsigned minor, bool free_threaded)
{
	static const struct {
		uint8_t word_313, word_314;
		uint16_t value;
	} rows[] = {
		{5, 5, 632}, {8, 8, 16}, {9, 9, 24}, {21, 24, 8}, {23, 26, 72}, {24, 27, 152}, {25, 28, 160}, {29, 32, 8}, {30, 33, 0},
		{31, 34, 56}, {33, 36, 70}, {35, 40, 112}, {37, 42, 128}, {38, 43, 136}, {39, 44, 68}, {43, 48, 200}, {45, 51, 8}, {65, 75, 16},
		{66, 76, 32}, {68, 78, 32}, {69, 79, 16}, {70, 80, 40}, {0, 38, 76}, {0, 49, 184},
	};
	uint64_t words[CT_PY_DEBUG_OFFSETS / 8];
	for (size_t i = 0; i < CT_COUNT(words); i++)
		words[i] = 3;  // what is not used must not matter
	memcpy(&words[0], "xdebugpy", 8);
	words[1] = 3u << 24 | minor << 16 | 7u << 8 | 0xf0;
	words[2] = free_threaded;
	for (size_t i = 0; i < CT_COUNT(rows); i++)
		if (minor >= 14 || rows[i].word_313)
			words[minor >= 14 ? rows[i].word_314 : rows[i].word_313] = rows[i].value;
	memcpy(bytes, words, sizeof words);
}

enum { N_LAYOUTS = 8 };

static struct ct_py_layout layout_number(unsigned i)
{
	struct ct_py_layout l = {0};
	uint8_t offsets[CT_PY_DEBUG_OFFSETS];
	if (i < 5) {
		CU_ASSERT_TRUE_FATAL(ct_py_layout_of_version(3, 8 + i, &l, NULL));
		return l;
	}
	make_debug_offsets(offsets, i == 5 ? 13 : 14, i == 7);
	CU_ASSERT_TRUE_FATAL(ct_py_layout_of_debug_offsets(offsets, sizeof offsets, &l, NULL));
	return l;
}

static int64_t tid_of(void *context, uint64_t pthread)
{
	(void)context;
	return (int64_t)pthread;
}

static bool walk(struct ct_arena *arena, struct fake *f, const struct ct_py_place *place, struct ct_python_stacks *stacks, struct ct_error *err)
{
	const struct ct_memory memory = {fake_read, f};
	return ct_py_walk_memory(arena, &memory, place, f->layout, tid_of, NULL, stacks, err);
}

static void test_lnotab(void)
{
	static const uint8_t table[] = {0, 1, 10, 2, 255, 0, 5, 100, 2, (uint8_t)-98};
	static const struct {
		int64_t lasti;
		uint32_t line;
	} cases[] = {{-1, 10}, {0, 11}, {9, 11}, {10, 13}, {264, 13}, {269, 13}, {270, 113}, {271, 113}, {272, 15}, {99999, 15}};
	for (size_t i = 0; i < CT_COUNT(cases); i++)
		CU_ASSERT_EQUAL(ct_py_line(CT_PY_LNOTAB, table, sizeof table, 10, cases[i].lasti), cases[i].line);
	CU_ASSERT_EQUAL(ct_py_line(CT_PY_LNOTAB, table, 0, 10, 4), 10);
	CU_ASSERT_EQUAL(ct_py_line(CT_PY_LNOTAB, table, 3, 10, 400), 11);  // half a pair is no pair
	static const uint8_t below[] = {0, (uint8_t)-100};
	CU_ASSERT_EQUAL(ct_py_line(CT_PY_LNOTAB, below, sizeof below, 10, 4), 0);
}

static void test_linetable_310(void)
{
	static const uint8_t table[] = {4, 0, 6, 1, 2, (uint8_t)-128, 8, (uint8_t)-3, 0, 20, 4, 1};
	static const struct {
		int64_t lasti;
		uint32_t line;
	} cases[] = {{-1, 10}, {0, 10}, {3, 10}, {4, 11}, {9, 11}, {10, 0}, {12, 8}, {19, 8}, {20, 29}, {23, 29}, {24, 0}};
	for (size_t i = 0; i < CT_COUNT(cases); i++)
		CU_ASSERT_EQUAL(ct_py_line(CT_PY_LINETABLE, table, sizeof table, 10, cases[i].lasti), cases[i].line);
	CU_ASSERT_EQUAL(ct_py_line(CT_PY_LINETABLE, table, 1, 10, 0), 0);
}

static void test_locations_311(void)
{
	static const uint8_t table[] = {
		0x80 | 0 << 3 | 1, 0x12,                          // units 0, 1: short form, same line 10
		0x80 | 12 << 3 | 0, 1, 2,                         // 2: line + 2
		0x80 | 10 << 3 | 2, 1, 2,                         // 3, 4, 5: line + 0
		0x80 | 13 << 3 | 0, 0x40 | 0x12, 0x02,            // 6: svarint 0x92 = +73
		0x80 | 14 << 3 | 0, 0x07, 0x01, 0x41, 0x01, 0x02, // 7: svarint 7 = -3, then three varints, one of two bytes
		0x80 | 15 << 3 | 7,                               // 8 to 15: no line
		0x80 | 9 << 3 | 0, 0x00,                          // 16
	};
	static const struct {
		int64_t unit;
		uint32_t line;
	} cases[] = {{0, 10}, {1, 10}, {2, 12}, {3, 12}, {5, 12}, {6, 85}, {7, 82}, {8, 0}, {15, 0}, {16, 82}, {17, 0}};
	for (size_t i = 0; i < CT_COUNT(cases); i++)
		CU_ASSERT_EQUAL(ct_py_line(CT_PY_LOCATIONS, table, sizeof table, 10, cases[i].unit), cases[i].line);
	static const uint8_t endless[] = {0x80 | 13 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f};
	for (size_t n = 0; n <= sizeof endless; n++)
		CU_ASSERT_EQUAL(ct_py_line(CT_PY_LOCATIONS, endless, n, 10, 0), 0);
}

static void test_line_tables_of_any_bytes_end(void)
{
	uint32_t seed = 1;
	for (unsigned round = 0; round < 3000; round++) {
		uint8_t *table = malloc(round % 60 + 1);  // exact, so that a sanitizer sees a read past the end
		for (unsigned i = 0; i < round % 60; i++)
			table[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		for (int64_t at = -2; at < 300; at += 7)
			for (unsigned kind = CT_PY_LNOTAB; kind <= CT_PY_LOCATIONS; kind++)
				CU_ASSERT_TRUE(ct_py_line((enum ct_py_table)kind, table, round % 60, seed, at) <= INT32_MAX);
		free(table);
	}
}

static void test_unknown_versions_are_named(void)
{
	struct ct_py_layout l;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_py_layout_of_version(3, 7, &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "Python 3.7"));
	uint8_t offsets[CT_PY_DEBUG_OFFSETS];
	make_debug_offsets(offsets, 15, false);
	CU_ASSERT_FALSE(ct_py_layout_of_debug_offsets(offsets, sizeof offsets, &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "Python 3.15"));
	make_debug_offsets(offsets, 14, true);
	memset(offsets + 32 * 8, 0xff, 8);
	CU_ASSERT_FALSE(ct_py_layout_of_debug_offsets(offsets, sizeof offsets, &l, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "Python 3.14t: its debug offsets make no sense"));
	CU_ASSERT_FALSE(ct_py_layout_of_debug_offsets(offsets, 100, &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
}

static void test_version_comes_from_offsets_symbol_or_name(void)
{
	struct ct_py_layout l = layout_number(3);
	struct fake f;
	fake_init(&f, &l);
	const struct ct_memory memory = {fake_read, &f};
	struct ct_py_place place = {.runtime = fake_alloc(&f, CT_PY_DEBUG_OFFSETS), .version_address = fake_alloc(&f, 8), .major = 3, .minor = 9};
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_error err = CT_ERROR_INIT;
	uint8_t offsets[CT_PY_DEBUG_OFFSETS];
	make_debug_offsets(offsets, 13, true);
	fake_u64(&f, place.version_address, 0x030c01f0);
	fake_put(&f, place.runtime, offsets, sizeof offsets);
	CU_ASSERT_TRUE(ct_py_layout_at(&memory, &place, &l, &err));
	CU_ASSERT_STRING_EQUAL(ct_py_version_text(&arena, &l), "3.13.7t");
	memset(f.bytes + (place.runtime - FAKE_BASE), 0, 8);
	CU_ASSERT_TRUE(ct_py_layout_at(&memory, &place, &l, &err));
	CU_ASSERT_STRING_EQUAL(ct_py_version_text(&arena, &l), "3.12.1");
	place.version_address = 0;
	CU_ASSERT_TRUE(ct_py_layout_at(&memory, &place, &l, &err));
	CU_ASSERT_STRING_EQUAL(ct_py_version_text(&arena, &l), "3.9");
	place.major = 0;
	CU_ASSERT_FALSE(ct_py_layout_at(&memory, &place, &l, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	ct_arena_done(&arena);
}

// Outermost first: <module> (entry) -> caller -> [C] -> callback (entry) -> inner
static uint64_t make_stack(struct fake *f)
{
	uint64_t frame = fake_frame(f, fake_code(f, "<module>", "/a/train.py", 100), 0, true);
	frame = fake_frame(f, fake_code(f, "caller", "/a/train.py", 200), frame, false);
	frame = fake_frame(f, fake_code(f, "callback", "/a/b.py", 300), frame, true);
	return fake_frame(f, fake_code(f, "C.inner", "/a/b.py", 400), frame, false);
}

static void test_walk_of_every_layout(void)
{
	for (unsigned i = 0; i < N_LAYOUTS; i++) {
		struct ct_py_layout l = layout_number(i);
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_python_stacks s = {0};
		struct fake f;
		fake_init(&f, &l);
		uint64_t idle = fake_thread(&f, 0, 12, 0);
		struct ct_py_place place = fake_place(&f, fake_thread(&f, make_stack(&f), 11, idle));
		CU_ASSERT_TRUE(walk(&arena, &f, &place, &s, NULL));
		CU_ASSERT_EQUAL_FATAL(s.n_threads, 2);
		CU_ASSERT_EQUAL(s.threads[0].tid, 11);
		CU_ASSERT_FALSE(s.threads[0].cut);
		CU_ASSERT_EQUAL_FATAL(s.threads[0].n_frames, 4);
		const struct ct_python_frame *fr = s.threads[0].frames;
		CU_ASSERT_STRING_EQUAL(fr[0].function, "C.inner");
		CU_ASSERT_STRING_EQUAL(fr[2].file, "/a/train.py");
		CU_ASSERT_EQUAL(fr[0].line, 400);
		CU_ASSERT_EQUAL(fr[3].line, 100);
		bool always = l.instr_is_index;
		CU_ASSERT_EQUAL(fr[0].is_entry, always);
		CU_ASSERT_TRUE(fr[1].is_entry && fr[1].has_entry);
		CU_ASSERT_EQUAL(fr[2].is_entry, always);
		CU_ASSERT_TRUE(fr[3].is_entry);
		CU_ASSERT_EQUAL(s.threads[1].tid, 12);
		CU_ASSERT_EQUAL(s.threads[1].n_frames, 0);
		ct_arena_done(&arena);
	}
}

static void test_314_tags_thread_bytecode_and_init_shim(void)
{
	struct ct_py_layout l = layout_number(7);
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_python_stacks s = {0};
	struct fake f;
	fake_init(&f, &l);
	CU_ASSERT_TRUE(l.has_tlbc);
	uint64_t outer = fake_frame(&f, fake_code(&f, "outer", "a.py", 5), 0, true);
	uint64_t cleanup = fake_frame(&f, fake_code(&f, "__init__", "__init__", 1), outer, false);
	uint64_t code = fake_code(&f, "A.__init__", "a.py", 9), frame = fake_frame(&f, code, cleanup, false);
	// This thread runs copy 1 of the bytecode.
	uint64_t copies = fake_alloc(&f, 64), copy = fake_alloc(&f, 64);
	fake_u64(&f, copies, 2);
	fake_u64(&f, copies + 16, copy);
	fake_u64(&f, code + l.code_tlbc, copies);
	fake_u32(&f, frame + l.frame_tlbc_index, 1);
	fake_u64(&f, frame + l.frame_instr, copy + 2);
	fake_u64(&f, frame + l.frame_code, code | 3);
	struct ct_py_place place = fake_place(&f, fake_thread(&f, frame, 7, 0));
	CU_ASSERT_TRUE(walk(&arena, &f, &place, &s, NULL));
	CU_ASSERT_EQUAL_FATAL(s.threads[0].n_frames, 2);
	CU_ASSERT_STRING_EQUAL(s.threads[0].frames[0].function, "A.__init__");
	CU_ASSERT_EQUAL(s.threads[0].frames[0].line, 9);
	CU_ASSERT_STRING_EQUAL(s.threads[0].frames[1].function, "outer");
	ct_arena_done(&arena);
}

static void test_strings_of_every_kind(void)
{
	struct ct_py_layout l = layout_number(7);
	struct ct_arena arena = CT_ARENA_INIT;
	struct fake f;
	fake_init(&f, &l);
	const struct ct_memory memory = {fake_read, &f};
	static const uint8_t latin1[] = {'g', 0xfc, 0xdf};
	static const uint16_t ucs2[] = {0x5b66, 0x7fd2, 0xd800};
	static const uint32_t ucs4[] = {0x1f680, 'x', 0x110000, 0xffffffff};
	static const uint8_t bell[] = {'a', 7};
	CU_ASSERT_STRING_EQUAL(ct_py_string(&arena, &memory, &l, fake_str(&f, "plain")), "plain");
	CU_ASSERT_STRING_EQUAL(ct_py_string(&arena, &memory, &l, fake_str(&f, "")), "");
	CU_ASSERT_STRING_EQUAL(ct_py_string(&arena, &memory, &l, fake_str_of(&f, latin1, 3, 1, false, 2)), "g\xc3\xbc\xc3\x9f");
	CU_ASSERT_STRING_EQUAL(ct_py_string(&arena, &memory, &l, fake_str_of(&f, latin1, 3, 1, false, 8)), "g\xc3\xbc\xc3\x9f");
	const char *text = ct_py_string(&arena, &memory, &l, fake_str_of(&f, ucs2, 3, 2, false, 2));
	CU_ASSERT_TRUE(ct_starts_with(text, "\xe5\xad\xa6\xe7\xbf\x92\xef\xbf\xbd"));
	text = ct_py_string(&arena, &memory, &l, fake_str_of(&f, ucs4, 4, 4, false, 8));
	CU_ASSERT_TRUE(ct_starts_with(text, "\xf0\x9f\x9a\x80x\xef\xbf\xbd"));
	CU_ASSERT_STRING_EQUAL(ct_py_string(&arena, &memory, &l, fake_str_of(&f, bell, 2, 1, true, 2)), "a\xef\xbf\xbd");
	CU_ASSERT_PTR_NULL(ct_py_string(&arena, &memory, &l, fake_str_of(&f, latin1, 1, 3, false, 2)));
	CU_ASSERT_PTR_NULL(ct_py_string(&arena, &memory, &l, fake_str_of(&f, ucs2, 1, 2, true, 2)));
	CU_ASSERT_PTR_NULL(ct_py_string(&arena, &memory, &l, 0));
	uint64_t huge = fake_str(&f, "x");
	fake_u64(&f, huge + l.str_length, UINT64_MAX);
	CU_ASSERT_PTR_NULL(ct_py_string(&arena, &memory, &l, huge));
	// Longer than the limit: its beginning.
	fake_u64(&f, huge + l.str_length, 100000);
	memset(f.bytes + (huge - FAKE_BASE) + l.str_ascii, 'y', CT_PY_MAX_STRING + 10);
	CU_ASSERT_EQUAL(strlen(ct_py_string(&arena, &memory, &l, huge)), CT_PY_MAX_STRING);
	ct_arena_done(&arena);
}

static void test_cycles_end(void)
{
	for (unsigned i = 0; i < N_LAYOUTS; i++) {
		struct ct_py_layout l = layout_number(i);
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_python_stacks s = {0};
		struct fake f;
		fake_init(&f, &l);
		uint64_t outer = fake_frame(&f, fake_code(&f, "a", "a.py", 1), 0, false);
		uint64_t inner = fake_frame(&f, fake_code(&f, "b", "a.py", 2), outer, false);
		fake_u64(&f, outer + l.frame_back, inner);
		uint64_t second = fake_thread(&f, 0, 2, 0), first = fake_thread(&f, inner, 1, second);
		fake_u64(&f, second + l.tstate_next, first);
		struct ct_py_place place = fake_place(&f, first);
		CU_ASSERT_TRUE(walk(&arena, &f, &place, &s, NULL));
		CU_ASSERT_EQUAL(s.n_threads, CT_PY_MAX_THREADS);
		CU_ASSERT_EQUAL(s.threads[0].n_frames, CT_PY_MAX_FRAMES);
		CU_ASSERT_TRUE(s.threads[0].cut);
		// A shim that points to itself.
		if (l.has_shim) {
			uint64_t shim = fake_alloc(&f, 128);
			fake_put(&f, shim + l.frame_owner, &l.shim_owner, 1);
			fake_u64(&f, shim + l.frame_back, shim);
			fake_u64(&f, outer + l.frame_back, shim);
			CU_ASSERT_TRUE(walk(&arena, &f, &place, &s, NULL));
			CU_ASSERT_EQUAL(s.threads[0].n_frames, 2);
			CU_ASSERT_TRUE(s.threads[0].cut);
		}
		ct_arena_done(&arena);
	}
}

static void test_unreadable_frames_keep_the_inner_ones(void)
{
	struct ct_py_layout l = layout_number(4);
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_python_stacks s = {0};
	struct fake f;
	fake_init(&f, &l);
	uint64_t not_code = fake_alloc(&f, 512);  // an object of another type
	uint64_t frame = fake_frame(&f, fake_code(&f, "inner", "a.py", 1), fake_frame(&f, not_code, 0, false), false);
	struct ct_py_place place = fake_place(&f, fake_thread(&f, frame, 1, 0x7fffffff0000));
	CU_ASSERT_TRUE(walk(&arena, &f, &place, &s, NULL));
	CU_ASSERT_EQUAL_FATAL(s.n_threads, 1);
	CU_ASSERT_EQUAL(s.threads[0].n_frames, 1);
	CU_ASSERT_TRUE(s.threads[0].cut);
	struct ct_error err = CT_ERROR_INIT;
	place.runtime = 0x7fffffff0000;
	CU_ASSERT_FALSE(walk(&arena, &f, &place, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	place.runtime = fake_alloc(&f, 1024);
	CU_ASSERT_FALSE(walk(&arena, &f, &place, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	ct_arena_done(&arena);
}

// Every pointer-sized word of the scene is a pointer into the scene, or noise: the walk ends, within its limits.
static void test_garbage_memory_is_survived(void)
{
	uint32_t seed = 7;
	static struct fake f;
	for (unsigned round = 0; round < 400; round++) {
		struct ct_py_layout l = layout_number(round % N_LAYOUTS);
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_python_stacks s = {0};
		fake_init(&f, &l);
		struct ct_py_place place = fake_place(&f, fake_thread(&f, make_stack(&f), 11, 0));
		for (unsigned i = 0; i < 1 + round / 8; i++) {
			seed = seed * 1664525 + 1013904223;
			uint64_t at = FAKE_BASE + 4096 + (seed >> 8) % ((unsigned)f.used - 4096) / 8 * 8;
			seed = seed * 1664525 + 1013904223;
			fake_u64(&f, at, seed & 1 ? FAKE_BASE + (seed >> 8) % (unsigned)f.used : seed);
		}
		if (walk(&arena, &f, &place, &s, NULL)) {
			CU_ASSERT_TRUE(s.n_threads <= CT_PY_MAX_THREADS);
			for (size_t i = 0; i < s.n_threads; i++)
				CU_ASSERT_TRUE(s.threads[i].n_frames <= CT_PY_MAX_FRAMES);
		}
		ct_arena_done(&arena);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"lnotab of 3.8 and 3.9", test_lnotab},
		{"line table of 3.10", test_linetable_310},
		{"location table of 3.11 and later", test_locations_311},
		{"line tables of any bytes end", test_line_tables_of_any_bytes_end},
		{"unknown versions are named", test_unknown_versions_are_named},
		{"version comes from offsets, symbol or name", test_version_comes_from_offsets_symbol_or_name},
		{"walk of every layout", test_walk_of_every_layout},
		{"3.14: tags, bytecode of the thread, the shim of __init__", test_314_tags_thread_bytecode_and_init_shim},
		{"strings of every kind", test_strings_of_every_kind},
		{"cycles end", test_cycles_end},
		{"unreadable frames keep the inner ones", test_unreadable_frames_keep_the_inner_ones},
		{"garbage memory is survived", test_garbage_memory_is_survived},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("python_walk", tests);
}
