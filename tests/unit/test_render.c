// render/: the text of each recorded incident is what a person should read, at every width and whatever the fields hold.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "golden.h"
#include "render/names.h"
#include "render/page.h"
#include "render/render.h"
#include "unit.h"

// C identifier, folder, also compared in colour
#define GOLDEN_CASES(X)                                 \
	X(torch_cross_entropy, "torch-cross-entropy", true) \
	X(cpp_assert, "cpp-assert-two-blocks", true)    \
	X(illegal_address, "illegal-address", false)    \
	X(trap, "trap", false)                          \
	X(ptrace_refused, "ptrace-refused", false)      \
	X(hang, "hang", false)                          \
	X(checks, "checks", false) \
	X(api_error, "api-error", false)                \
	X(ranks, "ranks", false)                        \
	X(hostile, "hostile", true)                     \
	X(markup, "markup", false)                      \
	X(million_threads, "million-threads", false)    \
	X(values, "values", false)                      \
	X(candidates, "candidates", false)              \
	X(async_launch, "async-launch", true)           \
	X(excerpts, "excerpts", false)                  \
	X(several_launches, "several-launches", false)  \
	X(failed_launch, "failed-launch", false)

static const char *const case_names[] = {
#define X(id, name, color) name,
	GOLDEN_CASES(X)
#undef X
};

static char *render(const struct ct_incident *incident, const struct ct_render_options *options)
{
	char *text = NULL;
	size_t length = 0;
	struct ct_error err = CT_ERROR_INIT;
	FILE *out = open_memstream(&text, &length);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_TRUE(ct_renderer_find("text")->render(incident, options, out, &err));
	fclose(out);
	return text;
}

static void check_golden(const char *name, bool color)
{
	static const struct {
		const char *file;
		unsigned width;
		bool color;
	} variants[] = {{"expected.txt", 80, false}, {"expected-40.txt", 40, false}, {"expected-120.txt", 120, false}, {"expected-color.txt", 80, true}};
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read(name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	for (size_t i = 0; i < CT_COUNT(variants); i++) {
		if (variants[i].color && !color)
			continue;
		struct ct_render_options options = {.width = variants[i].width, .color = variants[i].color, .report_path = "cudatrap-reports/the-id/"};
		CT_AUTO(ct_auto_free) char *text = render(incident, &options);
		ct_golden_compare(name, variants[i].file, text);
	}
}

#define X(id, name, color)              \
	static void test_golden_##id(void) \
	{                               \
		check_golden(name, color);  \
	}
GOLDEN_CASES(X)
#undef X

static void test_every_folder_is_a_case(void)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(RENDER_DATA);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	size_t found = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		bool known = e->d_name[0] == '.' || strcmp(e->d_name, "README") == 0;
		for (size_t i = 0; i < CT_COUNT(case_names); i++) {
			if (strcmp(case_names[i], e->d_name) == 0) {
				known = true;
				found++;
			}
		}
		CU_ASSERT_TRUE(known);
	}
	CU_ASSERT_EQUAL(found, CT_COUNT(case_names));
}

// Without colour escapes, which take no columns.
static void strip_colour(char *text)
{
	char *to = text;
	for (const char *p = text; *p;) {
		if (*p == '\x1b')
			p += strcspn(p, "m") + 1;
		else
			*to++ = *p++;
	}
	*to = '\0';
}

// Report path and signature stay whole, for copying.
static bool may_be_wide(const char *line)
{
	return ct_starts_with(line, "report: ") || ct_starts_with(line, "signature ");
}

static bool layout_is_sound(char *text, unsigned width)
{
	bool sound = *text && text[strlen(text) - 1] == '\n';
	strip_colour(text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		bool bad = (ct_text_columns(line) > width && !may_be_wide(line)) || (*line && line[strlen(line) - 1] == ' ');
		for (const char *p = line; *p; p++)
			bad = bad || (unsigned char)*p < ' ' || *p == '\x7f';
		if (bad)
			printf("# width %u, %zu columns: %s|\n", width, ct_text_columns(line), line);
		sound = sound && !bad;
	}
	return sound;
}

