// shell/: lines that are no command, coordinates, completion, memory, focus in every dump.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dumps.h"
#include "forge.h"
#include "shell/shell_priv.h"
#include "unit.h"

// Status, then what was written; the caller's.
static char *execute(struct ct_shell *shell, const char *line, struct ct_error *err)
{
	char *text = NULL;
	size_t length = 0;
	bool quit = false;
	FILE *out = open_memstream(&text, &length);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	*err = (struct ct_error)CT_ERROR_INIT;
	bool ok = ct_shell_execute(shell, line, out, &quit, err);
	CU_ASSERT_EQUAL(ok, err->code == CT_OK);
	CU_ASSERT_EQUAL(quit, ok && strstr(line, "quit") != NULL);
	fclose(out);
	return text;
}

static bool says(struct ct_shell *shell, const char *line, const char *words)
{
	struct ct_error err;
	CT_AUTO(ct_auto_free) char *text = execute(shell, line, &err);
	bool found = strstr(text, words) || strstr(err.text, words) || strstr(err.hint, words);
	if (!found)
		printf("# %s: no '%s' in: %s%s (%s)\n", line, words, text, err.text, err.hint);
	return found;
}

static struct ct_shell *open_dump(const char *name)
{
	struct ct_shell *shell = NULL;
	struct ct_error err = CT_ERROR_INIT;
	char path[4096];
	if (!ct_shell_open(dump_path(path, sizeof path, name), &shell, &err))
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(shell);
	return shell;
}

static void test_coordinates(void)
{
	struct ct_dim3 d;
	CU_ASSERT_TRUE(ct_shell_parse_dim3("1,2,3", &d) && d.x == 1 && d.y == 2 && d.z == 3);
	CU_ASSERT_TRUE(ct_shell_parse_dim3("(4294967295,0)", &d) && d.x == UINT32_MAX && d.y == 0 && d.z == 0);
	CU_ASSERT_TRUE(ct_shell_parse_dim3("7", &d) && d.x == 7 && d.y == 0);
	static const char *const wrong[] = {"", "(", "()", "1,", "1,2,", ",1", "-1", "+1", " 1", "1 ", "1,2,3,4", "(1,2", "1,2)", "4294967296", "1;2",
					    "99999999999999999999", "0x1"};
	for (size_t i = 0; i < CT_COUNT(wrong); i++) {
		d = (struct ct_dim3){5, 5, 5};
		CU_ASSERT_FALSE(ct_shell_parse_dim3(wrong[i], &d));
		CU_ASSERT_EQUAL(d.x, 5);
	}
}

static void test_numbers(void)
{
	uint64_t n = 0;
	CU_ASSERT_TRUE(ct_shell_parse_u64("0xffffffffffffffff", &n) && n == UINT64_MAX);
	CU_ASSERT_TRUE(ct_shell_parse_u64("010", &n) && n == 10);
	static const char *const wrong[] = {"", "0x", "-1", "+1", " 1", "1 ", "0x0x1", "18446744073709551616", "0x10000000000000000", "1a", "0xg"};
	for (size_t i = 0; i < CT_COUNT(wrong); i++)
		CU_ASSERT_FALSE(ct_shell_parse_u64(wrong[i], &n));
}

static void test_lines(void)
{
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = open_dump("assert.line");
	CU_ASSERT_TRUE(says(shell, "", ""));
	CU_ASSERT_TRUE(says(shell, " \t\n", ""));
	CU_ASSERT_TRUE(says(shell, "quit", ""));
	CU_ASSERT_TRUE(says(shell, "quti", "did you mean 'quit'?"));
	CU_ASSERT_TRUE(says(shell, "foo", "'help' lists the commands"));
	CU_ASSERT_TRUE(says(shell, "'thread' \"2\"", "thread (5,0,0)"));
	CU_ASSERT_TRUE(says(shell, "thread", "thread (5,0,0)"));
	CU_ASSERT_TRUE(says(shell, "thread (0,0,0) (2,0,0)", "thread (2,0,0)"));
	CU_ASSERT_TRUE(says(shell, "thread (2)", "thread (2,0,0)"));
	CU_ASSERT_TRUE(says(shell, "''", "unknown command ''"));
	CU_ASSERT_TRUE(says(shell, "thread 'a", "a quote is not closed"));
	CU_ASSERT_TRUE(says(shell, "help thr", "may be: threads, thread"));
	CU_ASSERT_TRUE(says(shell, "exc", "device-side assert (number 12): 2 threads in 2 warps"));
	CU_ASSERT_TRUE(says(shell, "threadsthreadsthreadsthreadsthreads", "unknown command"));
	CU_ASSERT_TRUE(says(shell, "regs", "R0    0x"));
}

