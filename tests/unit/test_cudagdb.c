// cudagdb/: finding one among fakes, running fakes that hang and crash, reading the machine interface.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cudagdb/cudagdb_priv.h"
#include "unit.h"

#define SECOND ((int64_t)1000 * 1000)
#define PROBE_MS 20000

// A folder that is gone with its scope.
struct folder {
	char path[64];
};

static struct folder new_folder(void)
{
	struct folder f = {.path = "/tmp/cudatrap-unit-XXXXXX"};
	if (!mkdtemp(f.path))
		CU_FAIL_FATAL("mkdtemp");
	return f;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void end_folder(struct folder *f)
{
	nftw(f->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static const char *write_text(struct ct_arena *arena, const struct folder *f, const char *name, const char *text, mode_t mode)
{
	char *path = ct_arena_printf(arena, "%s/%s", f->path, name);
	make_folders(path);
	FILE *file = fopen(path, "w");
	if (!file)
		CU_FAIL_FATAL("fopen");
	fputs(text, file);
	fclose(file);
	chmod(path, mode);
	return path;
}

#define NEW "#!/bin/sh\nprintf 'NVIDIA (R) cuda-gdb 13.0\\nct-python 3.11.2 ct-cuda 1\\n'\n"
#define MINIMAL "#!/bin/sh\nprintf 'NVIDIA (R) cuda-gdb 13.0\\nPython scripting is not supported in this copy of GDB.\\n'\n"
#define OLD "#!/bin/sh\nprintf 'NVIDIA (R) CUDA Debugger\\n12.4 release\\nct-python 3.10.1 ct-cuda 0\\n'\n"

static char *no_environment[] = {NULL};

static bool find(struct ct_arena *arena, const char *root, const char *explicit_path, char *const *environment, const char *exe, int64_t timeout_ms,
		 struct ct_cudagdb *ret_gdb, struct ct_cudagdb_search *ret_search, struct ct_error *err)
{
	return ct_cudagdb_find_in(arena, root, explicit_path, environment, exe, timeout_ms, ret_gdb, ret_search, err);
}

static void test_first_with_gdb_cuda_wins(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	write_text(&arena, &f, "path/cuda-gdb", MINIMAL, 0700);
	write_text(&arena, &f, "home/bin/cuda-gdb", OLD, 0700);
	write_text(&arena, &f, "usr/local/cuda-12.4/bin/cuda-gdb", OLD, 0700);
	const char *best = write_text(&arena, &f, "usr/local/cuda-13.0/bin/cuda-gdb", NEW, 0700);
	char *environment[] = {
		ct_arena_printf(&arena, "PATH=/nonexistent:%s/path:/usr/bin:/bin", f.path),
		ct_arena_printf(&arena, "CUDA_HOME=%s/home", f.path), NULL,
	};
	struct ct_cudagdb gdb;
	struct ct_cudagdb_search search;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(find(&arena, f.path, NULL, environment, NULL, PROBE_MS, &gdb, &search, &err));
	CU_ASSERT_STRING_EQUAL(gdb.path, best);
	CU_ASSERT_STRING_EQUAL(gdb.version, "13.0");
	CU_ASSERT_STRING_EQUAL(gdb.python, "3.11.2");
	CU_ASSERT_TRUE(gdb.has_gdb_cuda);
	CU_ASSERT_EQUAL_FATAL(search.n_lines, 2);  // the older one behind it was not tried
	CU_ASSERT_PTR_NOT_NULL(strstr(search.lines[0], "(PATH): works, but has no Python"));
	CU_ASSERT_PTR_NOT_NULL(strstr(search.lines[1], "(CUDA_HOME): works, but is older than 12.7"));
}

static void test_second_best_is_taken_when_there_is_no_better(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	write_text(&arena, &f, "opt/cuda/bin/cuda-gdb", OLD, 0700);
	struct ct_cudagdb gdb;
	CU_ASSERT_TRUE_FATAL(find(&arena, f.path, NULL, no_environment, NULL, PROBE_MS, &gdb, NULL, NULL));
	CU_ASSERT_STRING_EQUAL(gdb.version, "12.4");
	CU_ASSERT_STRING_EQUAL(gdb.found_by, "/opt/cuda");
	CU_ASSERT_FALSE(gdb.has_gdb_cuda);
}

static void test_the_targets_environment_is_searched(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	write_text(&arena, &f, "env/bin/python3", "", 0700);
	const char *wheel = write_text(&arena, &f, "env/lib/python3.12/site-packages/nvidia/cu13/bin/cuda-gdb", NEW, 0700);
	struct ct_cudagdb gdb;
	CU_ASSERT_TRUE_FATAL(find(&arena, f.path, NULL, no_environment, ct_arena_printf(&arena, "%s/env/bin/python3", f.path), PROBE_MS, &gdb, NULL, NULL));
	struct stat a, b;
	CU_ASSERT_TRUE(stat(gdb.path, &a) == 0 && stat(wheel, &b) == 0 && a.st_ino == b.st_ino);
}

static void test_nothing_found_says_what_to_do(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	struct ct_cudagdb gdb = {.path = "untouched"};
	struct ct_cudagdb_search search;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(find(&arena, f.path, NULL, no_environment, "/bin/true", PROBE_MS, &gdb, &search, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_STRING_EQUAL(err.text, "no cuda-gdb found");
	CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "--cuda-gdb"));
	CU_ASSERT_STRING_EQUAL(gdb.path, "untouched");
	CU_ASSERT_EQUAL(search.n_lines, 0);
}

static void test_explicit_one_that_does_not_work_is_an_error(void)
{
	static const struct {
		const char *script;
		mode_t mode;
		int64_t timeout_ms;
		const char *says;
	} cases[] = {
		{NULL, 0, PROBE_MS, "No such file"},
		{NEW, 0600, PROBE_MS, "cannot be executed"},
		{"#!/bin/sh\nsleep 600\n", 0700, 200, "did not answer within 0 s"},
		{"#!/bin/sh\nkill -SEGV $$\n", 0700, PROBE_MS, "crashed (signal 11)"},
		{"#!/bin/sh\necho libpython3.11.so.1.0: cannot open; exit 127\n", 0700, PROBE_MS, "does not run (status 127)"},
		{"#!/bin/sh\necho GNU gdb 14.2\n", 0700, PROBE_MS, "is no cuda-gdb"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		CT_AUTO(end_folder) struct folder f = new_folder();
		write_text(&arena, &f, "usr/local/cuda/bin/cuda-gdb", NEW, 0700);  // would be found otherwise
		const char *path = cases[i].script ? write_text(&arena, &f, "mine", cases[i].script, cases[i].mode) : "/nonexistent/cuda-gdb";
		char *environment[] = {ct_arena_printf(&arena, "CUDATRAP_CUDA_GDB=%s", path), (char *)"PATH=/usr/bin:/bin", NULL};
		struct ct_cudagdb gdb;
		struct ct_cudagdb_search search;
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(find(&arena, f.path, path, no_environment, NULL, cases[i].timeout_ms, &gdb, &search, &err));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "given by --cuda-gdb"));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		CU_ASSERT_EQUAL(search.n_lines, 1);
		CU_ASSERT_FALSE(find(&arena, f.path, NULL, environment, NULL, cases[i].timeout_ms, &gdb, NULL, &err));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "given by CUDATRAP_CUDA_GDB"));
	}
}