static void test_no_line_is_wider_than_asked(void)
{
	for (size_t i = 0; i < CT_COUNT(case_names); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read(case_names[i]);
		CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
		for (unsigned width = 40; width <= 200; width += 7) {
			bool more = width % 2;
			struct ct_render_options options = {.width = width, .color = more, .native = more, .all_threads = more, .report_path = "r/"};
			CT_AUTO(ct_auto_free) char *text = render(incident, &options);
			CU_ASSERT_TRUE(layout_is_sound(text, width));
		}
	}
}

// Whatever a changed file still says, its report has lines of the asked width.
static void test_mutated_incidents_keep_the_layout(void)
{
	uint32_t state = 1;
	size_t rendered = 0;
	for (size_t i = 0; i < CT_COUNT(case_names); i++) {
		CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
		char path[512];
		snprintf(path, sizeof path, "%s/%s/incident.json", RENDER_DATA, case_names[i]);
		CU_ASSERT_TRUE_FATAL(ct_read_file(path, 1 << 20, &json, NULL));
		for (int round = 0; round < 60; round++) {
			CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
			CT_AUTO(ct_auto_free) char *copy = malloc(json.length);
			CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
			memcpy(copy, json.data, json.length);
			for (int n = 0; n < 3; n++) {
				state = state * 1664525u + 1013904223u;
				copy[state % json.length] = "09 :<>(){}_/a"[(state >> 20) % 13];
			}
			if (!ct_incident_read_json(copy, json.length, &incident, NULL))
				continue;
			unsigned width = 40 + (unsigned)round;
			CT_AUTO(ct_auto_free) char *text = render(incident, &(struct ct_render_options){.width = width});
			CU_ASSERT_TRUE(layout_is_sound(text, width));
			rendered++;
		}
	}
	CU_ASSERT_TRUE(rendered > 50);
}

static void test_own_functions_are_no_plumbing(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("cpp-assert-two-blocks");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	struct ct_host_thread *t = &incident->threads[0];
	for (size_t i = 0; i < t->n_frames; i++)
		if (t->frames[i].function && strcmp(t->frames[i].function, "main") == 0)
			t->frames[i].function = "clone_tensor(int)";
	CT_AUTO(ct_auto_free) char *text = render(incident, &(struct ct_render_options){.width = 80});
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "clone_tensor"));
	CU_ASSERT_PTR_NULL(strstr(text, "__libc_start"));
	CU_ASSERT_PTR_NULL(strstr(text, "__device_stub"));
}

static void test_too_narrow_is_40_and_none_is_80(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("torch-cross-entropy");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	static const unsigned pairs[][2] = {{1, 40}, {0, 80}};
	for (size_t i = 0; i < CT_COUNT(pairs); i++) {
		CT_AUTO(ct_auto_free) char *a = render(incident, &(struct ct_render_options){.width = pairs[i][0]});
		CT_AUTO(ct_auto_free) char *b = render(incident, &(struct ct_render_options){.width = pairs[i][1]});
		CU_ASSERT_STRING_EQUAL(a, b);
		CU_ASSERT_PTR_NULL(strstr(a, "report:"));
		CU_ASSERT_PTR_NULL(strchr(a, '\x1b'));
	}
}

static void test_native_shows_every_frame(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("torch-cross-entropy");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	CT_AUTO(ct_auto_free) char *few = render(incident, &(struct ct_render_options){.width = 120});
	CT_AUTO(ct_auto_free) char *all = render(incident, &(struct ct_render_options){.width = 120, .native = true, .all_threads = true});
	static const char *const only_all[] = {"__GI___poll", "nll_loss_forward_out_cuda_template", "cuLaunchKernel", "Py_RunMain", "pt_autograd_0"};
	for (size_t i = 0; i < CT_COUNT(only_all); i++) {
		CU_ASSERT_PTR_NOT_NULL(strstr(all, only_all[i]));
		CU_ASSERT_PTR_NULL(strstr(few, only_all[i]));
	}
	CU_ASSERT_PTR_NOT_NULL(strstr(few, "18 native frames (libtorch_python, libtorch_cpu, libtorch_cuda); --native shows them"));
}

