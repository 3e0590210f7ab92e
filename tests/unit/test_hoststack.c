// Merging, marking, combining, the agent's answer, names: no process needed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hoststack/hoststack.h"
#include "unit.h"

#define EXE "/usr/bin/python3.11"
#define LIBPYTHON "/opt/lib/libpython3.12.so.1.0"
#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define LIBCUDA "/usr/lib/x86_64-linux-gnu/libcuda.so.580.159"
#define TORCH "/venv/torch/lib/libtorch_python.so"
#define EVAL "_PyEval_EvalFrameDefault"

struct row {
	const char *function, *module;
};

static struct ct_host_thread *add_thread(struct ct_incident *incident, int64_t tid, const struct row *rows, size_t n)
{
	struct ct_host_thread *t = ct_incident_add_thread(incident, tid, "t");
	t->frames = ct_arena_array(&incident->arena, n, sizeof *t->frames);
	t->n_frames = n;
	for (size_t i = 0; i < n; i++)
		t->frames[i] = (struct ct_host_frame){.kind = CT_FRAME_NATIVE, .function = rows[i].function, .module = rows[i].module};
	return t;
}
#define ADD_THREAD(incident, tid, ...) \
	add_thread(incident, tid, (const struct row[]){__VA_ARGS__}, CT_COUNT(((const struct row[]){__VA_ARGS__})))

// functions: one letter a frame, innermost first; a capital letter is an entry frame.
static struct ct_python_thread python_thread(struct ct_arena *arena, int64_t tid, const char *functions, bool has_entry)
{
	struct ct_python_thread t = {.tid = tid, .n_frames = strlen(functions)};
	t.frames = ct_arena_array(arena, t.n_frames, sizeof *t.frames);
	for (size_t i = 0; i < t.n_frames; i++) {
		bool capital = functions[i] >= 'A' && functions[i] <= 'Z';
		t.frames[i] = (struct ct_python_frame){.function = ct_arena_strndup(arena, &functions[i], 1), .file = "x.py", .line = 7,
						       .has_entry = has_entry, .is_entry = has_entry && capital};
	}
	return t;
}

// The names of a stack in one line, innermost first.
static const char *shape(struct ct_arena *arena, const struct ct_host_frame *frames, size_t n)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < n; i++)
		ct_str_addf(&s, "%s%s", s.length ? " " : "", frames[i].function ? frames[i].function : "?");
	return ct_arena_strdup(arena, ct_str_text(&s));
}

static const char *merged(struct ct_incident *incident, struct ct_python_thread p)
{
	struct ct_python_stacks stacks = {.version = "3.12.1", .threads = &p, .n_threads = 1};
	ct_hoststack_merge(incident, &stacks);
	return shape(&incident->arena, incident->threads[0].frames, incident->threads[0].n_frames);
}

#define LAUNCH {"ioctl", LIBC}, {NULL, LIBCUDA}, {"cuLaunchKernel", LIBCUDA}, {"at::native::f()", TORCH}
#define CALL {"cfunction_call", LIBPYTHON}, {"_PyObject_MakeTpCall", LIBPYTHON}
#define BEGIN {"run_mod", LIBPYTHON}, {"Py_RunMain", LIBPYTHON}, {NULL, LIBC}, {"__libc_start_main", LIBC}, {"_start", "/opt/bin/python3"}
#define INCIDENT CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new()

static void test_merge_by_entry_frames(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, LAUNCH, CALL, {EVAL, LIBPYTHON}, {"_PyEval_Vector", LIBPYTHON}, {"sorted_helper", TORCH}, CALL, {EVAL, LIBPYTHON},
		   {"PyEval_EvalCode", LIBPYTHON}, BEGIN);
	CU_ASSERT_STRING_EQUAL(merged(incident, python_thread(&incident->arena, 5, "abCdE", true)),
			       "ioctl ? cuLaunchKernel at::native::f() a b C sorted_helper d E");
	CU_ASSERT_TRUE(incident->threads[0].merged);
	CU_ASSERT_PTR_NULL(incident->threads[0].merge_note);
	CU_ASSERT_EQUAL(incident->threads[0].frames[4].kind, CT_FRAME_PYTHON);
	CU_ASSERT_EQUAL(incident->threads[0].frames[4].line, 7);
}

