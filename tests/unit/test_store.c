// store/, and what it reads: dates, known faults, groups, summaries, markers, launchers' variables.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/collect.h"
#include "store/store.h"
#include "store/store_priv.h"
#include "unit.h"

#define DAY INT64_C(86400000000)
#define NOW (20788 * DAY + 12 * DAY / 24)  // 2026-12-01T12:00Z

static void test_dates_that_exist(void)
{
	static const struct {
		const char *text;
		int64_t days;
	} good[] = {{"1970-01-01", 0}, {"1970-03-01", 59}, {"1972-02-29", 789}, {"2000-02-29", 11016}, {"2026-12-01", 20788}, {"2100-03-01", 47541},
		    {"9999-12-31", 2932896}};
	static const char *const bad[] = {"", "2026-12-1", "2026-00-01", "2026-13-01", "2026-02-29", "2100-02-29", "2026-04-31", "2026-12-00", "1969-12-31",
					  "2026/12/01", "+026-12-01", "2026-12-01x", "20261-12-1", "2026-1 -01"};
	for (size_t i = 0; i < CT_COUNT(good); i++) {
		int64_t us = -1;
		CU_ASSERT_TRUE(ct_date_parse(good[i].text, strlen(good[i].text), &us));
		CU_ASSERT_EQUAL(us, good[i].days * DAY);
	}
	for (size_t i = 0; i < CT_COUNT(bad); i++) {
		int64_t us = -1;
		CU_ASSERT_FALSE(ct_date_parse(bad[i], strlen(bad[i]), &us));
		CU_ASSERT_EQUAL(us, -1);
	}
}

static void test_since(void)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {{"2d", NOW - 2 * DAY}, {"12h", NOW - DAY / 2}, {"30m", NOW - 1800 * INT64_C(1000000)}, {"0s", NOW}, {"1w", NOW - 7 * DAY}, {"999999w", 1},
		    {"2026-12-01", 20788 * DAY}, {"2026-12-01T06:00", 20788 * DAY + DAY / 4}, {"2026-12-01 00:00:01Z", 20788 * DAY + 1000000}, {"1970-01-01", 1}};
	static const char *const bad[] = {"", "d", "2", "2x", "2dd", "-2d", "1.5d", "1000000d", "2026-12-01T", "2026-12-01T24:00", "2026-12-01T06:60",
					  "2026-12-01T06:00:", "2026-12-01T06:00:61", "2026-12-01T06:00X", "2026-12-01T6:00", "tomorrow", "2026-02-30"};
	for (size_t i = 0; i < CT_COUNT(good); i++) {
		int64_t us = -1;
		CU_ASSERT_TRUE(ct_since_parse(good[i].text, NOW, &us, NULL));
		CU_ASSERT_EQUAL(us, good[i].us);
	}
	for (size_t i = 0; i < CT_COUNT(bad); i++) {
		struct ct_error err = CT_ERROR_INIT;
		int64_t us = -1;
		CU_ASSERT_FALSE(ct_since_parse(bad[i], NOW, &us, &err));
		CU_ASSERT_EQUAL(us, -1);
		CU_ASSERT_EQUAL(err.code, CT_USAGE);
		CU_ASSERT_TRUE(err.hint[0] != '\0');
	}
}

static bool parse_known(struct ct_arena *arena, const char *text, struct ct_known_list *list, struct ct_error *err)
{
	return ct_known_parse(arena, text, strlen(text), "known.txt", list, err);
}