// The n-th failing thread is one of those that the report counts, and each can be gone to by its coordinates.
static void test_failing_threads(void)
{
	for (size_t i = 0; i < n_dumps; i++) {
		CT_AUTO(ct_shell_auto) struct ct_shell *shell = open_dump(dump_names[i]);
		uint64_t n = 0;
		for (size_t g = 0; g < shell->incident->gpu.n_groups; g++)
			n += shell->incident->gpu.groups[g].n_threads;
		CU_ASSERT_EQUAL(shell->index.n_failing, n);
		CU_ASSERT_TRUE(shell->has_focus);
		size_t step = shell->index.n_lanes / 500 + 1;
		for (size_t k = 0; k < shell->index.n_lanes; k += step) {
			const struct ct_gpucore_lane *l = &shell->index.lanes[k];
			struct ct_shell_block block;
			size_t found = SIZE_MAX;
			CU_ASSERT_TRUE(ct_shell_find_block(&shell->index, l->device, l->grid_id, l->at.block, &block));
			CU_ASSERT_TRUE(ct_shell_find_thread(&shell->index, &block, l->at.thread, &found));
			CU_ASSERT_EQUAL(found, k);
		}
	}
}

static bool completes(struct ct_shell *shell, const char *before, const char *word, const char *wanted)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(ct_auto_str) struct ct_str list = CT_STR_INIT;
	const char **words = NULL;
	bool files = false;
	size_t n = ct_shell_complete(shell, &arena, before, word, &words, &files);
	for (size_t i = 0; i < n; i++)
		ct_str_addf(&list, "%s%s", i ? " " : "", words[i]);
	if (files)
		ct_str_add(&list, "FILES");
	if (strcmp(ct_str_text(&list), wanted) != 0)
		printf("# '%s' '%s': %s\n", before, word, ct_str_text(&list));
	return strcmp(ct_str_text(&list), wanted) == 0;
}

static void test_completion(void)
{
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = open_dump("assert.line");
	CU_ASSERT_TRUE(completes(shell, "", "thr", "threads thread"));
	CU_ASSERT_TRUE(completes(shell, "  ", "q", "quit"));
	CU_ASSERT_TRUE(completes(shell, "help ", "fr", "frame"));
	CU_ASSERT_TRUE(completes(shell, "thread ", "", "0,0,0 4,0,0"));
	CU_ASSERT_TRUE(completes(shell, "thread ", "4", "4,0,0"));
	CU_ASSERT_TRUE(completes(shell, "thread 4,0,0 ", "", "5,0,0"));
	CU_ASSERT_TRUE(completes(shell, "thread 9,0,0 ", "", ""));
	CU_ASSERT_TRUE(completes(shell, "thread x ", "", ""));
	CU_ASSERT_TRUE(completes(shell, "kernel ", "", "nll_forward 2"));
	CU_ASSERT_TRUE(completes(shell, "mem ", "", "arg0 arg1 arg2 arg3 arg4"));
	CU_ASSERT_TRUE(completes(shell, "mem arg0 ", "f", "f16 f32 f64"));
	CU_ASSERT_TRUE(completes(shell, "report ", "", "save"));
	CU_ASSERT_TRUE(completes(shell, "report save ", "x", "FILES"));
	CU_ASSERT_TRUE(completes(shell, "threads ", "", "all"));
	CU_ASSERT_TRUE(completes(shell, "host ", "", "all full"));
	CU_ASSERT_TRUE(completes(shell, "threads all ", "", ""));
	CU_ASSERT_TRUE(completes(shell, "thread 1 2 ", "", ""));
	CU_ASSERT_TRUE(completes(shell, "thread 'a ", "", ""));
	CU_ASSERT_TRUE(completes(shell, "why ", "", ""));
}

