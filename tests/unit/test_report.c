// report/: a folder of its own for each report, private, whole or not there.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "report/report.h"
#include "unit.h"

struct place {
	char dir[64];   // a fresh folder
	char base[96];  // dir/reports, not made yet
};

static struct place new_place(void)
{
	struct place p = {.dir = "/tmp/ct-report-XXXXXX", .base = ""};
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(p.dir));
	snprintf(p.base, sizeof p.base, "%s/reports", p.dir);
	return p;
}

static void remove_tree(const char *path)
{
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char inner[1024];
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
		if (unlink(inner) != 0)
			remove_tree(inner);
	}
	rmdir(path);
}

static size_t count_entries(const char *path)
{
	size_t n = 0;
	CT_AUTO(ct_auto_closedir) DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	return n;
}

static struct ct_incident *new_incident(void)
{
	struct ct_incident *in = ct_incident_new();
	in->time_us = 1796093347123000;  // 2026-12-01T02:49:07.123Z
	in->host = "gpu7";
	in->process.pid = 4242;
	in->kind = CT_FAULT_ASSERT;
	in->gpu.present = in->gpu.has_kernel = true;
	in->gpu.kernel.name = "void at::native::k<float, long>(float*)";
	return in;
}

static unsigned mode_of(const char *dir, const char *name)
{
	char path[1024];
	struct stat st = {0};
	snprintf(path, sizeof path, "%s%s%s", dir, *name ? "/" : "", name);
	CU_ASSERT_EQUAL(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void test_id_names_the_fault(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	CU_ASSERT_STRING_EQUAL(ct_report_id(in), "20261201-024907-gpu7-4242-assert-k");
	in->gpu.has_kernel = false;
	CU_ASSERT_STRING_EQUAL(ct_report_id(in), "20261201-024907-gpu7-4242-assert");
	in->assertion.present = true;
	in->assertion.function = "void f(int)";
	CU_ASSERT_STRING_EQUAL(ct_report_id(in), "20261201-024907-gpu7-4242-assert-f");
	in->assertion.function = NULL;
	in->host = NULL;
	in->time_us = -5;
	in->process.pid = 0;
	CU_ASSERT_STRING_EQUAL(ct_report_id(in), "00000000-000000-host-0-assert");
}

static void test_id_is_safe_and_short(void)
{
	static const char *const hostile[] = {"../../etc/passwd", "a b\nc\x1b[m", "-rf", ".", "", "\xff\xfe", "<<<((", "operator<<"};
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	char big[5000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	for (size_t i = 0; i <= CT_COUNT(hostile); i++) {
		in->host = in->gpu.kernel.name = i < CT_COUNT(hostile) ? hostile[i] : big;
		in->time_us = i % 2 ? INT64_MAX : INT64_MIN;
		in->process.pid = INT64_MAX;
		const char *id = ct_report_id(in);
		CU_ASSERT_TRUE(strlen(id) <= 100);
		CU_ASSERT_EQUAL(strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"), strlen(id));
		CU_ASSERT_TRUE(id[0] >= '0' && id[0] <= '9');
	}
}

static void test_folder_is_private_and_complete(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	struct ct_error err = CT_ERROR_INIT;
	const char *path = NULL;
	mode_t old = umask(0);
	bool ok = ct_report_write(in, p.base, "a\0b\n", 4, &path, &err);
	umask(old);
	CU_ASSERT_TRUE_FATAL(ok);
	CU_ASSERT_STRING_EQUAL(in->id, "20261201-024907-gpu7-4242-assert-k");
	CU_ASSERT_TRUE(ct_starts_with(path, p.base));
	CU_ASSERT_STRING_EQUAL(ct_basename(path), in->id);
	CU_ASSERT_EQUAL(mode_of(p.base, ""), 0700);
	CU_ASSERT_EQUAL(mode_of(path, ""), 0700);
	CU_ASSERT_EQUAL(count_entries(path), 4);
	static const char *const files[] = {"incident.json", "report.txt", "log.txt", "summary.json"};
	for (size_t i = 0; i < CT_COUNT(files); i++)
		CU_ASSERT_EQUAL(mode_of(path, files[i]), 0600);
	remove_tree(p.dir);
}

static void read_into(const char *dir, const char *name, struct ct_str *text)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(ct_read_file(path, 1 << 20, text, &err));
}

static void test_files_hold_what_was_given(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	CT_AUTO(ct_incident_auto) struct ct_incident *again = NULL;
	CT_AUTO(ct_auto_str) struct ct_str log = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	const char *path = NULL;
	CU_ASSERT_TRUE_FATAL(ct_report_write(in, p.base, "a\0b\n", 4, &path, &err));
	read_into(path, "log.txt", &log);
	CU_ASSERT_TRUE(log.length == 4 && memcmp(log.data, "a\0b\n", 4) == 0);
	read_into(path, "incident.json", &json);
	CU_ASSERT_TRUE_FATAL(ct_incident_read_json(ct_str_text(&json), json.length, &again, &err));
	CU_ASSERT_STRING_EQUAL(again->id, in->id);
	CU_ASSERT_STRING_EQUAL(again->gpu.kernel.name, in->gpu.kernel.name);
	read_into(path, "report.txt", &text);
	CU_ASSERT_TRUE(ct_starts_with(ct_str_text(&text), "cudatrap: device-side assert in k<float, long>\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(ct_str_text(&text), path));
	CU_ASSERT_PTR_NULL(strchr(ct_str_text(&text), '\x1b'));
	remove_tree(p.dir);
}

static void test_equal_names_get_folders_of_their_own(void)
{
	struct place p = new_place();
	struct ct_error err = CT_ERROR_INIT;
	static const char *const ends[] = {"-assert-k", "-assert-k-2", "-assert-k-3"};
	for (size_t i = 0; i < CT_COUNT(ends); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
		const char *path = NULL;
		CU_ASSERT_TRUE_FATAL(ct_report_write(in, p.base, NULL, 0, &path, &err));
		CU_ASSERT_TRUE(ct_ends_with(path, ends[i]));
		CU_ASSERT_STRING_EQUAL(ct_basename(path), in->id);
	}
	remove_tree(p.dir);
}

// Somebody is just writing a report of the same name, or was killed while doing so.
static void test_a_name_that_is_being_written_is_taken(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	struct ct_error err = CT_ERROR_INIT;
	const char *path = NULL;
	char hidden[256];
	CU_ASSERT_EQUAL_FATAL(mkdir(p.base, 0700), 0);
	snprintf(hidden, sizeof hidden, "%s/.%s.tmp", p.base, ct_report_id(in));
	CU_ASSERT_EQUAL_FATAL(mkdir(hidden, 0700), 0);
	CU_ASSERT_TRUE_FATAL(ct_report_write(in, p.base, NULL, 0, &path, &err));
	CU_ASSERT_TRUE(ct_ends_with(path, "-assert-k-2"));
	CU_ASSERT_EQUAL(count_entries(p.base), 2);
	CU_ASSERT_EQUAL(count_entries(hidden), 0);
	remove_tree(p.dir);
}

static void test_links_lead_to_the_base_but_not_to_the_report(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	struct ct_error err = CT_ERROR_INIT;
	const char *path = NULL;
	char real[128], trap[256], elsewhere[128];
	snprintf(real, sizeof real, "%s/real", p.dir);
	snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", p.dir);
	CU_ASSERT_EQUAL_FATAL(mkdir(real, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir(elsewhere, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("real", p.base), 0);
	snprintf(trap, sizeof trap, "%s/%s", real, ct_report_id(in));
	CU_ASSERT_EQUAL_FATAL(symlink(elsewhere, trap), 0);
	CU_ASSERT_TRUE_FATAL(ct_report_write(in, p.base, "x", 1, &path, &err));
	CU_ASSERT_TRUE(ct_ends_with(path, "-assert-k-2"));
	CU_ASSERT_EQUAL(count_entries(elsewhere), 0);
	CU_ASSERT_EQUAL(mode_of(real, ""), 0755);
	remove_tree(p.dir);
}

static void test_relative_base_stays_relative(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	struct ct_error err = CT_ERROR_INIT;
	const char *path = NULL;
	CT_AUTO(ct_auto_close) int here = open(".", O_RDONLY | O_DIRECTORY);
	CU_ASSERT_TRUE_FATAL(here >= 0 && chdir(p.dir) == 0);
	bool ok = ct_report_write(in, "cudatrap-reports/", "", 0, &path, &err);
	CU_ASSERT_EQUAL(fchdir(here), 0);
	CU_ASSERT_TRUE_FATAL(ok);
	CU_ASSERT_STRING_EQUAL(path, "cudatrap-reports/20261201-024907-gpu7-4242-assert-k");
	remove_tree(p.dir);
}

static void test_an_id_from_a_file_cannot_leave_the_base(void)
{
	static const char *const ids[] = {"../evil", "/tmp/evil", "..", ".hidden", "a/b", "", "-x"};
	for (size_t i = 0; i < CT_COUNT(ids); i++) {
		struct place p = new_place();
		CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
		struct ct_error err = CT_ERROR_INIT;
		const char *path = NULL;
		in->id = ids[i];
		CU_ASSERT_TRUE(ct_report_write(in, p.base, "", 0, &path, &err));
		CU_ASSERT_STRING_EQUAL(in->id, "20261201-024907-gpu7-4242-assert-k");
		CU_ASSERT_EQUAL(count_entries(p.dir), 1);
		remove_tree(p.dir);
	}
}

// Fails, leaves path, id and the folder above as they were, says what was wrong.
static void check_failure(struct ct_incident *in, const char *base, enum ct_code code, const char *word)
{
	struct ct_error err = CT_ERROR_INIT;
	const char *path = "untouched", *id = in->id;
	CU_ASSERT_FALSE(ct_report_write(in, base, "x", 1, &path, &err));
	CU_ASSERT_STRING_EQUAL(path, "untouched");
	CU_ASSERT_PTR_EQUAL(in->id, id);
	CU_ASSERT_EQUAL(err.code, code);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, base));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, word));
	CU_ASSERT_TRUE(err.hint[0] != '\0');
	CU_ASSERT_FALSE(ct_report_write(in, base, "x", 1, &path, NULL));
}

static void test_base_that_is_a_file(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	CT_AUTO(ct_auto_close) int fd = open(p.base, O_WRONLY | O_CREAT, 0600);
	CU_ASSERT_TRUE_FATAL(fd >= 0);
	check_failure(in, p.base, CT_SYSTEM, "Not a directory");
	char below[128];
	snprintf(below, sizeof below, "%s/x", p.base);
	check_failure(in, below, CT_SYSTEM, "Not a directory");
	snprintf(below, sizeof below, "%s/no/such", p.dir);
	check_failure(in, below, CT_NOT_FOUND, "No such file");
	remove_tree(p.dir);
}

static void test_base_that_cannot_be_written(void)
{
	struct place p = new_place();
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
	uid_t me = geteuid();
	CU_ASSERT_EQUAL_FATAL(mkdir(p.base, 0500), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(p.dir, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(p.base, 0555), 0);
	// Modes do not stop root.
	if (me == 0)
		CU_ASSERT_EQUAL_FATAL(seteuid(65534), 0);
	check_failure(in, p.base, CT_DENIED, "Permission denied");
	if (me == 0)
		CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
	chmod(p.base, 0700);
	remove_tree(p.dir);
}

// As on a full disk, writes fail: the first file, or only the large ones.
static void test_failing_writes_leave_nothing(void)
{
	static const rlim_t limits[] = {0, 16, 400};
	struct rlimit old, small;
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < CT_COUNT(limits); i++) {
		for (int exists = 0; exists < 2; exists++) {
			struct place p = new_place();
			CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident();
			if (exists)
				CU_ASSERT_EQUAL_FATAL(mkdir(p.base, 0700), 0);
			small = (struct rlimit){.rlim_cur = limits[i], .rlim_max = old.rlim_max};
			setrlimit(RLIMIT_FSIZE, &small);
			struct ct_error err = CT_ERROR_INIT;
			const char *path = NULL;
			bool ok = ct_report_write(in, p.base, "x", 1, &path, &err);
			setrlimit(RLIMIT_FSIZE, &old);
			CU_ASSERT_FALSE(ok);
			CU_ASSERT_PTR_NULL(path);
			CU_ASSERT_PTR_NULL(in->id);
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "too large"));
			CU_ASSERT_TRUE(err.hint[0] != '\0');
			CU_ASSERT_EQUAL(count_entries(p.dir), (size_t)exists);
			CU_ASSERT_EQUAL(count_entries(p.base), 0);
			remove_tree(p.dir);
		}
	}
	signal(SIGXFSZ, handler);
}

static const char *redacted(const char *line, const char *pattern, struct ct_incident *in)
{
	const char **around = ct_arena_array(&in->arena, 1, sizeof *around);
	struct ct_host_frame *frame = ct_arena_alloc(&in->arena, sizeof *frame);
	around[0] = line;
	*frame = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .source = line, .excerpt = around, .n_excerpt = 1, .excerpt_line = 1};
	in->threads = NULL;
	in->n_threads = 0;
	struct ct_host_thread *t = ct_incident_add_thread(in, 1, NULL);
	t->frames = frame;
	t->n_frames = 1;
	ct_report_redact(in, &pattern, pattern ? 1 : 0);
	CU_ASSERT_STRING_EQUAL(frame->source, frame->excerpt[0]);
	return frame->source;
}