static void test_known_file(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_known_list list = {.n = 77};
	const char *text = "# comment\n\n  \t\n"
			   "ffffffffffffffff \t 2026-12-31   fixed in the next release  \r\n"
			   "  0123456789abcdef flaky # 12 times\n"
			   "00000000000000aa -5 is no date\n"
			   "00000000000000ab 5-fold\x1b\n"
			   "00000000000000ac 12 o'clock";
	CU_ASSERT_TRUE_FATAL(parse_known(&arena, text, &list, NULL));
	CU_ASSERT_EQUAL(list.n, 5);
	const struct ct_known *k = ct_known_find(&list, "ffffffffffffffff");
	CU_ASSERT_PTR_NOT_NULL_FATAL(k);
	CU_ASSERT_STRING_EQUAL(k->reason, "fixed in the next release");
	CU_ASSERT_TRUE(k->has_expiry && k->expires_us == 20819 * DAY);  // the day itself counts
	CU_ASSERT_EQUAL(k->line, 4);
	CU_ASSERT_STRING_EQUAL(ct_known_find(&list, "0123456789abcdef")->reason, "flaky # 12 times");
	CU_ASSERT_FALSE(ct_known_find(&list, "0123456789abcdef")->has_expiry);
	CU_ASSERT_STRING_EQUAL(ct_known_find(&list, "00000000000000aa")->reason, "-5 is no date");
	CU_ASSERT_STRING_EQUAL(ct_known_find(&list, "00000000000000ab")->reason, "5-fold\xef\xbf\xbd");
	CU_ASSERT_STRING_EQUAL(ct_known_find(&list, "00000000000000ac")->reason, "12 o'clock");
	CU_ASSERT_PTR_NULL(ct_known_find(&list, "1123456789abcdef"));
	CU_ASSERT_TRUE(parse_known(&arena, "", &list, NULL));
	CU_ASSERT_EQUAL(list.n, 0);
	CU_ASSERT_PTR_NULL(ct_known_find(&list, "0123456789abcdef"));
}

static void test_known_file_with_errors_names_the_line(void)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"# x\n0123456789abcde short\n", "known.txt:2: '0123456789abcde' is not a signature"},
		{"0123456789ABCDEF case\n", "known.txt:1: "},
		{"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef long\n", "known.txt:1: "},
		{"0123456789abcdef 2026-02-30 no such day\n", "known.txt:1: '2026-02-30' is not a date"},
		{"0123456789abcdef 26-2-3 x\n", "known.txt:1: '26-2-3' is not a date"},
		{"\n\n0123456789abcdef\n", "known.txt:3: no reason"},
		{"0123456789abcdef 2026-12-31 \t\n", "known.txt:1: no reason"},
		{"0123456789abcdef a\n# b\n0123456789abcdef b\n", "known.txt:3: 0123456789abcdef is on line 1 already"},
		{"{\"json\": 1}\n", "known.txt:1: "},
	};
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(bad); i++) {
		struct ct_known_list list = {.n = 77};
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(parse_known(&arena, bad[i].text, &list, &err));
		CU_ASSERT_EQUAL(list.n, 77);
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_TRUE(ct_starts_with(err.text, bad[i].words));
		CU_ASSERT_TRUE(err.hint[0] != '\0');
	}
}

static void test_ranges(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	uint32_t numbers[] = {7, 3, 1, 2, 0, 7, 9, 10, 4294967295u};
	size_t n = ct_store_unique_numbers(numbers, CT_COUNT(numbers));
	CU_ASSERT_EQUAL(n, 8);
	CU_ASSERT_STRING_EQUAL(ct_store_ranges(&arena, numbers, n), "0-3,7,9,10,4294967295");
	CU_ASSERT_STRING_EQUAL(ct_store_ranges(&arena, numbers, 0), "");
	const char *texts[] = {"b", NULL, "a", "b", NULL};
	n = ct_store_unique_texts(texts, CT_COUNT(texts));
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_STRING_EQUAL(ct_store_first_texts(&arena, texts, n, 1), "a (+1)");
	CU_ASSERT_STRING_EQUAL(ct_store_first_texts(&arena, texts, n, 2), "a, b");
}

static void add(struct ct_store *store, const char *signature, int64_t time_us, const char *host, uint32_t rank)
{
	store->reports = ct_arena_grow(&store->arena, store->reports, &store->n_reports, sizeof *store->reports);
	struct ct_store_report *r = &store->reports[store->n_reports - 1];
	r->path = r->id = ct_arena_printf(&store->arena, "r%zu", store->n_reports);
	r->summary = (struct ct_summary){.signature = signature, .time_us = time_us, .host = host, .own_fault = true,
					 .rank = {.has_rank = true, .rank = rank}};
}

