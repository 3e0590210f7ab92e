// render/: the formats for machines and browsers, each over all recorded incidents; what their writers do with foreign text.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "golden.h"
#include "render/markdown_text.h"
#include "render/markup.h"
#include "render/render.h"
#include "unit.h"

// C identifier and format, file in the folder of the case
#define FORMATS(X)                             \
	X(html, "expected.html")           \
	X(markdown, "expected.md")         \
	X(junit, "expected.junit.xml")     \
	X(sarif, "expected.sarif")         \
	X(gitlab, "expected.gitlab.json")  \
	X(github, "expected.github.txt")

static const char *const format_names[] = {
#define X(name, file) #name,
	FORMATS(X)
#undef X
};

static char *render(const char *format, const struct ct_incident *incident)
{
	const struct ct_render_options options = {.report_path = "cudatrap-reports/the-id/"};
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	bool ok = ct_render_to_str(ct_renderer_find(format), incident, &options, &text, &err);
	if (!ok)
		printf("# %s: %s\n", format, err.text);
	CU_ASSERT_TRUE_FATAL(ok);
	return strdup(ct_str_text(&text));
}

// The style sheet is the same in each page: a golden file holds a line in its place.
static void cut_style(char *html)
{
	char *begin = strstr(html, "<style>"), *end = begin ? strstr(begin, "</style>") : NULL;
	if (end)
		memmove(begin + strlen("<style>"), end, strlen(end) + 1);
}

typedef void case_function(const char *name, void *data);

static void each_case(case_function *function, void *data)
{
	struct dirent **entries = NULL;
	int n = scandir(RENDER_DATA, &entries, NULL, alphasort), found = 0;
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.' && strcmp(entries[i]->d_name, "README") != 0) {
			function(entries[i]->d_name, data);
			found++;
		}
		free(entries[i]);
	}
	free(entries);
	CU_ASSERT_TRUE(found >= 10);
}

struct format_of_case {
	const char *format, *file;
};

static void check_case(const char *name, void *data)
{
	const struct format_of_case *f = data;
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read(name);
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	size_t bytes = incident->arena.total_bytes;
	CT_AUTO(ct_auto_free) char *text = render(f->format, incident);
	cut_style(text);
	ct_golden_compare(name, f->file, text);
	CU_ASSERT_EQUAL(incident->arena.total_bytes, bytes);  // it was only read
}

