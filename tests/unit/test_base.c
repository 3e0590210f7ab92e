// base/: errors keep what they were told, foreign text is made harmless.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "unit.h"

static void test_fail_in_keeps_code_and_hint(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_fail(&err, CT_FORMAT, "row %d", 7));
	CU_ASSERT_FALSE(ct_hint(&err, "record it again"));
	CU_ASSERT_FALSE(ct_fail_in(&err, "%s", "x.nvcore"));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_STRING_EQUAL(err.text, "x.nvcore: row 7");
	CU_ASSERT_STRING_EQUAL(err.hint, "record it again");
}

static void test_fail_errno_names_the_cause(void)
{
	struct ct_error err = CT_ERROR_INIT;
	errno = ENOENT;
	ct_fail_errno(&err, "open %s", "a");
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_STRING_EQUAL(err.text, "open a: No such file or directory");
	errno = EACCES;
	ct_fail_errno(&err, "open");
	CU_ASSERT_EQUAL(err.code, CT_DENIED);
	errno = EIO;
	ct_fail_errno(&err, "open");
	CU_ASSERT_EQUAL(err.code, CT_SYSTEM);
	CU_ASSERT_FALSE(ct_fail_errno(NULL, "open"));
}

static void test_clean_replaces_what_harms_a_terminal(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain\ttext\n", "plain\ttext\n"},
		{"\x1b[31mred", "\xef\xbf\xbd[31mred"},
		{"\xff\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xc2\x9b" "2J", "\xef\xbf\xbd" "2J"},
		{"\xe2\x80\xae" "abc", "\xef\xbf\xbd" "abc"},
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"", ""},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
		ct_str_append_clean(&s, cases[i].in, strlen(cases[i].in));
		CU_ASSERT_STRING_EQUAL(ct_str_text(&s), cases[i].out);
	}
}