static void test_groups(void)
{
	CT_AUTO(ct_store_auto) struct ct_store *store = ct_store_new();
	struct ct_known_list known;
	size_t n = 77;
	CU_ASSERT_PTR_NULL(ct_store_group(store, NULL, 0, NOW, &n));
	CU_ASSERT_EQUAL(n, 0);
	add(store, "bbbbbbbbbbbbbbbb", 0, NULL, 9);  // oldest first, as ct_store_read() leaves them
	add(store, "aaaaaaaaaaaaaaaa", NOW - 3 * DAY, "h2", 1);
	add(store, "bbbbbbbbbbbbbbbb", NOW - 2 * DAY, "h1", 0);
	add(store, "bbbbbbbbbbbbbbbb", NOW - DAY, "h1", 0);
	add(store, "aaaaaaaaaaaaaaaa", NOW, "h1", 3);
	CU_ASSERT_TRUE_FATAL(parse_known(&store->arena, "aaaaaaaaaaaaaaaa 2026-12-01 a\nbbbbbbbbbbbbbbbb 2026-11-30 b\n", &known, NULL));
	const struct ct_store_group *g = ct_store_group(store, &known, 0, NOW, &n);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	CU_ASSERT_STRING_EQUAL(g[0].signature, "aaaaaaaaaaaaaaaa");
	CU_ASSERT_TRUE(g[0].n_reports == 2 && g[0].n_hosts == 2 && g[0].n_ranks == 2 && g[0].newest == &store->reports[4]);
	CU_ASSERT_TRUE(g[0].first_us == NOW - 3 * DAY && g[0].last_us == NOW);
	CU_ASSERT_FALSE(ct_store_group_is_new(&g[0]));
	CU_ASSERT_TRUE(g[1].n_reports == 3 && g[1].n_hosts == 1 && g[1].first_us == NOW - 2 * DAY && g[1].last_us == NOW - DAY);
	CU_ASSERT_TRUE(g[1].known && g[1].expired && ct_store_group_is_new(&g[1]));
	g = ct_store_group(store, &known, NOW - DAY, NOW - DAY, &n);  // the very moment is in; the one without a time too
	CU_ASSERT_TRUE(n == 2 && g[0].n_reports == 1 && g[1].n_reports == 2);
	CU_ASSERT_FALSE(ct_store_group_is_new(&g[1]));
	g = ct_store_group(store, NULL, 0, NOW, &n);
	CU_ASSERT_TRUE(n == 2 && ct_store_group_is_new(&g[0]) && !g[0].known);
}

static void test_order_survives_absurd_clocks(void)
{
	CT_AUTO(ct_store_auto) struct ct_store *store = ct_store_new();
	struct ct_ordered rows[4];
	for (uint32_t i = 0; i < 4; i++)
		add(store, "aaaaaaaaaaaaaaaa", i % 2 ? INT64_MAX : INT64_MIN, "h", i);
	for (size_t i = 0; i < 3; i++) {
		store->reports[i].summary.boot_id = "b";
		store->reports[i].summary.monotonic_us = i == 1 ? INT64_MAX : 1;
	}
	for (size_t i = 0; i < 4; i++)
		rows[i] = (struct ct_ordered){.report = &store->reports[i]};
	ct_store_order(rows, 4);
	for (size_t i = 1; i < 4; i++)
		CU_ASSERT_TRUE(rows[i - 1].at_us <= rows[i].at_us);
	ct_store_order(rows, 0);
}

// ---- Launchers --------------------------------------------------------------------------------------------------

static bool rank_of(struct ct_arena *arena, const char *block, size_t length, struct ct_rank *ret_rank)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	ct_str_append(&text, block, length);
	return ct_collect_rank(arena, ct_rank_lookup_block, &text, ret_rank);
}

#define RANK_OF(block) rank_of(&arena, block, sizeof(block) - 1, &r)