// ---- running

static bool collect(struct ct_arena *arena, const struct folder *f, const char *script, bool has_cuda, int64_t timeout_us, struct ct_str *ret_json,
		    struct ct_error *err)
{
	struct ct_cudagdb gdb = {.path = write_text(arena, f, "fake", script, 0700), .version = "13.0", .has_gdb_cuda = has_cuda};
	struct ct_cudagdb_job job = {.pid = getpid(), .deadline_us = ct_now_us() + timeout_us, .scratch_dir = f->path};
	return ct_cudagdb_collect(&gdb, &job, ret_json, err);
}

#define DOCUMENT "{\"version\": 1, \"gpu\": {}}"

static void test_document_comes_back_even_if_cuda_gdb_hangs_after_it(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	const char *script = "#!/bin/sh\necho '" DOCUMENT "' >\"$CUDATRAP_GDB_OUT\"\necho $$ >pid\nexec sleep 600\n";
	CU_ASSERT_TRUE(collect(&arena, &f, script, true, 3 * SECOND, &json, &err));
	CU_ASSERT_STRING_EQUAL(ct_str_text(&json), DOCUMENT "\n");
	CT_AUTO(ct_auto_str) struct ct_str pid = CT_STR_INIT;
	CU_ASSERT_TRUE(ct_read_file(ct_arena_printf(&arena, "%s/pid", f.path), 100, &pid, NULL));
	CU_ASSERT_EQUAL(kill((pid_t)atoi(ct_str_text(&pid)), 0), -1);
}