static void test_arena_grow_keeps_rows(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	int *rows = NULL;
	size_t n = 0;
	for (int i = 0; i < 1000; i++) {
		rows = ct_arena_grow(&arena, rows, &n, sizeof *rows);
		CU_ASSERT_EQUAL(rows[n - 1], 0);
		rows[n - 1] = i;
	}
	for (int i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(rows[i], i);
	ct_arena_done(&arena);
}

static void test_write_file_appears_whole_and_private(void)
{
	char dir[] = "/tmp/ct-base-XXXXXX";
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	CT_AUTO(ct_auto_close) int fd = open(dir, O_RDONLY | O_DIRECTORY);
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE(ct_write_file_at(fd, "f", "abc", 3, &err));
	struct stat st;
	CU_ASSERT_EQUAL(fstatat(fd, "f", &st, 0), 0);
	CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
	CU_ASSERT_EQUAL(st.st_size, 3);
	CU_ASSERT_FALSE(ct_write_file_at(fd, "no/such", "abc", 3, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	unlinkat(fd, "f", 0);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static void test_read_fd_has_a_limit(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	CU_ASSERT_FALSE(ct_read_file("/dev/zero", 100000, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
	CU_ASSERT_FALSE(ct_read_file("/no/such/file", 10, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
}

static void test_basename_takes_both_separators(void)
{
	CU_ASSERT_STRING_EQUAL(ct_basename("/a/b.cu"), "b.cu");
	CU_ASSERT_STRING_EQUAL(ct_basename("C:\\a\\b.cu"), "b.cu");
	CU_ASSERT_STRING_EQUAL(ct_basename("b.cu"), "b.cu");
	CU_ASSERT_STRING_EQUAL(ct_basename("a/"), "a/");
}

static void test_fail_in_fills_the_text(void)
{
	struct ct_error err = CT_ERROR_INIT;
	char word[600];
	memset(word, 'x', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	for (size_t n = sizeof err.text - 4; n < sizeof err.text + 4; n++) {
		ct_fail(&err, CT_SYSTEM, "inner");
		ct_fail_in(&err, "%.*s", (int)n, word);
		CU_ASSERT_EQUAL(strlen(err.text), sizeof err.text - 1);
	}
}

// p<p<...>, p<...>>: each level doubles the text of the one before.
static void add_doubling_name(struct ct_str *s, unsigned levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	ct_str_add(s, "_Z1f1pIiiE");
	for (unsigned i = 0; i < levels; i++)
		ct_str_addf(s, "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void test_demangling_is_bounded(void)
{
	for (unsigned levels = 0; levels < 35; levels += levels < 12 ? 1 : 11) {
		CT_AUTO(ct_auto_str) struct ct_str name = CT_STR_INIT;
		CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
		add_doubling_name(&name, levels);
		ct_str_add(&plain, "as it was");
		bool ok = ct_demangle_bounded(ct_str_text(&name), NULL, &plain);
		if (levels > 0 && levels < 20)
			CU_ASSERT_TRUE(ok && ct_starts_with(ct_str_text(&plain), "as it wasf(p<int, int>, p<p<int, int>, p<int, int> >"));
		CU_ASSERT_TRUE(plain.length <= CT_PLAIN_MAX + strlen("as it was"));
		if (!ok)
			CU_ASSERT_STRING_EQUAL(ct_str_text(&plain), "as it was");
		// The last ones stand for terabytes: nobody can write them down.
		if (levels > 32)
			CU_ASSERT_FALSE(ok);
	}
}

static void test_demangling_has_a_budget(void)
{
	CT_AUTO(ct_auto_str) struct ct_str name = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	struct ct_demangle_budget budget = CT_DEMANGLE_BUDGET_INIT;
	add_doubling_name(&name, 34);
	unsigned n = 0;
	for (; n < 100000 && budget.left_us > 0; n++)
		CU_ASSERT_FALSE(ct_demangle_bounded(ct_str_text(&name), &budget, &plain));
	CU_ASSERT_TRUE(n > 0 && n < 100000);
	int64_t left_us = budget.left_us;
	CU_ASSERT_FALSE(ct_demangle_bounded(ct_str_text(&name), &budget, &plain));
	CU_ASSERT_EQUAL(budget.left_us, left_us);
	// Names that need no care are written as ever.
	CU_ASSERT_TRUE(ct_demangle_bounded("_Z1fv", &budget, &plain));
	CU_ASSERT_STRING_EQUAL(ct_str_text(&plain), "f()");
}

static void test_demangling_of_long_names_and_of_none(void)
{
	static const char *const none[] = {"", "i", "_", "_Z", "main", "_Z1", "_ZSS_S_S_S_S_S_S_S_S_S_S_S_S_S_"};
	for (size_t i = 0; i < CT_COUNT(none); i++) {
		CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
		CU_ASSERT_FALSE(ct_demangle_bounded(none[i], NULL, &plain));
		CU_ASSERT_EQUAL(plain.length, 0);
	}
	CT_AUTO(ct_auto_str) struct ct_str name = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	ct_str_add(&name, "_Z1fN1a1bE");
	for (int i = 0; i < 60; i++)
		ct_str_add(&name, "S0_");
	CU_ASSERT_TRUE(ct_demangle_bounded(ct_str_text(&name), NULL, &plain));
	CU_ASSERT_TRUE(ct_starts_with(ct_str_text(&plain), "f(a::b, a::b, ") && ct_ends_with(ct_str_text(&plain), "a::b)"));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"fail_in keeps code and hint", test_fail_in_keeps_code_and_hint},
		{"fail_errno names the cause", test_fail_errno_names_the_cause},
		{"clean replaces what harms a terminal", test_clean_replaces_what_harms_a_terminal},
		{"arena_grow keeps rows", test_arena_grow_keeps_rows},
		{"write_file appears whole and private", test_write_file_appears_whole_and_private},
		{"read_fd has a limit", test_read_fd_has_a_limit},
		{"basename takes both separators", test_basename_takes_both_separators},
		{"demangling is bounded", test_demangling_is_bounded},
		{"demangling has a budget", test_demangling_has_a_budget},
		{"demangling of long names and of none", test_demangling_of_long_names_and_of_none},
		{"fail_in fills the text to its end and no further", test_fail_in_fills_the_text},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("base", tests);
}