static void test_launchers(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_rank r = {.rank = 77};
	CU_ASSERT_FALSE(RANK_OF(""));
	CU_ASSERT_FALSE(RANK_OF("RANK=\0WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=none\0"));
	CU_ASSERT_FALSE(RANK_OF("RANK=-1\0LOCAL_RANK=0\0"));
	CU_ASSERT_FALSE(RANK_OF("RANK=4294967296\0RANKS=1\0XRANK=1\0RANK"));
	CU_ASSERT_EQUAL(r.rank, 77);
	CU_ASSERT_TRUE(RANK_OF("A=b\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=none"));
	CU_ASSERT_TRUE(r.has_rank && r.rank == 3 && r.has_local_rank && r.local_rank == 1 && r.has_world_size && r.world_size == 8 && !r.job);
	CU_ASSERT_STRING_EQUAL(r.launcher, "torchrun");
	// srun starts torchrun: Slurm counts the machines, torchrun the processes.
	CU_ASSERT_TRUE(RANK_OF("SLURM_PROCID=1\0SLURM_NTASKS=2\0SLURM_JOB_ID=4711\0RANK=9\0WORLD_SIZE=16\0TORCHELASTIC_RUN_ID=x"));
	CU_ASSERT_TRUE(r.rank == 9 && r.world_size == 16 && strcmp(r.job, "4711") == 0);
	CU_ASSERT_TRUE(RANK_OF("SLURM_PROCID=5\0SLURM_LOCALID=1\0SLURM_NTASKS=6\0"));
	CU_ASSERT_TRUE(r.rank == 5 && r.local_rank == 1 && r.world_size == 6 && strcmp(r.launcher, "slurm") == 0);
	CU_ASSERT_TRUE(RANK_OF("PMI_RANK=1\0PMI_SIZE=2\0MPI_LOCALRANKID=0"));
	CU_ASSERT_TRUE(r.rank == 1 && r.has_local_rank && strcmp(r.launcher, "pmi") == 0);
	CU_ASSERT_TRUE(RANK_OF("PMIX_RANK=2\0PMIX_NAMESPACE=prterun-gpu7-42@1"));
	CU_ASSERT_TRUE(r.rank == 2 && !r.has_world_size && strcmp(r.job, "prterun-gpu7-42@1") == 0);
	CU_ASSERT_TRUE(RANK_OF("JOB_COMPLETION_INDEX=4"));
	CU_ASSERT_TRUE(r.rank == 4 && !r.has_local_rank && strcmp(r.launcher, "kubernetes") == 0);
	CU_ASSERT_TRUE(RANK_OF("RANK=8\0WORLD_SIZE=8"));  // not both can be true
	CU_ASSERT_TRUE(r.has_rank && !r.has_world_size);
	CU_ASSERT_TRUE(RANK_OF("SLURM_JOB_ID=\xff\x1b"));
	CU_ASSERT_TRUE(!r.has_rank && strcmp(r.job, "\xef\xbf\xbd\xef\xbf\xbd") == 0);
}

// ---- Summaries and markers --------------------------------------------------------------------------------------

static struct ct_summary new_summary(void)
{
	return (struct ct_summary){.signature = "0123456789abcdef", .time_us = NOW, .monotonic_us = 5, .pid = 42, .host = "gpu7", .boot_id = "b",
				   .kind = CT_FAULT_ASSERT, .kernel = "k", .detail = "t >= 0 \"\\", .command = "python train.py", .follower = "NCCL", .own_fault = true,
				   .rank = {.has_rank = true, .rank = 3, .has_world_size = true, .world_size = 8, .job = "4711", .launcher = "slurm"}};
}