#define X(name, file_name)                                                    \
	static void test_golden_##name(void)                                  \
	{                                                                     \
		struct format_of_case f = {.format = #name, .file = file_name}; \
		each_case(check_case, &f);                                    \
	}
FORMATS(X)
#undef X

// Sound enough for its reader, whatever is in it; the whole check is in tests/cli/formats.py.
static void check_sound(const char *format, const char *text)
{
	size_t n = strlen(text);
	CU_ASSERT_TRUE(n > 0 && text[n - 1] == '\n');
	for (const char *p = text; *p; p++)
		CU_ASSERT_FALSE_FATAL((unsigned char)*p < ' ' && *p != '\n' && *p != '\t');
	if (strcmp(format, "markdown") == 0)
		CU_ASSERT_TRUE(n < 64000);
	if (strcmp(format, "github") == 0)
		CU_ASSERT_PTR_EQUAL(strchr(text, '\n'), text + n - 1);
	if (strcmp(format, "sarif") == 0 || strcmp(format, "gitlab") == 0) {
		json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
		CU_ASSERT_PTR_NOT_NULL(json);
		json_decref(json);
	}
}

static void render_all(const struct ct_incident *incident)
{
	for (size_t i = 0; i < CT_COUNT(format_names); i++) {
		CT_AUTO(ct_auto_free) char *text = render(format_names[i], incident);
		check_sound(format_names[i], text);
	}
}

struct mutation {
	uint32_t state;
	size_t n_rendered;
};

static void mutate_case(const char *name, void *data)
{
	struct mutation *m = data;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	char path[512];
	snprintf(path, sizeof path, "%s/%s/incident.json", RENDER_DATA, name);
	CU_ASSERT_TRUE_FATAL(ct_read_file(path, 1 << 20, &json, NULL));
	for (int round = 0; round < 40; round++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = NULL;
		CT_AUTO(ct_auto_free) char *copy = malloc(json.length);
		CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
		memcpy(copy, json.data, json.length);
		for (int n = 0; n < 2; n++) {
			m->state = m->state * 1664525u + 1013904223u;
			copy[m->state % json.length] = "09 :<>(){}_/a`@&|"[(m->state >> 20) % 17];
		}
		if (!ct_incident_read_json(copy, json.length, &incident, NULL))
			continue;
		render_all(incident);
		m->n_rendered++;
	}
}

static void test_mutated_incidents_render(void)
{
	struct mutation m = {.state = 1};
	each_case(mutate_case, &m);
	CU_ASSERT_TRUE(m.n_rendered > 40);
}

static void test_an_empty_incident_renders(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	for (int kind = CT_FAULT_UNKNOWN; kind <= CT_FAULT_HANG; kind++) {
		incident->kind = (enum ct_fault_kind)kind;
		render_all(incident);
	}
	CT_AUTO(ct_auto_free) char *gitlab = render("gitlab", incident);
	CU_ASSERT_PTR_NOT_NULL(strstr(gitlab, "\"path\": \"unknown\""));
}

static void test_markdown_is_bounded_and_says_what_was_cut(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("torch-cross-entropy");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	for (int i = 0; i < 500; i++)
		ct_incident_add_note(incident, "note %d: `%0500d`", i, i);
	CT_AUTO(ct_auto_free) char *text = render("markdown", incident);
	CU_ASSERT_TRUE(strlen(text) < 60000);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Too long for this page: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n</details>\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "train.py:4"));
}

static void test_markdown_of_a_deep_stack_is_cut_at_a_line(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	struct ct_host_thread *t = ct_incident_add_thread(incident, 7, "main");
	t->launching = true;
	t->n_frames = 60;
	t->frames = ct_arena_array(&incident->arena, t->n_frames, sizeof *t->frames);
	CT_AUTO(ct_auto_str) struct ct_str wide = CT_STR_INIT;
	for (int i = 0; i < 4000; i++)
		ct_str_add(&wide, "\xe4\xba\xba\xcc\x81");
	for (size_t i = 0; i < t->n_frames; i++)
		t->frames[i] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .function = ct_str_text(&wide), .file = "/w/tree.py", .line = 1, .source = ct_str_text(&wide)};
	CT_AUTO(ct_auto_free) char *text = render("markdown", incident);
	check_sound("markdown", text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Too long for this page: 1 parts"));
}

static void test_plain_words_and_code_spans(void)
{
	static const char *const plain[] = {"a word", "in 4,096 blocks, 32,768 warps", "block (0,0,0) thread (2,0,0)", "by itself, with status 1; it went on.", "sm_90, driver 580.159",
					    "1 thread"};
	static const char *const no_plain[] = {"@ada", "x @ada", "a <b>", "a & b", "www.example.com", "http://x", "a.b", "[l](u)", "a*b*", "_a_", "__init__", "# x", "- x", "1. x", "2) x",
					       "#12", "GH-12", "deadbeef", "commit 1234567", "a|b", "a`b", "a\\b", "~~x~~", "a!", "\xc3\xa9", "a  _b", "= x", "a://b", ""};
	for (size_t i = 0; i < CT_COUNT(plain); i++)
		CU_ASSERT_TRUE(ct_markdown_is_plain(plain[i]));
	for (size_t i = 0; i < CT_COUNT(no_plain); i++)
		CU_ASSERT_FALSE(ct_markdown_is_plain(no_plain[i]));
	static const char *const spans[][2] = {
		{"@ada", "`@ada`"}, {"a`b", "``a`b``"}, {"`", "`` ` ``"}, {"``x", "``` ``x ```"}, {" @ ", "`  @  `"}, {"plain words", "plain words"}, {"", ""},
	};
	for (size_t i = 0; i < CT_COUNT(spans); i++) {
		CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
		ct_markdown_add(&s, spans[i][0]);
		CU_ASSERT_STRING_EQUAL(ct_str_text(&s), spans[i][1]);
	}
	CT_AUTO(ct_auto_str) struct ct_str block = CT_STR_INIT;
	ct_markdown_add_block(&block, "a\n````\nb");
	CU_ASSERT_STRING_EQUAL(ct_str_text(&block), "`````text\na\n````\nb\n`````\n");
}