// A dump as it would be with memory in it.
static struct ct_shell *open_forged(bool with_lanes)
{
	static const unsigned char memory[] = {
		1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x80, 0x3f, 0, 0x3c, 0, 0xfc, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0};
	char path[] = "/tmp/ct-test-shell-XXXXXX";
	struct ct_shell *shell = NULL;
	struct ct_error err = CT_ERROR_INIT;
	struct forge f = {0};
	forge_start(&f, 1);
	f.sections[forge_add(&f, CT_CORE_GLOBAL_MEM, 0, 0, memory, sizeof memory, 0)].sh_addr = 0x1000;
	if (with_lanes)
		forge_warp(&f, 0, 3, 4, 0x500, 0, 0);
	forge_finish(&f, false);
	CT_AUTO(ct_auto_close) int fd = mkstemp(path);
	CU_ASSERT_FATAL(fd >= 0 && ct_write_all(fd, f.bytes, f.size, NULL));
	CU_ASSERT_TRUE_FATAL(ct_shell_open(path, &shell, &err));
	unlink(path);
	forge_done(&f);
	return shell;
}

static void test_memory(void)
{
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = open_forged(true);
	CU_ASSERT_TRUE(says(shell, "mem 0x1000 u32 2", "0x1000:  1  4294967295\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1004 i32 1", "0x1004:  -1\n"));
	CU_ASSERT_TRUE(says(shell, "mem 4104 f32 1", "0x1008:  1\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x100c f16 2", "0x100c:  1  -inf\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1010 bf16 1", "0x1010:  1\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1016 f64 1", "0x1016:  1\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1000 i64 1", "0x1000:  -4294967295\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1000 x8 5", "0x1000:  0x1  0x0  0x0  0x0\n0x1004:  0xff\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1000", "0x100c:  0x0  0x3c  0x0  0xfc\n"));
	CU_ASSERT_TRUE(says(shell, "mem 0x1000 u8 33", "33 bytes at 0x1000 are not in this dump"));
	CU_ASSERT_TRUE(says(shell, "mem arg0", "the kernel's arguments are not in this dump"));
}

static void test_little_is_known(void)
{
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = open_forged(false);
	static const char *const lines[] = {"thread", "thread 0 0", "thread 1,1", "stack", "args", "regs", "source", "asm"};
	for (size_t i = 0; i < CT_COUNT(lines); i++)
		CU_ASSERT_TRUE(says(shell, lines[i], "no thread is known here"));
	CU_ASSERT_TRUE(says(shell, "thread 1", "none is known"));
	CU_ASSERT_TRUE(says(shell, "sms", "no SM had a thread"));
	CU_ASSERT_TRUE(says(shell, "modules", "no code image is in this dump"));
	CU_ASSERT_TRUE(says(shell, "kernel 7", "kernel '7' has no thread on the GPU"));
	CU_ASSERT_TRUE(says(shell, "kernels", "its name is not known"));
	CU_ASSERT_TRUE(completes(shell, "thread ", "", ""));
	CU_ASSERT_TRUE(completes(shell, "mem ", "", ""));
}

// No line may crash it, whatever it holds.
static void test_mutated_lines(void)
{
	CT_AUTO(ct_shell_auto) struct ct_shell *shell = open_dump("stack.line");
	static const char alphabet[] = "threadmgs 0123456789,()xX'\"\\-\xc3\xff\t";
	uint64_t state = 1;
	for (int i = 0; i < 3000; i++) {
		char line[40];
		struct ct_shell_help help;
		ct_shell_help_at(dump_random(&state) % 27, &help);
		size_t n = (size_t)snprintf(line, sizeof line, "%.10s ", strcmp(help.name, "report") == 0 || strcmp(help.name, "quit") == 0 ? "mem" : help.name);
		for (size_t k = dump_random(&state) % 20; k; k--)
			line[n++] = alphabet[dump_random(&state) % (sizeof alphabet - 1)];
		line[n] = '\0';
		struct ct_error err;
		free(execute(shell, line, &err));
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		const char **words;
		bool files;
		ct_shell_complete(shell, &arena, line, "", &words, &files);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"blocks and threads are read as written, and nothing else", test_coordinates},
		{"numbers are decimal or hexadecimal, all of the word", test_numbers},
		{"lines", test_lines},
		{"failing threads are those of the report, and all are found", test_failing_threads},
		{"completion offers what exists", test_completion},
		{"memory is shown as its type", test_memory},
		{"a dump with little in it says so", test_little_is_known},
		{"no line crashes it", test_mutated_lines},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("shell", tests);
}