static void test_merge_one_eval_frame_needs_no_flags(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, LAUNCH, {EVAL ".cold", LIBPYTHON}, BEGIN);
	CU_ASSERT_STRING_EQUAL(merged(incident, python_thread(&incident->arena, 5, "abc", false)),
			       "ioctl ? cuLaunchKernel at::native::f() a b c");
}

static void test_merge_as_many_frames_as_evals_needs_no_flags(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {EVAL, EXE}, {"x", TORCH}, {EVAL, EXE}, {"main", EXE}, {"__libc_start_call_main", LIBC}, {"_start", EXE});
	CU_ASSERT_STRING_EQUAL(merged(incident, python_thread(&incident->arena, 5, "ab", false)), "a x b");
}

static void test_merge_counts_that_disagree_are_told(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {EVAL, EXE}, {"x", TORCH}, {EVAL, EXE});
	CU_ASSERT_STRING_EQUAL(merged(incident, python_thread(&incident->arena, 5, "AbCD", true)), EVAL " x " EVAL);
	const struct ct_host_thread *t = &incident->threads[0];
	CU_ASSERT_FALSE(t->merged);
	CU_ASSERT_EQUAL(t->n_python, 4);
	CU_ASSERT_STRING_EQUAL(t->merge_note, "4 Python frames in 3 calls of the interpreter, but 2 such calls on the native stack");
}

static void test_merge_without_flags_does_not_guess(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {EVAL, EXE}, {"x", TORCH}, {EVAL, EXE});
	merged(incident, python_thread(&incident->arena, 5, "abc", false));
	CU_ASSERT_FALSE(incident->threads[0].merged);
	CU_ASSERT_EQUAL(incident->threads[0].n_python, 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->threads[0].merge_note, "3 Python frames for 2 interpreter frames"));
}

static void test_merge_of_cut_python_stack_goes_as_far_as_it_goes(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {EVAL, EXE}, {"x", TORCH}, {EVAL, EXE}, {"y", TORCH}, {EVAL, EXE}, {"main", EXE});
	struct ct_python_thread p = python_thread(&incident->arena, 5, "aBc", true);
	p.cut = true;
	CU_ASSERT_STRING_EQUAL(merged(incident, p), "a B x c y");
	CU_ASSERT_TRUE(incident->threads[0].merged);
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->threads[0].merge_note, "missing"));
}

static void test_merge_of_cut_native_stack_keeps_all_python(void)
{
	INCIDENT;
	enum { CUT = 1024 };  // CT_NATIVE_MAX_FRAMES
	struct row *rows = calloc(CUT, sizeof *rows);
	for (size_t i = 0; i < CUT; i++)
		rows[i] = i % 4 ? (struct row){"plumbing", EXE} : (struct row){EVAL, EXE};
	char functions[301] = {0};
	memset(functions, 'A', 300);
	add_thread(incident, 5, rows, CUT);
	merged(incident, python_thread(&incident->arena, 5, functions, true));
	CU_ASSERT_TRUE(incident->threads[0].merged);
	CU_ASSERT_EQUAL(incident->threads[0].n_frames, 300);
	CU_ASSERT_PTR_NOT_NULL(incident->threads[0].merge_note);
	free(rows);
}

static void test_merge_keeps_an_embedding_program(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {EVAL, "/opt/blender"}, {"_PyFunction_Vectorcall", "/opt/blender"}, {"BPY_run", "/opt/blender"},
		   {"main", "/opt/blender"}, {"__libc_start_main", LIBC}, {"_start", "/opt/blender"});
	CU_ASSERT_STRING_EQUAL(merged(incident, python_thread(&incident->arena, 5, "A", true)), "A BPY_run main");
}