static void test_what_cuda_gdb_says_is_put_in_our_words(void)
{
	static const struct {
		const char *script;
		int64_t timeout_us;
		enum ct_code code;
		const char *says;
	} cases[] = {
		{"echo 'ptrace: Operation not permitted.'", 60 * SECOND, CT_DENIED, "does not let cuda-gdb attach"},
		{"echo 'fatal:  Attaching not possible. Please make sure that'; exec sleep 600", 3 * SECOND, CT_UNAVAILABLE, "does not let a debugger attach"},
		{"echo 'x.c:1: internal-error: foo'; kill -ABRT $$", 60 * SECOND, CT_SYSTEM, "internal error"},
		{"echo 'Python scripting is not supported in this copy of GDB.'", 60 * SECOND, CT_UNAVAILABLE, "has no Python"},
		{"echo 'error=CUDBG_ERROR_INCOMPATIBLE_API, error'", 60 * SECOND, CT_UNAVAILABLE, "does not fit the installed driver"},
		{"echo 'error=CUDBG_ERROR_SOMETHING_NEW, error'", 60 * SECOND, CT_SYSTEM, "(CUDBG_ERROR_SOMETHING_NEW)"},
		{"kill -SEGV $$", 60 * SECOND, CT_SYSTEM, "crashed (signal 11)"},
		{"exec sleep 600", SECOND / 5, CT_TIMEOUT, "did not finish in time"},
		{"exit 3", 60 * SECOND, CT_SYSTEM, "left no result (status 3)"},
		{"echo '{\"version\": 1}' >\"$CUDATRAP_GDB_OUT\"; echo 'Attaching not possible'", 60 * SECOND, CT_UNAVAILABLE, "does not let a debugger attach"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		CT_AUTO(end_folder) struct folder f = new_folder();
		CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(collect(&arena, &f, ct_arena_printf(&arena, "#!/bin/sh\n%s\n", cases[i].script), true, cases[i].timeout_us, &json, &err));
		CU_ASSERT_EQUAL(err.code, cases[i].code);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		CU_ASSERT_TRUE(ct_starts_with(err.text, "cuda-gdb 13.0: "));
		CU_ASSERT_EQUAL(json.length, 0);
	}
}

static void test_document_without_gpu_part_comes_back_when_nothing_explains_it(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CU_ASSERT_TRUE(collect(&arena, &f, "#!/bin/sh\necho '{\"version\": 1}' >\"$CUDATRAP_GDB_OUT\"\n", true, 60 * SECOND, &json, NULL));
	CU_ASSERT_STRING_EQUAL(ct_str_text(&json), "{\"version\": 1}\n");
}

static void test_environment_and_limits_of_cuda_gdb(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	setenv("CUDATRAP_AGENT_DIR", "/x", 1);
	setenv("PYTHONHOME", "/x", 1);
	setenv("CUDA_COREDUMP_FILE", "/x", 1);
	const char *script = "#!/bin/sh\n{ echo \"agent=$CUDATRAP_AGENT_DIR home=$PYTHONHOME dump=$CUDA_COREDUMP_FILE core=$(ulimit -c) after=$CUDATRAP_GDB_AFTER\"\n"
			     "pwd; cat; } >\"$CUDATRAP_GDB_OUT\"\n";
	CU_ASSERT_TRUE(collect(&arena, &f, script, true, 60 * SECOND, &json, NULL));
	unsetenv("CUDATRAP_AGENT_DIR");
	unsetenv("PYTHONHOME");
	unsetenv("CUDA_COREDUMP_FILE");
	CU_ASSERT_STRING_EQUAL(ct_str_text(&json), ct_arena_printf(&arena, "agent= home= dump= core=0 after=detach\n%s\n", f.path));
}

static void test_log_is_bounded(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CU_ASSERT_TRUE(collect(&arena, &f, "#!/bin/sh\nhead -c 5000000 /dev/zero\necho '" DOCUMENT "' >\"$CUDATRAP_GDB_OUT\"\n", true, 60 * SECOND, &json, NULL));
	struct stat st;
	CU_ASSERT_EQUAL(stat(ct_arena_printf(&arena, "%s/" CT_CUDAGDB_LOG, f.path), &st), 0);
	CU_ASSERT_EQUAL(st.st_size, (off_t)CT_CUDAGDB_LOG_LIMIT);
}

static void test_dumps_that_cuda_gdb_would_die_on_are_refused(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	Elf64_Ehdr good = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB}, .e_type = ET_CORE, .e_machine = 0xbe, .e_shoff = 64, .e_shnum = 1};
	Elf64_Ehdr cut = good, huge = good, host = good;
	cut.e_shoff = 65;
	huge.e_shoff = UINT64_MAX - 8;
	host.e_machine = EM_X86_64;
	const struct {
		const Elf64_Ehdr *header;
		bool ok;
		const char *says;
	} cases[] = {{&good, true, ""}, {&cut, false, "cut short at byte 128"}, {&huge, false, "cut short at byte 128"}, {&host, false, "not a GPU core dump"}};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		unsigned char bytes[128] = {0};
		memcpy(bytes, cases[i].header, sizeof *cases[i].header);
		int dir = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		CU_ASSERT_TRUE(ct_write_file_at(dir, "dump", bytes, sizeof bytes, NULL));
		close(dir);
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_EQUAL(ct_cudagdb_check_core(ct_arena_printf(&arena, "%s/dump", f.path), &err), cases[i].ok);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
	}
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_cudagdb_check_core("/nonexistent", &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
}