static void test_deep_recursion_keeps_both_ends(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_host_thread *t = ct_incident_add_thread(incident, 7, "main");
	t->launching = true;
	t->n_frames = 5000;
	t->frames = ct_arena_array(&incident->arena, t->n_frames, sizeof *t->frames);
	for (size_t i = 0; i < t->n_frames; i++)
		t->frames[i] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .function = "visit", .file = "/w/tree.py", .line = (uint32_t)(i + 1)};
	CT_AUTO(ct_auto_free) char *text = render(incident, &(struct ct_render_options){.width = 80});
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "tree.py:5000"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "tree.py:1 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "... 4,940 more lines"));
	CU_ASSERT_PTR_NULL(strstr(text, "tree.py:2500"));
}

static void test_empty_incident_says_what_is_absent(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	for (int kind = CT_FAULT_UNKNOWN; kind <= CT_FAULT_HANG; kind++) {
		incident->kind = (enum ct_fault_kind)kind;
		CT_AUTO(ct_auto_free) char *text = render(incident, &(struct ct_render_options){.width = 80});
		CU_ASSERT_PTR_NOT_NULL(strstr(text, ct_fault_kind_headline(incident->kind)));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "no host stack was read"));
		CU_ASSERT_EQUAL(!strstr(text, "kernel not known"), incident->kind == CT_FAULT_API_ERROR);
		CU_ASSERT_TRUE(layout_is_sound(text, 80));
	}
	CU_ASSERT_EQUAL(incident->arena.total_bytes, 0);
}

static void test_unmarked_thread_is_said_to_be_one(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("cpp-assert-two-blocks");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	incident->threads[0].launching = false;
	CT_AUTO(ct_auto_free) char *text = render(incident, &(struct ct_render_options){.width = 120});
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Host stack of thread 512 (faults)"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Which thread launched the kernel was not established"));
	CU_ASSERT_PTR_NULL(strstr(text, "Launched from"));
}

static void test_full_disk_is_an_error(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("trap");
	CT_AUTO(ct_auto_fclose) FILE *full = fopen("/dev/full", "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	CU_ASSERT_PTR_NOT_NULL_FATAL(full);
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_renderer_find("text")->render(incident, &(struct ct_render_options){.width = 80}, full, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "No space left"));
}

static void test_json_is_the_incident(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("hang");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	CT_AUTO(ct_auto_free) char *a = NULL;
	CT_AUTO(ct_auto_free) char *b = NULL;
	size_t length = 0;
	struct ct_error err = CT_ERROR_INIT;
	FILE *out = open_memstream(&a, &length);
	CU_ASSERT_TRUE(ct_renderer_find("json")->render(incident, &(struct ct_render_options){.width = 80}, out, &err));
	fclose(out);
	out = open_memstream(&b, &length);
	CU_ASSERT_TRUE(ct_incident_write_json(incident, out, &err));
	fclose(out);
	CU_ASSERT_STRING_EQUAL(a, b);
}

static void test_find_knows_the_table_only(void)
{
	for (const struct ct_renderer *r = ct_renderers; r->name; r++)
		CU_ASSERT_PTR_EQUAL(ct_renderer_find(r->name), r);
	CU_ASSERT_STRING_EQUAL(ct_renderer_find("text")->extension, "txt");
	CU_ASSERT_PTR_NULL(ct_renderer_find("pdf"));
	CU_ASSERT_PTR_NULL(ct_renderer_find(""));
	CU_ASSERT_PTR_NULL(ct_renderer_find(NULL));
}