static void test_merge_threads_of_one_side_only(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {"poll", LIBC}, {"start_thread", LIBC});
	ADD_THREAD(incident, 6, {EVAL, EXE});
	struct ct_python_thread both[] = {python_thread(&incident->arena, 9, "A", true), python_thread(&incident->arena, 10, "", true)};
	struct ct_python_stacks stacks = {.threads = both, .n_threads = 2};
	ct_hoststack_merge(incident, &stacks);
	CU_ASSERT_EQUAL_FATAL(incident->n_threads, 3);
	CU_ASSERT_FALSE(incident->threads[0].merged);
	CU_ASSERT_PTR_NULL(incident->threads[0].merge_note);
	CU_ASSERT_EQUAL(incident->threads[1].n_frames, 1);
	CU_ASSERT_EQUAL(incident->threads[2].tid, 9);
	CU_ASSERT_STRING_EQUAL(incident->threads[2].frames[0].function, "A");
	CU_ASSERT_STRING_EQUAL(incident->threads[2].merge_note, "no native stack of this thread");
}

static void test_merge_without_thread_id_only_when_there_is_one(void)
{
	INCIDENT;
	ADD_THREAD(incident, 5, {"poll", LIBC});
	ADD_THREAD(incident, 6, {EVAL, EXE});
	merged(incident, python_thread(&incident->arena, 0, "A", true));
	CU_ASSERT_EQUAL(incident->n_threads, 2);
	CU_ASSERT_TRUE(incident->threads[1].merged);
	merged(incident, python_thread(&incident->arena, 0, "A", true));
	CU_ASSERT_EQUAL(incident->n_threads, 3);
}

static void test_combine_takes_flags_where_both_agree(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_python_thread agent[] = {python_thread(&arena, 1, "ab", false), python_thread(&arena, 2, "ab", false)};
	struct ct_python_thread outside[] = {python_thread(&arena, 2, "aX", true), python_thread(&arena, 1, "ab", true), python_thread(&arena, 3, "Q", true)};
	outside[1].frames[1].function = "Trainer.step.b";
	outside[1].frames[1].is_entry = true;
	agent[0].name = "MainThread";
	struct ct_python_stacks a = {.version = "3.12.3", .threads = agent, .n_threads = 2}, w = {.version = "3.12", .threads = outside, .n_threads = 3};
	struct ct_python_stacks both = {0};
	ct_hoststack_combine(&arena, &a, &w, &both);
	CU_ASSERT_STRING_EQUAL(both.version, "3.12.3");
	CU_ASSERT_EQUAL_FATAL(both.n_threads, 3);
	CU_ASSERT_STRING_EQUAL(both.threads[0].name, "MainThread");
	CU_ASSERT_STRING_EQUAL(both.threads[0].frames[1].function, "b");
	CU_ASSERT_TRUE(both.threads[0].frames[1].has_entry && both.threads[0].frames[1].is_entry);
	CU_ASSERT_FALSE(both.threads[1].frames[0].has_entry);
	CU_ASSERT_EQUAL(both.threads[2].tid, 3);
	ct_arena_done(&arena);
}

static void test_mark_by_thread_id(void)
{
	INCIDENT;
	ADD_THREAD(incident, 1, {"poll", LIBC});
	ADD_THREAD(incident, 2, LAUNCH);
	ADD_THREAD(incident, 3, {"poll", LIBC});
	ct_hoststack_mark_launching(incident, 3);
	CU_ASSERT_EQUAL(incident->threads[0].tid, 3);
	CU_ASSERT_TRUE(incident->threads[0].launching);
	CU_ASSERT_STRING_EQUAL(incident->threads[0].why_launching, "host thread id of the grid");
	CU_ASSERT_EQUAL(incident->threads[1].tid, 1);
	CU_ASSERT_EQUAL(incident->threads[2].tid, 2);
	ct_hoststack_mark_launching(incident, 77);
	CU_ASSERT_FALSE(incident->threads[0].launching);
	CU_ASSERT_EQUAL(incident->n_notes, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->notes[0], "77"));
}