// ---- the machine interface

static bool parse(struct ct_arena *arena, const char *line, struct ct_mi_record *ret_record, struct ct_error *err)
{
	return ct_mi_parse(arena, line, strlen(line), ret_record, err);
}

static void test_mi_record_becomes_a_tree(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_mi_record r;
	CU_ASSERT_TRUE_FATAL(parse(&arena, "12^done,T={nr=\"1\",body=[Row={a=\"x \\\"y\\\" \\n\\303\\274\",b=\"\"},\"bare\",{}]},l=[]\r", &r, NULL));
	CU_ASSERT_TRUE(r.type == CT_MI_RESULT && r.has_token && r.token == 12);
	CU_ASSERT_STRING_EQUAL(r.class_name, "done");
	const struct ct_mi_value *table = ct_mi_find(r.first, "T");
	CU_ASSERT_PTR_NOT_NULL_FATAL(table);
	CU_ASSERT_STRING_EQUAL(ct_mi_text(table->first, "nr"), "1");
	const struct ct_mi_value *row = ct_mi_find(ct_mi_find(table->first, "body")->first, "Row");
	CU_ASSERT_STRING_EQUAL(ct_mi_text(row->first, "a"), "x \"y\" \n\xc3\xbc");
	CU_ASSERT_STRING_EQUAL(ct_mi_text(row->first, "b"), "");
	CU_ASSERT_STRING_EQUAL(row->next->text, "bare");
	CU_ASSERT_EQUAL(row->next->next->kind, CT_MI_TUPLE);
	CU_ASSERT_PTR_NULL(ct_mi_text(r.first, "T"));
	CU_ASSERT_PTR_NULL(ct_mi_find(r.first, "nothing"));
}

