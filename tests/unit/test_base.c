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
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("base", tests);
}