static void test_sources_lose_secrets(void)
{
	static const struct {
		const char *line, *becomes;
	} cases[] = {
		{"password = \"hunter2\"  # mine", "password = \"[redacted]\"  # mine"},
		{"os.environ[\"HF_TOKEN\"] = 'abc d'", "os.environ[\"HF_TOKEN\"] = '[redacted]'"},
		{"f(db_password=f'x', n=3)", "f(db_password=f'[redacted]', n=3)"},
		{"{'api_key': \"x\", \"n\": 1}", "{'api_key': \"[redacted]\", \"n\": 1}"},
		{"password = 'never ends", "password = '[redacted]'"},
		{"login(\"hf_0123456789012345678901234567\")", "login(\"[redacted]\")"},
		{"get('https://me:pw@host/x')", "get('https://[redacted]@host/x')"},
		{"x = customer('bob')", "x = customer('bob')"},
		{"customer = 'bob'", "customer = '[redacted]'"},
		{"if password == 'x': tokenizer(pad_token=\"<pad>\", key=\"id\")", "if password == 'x': tokenizer(pad_token=\"<pad>\", key=\"id\")"},
		{"password = read(path)", "password = read(path)"},
		{"loss = F.cross_entropy(x, y - 1)", "loss = F.cross_entropy(x, y - 1)"},
		{"", ""},
	};
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	for (size_t i = 0; i < CT_COUNT(cases); i++)
		CU_ASSERT_STRING_EQUAL(redacted(cases[i].line, "*customer*", in), cases[i].becomes);
}