static void test_mi_lines_of_other_kinds(void)
{
	static const struct {
		const char *line;
		enum ct_mi_type type;
	} cases[] = {
		{"(gdb) ", CT_MI_PROMPT}, {"~\"text\\n\"", CT_MI_STREAM}, {"&\"log\"", CT_MI_STREAM}, {"=thread-created,id=\"1\"", CT_MI_ASYNC},
		{"*stopped", CT_MI_ASYNC}, {"^exit", CT_MI_RESULT}, {"output of the program", CT_MI_OTHER}, {"", CT_MI_OTHER}, {"~/bin", CT_MI_OTHER},
		{"42", CT_MI_OTHER}, {"99999999999^done", CT_MI_OTHER},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		struct ct_mi_record r;
		CU_ASSERT_TRUE(parse(&arena, cases[i].line, &r, NULL));
		CU_ASSERT_EQUAL(r.type, cases[i].type);
	}
}

static void test_mi_broken_records_are_refused(void)
{
	static const char *const cases[] = {
		"1^done,a", "1^done,a=", "1^done,a=\"x", "1^done,a=\"x\\", "1^done,a={b=\"1\"", "1^done,a=[\"1\"", "1^done,a=\"1\"x", "~\"x", "1^done,a={b=\"1\",}",
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		struct ct_mi_record r = {.token = 77};
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(parse(&arena, cases[i], &r, &err));
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_EQUAL(r.token, 77);
	}
}