static void test_mark_by_stack(void)
{
	INCIDENT;
	// The driver's own thread, one that waits, one that launches.
	ADD_THREAD(incident, 1, {"poll", LIBC}, {NULL, LIBCUDA}, {"cuLaunchKernel", LIBCUDA}, {"start_thread", LIBC}, {"clone3", LIBC});
	ADD_THREAD(incident, 2, {"ioctl", LIBC}, {NULL, LIBCUDA}, {"cuStreamSynchronize", LIBCUDA}, {"main", "/a/app"});
	ADD_THREAD(incident, 3, {NULL, LIBCUDA}, {"__cudaLaunchKernel_ptsz", "/a/libcudart.so.13"}, {"work", "/a/app"});
	ct_hoststack_mark_launching(incident, 0);
	CU_ASSERT_EQUAL(incident->threads[0].tid, 3);
	CU_ASSERT_TRUE(incident->threads[0].launching);
	CU_ASSERT_STRING_EQUAL(incident->threads[0].why_launching, "blocked in __cudaLaunchKernel_ptsz");
	CU_ASSERT_EQUAL(incident->n_notes, 0);
}

static void test_mark_never_guesses(void)
{
	static const struct row launch[] = {LAUNCH}, wait[] = {{NULL, LIBCUDA}, {"cuCtxSynchronize", LIBCUDA}, {"main", "/a/app"}},
				other[] = {{"cuEventQuery", LIBCUDA}, {"watchdog", "/a/app"}}, name[] = {{"cuLaunchKernel", "/a/app"}};
	static const struct {
		const struct row *first, *second;
		size_t n_first, n_second;
		int64_t marked;
		const char *words;
	} cases[] = {
		{launch, launch, 4, 4, 0, "2 threads are in a launch call"},
		{wait, wait, 3, 3, 0, "2 threads are waiting in libcuda"},
		{other, other, 2, 2, 0, "2 threads are in libcuda"},
		{name, name, 1, 1, 0, "no thread is in libcuda"},
		{wait, other, 3, 2, 1, "blocked in cuCtxSynchronize"},
		{name, other, 1, 2, 2, "only thread in libcuda"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		INCIDENT;
		add_thread(incident, 1, cases[i].first, cases[i].n_first);
		add_thread(incident, 2, cases[i].second, cases[i].n_second);
		ct_hoststack_mark_launching(incident, 0);
		const struct ct_host_thread *t = &incident->threads[0];
		CU_ASSERT_EQUAL(t->launching ? t->tid : 0, cases[i].marked);
		CU_ASSERT_EQUAL_FATAL(incident->n_notes, cases[i].marked ? 0 : 1);
		CU_ASSERT_PTR_NOT_NULL(strstr(cases[i].marked ? t->why_launching : incident->notes[0], cases[i].words));
	}
}

static bool parse(struct ct_arena *arena, const char *json, struct ct_python_stacks *stacks, struct ct_error *err)
{
	return ct_hoststack_python_parse(arena, json, strlen(json), stacks, err);
}

static void test_parse_the_agents_answer(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_python_stacks s = {0};
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE(parse(&arena,
			     "{\"version\":1,\"pid\":4,\"python\":\"3.12.3\",\"more\":[],\"threads\":[{\"tid\":5,\"name\":\"MainThread\",\"frames\":"
			     "[{\"function\":\"f\\u001b[31m\",\"file\":\"x.py\",\"line\":3,\"source\":\"g()\"},{\"function\":null}]}]}",
			     &s, &err));
	CU_ASSERT_STRING_EQUAL(s.version, "3.12.3");
	CU_ASSERT_EQUAL_FATAL(s.n_threads, 1);
	CU_ASSERT_EQUAL(s.threads[0].tid, 5);
	CU_ASSERT_STRING_EQUAL(s.threads[0].name, "MainThread");
	CU_ASSERT_EQUAL_FATAL(s.threads[0].n_frames, 2);
	CU_ASSERT_STRING_EQUAL(s.threads[0].frames[0].function, "f\xef\xbf\xbd[31m");
	CU_ASSERT_EQUAL(s.threads[0].frames[0].line, 3);
	CU_ASSERT_STRING_EQUAL(s.threads[0].frames[0].source, "g()");
	CU_ASSERT_FALSE(s.threads[0].frames[0].has_entry);
	CU_ASSERT_PTR_NULL(s.threads[0].frames[1].function);
	CU_ASSERT_TRUE(parse(&arena, "{\"version\":1,\"python\":\"3.9.18\",\"threads\":[{\"frames\":[{}]}]}", &s, &err));
	CU_ASSERT_TRUE(s.threads[0].frames[0].has_entry && s.threads[0].frames[0].is_entry);
	CU_ASSERT_FALSE(parse(&arena, "{\"version\":1,\"error\":\"no Python in this process\"}", &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no Python in this process"));
	ct_arena_done(&arena);
}

static void test_parse_hostile_answers(void)
{
	static const char *const bad[] = {
		"", "{", "[]", "null", "1", "{\"version\":2,\"threads\":[]}", "{\"version\":\"1\",\"threads\":[]}", "{\"version\":1}",
		"{\"version\":1,\"threads\":{}}", "{\"version\":1,\"threads\":[7]}", "{\"version\":1,\"threads\":[{}]}",
		"{\"version\":1,\"threads\":[{\"tid\":\"5\",\"frames\":[]}]}", "{\"version\":1,\"threads\":[{\"tid\":-5,\"frames\":[]}]}",
		"{\"version\":1,\"threads\":[{\"tid\":99999999999,\"frames\":[]}]}", "{\"version\":1,\"threads\":[{\"name\":[],\"frames\":[]}]}",
		"{\"version\":1,\"threads\":[{\"frames\":[[]]}]}", "{\"version\":1,\"threads\":[{\"frames\":[{\"line\":-1}]}]}",
		"{\"version\":1,\"threads\":[{\"frames\":[{\"line\":1e9}]}]}", "{\"version\":1,\"threads\":[{\"frames\":[{\"file\":3}]}]}",
		"{\"version\":1,\"python\":3,\"threads\":[]}", "{\"version\":1,\"error\":{}}", "\xff\xfe", "{\"version\":1,\"threads\":[]} x",
	};
	for (size_t i = 0; i < CT_COUNT(bad); i++) {
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_python_stacks s = {.version = "untouched"};
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(parse(&arena, bad[i], &s, &err));
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_STRING_EQUAL(s.version, "untouched");
		ct_arena_done(&arena);
	}
	struct ct_error err = CT_ERROR_INIT;
	struct ct_python_stacks s = {0};
	CU_ASSERT_FALSE(ct_hoststack_python_parse(NULL, "{", (size_t)17 << 20, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
	CT_AUTO(ct_auto_str) struct ct_str deep = CT_STR_INIT;
	for (unsigned i = 0; i < 100000; i++)
		ct_str_addc(&deep, '[');
	CU_ASSERT_FALSE(ct_hoststack_python_parse(NULL, deep.data, deep.length, &s, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
}

static void test_parse_truncated_answers(void)
{
	static const char whole[] = "{\"version\":1,\"python\":\"3.12.3\",\"threads\":[{\"tid\":5,\"frames\":[{\"function\":\"f\",\"line\":3}]}]}";
	for (size_t n = 0; n < sizeof whole - 1; n++) {
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_python_stacks s = {0};
		CU_ASSERT_FALSE(ct_hoststack_python_parse(&arena, whole, n, &s, NULL));
		ct_arena_done(&arena);
	}
}

static void write_file(const char *path, const char *text)
{
	CT_AUTO(ct_auto_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CU_ASSERT_TRUE_FATAL(fd >= 0 && ct_write_all(fd, text, strlen(text), NULL));
}

static void test_sources_of_frames(void)
{
	INCIDENT;
	char dir[] = "/tmp/ct-hoststack-XXXXXX", path[64], fifo[64];
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/a.py", dir);
	snprintf(fifo, sizeof fifo, "%s/fifo", dir);
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	ct_str_add(&text, "one\n\t  two  \r\n\n");
	for (unsigned i = 0; i < 300; i++)
		ct_str_add(&text, "\xc3\xbc");
	ct_str_add(&text, "\n\x1b]0;x\nlast");
	write_file(path, text.data);
	CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
	struct ct_host_frame frames[] = {
		{.kind = CT_FRAME_PYTHON, .file = path, .line = 2}, {.kind = CT_FRAME_PYTHON, .file = path, .line = 3},
		{.kind = CT_FRAME_PYTHON, .file = path, .line = 4}, {.kind = CT_FRAME_NATIVE, .file = path, .line = 5},
		{.kind = CT_FRAME_PYTHON, .file = "a.py", .line = 6}, {.kind = CT_FRAME_PYTHON, .file = path, .line = 7},
		{.kind = CT_FRAME_PYTHON, .file = fifo, .line = 1}, {.kind = CT_FRAME_PYTHON, .file = "<string>", .line = 1},
		{.kind = CT_FRAME_NATIVE, .file = "a.py", .line = 1}, {.kind = CT_FRAME_PYTHON, .file = "/dev/zero", .line = 1},
		{.kind = CT_FRAME_PYTHON, .file = path, .line = 1, .source = "kept"}, {.kind = CT_FRAME_PYTHON, .file = path, .line = 0},
	};
	struct ct_host_thread *t = ct_incident_add_thread(incident, 1, NULL);
	t->frames = frames;
	t->n_frames = CT_COUNT(frames);
	incident->process.cwd = dir;
	ct_hoststack_add_sources(incident, 0, 0);
	CU_ASSERT_STRING_EQUAL(frames[0].source, "two");
	CU_ASSERT_PTR_NULL(frames[1].source);
	CU_ASSERT_EQUAL(strlen(frames[2].source), 400);
	CU_ASSERT_STRING_EQUAL(frames[3].source, "\xef\xbf\xbd]0;x");
	CU_ASSERT_STRING_EQUAL(frames[4].source, "last");
	for (size_t i = 5; i < 10; i++)
		CU_ASSERT_PTR_NULL(frames[i].source);
	CU_ASSERT_STRING_EQUAL(frames[10].source, "kept");
	CU_ASSERT_PTR_NULL(frames[11].source);
	unlink(path);
	unlink(fifo);
	rmdir(dir);
}

// ---- Excerpts -----------------------------------------------------------------------------------------------------

enum { LONG_AGO = 1000000000, AFTERWARDS = 1500000000 };  // seconds since the epoch

static void write_old_file(const char *path, const char *text, time_t written)
{
	const struct timespec times[] = {{.tv_sec = written}, {.tv_sec = written}};
	write_file(path, text);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

struct excerpt_files {
	char dir[40], python[64], native[64], module[64];
};

static const char numbered[] = "1\n2\n3\n\tif x:\r\n5\n    six()  \n7\n8\n9\n";

static struct excerpt_files new_excerpt_files(void)
{
	struct excerpt_files f = {.dir = "/tmp/ct-excerpt-XXXXXX"};
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f.dir));
	snprintf(f.python, sizeof f.python, "%s/a.py", f.dir);
	snprintf(f.native, sizeof f.native, "%s/a.cu", f.dir);
	snprintf(f.module, sizeof f.module, "%s/program", f.dir);
	write_old_file(f.python, numbered, LONG_AGO);
	write_old_file(f.native, numbered, LONG_AGO);
	write_old_file(f.module, "ELF", AFTERWARDS);
	return f;
}

static void remove_excerpt_files(const struct excerpt_files *f)
{
	unlink(f->python);
	unlink(f->native);
	unlink(f->module);
	rmdir(f->dir);
}

// Of a process that began when the files were as they are: that they were made here counts as a change.
static int64_t began_later(void)
{
	return ct_wall_us() + INT64_C(3600) * 1000000;
}

static void add_frames(struct ct_incident *incident, struct ct_host_frame *frames, size_t n)
{
	struct ct_host_thread *t = ct_incident_add_thread(incident, 1, NULL);
	t->frames = frames;
	t->n_frames = n;
}

static void test_user_frames_get_the_lines_around(void)
{
	INCIDENT;
	struct excerpt_files f = new_excerpt_files();
	struct ct_host_frame frames[] = {
		{.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6}, {.kind = CT_FRAME_PYTHON, .file = f.python, .line = 1},
		{.kind = CT_FRAME_NATIVE, .file = f.native, .line = 9, .module = f.module},
		{.kind = CT_FRAME_NATIVE, .file = f.native, .line = 9, .module = "/usr/lib/libx.so"},
		{.kind = CT_FRAME_PYTHON, .file = f.python, .line = 10}, {.kind = CT_FRAME_PYTHON, .file = f.python, .line = UINT32_MAX},
	};
	add_frames(incident, frames, CT_COUNT(frames));
	ct_hoststack_add_sources(incident, 0, began_later());
	static const char *const around_six[] = {"3", "    if x:", "5", "    six()", "7", "8", "9"};
	CU_ASSERT_EQUAL(frames[0].excerpt_line, 3);
	CU_ASSERT_EQUAL_FATAL(frames[0].n_excerpt, CT_COUNT(around_six));
	for (size_t i = 0; i < CT_COUNT(around_six); i++)
		CU_ASSERT_STRING_EQUAL(frames[0].excerpt[i], around_six[i]);
	CU_ASSERT_EQUAL(frames[1].excerpt_line, 1);
	CU_ASSERT_EQUAL_FATAL(frames[1].n_excerpt, 4);
	CU_ASSERT_STRING_EQUAL(frames[1].excerpt[3], "    if x:");
	CU_ASSERT_EQUAL(frames[2].excerpt_line, 6);
	CU_ASSERT_EQUAL_FATAL(frames[2].n_excerpt, 4);
	CU_ASSERT_STRING_EQUAL(frames[2].excerpt[3], "9");
	for (size_t i = 3; i < CT_COUNT(frames); i++)
		CU_ASSERT_EQUAL(frames[i].n_excerpt, 0);
	CU_ASSERT_EQUAL(incident->n_notes, 0);
	remove_excerpt_files(&f);
}

// Nothing is shown of a file that may no longer be what runs; that its line is shown is told.
static void test_changed_files_give_no_excerpt(void)
{
	INCIDENT;
	struct excerpt_files f = new_excerpt_files();
	write_old_file(f.module, "ELF", LONG_AGO - 60);
	struct ct_host_frame frames[] = {
		{.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6}, {.kind = CT_FRAME_NATIVE, .file = f.native, .line = 6, .module = f.module},
		{.kind = CT_FRAME_PYTHON, .file = f.python, .line = 7}, {.kind = CT_FRAME_NATIVE, .file = f.native, .line = 6, .module = "/no/such/program"},
	};
	add_frames(incident, frames, CT_COUNT(frames));
	ct_hoststack_add_sources(incident, 0, INT64_C(1000000) * AFTERWARDS);
	for (size_t i = 0; i < CT_COUNT(frames); i++) {
		CU_ASSERT_PTR_NOT_NULL(frames[i].source);
		CU_ASSERT_EQUAL(frames[i].n_excerpt, 0);
	}
	CU_ASSERT_EQUAL_FATAL(incident->n_notes, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->notes[0], "a.py was changed after the process began"));
	CU_ASSERT_PTR_NOT_NULL(strstr(incident->notes[1], "a.cu was changed after the program was built"));
	remove_excerpt_files(&f);
}

static void test_what_is_not_known_gives_no_excerpt(void)
{
	INCIDENT;
	struct excerpt_files f = new_excerpt_files();
	struct ct_host_frame frames[] = {
		{.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6, .source = "seven()"}, {.kind = CT_FRAME_PYTHON, .file = "/proc/kmsg", .line = 1},
		{.kind = CT_FRAME_PYTHON, .file = "/proc/self/stat", .line = 1},
	};
	struct ct_host_frame of_unknown_age = {.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6};
	add_frames(incident, frames, CT_COUNT(frames));
	ct_hoststack_add_sources(incident, 0, began_later());
	for (size_t i = 0; i < CT_COUNT(frames); i++)
		CU_ASSERT_EQUAL(frames[i].n_excerpt, 0);
	CU_ASSERT_STRING_EQUAL(frames[0].source, "seven()");
	CU_ASSERT_PTR_NULL(frames[1].source);
	CU_ASSERT_PTR_NULL(frames[2].source);
	add_frames(incident, &of_unknown_age, 1);
	ct_hoststack_add_sources(incident, 0, 0);
	CU_ASSERT_STRING_EQUAL(of_unknown_age.source, "six()");
	CU_ASSERT_EQUAL(of_unknown_age.n_excerpt, 0);
	CU_ASSERT_EQUAL(incident->n_notes, 0);
	remove_excerpt_files(&f);
}

// A recursion is 64 excerpts and no more, however often one looks; launches have room of their own.
static void test_excerpts_are_bounded(void)
{
	INCIDENT;
	struct excerpt_files f = new_excerpt_files();
	struct ct_host_frame frames[100];
	struct ct_launch launch = {.n_python = 1};
	launch.python = &(struct ct_host_frame){.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6};
	struct ct_launch before = {.n_python = 1};
	before.python = &(struct ct_host_frame){.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6};
	for (size_t i = 0; i < CT_COUNT(frames); i++)
		frames[i] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .file = f.python, .line = 6};
	add_frames(incident, frames, CT_COUNT(frames));
	ct_hoststack_add_sources(incident, 0, began_later());
	incident->launch = (struct ct_launched){.present = true, .candidates = &launch, .n_candidates = 1, .history = &before, .n_history = 1};
	ct_hoststack_add_sources(incident, 0, began_later());
	for (size_t i = 0; i < CT_COUNT(frames); i++) {
		CU_ASSERT_EQUAL(frames[i].n_excerpt, i < 64 ? 7 : 0);
		CU_ASSERT_STRING_EQUAL(frames[i].source, "six()");
	}
	CU_ASSERT_EQUAL(launch.python[0].n_excerpt, 7);
	CU_ASSERT_STRING_EQUAL(before.python[0].source, "six()");
	CU_ASSERT_EQUAL(before.python[0].n_excerpt, 0);
	remove_excerpt_files(&f);
}

// Between one second and the next: what was before it began before, and its parent not after it.
static void test_when_a_process_began(void)
{
	int64_t before = ct_wall_us();
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	int64_t began = ct_hoststack_began_us(child), after = ct_wall_us();
	CU_ASSERT_TRUE(began > before - 1000000);
	CU_ASSERT_TRUE(began <= after);
	CU_ASSERT_TRUE(ct_hoststack_began_us(getpid()) <= began);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CU_ASSERT_EQUAL(ct_hoststack_began_us(child), 0);
	CU_ASSERT_EQUAL(ct_hoststack_began_us(0), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"merge by entry frames", test_merge_by_entry_frames},
		{"merge: one eval frame needs no flags", test_merge_one_eval_frame_needs_no_flags},
		{"merge: as many frames as evals needs no flags", test_merge_as_many_frames_as_evals_needs_no_flags},
		{"merge: counts that disagree are told", test_merge_counts_that_disagree_are_told},
		{"merge without flags does not guess", test_merge_without_flags_does_not_guess},
		{"merge of a cut Python stack goes as far as it goes", test_merge_of_cut_python_stack_goes_as_far_as_it_goes},
		{"merge of a cut native stack keeps all Python frames", test_merge_of_cut_native_stack_keeps_all_python},
		{"merge keeps an embedding program", test_merge_keeps_an_embedding_program},
		{"merge: threads of one side only", test_merge_threads_of_one_side_only},
		{"merge without thread id only when there is one", test_merge_without_thread_id_only_when_there_is_one},
		{"combine takes flags where both agree", test_combine_takes_flags_where_both_agree},
		{"mark by thread id", test_mark_by_thread_id},
		{"mark by stack", test_mark_by_stack},
		{"mark never guesses", test_mark_never_guesses},
		{"parse the agent's answer", test_parse_the_agents_answer},
		{"parse hostile answers", test_parse_hostile_answers},
		{"parse truncated answers", test_parse_truncated_answers},
		{"sources of frames", test_sources_of_frames},
		{"user frames get the lines around", test_user_frames_get_the_lines_around},
		{"changed files give no excerpt", test_changed_files_give_no_excerpt},
		{"what is not known gives no excerpt", test_what_is_not_known_gives_no_excerpt},
		{"excerpts are bounded", test_excerpts_are_bounded},
		{"when a process began", test_when_a_process_began},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("hoststack", tests);
}