static void test_summary_is_read_as_written(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_summary s = new_summary(), again;
	CT_AUTO(ct_auto_free) char *text = ct_summary_json(&s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NULL(strchr(text, '\n'));
	CU_ASSERT_TRUE_FATAL(ct_summary_read(text, strlen(text), &arena, &again, NULL));
	CT_AUTO(ct_auto_free) char *second = ct_summary_json(&again);
	CU_ASSERT_STRING_EQUAL(text, second);
	CU_ASSERT_FALSE(ct_summary_is_follower(&again));
	again.own_fault = false;
	CU_ASSERT_TRUE(ct_summary_is_follower(&again));
}

static void test_summary_of_an_incident(void)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	struct ct_summary s;
	ct_summary_of(in, &arena, &s);
	CU_ASSERT_TRUE(ct_signature_is_valid(s.signature));
	CU_ASSERT_TRUE(!s.host && !s.kernel && !s.detail && !s.command && !s.own_fault);
	static const char *const words[] = {"python", "a\nb"};
	char big[2000];
	memset(big, 'x', sizeof big);
	memcpy(big + 498, "\xe2\x82\xac", 3);  // a character over the limit of 500 bytes
	big[sizeof big - 1] = '\0';
	in->command = words;
	in->n_command = CT_COUNT(words);
	in->assertion.present = true;
	in->assertion.expression = big;
	in->assertion.function = "void f<int>(int)";
	ct_summary_of(in, &arena, &s);
	CU_ASSERT_STRING_EQUAL(s.command, "python a b");
	CU_ASSERT_STRING_EQUAL(s.kernel, "f");
	CU_ASSERT_EQUAL(strlen(s.detail), 498);
	CU_ASSERT_TRUE(s.own_fault);
	in->assertion.present = false;
	in->gpu.present = in->gpu.has_kernel = true;
	in->gpu.kernel.symbol = "_Z1kv";
	struct ct_group group = {.has_exception = true, .exception = 14};
	in->gpu.groups = &group;
	in->gpu.n_groups = 1;
	ct_summary_of(in, &arena, &s);
	CU_ASSERT_STRING_EQUAL(s.kernel, "_Z1kv");
	CU_ASSERT_STRING_EQUAL(s.detail, "illegal address");
}

static void check_refused(const char *text, enum ct_code code, const char *word)
{
	CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
	struct ct_error err = CT_ERROR_INIT;
	struct ct_summary s = {.pid = 77};
	CU_ASSERT_FALSE(ct_summary_read(text, strlen(text), &arena, &s, &err));
	CU_ASSERT_EQUAL(s.pid, 77);
	CU_ASSERT_EQUAL(err.code, code);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, word));
}

static void test_summary_that_is_none(void)
{
	check_refused("", CT_FORMAT, "not JSON");
	check_refused("[]", CT_FORMAT, "version");
	check_refused("{\"version\": 2}", CT_FORMAT, "version");
	check_refused("{\"version\": 1}", CT_FORMAT, "kind");
	check_refused("{\"version\": 1, \"kind\": \"evil\"}", CT_FORMAT, "kind");
	check_refused("{\"version\": 1, \"kind\": \"trap\", \"signature_version\": 0}", CT_UNAVAILABLE, "version");
	check_refused("{\"version\": 1, \"kind\": \"trap\", \"signature_version\": 1, \"signature\": \"../../etc\"}", CT_FORMAT, "signature");
	check_refused("{\"version\": 1, \"kind\": \"trap\", \"signature_version\": 1, \"signature\": 5}", CT_FORMAT, "signature");
	check_refused("{\"version\": 1, \"version\": 1}", CT_FORMAT, "not JSON");
}

// Any byte changed, any length: refused or read, never a crash; texts stay single clean lines.
static void test_damaged_summaries_and_markers(void)
{
	struct ct_summary s = new_summary();
	CT_AUTO(ct_auto_free) char *text = ct_summary_json(&s);
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++) {
		for (size_t k = 0; k < 4; k++) {
			CT_AUTO(ct_arena_done) struct ct_arena arena = CT_ARENA_INIT;
			struct ct_summary read;
			struct ct_marker marker;
			char old = text[i];
			text[i] = "\"\x80\n}"[k];
			if (ct_summary_read(text, length, &arena, &read, NULL))
				CU_ASSERT_TRUE(ct_signature_is_valid(read.signature) && (!read.host || !strchr(read.host, '\n')));
			ct_marker_read(text, length, &arena, &marker, NULL);
			text[i] = old;
			CU_ASSERT_FALSE(ct_summary_read(text, i, &arena, &read, NULL));
			CU_ASSERT_FALSE(ct_marker_read(text, i, &arena, &marker, NULL));
		}
	}
}