static void test_mi_depth_is_bounded(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	char line[100000] = "^done,";
	memset(line + 6, '[', sizeof line - 7);
	struct ct_mi_record r;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(parse(&arena, line, &r, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nested too deeply"));
}

static void test_mi_mutated_records_are_survived(void)
{
	static const char good[] = "4^done,T={nr=\"1\",body=[R={current=\"*\",kernel=\"0\",dim=\"(8,1,1)\",i=\"f(,args=[{name=\\\"a\\\"}])\"},\"b\"]}";
	static const char bytes[] = "\"\\{}[],=^~\0\xff" "0n";
	for (size_t at = 0; at < sizeof good; at++)
		for (size_t b = 0; b < sizeof bytes; b++) {
			CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
			char line[sizeof good];
			memcpy(line, good, sizeof good);
			line[at] = bytes[b];
			struct ct_mi_record r;
			ct_mi_parse(&arena, line, sizeof good - 1, &r, NULL);
			ct_mi_parse(&arena, line, at, &r, NULL);
		}
}

// Answers every command with an error, or as told.
#define MI_FAKE(cases) "#!/bin/sh\nwhile read -r line; do token=${line%%-*}; case $line in " cases " *) echo \"$token^error,msg=\\\"no\\\"\";; esac; done\n"

static void test_mi_session_without_device_tells_so(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(collect(&arena, &f, MI_FAKE("*-target-attach*|*-gdb-exit*) echo \"$token^done\";;"), false, 60 * SECOND, &json, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(ct_str_text(&json), "\"status\":\"failed\""));
	CU_ASSERT_PTR_NULL(strstr(ct_str_text(&json), "\"gpu\":{"));
}

static void test_mi_session_that_fails_is_put_in_our_words(void)
{
	static const struct {
		const char *script;
		int64_t timeout_us;
		enum ct_code code;
		const char *says;
	} cases[] = {
		{"#!/bin/sh\nexit 0\n", 60 * SECOND, CT_SYSTEM, "ended in the middle"},
		{"#!/bin/sh\nexec sleep 600\n", SECOND / 5, CT_TIMEOUT, "did not finish in time"},
		{"#!/bin/sh\nread -r x; echo '1^done,a={'; exec cat >/dev/null\n", 60 * SECOND, CT_FORMAT, "a quoted text was expected"},
		{MI_FAKE(""), 60 * SECOND, CT_UNAVAILABLE, "-target-attach"},
		{MI_FAKE("*-target-attach*) echo \"$token^error,msg=\\\"ptrace: Operation not permitted.\\\"\";;"), 60 * SECOND, CT_DENIED, "does not let cuda-gdb attach"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		CT_AUTO(end_folder) struct folder f = new_folder();
		CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(collect(&arena, &f, cases[i].script, false, cases[i].timeout_us, &json, &err));
		CU_ASSERT_EQUAL(err.code, cases[i].code);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
	}
}

// ---- live

static void test_program_is_what_the_kernel_would_execute(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(end_folder) struct folder f = new_folder();
	char *script = (char *)write_text(&arena, &f, "bin/s", "#! /bin/interp  -a b \nx\n", 0700);
	char *by_env = (char *)write_text(&arena, &f, "bin/e", "#!/usr/bin/env s\n", 0700);
	char *binary = (char *)write_text(&arena, &f, "bin/b", "\177ELF", 0700);
	char *environment[] = {ct_arena_printf(&arena, "PATH=%s/bin", f.path), NULL};
	char *argv[] = {(char *)"s", (char *)"1 2", NULL};
	char **got;
	CU_ASSERT_TRUE_FATAL(ct_program_resolve(&arena, argv, environment, &got, NULL));
	CU_ASSERT_STRING_EQUAL(got[0], "/bin/interp");
	CU_ASSERT_STRING_EQUAL(got[1], "-a b");
	CU_ASSERT_STRING_EQUAL(got[2], script);
	CU_ASSERT_STRING_EQUAL(got[3], "1 2");
	CU_ASSERT_PTR_NULL(got[4]);
	argv[0] = by_env;
	CU_ASSERT_TRUE_FATAL(ct_program_resolve(&arena, argv, environment, &got, NULL));
	CU_ASSERT_STRING_EQUAL(got[0], "/bin/interp");
	CU_ASSERT_STRING_EQUAL(got[2], script);
	CU_ASSERT_STRING_EQUAL(got[3], by_env);
	argv[0] = binary;
	CU_ASSERT_TRUE_FATAL(ct_program_resolve(&arena, argv, environment, &got, NULL));
	CU_ASSERT_STRING_EQUAL(got[0], binary);
	struct ct_error err = CT_ERROR_INIT;
	argv[0] = (char *)"nowhere";
	CU_ASSERT_FALSE(ct_program_resolve(&arena, argv, environment, &got, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	argv[0] = ct_arena_printf(&arena, "%s/none", f.path);
	CU_ASSERT_FALSE(ct_program_resolve(&arena, argv, environment, &got, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
}

static void test_live_refuses_what_cannot_work(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cudagdb gdb = {.path = "/x", .version = "12.4"};
	int fds[3] = {3, 4, 5}, bad[3] = {3, 4, 10}, twice[3] = {3, 4, 3};
	char *argv[] = {(char *)"/bin/sh", NULL}, **a, **e;
	struct ct_cudagdb_live live = {.argv = argv, .environment = no_environment, .scratch_dir = "/tmp", .fds = fds};
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_cudagdb_live_argv(&arena, &gdb, &live, &a, &e, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	gdb.has_gdb_cuda = true;
	live.fds = bad;
	CU_ASSERT_FALSE(ct_cudagdb_live_argv(&arena, &gdb, &live, &a, &e, &err));
	CU_ASSERT_EQUAL(err.code, CT_USAGE);
	live.fds = twice;
	CU_ASSERT_FALSE(ct_cudagdb_live_argv(&arena, &gdb, &live, &a, &e, &err));
	live.fds = fds;
	CU_ASSERT_TRUE(ct_cudagdb_live_argv(&arena, &gdb, &live, &a, &e, &err));
}

static void test_live_status_is_read(void)
{
	static const struct {
		const char *text;
		bool ok;
		struct ct_cudagdb_live_status status;
	} cases[] = {
		{NULL, true, {.pid = 0}},
		{"{\"pid\": 7}", true, {.pid = 7}},
		{"{\"pid\": 7, \"exited\": 3}", true, {.pid = 7, .exited = true, .status = 3}},
		{"{\"pid\": 7, \"signaled\": 6}", true, {.pid = 7, .signaled = true, .status = 6}},
		{"{\"pid\": 7, \"aborted\": true}", true, {.pid = 7, .aborted = true}},
		{"{\"pid\": 7", false, {.pid = 0}},
		{"[]", false, {.pid = 0}},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
		CT_AUTO(end_folder) struct folder f = new_folder();
		if (cases[i].text)
			write_text(&arena, &f, CT_CUDAGDB_LIVE_STATUS, cases[i].text, 0600);
		struct ct_cudagdb_live_status s = {.pid = 0};
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_EQUAL(ct_cudagdb_live_status(f.path, &s, &err), cases[i].ok);
		CU_ASSERT_TRUE(s.pid == cases[i].status.pid && s.exited == cases[i].status.exited && s.signaled == cases[i].status.signaled &&
			       s.aborted == cases[i].status.aborted && s.status == cases[i].status.status);
		CU_ASSERT_EQUAL(err.code, cases[i].ok ? CT_OK : CT_FORMAT);
	}
}

static const CU_TestInfo tests[] = {
	{"first with gdb.cuda wins", test_first_with_gdb_cuda_wins},
	{"second best is taken when there is no better", test_second_best_is_taken_when_there_is_no_better},
	{"the target's environment is searched", test_the_targets_environment_is_searched},
	{"nothing found says what to do", test_nothing_found_says_what_to_do},
	{"explicit one that does not work is an error", test_explicit_one_that_does_not_work_is_an_error},
	{"document comes back even if cuda-gdb hangs after it", test_document_comes_back_even_if_cuda_gdb_hangs_after_it},
	{"what cuda-gdb says is put in our words", test_what_cuda_gdb_says_is_put_in_our_words},
	{"document without GPU part comes back when nothing explains it", test_document_without_gpu_part_comes_back_when_nothing_explains_it},
	{"environment and limits of cuda-gdb", test_environment_and_limits_of_cuda_gdb},
	{"log is bounded", test_log_is_bounded},
	{"dumps that cuda-gdb would die on are refused", test_dumps_that_cuda_gdb_would_die_on_are_refused},
	{"mi: record becomes a tree", test_mi_record_becomes_a_tree},
	{"mi: lines of other kinds", test_mi_lines_of_other_kinds},
	{"mi: broken records are refused", test_mi_broken_records_are_refused},
	{"mi: depth is bounded", test_mi_depth_is_bounded},
	{"mi: mutated records are survived", test_mi_mutated_records_are_survived},
	{"mi: session without device tells so", test_mi_session_without_device_tells_so},
	{"mi: session that fails is put in our words", test_mi_session_that_fails_is_put_in_our_words},
	{"program is what the kernel would execute", test_program_is_what_the_kernel_would_execute},
	{"live refuses what cannot work", test_live_refuses_what_cannot_work},
	{"live status is read", test_live_status_is_read},
	CU_TEST_INFO_NULL,
};

int main(void)
{
	return ct_unit_run("cudagdb", tests);
}