static void test_locals_lose_secrets(void)
{
	static const struct {
		const char *name, *value, *becomes;
	} cases[] = {
		{"password", "'x'", "[redacted]"}, {"password", "12345", "[redacted]"}, {"hf_token", "\"it's\"", "[redacted]"}, {"pad_token", "0", "0"},
		{"url", "'https://me:pw@host/'", "'https://[redacted]@host/'"}, {"x", "'hf_0123456789012345678901234567'", "'[redacted]'"},
		{"customer", "7", "[redacted]"}, {"shape", "(3, 224)", "(3, 224)"}, {"step", "40", "40"},
	};
	static const char *const patterns[] = {"*customer*"};
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		in->python_locals = ct_arena_grow(&in->arena, in->python_locals, &in->n_python_locals, sizeof *in->python_locals);
		in->python_locals[i] = (struct ct_python_local){.name = cases[i].name, .value = cases[i].value};
	}
	ct_report_redact(in, patterns, CT_COUNT(patterns));
	for (size_t i = 0; i < CT_COUNT(cases); i++)
		CU_ASSERT_STRING_EQUAL(in->python_locals[i].value, cases[i].becomes);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"id names the fault", test_id_names_the_fault},
		{"id is safe and short", test_id_is_safe_and_short},
		{"folder is private and complete", test_folder_is_private_and_complete},
		{"files hold what was given", test_files_hold_what_was_given},
		{"equal names get folders of their own", test_equal_names_get_folders_of_their_own},
		{"a name that is being written is taken", test_a_name_that_is_being_written_is_taken},
		{"links lead to the base but not to the report", test_links_lead_to_the_base_but_not_to_the_report},
		{"relative base stays relative", test_relative_base_stays_relative},
		{"an id from a file cannot leave the base", test_an_id_from_a_file_cannot_leave_the_base},
		{"base that is a file", test_base_that_is_a_file},
		{"base that cannot be written", test_base_that_cannot_be_written},
		{"sources lose secrets", test_sources_lose_secrets},
		{"locals lose secrets", test_locals_lose_secrets},
		{"failing writes leave nothing", test_failing_writes_leave_nothing},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("report", tests);
}