static void test_names_lose_what_tells_least(void)
{
	static const struct {
		const char *name;
		size_t columns;
		const char *fit;
	} cases[] = {
		{"void at::native::(anonymous namespace)::k<float, long>(float*, long)", 80, "k<float, long>"},
		{"many(int*)", 80, "many"},
		{"main", 80, "main"},
		{"unsigned long demo::<unnamed>::f<3u>(int)", 80, "f<3u>"},
		{"void k<at::A<c10::B>, x::C>(int)", 80, "k<at::A<c10::B>, x::C>"},
		{"void k<at::A<c10::B>, x::C>(int)", 12, "k<A<B>, C>"},
		{"void k<at::Abc<c10::Bcdef>, x::C>(int)", 14, "k<Abc<...>, C>"},
		{"void k<int, at::Abc<c10::Bcd>, x::C>(int)", 14, "k<int, ..., C>"},
		{"void k<int, at::Abc<c10::Bcd>, x::C>(int)", 8, "k<...>"},
		{"void a_rather_long_name<int>(int)", 12, "a_rat...name"},
		{"bool N::operator()(int) const", 80, "N::operator()"},
		{"bool N::T<int>::operator<(int) const", 80, "T<int>::operator<"},
		{"f(int)::{lambda(int)#1}::operator()(int) const", 80, "f(int)::{lambda(int)#1}::operator()"},
		{"std::vector<int, std::allocator<int> > g(std::string)", 80, "g"},
		{"", 80, ""},
		{"(", 80, "("},
		{">>>((", 80, ">>>"},
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		const char *got = ct_name_fit(&arena, cases[i].name, cases[i].columns);
		if (strcmp(got, cases[i].fit) != 0)
			printf("# %s: %s, not %s\n", cases[i].name, got, cases[i].fit);
		CU_ASSERT_STRING_EQUAL(got, cases[i].fit);
		CU_ASSERT_TRUE(ct_text_columns(got) <= cases[i].columns);
	}
	CU_ASSERT_STRING_EQUAL(ct_render_kernel_word(&arena, "void a::k<float, b::c<d> >(int)"), "k");
	CU_ASSERT_STRING_EQUAL(ct_render_kernel_word(&arena, "<<"), "<<");
	ct_arena_done(&arena);
}

// Brackets, scopes and operators in any order: the result fits, and the sanitizers see every byte read.
static void test_any_name_fits(void)
{
	static const char *const pieces[] = {"<", ">", "(", ")", "::", "operator", " ", "{lambda", "}", ",", "a", "(anonymous namespace)", "->", " const::", "[", "]", "\xc3\xa9"};
	struct ct_arena arena = CT_ARENA_INIT;
	uint32_t state = 12345;
	for (int round = 0; round < 3000; round++) {
		char name[600] = "";
		size_t length = 0;
		for (int n = round % 40; n > 0; n--) {
			state = state * 1664525u + 1013904223u;
			const char *piece = pieces[(state >> 16) % CT_COUNT(pieces)];
			memcpy(name + length, piece, strlen(piece) + 1);
			length += strlen(piece);
		}
		size_t columns = 8 + (size_t)round % 30;
		const char *got = ct_name_fit(&arena, name, columns);
		CU_ASSERT_TRUE(ct_text_columns(got) <= columns);
	}
	ct_arena_done(&arena);
}

static void test_paths_and_libraries_are_as_readers_know_them(void)
{
	static const char *const paths[][3] = {
		{"/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py", NULL, "torch/nn/functional.py"},
		{"/usr/lib/python3/dist-packages/yaml/x.py", NULL, "yaml/x.py"},
		{"/usr/lib/python3.11/threading.py", NULL, "threading.py"},
		{"/home/a/w/train.py", "/home/a/w", "train.py"},
		{"/home/a/work/train.py", "/home/a/w", "/home/a/work/train.py"},
		{"/train.py", "/", "/train.py"},
		{"<stdin>", "/home", "<stdin>"},
		{"/x/site-packages/", NULL, "/x/site-packages/"},
	};
	static const char *const libraries[][2] = {
		{"/x/libtorch_cuda.so", "libtorch_cuda"}, {"/x/libcudart.so.13", "libcudart"}, {"/x/_C.cpython-312-x86_64-linux-gnu.so", "_C"}, {"/x/solver", "solver"}, {"/x/.so", ".so"},
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(paths); i++)
		CU_ASSERT_STRING_EQUAL(ct_path_short(paths[i][0], paths[i][1]), paths[i][2]);
	for (size_t i = 0; i < CT_COUNT(libraries); i++)
		CU_ASSERT_STRING_EQUAL(ct_library_name(&arena, libraries[i][0]), libraries[i][1]);
	ct_arena_done(&arena);
}