static void test_markup_keeps_text_text(void)
{
	char *text = NULL;
	size_t length = 0;
	struct ct_markup m = {.out = open_memstream(&text, &length)};
	CU_ASSERT_PTR_NOT_NULL_FATAL(m.out);
	ct_markup_open(&m, "a");
	ct_markup_attr(&m, "b", "\"<&>'\n\t\x01");
	ct_markup_attr(&m, "absent", NULL);
	ct_markup_text(&m, "<&>\"'\x1b\xff\n\xef\xbf\xbf");
	ct_markup_cdata(&m, "]]>x]]]]>");
	ct_markup_open(&m, "c");
	ct_markup_void(&m);
	ct_markup_close(&m);
	fclose(m.out);
	CU_ASSERT_STRING_EQUAL(text, "<a b=\"&quot;&lt;&amp;&gt;&#39;&#10;&#9;\xef\xbf\xbd\">&lt;&amp;&gt;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbd\n\xef\xbf\xbd"
				     "<![CDATA[]]]]><![CDATA[>x]]]]]]><![CDATA[>]]><c/></a>");
	free(text);
}

static void test_annotations_escape_what_ends_them(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("torch-cross-entropy");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	struct ct_host_thread *t = &incident->threads[0];
	for (size_t i = 0; i < t->n_frames; i++)
		if (t->frames[i].file && ct_ends_with(t->frames[i].file, "train.py"))
			t->frames[i].file = "/home/ada/work/a,b:c%\n::error::.py";
	CT_AUTO(ct_auto_free) char *text = render("github", incident);
	CU_ASSERT_TRUE(ct_starts_with(text, "::error file=a%2Cb%3Ac%25\\n%3A%3Aerror%3A%3A.py,line=4,title="));
}

static void test_a_full_disk_is_an_error(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_golden_read("trap");
	CU_ASSERT_PTR_NOT_NULL_FATAL(incident);
	for (size_t i = 0; i < CT_COUNT(format_names); i++) {
		CT_AUTO(ct_auto_fclose) FILE *full = fopen("/dev/full", "w");
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_PTR_NOT_NULL_FATAL(full);
		CU_ASSERT_FALSE(ct_renderer_find(format_names[i])->render(incident, &(struct ct_render_options){.width = 80}, full, &err));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "No space left"));
	}
}

int main(void)
{
	// Widths of characters are the locale's.
	if (!setlocale(LC_CTYPE, "C.UTF-8") && !setlocale(LC_CTYPE, "en_US.UTF-8")) {
		puts("Bail out! there is no UTF-8 locale (C.UTF-8, en_US.UTF-8)");
		return 99;
	}
	static const CU_TestInfo tests[] = {
#define X(name, file) {"golden: " #name, test_golden_##name},
		FORMATS(X)
#undef X
		{"mutated incidents render", test_mutated_incidents_render},
		{"an empty incident renders", test_an_empty_incident_renders},
		{"markdown is bounded and says what was cut", test_markdown_is_bounded_and_says_what_was_cut},
		{"markdown of a deep stack is cut at a line", test_markdown_of_a_deep_stack_is_cut_at_a_line},
		{"plain words and code spans", test_plain_words_and_code_spans},
		{"markup keeps text text", test_markup_keeps_text_text},
		{"annotations escape what ends them", test_annotations_escape_what_ends_them},
		{"a full disk is an error", test_a_full_disk_is_an_error},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("formats", tests);
}