static void test_marker_is_read_as_written(void)
{
	char dir[] = "/tmp/ct-store-XXXXXX", job[64], path[256];
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(job, sizeof job, "%s/job", dir);
	struct ct_marker m = {.rank = {.has_rank = true, .rank = 3, .job = "../../x y"}, .pid = 42, .host = "gpu7", .boot_id = "b", .time_us = NOW, .monotonic_us = 7};
	CU_ASSERT_TRUE(ct_marker_write(job, &m, NULL));
	m.ended = true;
	m.signal = 9;
	m.follower = "NCCL";
	CU_ASSERT_TRUE(ct_marker_write(job, &m, NULL));
	CT_AUTO(ct_store_auto) struct ct_store *store = ct_store_new();
	CU_ASSERT_TRUE_FATAL(ct_store_read(store, dir, NULL));
	CU_ASSERT_TRUE(ct_store_read(store, job, NULL));  // reached twice
	CU_ASSERT_EQUAL_FATAL(store->n_markers, 1);
	const struct ct_marker *r = &store->markers[0];
	CU_ASSERT_TRUE(r->rank.rank == 3 && r->pid == 42 && r->ended && r->signal == 9 && r->status == 0 && r->time_us == NOW && !r->report);
	CU_ASSERT_STRING_EQUAL(r->rank.job, "../../x y");
	CU_ASSERT_STRING_EQUAL(r->follower, "NCCL");
	snprintf(path, sizeof path, "%s/ranks/_._.._x_y-rank3-gpu7-42-%lld.json", job, (long long)NOW);
	CU_ASSERT_EQUAL(unlink(path), 0);
	snprintf(path, sizeof path, "%s/ranks", job);
	CU_ASSERT_EQUAL(rmdir(path), 0);
	CU_ASSERT_EQUAL(rmdir(job), 0);
	rmdir(dir);
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_marker_write("/no/such/folder", &m, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
}

static void test_folders_that_cannot_be_read(void)
{
	char dir[] = "/tmp/ct-store-XXXXXX", locked[64];
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(locked, sizeof locked, "%s/locked", dir);
	CU_ASSERT_EQUAL_FATAL(mkdir(locked, 0700), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(dir, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(locked, 0), 0);
	CT_AUTO(ct_store_auto) struct ct_store *store = ct_store_new();
	struct ct_error err = CT_ERROR_INIT;
	uid_t me = geteuid();
	// Modes do not stop root.
	if (me == 0)
		CU_ASSERT_EQUAL_FATAL(seteuid(65534), 0);
	bool inside = ct_store_read(store, dir, &err), itself = ct_store_read(store, locked, &err);
	if (me == 0)
		CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
	CU_ASSERT_TRUE(inside && store->n_skipped == 1 && store->n_skipped_all == 1);
	CU_ASSERT_STRING_EQUAL(store->skipped[0].path, locked);
	CU_ASSERT_PTR_NOT_NULL(strstr(store->skipped[0].why, "Permission denied"));
	CU_ASSERT_TRUE(!itself && err.code == CT_DENIED);
	CU_ASSERT_FALSE(ct_store_read(store, "/no/such/folder", &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	rmdir(locked);
	rmdir(dir);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"dates that exist", test_dates_that_exist},
		{"since is a date or a span", test_since},
		{"the file of known faults", test_known_file},
		{"a known file with errors names the line", test_known_file_with_errors_names_the_line},
		{"ranges of numbers, lists of texts", test_ranges},
		{"groups", test_groups},
		{"order survives absurd clocks", test_order_survives_absurd_clocks},
		{"launchers", test_launchers},
		{"a summary is read as it was written", test_summary_is_read_as_written},
		{"summary of an incident", test_summary_of_an_incident},
		{"a summary that is none", test_summary_that_is_none},
		{"damaged summaries and markers", test_damaged_summaries_and_markers},
		{"a marker is read as it was written", test_marker_is_read_as_written},
		{"folders that cannot be read", test_folders_that_cannot_be_read},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("store", tests);
}