static void test_lines_break_where_readers_would(void)
{
	static const struct {
		const char *text;
		size_t columns, bytes;
	} cases[] = {
		{"short", 10, 5}, {"two words", 5, 4}, {"two words", 3, 3}, {"aaa::bbb::ccc", 9, 5}, {"blocks (12,1,0)..(13,1,0)", 18, 7},
		{"aaaaaaaaaaaa", 5, 5}, {"\xc3\xa9\xc3\xa9\xc3\xa9", 2, 4}, {"\xc3\xa9", 0, 2},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++)
		CU_ASSERT_EQUAL(ct_line_break(cases[i].text, cases[i].columns), cases[i].bytes);
}

static void test_elided_texts_fit(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	CU_ASSERT_STRING_EQUAL(ct_elide_end(&arena, "the quick brown fox", 12), "the quick...");
	CU_ASSERT_STRING_EQUAL(ct_elide_middle(&arena, "abcdefghijklmnop", 9), "abc...nop");
	CU_ASSERT_STRING_EQUAL(ct_elide_path(&arena, "/a/long/way/to/nn/functional.py:12", 24), ".../nn/functional.py:12");
	CU_ASSERT_STRING_EQUAL(ct_elide_path(&arena, "averyveryverylongname.py:12", 15), "averyv....py:12");
	for (size_t columns = 3; columns < 30; columns++) {
		static const char text[] = "/\xe4\xba\xba\xe5\x8f\xa3 aa::bb/\xcc\x81\xcc\x81 cc/dd ee";
		CU_ASSERT_TRUE(ct_text_columns(ct_elide_end(&arena, text, columns)) <= columns);
		CU_ASSERT_TRUE(ct_text_columns(ct_elide_middle(&arena, text, columns)) <= columns);
		CU_ASSERT_TRUE(ct_text_columns(ct_elide_path(&arena, text, columns)) <= columns);
	}
	// Ten thousand marks on one letter take one column; the text is cut all the same.
	CT_AUTO(ct_auto_str) struct ct_str marks = CT_STR_INIT;
	for (int i = 0; i < 10000; i++)
		ct_str_add(&marks, "\xcc\x81");
	CU_ASSERT_TRUE(strlen(ct_elide_end(&arena, ct_str_text(&marks), 20)) < 400);
	ct_arena_done(&arena);
}

int main(void)
{
	// Wide characters and marks are known to the locale; in the C locale every character counts as one column.
	if (!setlocale(LC_CTYPE, "C.UTF-8") && !setlocale(LC_CTYPE, "en_US.UTF-8")) {
		puts("Bail out! there is no UTF-8 locale (C.UTF-8, en_US.UTF-8)");
		return 99;
	}
	static const CU_TestInfo tests[] = {
#define X(id, name, color) {"golden: " name, test_golden_##id},
		GOLDEN_CASES(X)
#undef X
		{"every folder of the data is a case", test_every_folder_is_a_case},
		{"no line is wider than asked", test_no_line_is_wider_than_asked},
		{"mutated incidents keep the layout", test_mutated_incidents_keep_the_layout},
		{"own functions are no plumbing", test_own_functions_are_no_plumbing},
		{"too narrow is 40, none is 80", test_too_narrow_is_40_and_none_is_80},
		{"--native shows every frame", test_native_shows_every_frame},
		{"deep recursion keeps both ends", test_deep_recursion_keeps_both_ends},
		{"an empty incident says what is absent", test_empty_incident_says_what_is_absent},
		{"an unmarked thread is said to be one", test_unmarked_thread_is_said_to_be_one},
		{"a full disk is an error", test_full_disk_is_an_error},
		{"json is the incident", test_json_is_the_incident},
		{"find knows the table only", test_find_knows_the_table_only},
		{"names lose what tells least", test_names_lose_what_tells_least},
		{"any name fits", test_any_name_fits},
		{"paths and libraries are as readers know them", test_paths_and_libraries_are_as_readers_know_them},
		{"lines break where readers would", test_lines_break_where_readers_would},
		{"elided texts fit", test_elided_texts_fit},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("render", tests);
}
