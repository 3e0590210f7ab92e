// incident/: what is written is read back, whatever else is read does no harm.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <jansson.h>
#include <string.h>

#include "full_incident.h"
#include "incident/incident_priv.h"
#include "unit.h"

static struct ct_incident *read_text(const char *text, struct ct_error *err)
{
	struct ct_incident *in = NULL;
	return ct_incident_read_json(text, strlen(text), &in, err) ? in : NULL;
}

static char *file_text(const char *name)
{
	struct ct_str s = CT_STR_INIT;
	char path[4096];
	snprintf(path, sizeof path, "%s/incident/%s", CT_TEST_DATA, name);
	CU_ASSERT_TRUE_FATAL(ct_read_file(path, 1 << 20, &s, NULL));
	return s.data;
}

static void check_round_trip(const struct ct_incident *in)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_free) char *first = ct_incident_text(in, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CT_AUTO(ct_incident_auto) struct ct_incident *back = read_text(first, &err);
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_PTR_NOT_NULL_FATAL(back);
	CT_AUTO(ct_auto_free) char *second = ct_incident_text(back, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(second);
	CU_ASSERT_STRING_EQUAL(first, second);
}

static void test_full_incident_comes_back(void)
{
	for (int kind = CT_FAULT_UNKNOWN; kind <= CT_FAULT_HANG; kind++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_full_incident((enum ct_fault_kind)kind, (enum ct_ending_kind)(CT_ENDING_TIMED_OUT - kind));
		check_round_trip(in);
	}
}

static void test_read_values_are_those_written(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_full_incident(CT_FAULT_TRAP, CT_ENDING_SIGNALED);
	CT_AUTO(ct_auto_free) char *text = ct_incident_text(in, NULL);
	CT_AUTO(ct_incident_auto) struct ct_incident *back = read_text(text, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(back);
	CU_ASSERT_EQUAL(back->kind, CT_FAULT_TRAP);
	CU_ASSERT_EQUAL(back->time_us, INT64_C(1796126400123456));
	CU_ASSERT_EQUAL(back->gpu.kernel.grid_id, UINT64_C(1) << 63 | 5);
	CU_ASSERT_EQUAL(back->gpu.groups[3].reason, CT_GROUP_RUNNING);
	CU_ASSERT_EQUAL(back->gpu.groups[0].pc, UINT64_MAX);
	CU_ASSERT_TRUE(back->gpu.groups[0].has_error_pc);
	CU_ASSERT_EQUAL(back->gpu.groups[0].block_runs[0].last.x, UINT32_MAX);
	CU_ASSERT_EQUAL(back->gpu.groups[0].lanes[63].at.thread.x, 63);
	CU_ASSERT_TRUE(back->gpu.groups[0].lanes[63].has_exception);
	CU_ASSERT_FALSE(back->gpu.groups[0].lanes[0].has_exception);
	CU_ASSERT_TRUE(back->gpu.groups[0].block_runs_cut);
	CU_ASSERT_STRING_EQUAL(back->assertion.expression, "");
	CU_ASSERT_STRING_EQUAL(back->process.argv[2], "--x=\"\\[1, 2]\"");
	CU_ASSERT_STRING_EQUAL(back->threads[0].frames[0].source, "x = [1, 2,  3]");
	CU_ASSERT_EQUAL(back->ending.status, -9);
	CU_ASSERT_DOUBLE_EQUAL(back->seconds_to_report, 1.1, 1e-9);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"thread\": [63, 5, 6]"));
	CU_ASSERT_EQUAL(back->n_tensors, 6);
	CU_ASSERT_EQUAL(back->tensors[0].n_shape, CT_MAX_RANK);
	CU_ASSERT_EQUAL(back->tensors[0].shape[0], INT64_MAX);
	CU_ASSERT_EQUAL(back->tensors[0].stride[0], -1);
	CU_ASSERT_TRUE(back->tensors[CT_TENSOR_ITEM].has_shape && back->tensors[CT_TENSOR_ITEM].n_shape == 0);
	CU_ASSERT_EQUAL(back->tensors[5].role, CT_TENSOR_BUFFER);
	CU_ASSERT_EQUAL(back->tensors[5].data_ptr, UINT64_MAX);
	CU_ASSERT_EQUAL(back->checks[3].kind, CT_CHECK_DEVICE);
	CU_ASSERT_EQUAL(back->checks[2].status, CT_CHECK_IS_SUSPECT);
	CU_ASSERT_STRING_EQUAL(back->checks[0].tensors[1], "batch['\\'y']");
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"name\": \"warp-assert\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"time\": \"2026-12-01T12:00:00.123Z\""));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"seconds_to_report\": 1.1,"));
}

static void test_empty_incident_is_its_version(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	CT_AUTO(ct_auto_free) char *text = ct_incident_text(in, NULL);
	CU_ASSERT_STRING_EQUAL(text, "{\n  \"version\": 1\n}\n");
	check_round_trip(in);
}

static void test_writer_survives_our_own_mistakes(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	in->host = "bad \xff";
	in->seconds_to_report = 0.0 / 0.0;
	in->has_seconds_to_report = true;
	ct_incident_add_environment(in, "NAME", NULL);
	CT_AUTO(ct_auto_free) char *text = ct_incident_text(in, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "bad \xef\xbf\xbd"));
	CU_ASSERT_PTR_NULL(strstr(text, "seconds_to_report"));
	in->kind = (enum ct_fault_kind)77;
	CU_ASSERT_PTR_NULL(ct_incident_text(in, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CT_AUTO(ct_auto_fclose) FILE *full = fopen("/dev/full", "w");
	in->kind = CT_FAULT_HANG;
	CU_ASSERT_FALSE(ct_incident_write_json(in, full, &err));
	CU_ASSERT_EQUAL(err.code, CT_SYSTEM);
}

#define CHECK_WORDS(name, type, table, WORD)                                                                \
	do {                                                                                              \
		static const char *const words[] = {table(WORD)};                                         \
		for (unsigned i = 0; i < CT_COUNT(words); i++) {                                          \
			enum type value = (enum type)(i + 1);                                             \
			CU_ASSERT_STRING_EQUAL(name##_word((enum type)i), words[i]);                      \
			CU_ASSERT_TRUE(name##_parse(words[i], &value));                                   \
			CU_ASSERT_EQUAL((unsigned)value, i);                                              \
		}                                                                                         \
		enum type kept = (enum type)1;                                                            \
		CU_ASSERT_FALSE(name##_parse("no-such-word", &kept));                                     \
		CU_ASSERT_FALSE(name##_parse("", &kept));                                                 \
		CU_ASSERT_EQUAL((unsigned)kept, 1);                                                       \
		CU_ASSERT_STRING_EQUAL(name##_word((enum type)99), "unknown");                            \
	} while (0)
#define FIRST(name, word) word,
#define FIRST_OF_TWO(name, word, headline) word,

static void test_every_word_goes_both_ways(void)
{
	CHECK_WORDS(ct_fault_kind, ct_fault_kind, CT_FAULT_KINDS, FIRST_OF_TWO);
	CHECK_WORDS(ct_group_reason, ct_group_reason, CT_GROUP_REASONS, FIRST);
	CHECK_WORDS(ct_log_kind, ct_log_kind, CT_LOG_KINDS, FIRST);
	CHECK_WORDS(ct_frame_kind, ct_frame_kind, CT_FRAME_KINDS, FIRST);
	CHECK_WORDS(ct_collector_status, ct_collector_status, CT_COLLECTOR_STATUSES, FIRST);
	CHECK_WORDS(ct_ending, ct_ending_kind, CT_ENDINGS, FIRST);
	CHECK_WORDS(ct_tensor_role, ct_tensor_role, CT_TENSOR_ROLES, FIRST);
	CHECK_WORDS(ct_certainty, ct_certainty, CT_CERTAINTIES, FIRST);
	CHECK_WORDS(ct_launch_origin, ct_launch_origin, CT_LAUNCH_ORIGINS, FIRST);
	CHECK_WORDS(ct_check_kind, ct_check_kind, CT_CHECK_KINDS, FIRST);
	CHECK_WORDS(ct_check_status, ct_check_status, CT_CHECK_STATUSES, FIRST);
	CU_ASSERT_STRING_EQUAL(ct_fault_kind_headline(CT_FAULT_ASSERT), "device-side assert");
	CU_ASSERT_STRING_EQUAL(ct_fault_kind_headline((enum ct_fault_kind)99), "GPU fault");
	CU_ASSERT_STRING_EQUAL(ct_exception_word(1), "lane-illegal-address");
	CU_ASSERT_STRING_EQUAL(ct_exception_word(22), "warp-call-requires-newer-driver");
	CU_ASSERT_STRING_EQUAL(ct_exception_text(12), "device-side assert");
	CU_ASSERT_PTR_NULL(ct_exception_word(0));
	CU_ASSERT_PTR_NULL(ct_exception_text(23));
}

static void test_complaints_name_the_path(void)
{
#define G "{\"version\":1,\"gpu\":{\"groups\":[{\"reason\":\"exception\",\"threads\":1,\"warps\":1,\"blocks\":1,\"pc\":"
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"[]", "not a JSON object"},
		{"{}", "version: missing"},
		{"{\"version\":\"1\"}", "version: not a whole number from 1"},
		{"{\"version\":0}", "version: not a whole number from 1"},
		{"{\"version\":2}", "version: 2, and this cudatrap reads up to 1"},
		{"{\"version\":1,\"host\":5}", "host: not a string"},
		{"{\"version\":1,\"host\":null}", "host: not a string"},
		{"{\"version\":1,\"kind\":\"evil\"}", "kind: none of unknown, assert, exception, trap, api-error, hang"},
		{"{\"version\":1,\"kind\":1}", "kind: not a string"},
		{"{\"version\":1,\"launch_blocking\":1}", "launch_blocking: neither true nor false"},
		{"{\"version\":1,\"launch\":{\"certainty\":\"sure\"}}", "launch.certainty: none of none, several, unique"},
		{"{\"version\":1,\"launch\":{}}", "launch.certainty: missing"},
		{"{\"version\":1,\"launch\":{\"certainty\":\"none\",\"history\":[{\"stream\":\"0x0\",\"count\":-1}]}}", "launch.history[0].count: -1 is not in 0..9223372036854775807"},
		{"{\"version\":1,\"launch\":{\"certainty\":\"none\",\"failed_call\":{\"call\":\"c\",\"error\":4294967296}}}", "launch.failed_call.error: 4294967296 is not in 0..4294967295"},
		{"{\"version\":1,\"seconds_to_report\":\"1\"}", "seconds_to_report: not a number"},
		{"{\"version\":1,\"time_us\":1.5}", "time_us: not a whole number"},
		{"{\"version\":1,\"command\":\"ls\"}", "command: not a list"},
		{"{\"version\":1,\"command\":[\"a\",1]}", "command[1]: not a string"},
		{"{\"version\":1,\"gpu\":[]}", "gpu: not an object"},
		{"{\"version\":1,\"gpu\":{\"groups\":{}}}", "gpu.groups: not a list"},
		{"{\"version\":1,\"gpu\":{\"groups\":[1]}}", "gpu.groups[0]: not an object"},
		{"{\"version\":1,\"gpu\":{\"groups\":[{}]}}", "gpu.groups[0].reason: missing"},
		{G "16}]}}", "gpu.groups[0].pc: not a hex string"},
		{G "\"0x\"}]}}", "gpu.groups[0].pc: not a hex string"},
		{G "\"7f\"}]}}", "gpu.groups[0].pc: not a hex string"},
		{G "\"0x-1\"}]}}", "gpu.groups[0].pc: not a hex string"},
		{G "\"0x11111111111111111\"}]}}", "gpu.groups[0].pc: not a hex string"},
		{G "\"0x1\",\"exception\":12}]}}", "gpu.groups[0].exception: not an object"},
		{G "\"0x1\",\"exception\":{\"name\":\"warp-assert\"}}]}}", "gpu.groups[0].exception.code: missing"},
		{G "\"0x1\",\"exception\":{\"code\":-1}}]}}", "gpu.groups[0].exception.code: -1 is not in 0..4294967295"},
		{G "\"0x1\",\"flagged_threads\":-1}]}}", "gpu.groups[0].flagged_threads: -1 is not in 0..9223372036854775807"},
		{"{\"version\":1,\"gpu\":{\"kernel\":{\"grid_dim\":[1,1]}}}", "gpu.kernel.block_dim: missing"},
		{"{\"version\":1,\"gpu\":{\"kernel\":{\"cluster_dim\":[1,1]}}}", "gpu.kernel.cluster_dim: not [x, y, z]"},
		{"{\"version\":1,\"gpu\":{\"kernel\":{\"cluster_dim\":[1,\"1\",1]}}}", "gpu.kernel.cluster_dim[1]: not a whole number"},
		{"{\"version\":1,\"gpu\":{\"kernel\":{\"cluster_dim\":[1,1,4294967296]}}}",
		 "gpu.kernel.cluster_dim[2]: 4294967296 is not in 0..4294967295"},
		{"{\"version\":1,\"tensors\":[{\"role\":\"local\"}]}", "tensors[0].name: missing"},
		{"{\"version\":1,\"tensors\":[{\"name\":\"x\",\"role\":\"king\"}]}",
		 "tensors[0].role: none of local, argument, attribute, item, parameter, buffer"},
		{"{\"version\":1,\"tensors\":[{\"name\":\"x\",\"role\":\"local\",\"shape\":3}]}", "tensors[0].shape: not a list"},
		{"{\"version\":1,\"tensors\":[{\"name\":\"x\",\"role\":\"local\",\"shape\":[3,1.5]}]}", "tensors[0].shape[1]: not a whole number"},
		{"{\"version\":1,\"checks\":[{\"check\":\"taste\",\"status\":\"ok\"}]}", "checks[0].check: none of shape, dtype, value range, device"},
		{"{\"version\":1,\"ending\":{\"status\":2147483648}}", "ending.status: 2147483648 is not in -2147483648..2147483647"},
	};
#undef G
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct ct_error err = CT_ERROR_INIT;
		struct ct_incident *in = NULL;
		CU_ASSERT_FALSE(ct_incident_read_json(cases[i].json, strlen(cases[i].json), &in, &err));
		CU_ASSERT_PTR_NULL(in);
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
		if (strcmp(err.text, cases[i].text) != 0)
			printf("# case %zu: %s\n", i, err.text);
		CU_ASSERT_PTR_NULL(strpbrk(err.text, "\n\t\x1b\xff"));
	}
}

// Where jansson sees it; its words differ from version to version.
static void test_what_is_not_json_is_refused(void)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"{\"version\":1,\"host\":\"a\",\"host\":\"b\"}", "not JSON: line 1, column "},
		{"{\"version\":1,\n\"host\":\"a\xff\"}", "not JSON: line 2, column "},
		{"{\"version\":1,\"host\":\"\\u0000\"}", "not JSON: line 1, column "},
		{"{\"version\":1,\"time_us\":99999999999999999999}", "not JSON: line 1, column "},
		{"{\"version\":1,\"seconds_to_report\":1e999}", "not JSON: line 1, column "},
		{"{\"version\":1} x", "not JSON: line 1, column 15: "},
		{"{\"version\":1", "not JSON: line 1, column "},
		{"", "not JSON: line 1, column 0: "},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_PTR_NULL(read_text(cases[i].json, &err));
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_TRUE(ct_starts_with(err.text, cases[i].text));
	}
}

static void test_newer_version_says_what_to_do(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_PTR_NULL(read_text("{\"version\":2}", &err));
	CU_ASSERT_STRING_EQUAL(err.hint, "read it with the cudatrap that wrote it, or a newer one");
	CU_ASSERT_PTR_NULL(read_text("{\"incident\":2}", &err));
	CU_ASSERT_STRING_EQUAL(err.hint, "is this an incident.json of cudatrap?");
}

static void test_syntax_error_is_one_clean_line(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_PTR_NULL(read_text("{\"version\":1,\n  \"host\": \"a\n\x1b[2J\"}", &err));
	CU_ASSERT_TRUE(ct_starts_with(err.text, "not JSON: line 2, column "));
	CU_ASSERT_PTR_NULL(strpbrk(err.text, "\n\x1b"));
	CU_ASSERT_PTR_NULL(read_text("{\"version\":1, \x1b\xe2\x80\xae nonsense}", &err));
	CU_ASSERT_PTR_NULL(strpbrk(err.text, "\n\x1b"));
	CU_ASSERT_PTR_NULL(strstr(err.text, "\xe2\x80\xae"));
}

static void test_unknown_keys_are_ignored_and_texts_cleaned(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in =
		read_text("{\"version\":1,\"future\":{\"a\":[null]},\"host\":\"a\\u001b[31m\\u202e\",\"gpu\":{\"x\":1},\"seconds_to_report\":2}", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	CU_ASSERT_STRING_EQUAL(in->host, "a\xef\xbf\xbd[31m\xef\xbf\xbd");
	CU_ASSERT_TRUE(in->gpu.present);
	CU_ASSERT_EQUAL(in->seconds_to_report, 2.0);
}

static void fill_list(struct ct_str *s, const char *row, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ct_str_addf(s, "%s%s", i ? "," : "", row);
}

static void test_bounds_are_kept(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	ct_str_add(&s, "{\"version\":1,\"notes\":[");
	fill_list(&s, "\"\"", CT_INCIDENT_MAX_ROWS + 1);
	ct_str_add(&s, "]}");
	CU_ASSERT_PTR_NULL(read_text(s.data, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
	CU_ASSERT_STRING_EQUAL(err.text, "notes: 65537 rows, at most 65536 are read");

	ct_str_clear(&s);
	ct_str_add(&s, "{\"version\":1,\"assert\":{\"thread_runs\":[");
	fill_list(&s, "{\"first\":[0,0,0],\"last\":[0,0,0],\"count\":1}", CT_MAX_RUNS + 1);
	ct_str_add(&s, "]}}");
	CU_ASSERT_PTR_NULL(read_text(s.data, &err));
	CU_ASSERT_STRING_EQUAL(err.text, "assert.thread_runs: 65 rows, at most 64 are read");

	ct_str_clear(&s);
	ct_str_add(&s, "{\"version\":1,\"tensors\":[{\"name\":\"x\",\"role\":\"local\",\"shape\":[");
	fill_list(&s, "1", CT_MAX_RANK + 1);
	ct_str_add(&s, "]}]}");
	CU_ASSERT_PTR_NULL(read_text(s.data, &err));
	CU_ASSERT_STRING_EQUAL(err.text, "tensors[0].shape: 65 rows, at most 64 are read");

	ct_str_clear(&s);
	ct_str_add(&s, "{\"version\":1,\"host\":\"");
	for (int i = 0; i <= CT_INCIDENT_MAX_TEXT; i++)
		ct_str_addc(&s, 'x');
	ct_str_add(&s, "\"}");
	CU_ASSERT_PTR_NULL(read_text(s.data, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);

	ct_str_clear(&s);
	for (int i = 0; i < 100000; i++)
		ct_str_addc(&s, '[');
	CU_ASSERT_PTR_NULL(read_text(s.data, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	struct ct_incident *in = NULL;
	CU_ASSERT_FALSE(ct_incident_read_json("", (size_t)CT_INCIDENT_MAX_BYTES + 1, &in, &err));  // refused before it is looked at
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
}

static void test_parts_merge(void)
{
	struct ct_error err = CT_ERROR_INIT;
	CT_AUTO(ct_auto_free) char *gpu = file_text("gpu-part.json");
	CT_AUTO(ct_auto_free) char *host = file_text("host-part.json");
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	in->host = "node7";
	in->assertion = (struct ct_assert){.present = true, .source = "log", .n_lines = 5, .block_runs_cut = true};
	struct ct_collector one[] = {{.name = "log", .status = CT_COLLECTOR_OK}};  // not from the arena: must not be written to
	in->collectors = one;
	in->n_collectors = 1;
	CU_ASSERT_TRUE(ct_incident_read_gpu_json(in, gpu, strlen(gpu), &err));
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_TRUE(ct_incident_read_host_json(in, host, strlen(host), &err));
	CU_ASSERT_STRING_EQUAL(err.text, "");
	CU_ASSERT_STRING_EQUAL(in->host, "node7");
	CU_ASSERT_EQUAL(in->kind, CT_FAULT_ASSERT);
	CU_ASSERT_EQUAL(in->gpu.n_groups, 2);
	CU_ASSERT_EQUAL(in->gpu.groups[0].lanes[0].hw.lane, 2);
	CU_ASSERT_STRING_EQUAL(in->assertion.source, "debugger");
	CU_ASSERT_EQUAL(in->assertion.n_lines, 5);
	CU_ASSERT_TRUE(in->assertion.block_runs_cut);  // no runs came, so the flag stands
	CU_ASSERT_EQUAL(in->n_collectors, 4);
	CU_ASSERT_STRING_EQUAL(in->collectors[0].name, "log");
	CU_ASSERT_EQUAL(in->collectors[3].status, CT_COLLECTOR_TIMED_OUT);
	CU_ASSERT_EQUAL(in->n_notes, 2);
	CU_ASSERT_EQUAL(in->process.n_argv, 4);
	CU_ASSERT_EQUAL(in->n_threads, 2);
	CU_ASSERT_EQUAL(in->n_environment, 2);
	CU_ASSERT_EQUAL_FATAL(in->n_tensors, 3);
	CU_ASSERT_TRUE(in->tensors[1].has_shape && in->tensors[1].n_shape == 0);
	CU_ASSERT_TRUE(ct_incident_read_host_json(in, host, strlen(host), &err));
	CU_ASSERT_EQUAL(in->process.n_argv, 4);
	CU_ASSERT_EQUAL(in->n_threads, 4);
	check_round_trip(in);
	for (int i = 0; i < 20; i++)
		ct_incident_add_collector(in, "more", CT_COLLECTOR_OK, i, NULL);
	CU_ASSERT_STRING_EQUAL(in->collectors[25].name, "more");
}

static void test_parts_take_their_keys_alone(void)
{
	static const char text[] = "{\"version\":1,\"kind\":\"trap\",\"gpu\":{},\"threads\":[{\"tid\":1}],\"host\":5,\"notes\":[\"n\"]}";
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	CU_ASSERT_TRUE(ct_incident_read_gpu_json(in, text, strlen(text), NULL));
	CU_ASSERT_EQUAL(in->kind, CT_FAULT_TRAP);
	CU_ASSERT_EQUAL(in->n_threads, 0);
	CT_AUTO(ct_incident_auto) struct ct_incident *other = ct_incident_new();
	CU_ASSERT_TRUE(ct_incident_read_host_json(other, text, strlen(text), NULL));
	CU_ASSERT_EQUAL(other->kind, CT_FAULT_UNKNOWN);
	CU_ASSERT_FALSE(other->gpu.present);
	CU_ASSERT_EQUAL(other->n_threads, 1);
}

static void test_tensors_come_alone(void)
{
	static const char text[] = "{\"version\":1,\"threads\":[{\"tid\":1}],\"notes\":[\"n\"],\"tensors\":[{\"name\":\"x\",\"role\":\"item\",\"shape\":[]}]}";
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	CU_ASSERT_TRUE(ct_incident_read_tensors_json(in, text, strlen(text), NULL));
	CU_ASSERT_EQUAL(in->n_threads + in->n_notes, 0);
	CU_ASSERT_EQUAL_FATAL(in->n_tensors, 1);
	CU_ASSERT_TRUE(in->tensors[0].has_shape);
	CU_ASSERT_FALSE(in->tensors[0].has_stride);
}

static void test_runs_replace_and_forget_the_cut(void)
{
	static const char text[] = "{\"version\":1,\"assert\":{\"block_runs\":[{\"first\":[0,0,0],\"last\":[1,0,0],\"count\":2}]}}";
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_full_incident(CT_FAULT_ASSERT, CT_ENDING_EXITED);
	CU_ASSERT_TRUE(ct_incident_read_gpu_json(in, text, strlen(text), NULL));
	CU_ASSERT_EQUAL(in->assertion.n_block_runs, 1);
	CU_ASSERT_EQUAL(in->assertion.block_runs[0].count, 2);
	CU_ASSERT_FALSE(in->assertion.block_runs_cut);
	CU_ASSERT_TRUE(in->assertion.thread_runs_cut);
}

static void test_failed_merge_changes_nothing(void)
{
	static const char bad[] = "{\"version\":1,\"kind\":\"trap\",\"gpu\":{\"source\":\"x\",\"groups\":[{\"reason\":\"exception\",\"pc\":\"0x1\",\"threads\":1,"
				  "\"warps\":1,\"blocks\":1}]},\"collectors\":[{\"name\":\"gpu\",\"status\":\"ok\"}],\"notes\":[1]}";
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_full_incident(CT_FAULT_ASSERT, CT_ENDING_EXITED);
	CT_AUTO(ct_auto_free) char *before = ct_incident_text(in, NULL);
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_incident_read_gpu_json(in, bad, strlen(bad), &err));
	CU_ASSERT_STRING_EQUAL(err.text, "notes[0]: not a string");
	CT_AUTO(ct_auto_free) char *after = ct_incident_text(in, NULL);
	CU_ASSERT_STRING_EQUAL(before, after);
}

// Numerical Recipes' linear congruential generator: the same damage in every run.
static uint32_t next_random(uint32_t *state)
{
	return (*state = *state * 1664525u + 1013904223u) >> 8;
}

static void test_truncated_and_mutated_text_is_refused_or_read(void)
{
	CT_AUTO(ct_auto_free) char *text = file_text("gpu-part.json");
	CT_AUTO(ct_auto_free) char *host = file_text("host-part.json");
	char *const texts[] = {text, host};
	uint32_t random = 1;
	size_t refused = 0;
	for (size_t t = 0; t < CT_COUNT(texts); t++) {
		size_t length = strlen(texts[t]);
		for (size_t n = 0; n < length - 2; n++) {  // the last two bytes are "}\n"
			CT_AUTO(ct_auto_free) char *copy = ct_xrealloc(NULL, n + 1);  // exact size: a read past the end is seen
			memcpy(copy, texts[t], n);
			CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL;
			struct ct_error err = CT_ERROR_INIT;
			CU_ASSERT_FALSE(ct_incident_read_json(copy, n, &in, &err));
			CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		}
		for (int round = 0; round < 2000; round++) {
			CT_AUTO(ct_auto_free) char *copy = ct_xrealloc(NULL, length);
			memcpy(copy, texts[t], length);
			for (int i = 0; i < 1 + round % 4; i++)
				copy[next_random(&random) % length] = (char)(round % 2 ? "0\"[]{},:-\\"[next_random(&random) % 10] : (int)next_random(&random));
			CT_AUTO(ct_incident_auto) struct ct_incident *in = NULL;
			struct ct_error err = CT_ERROR_INIT;
			if (!ct_incident_read_json(copy, length, &in, &err)) {
				CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
				CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
				refused++;
				continue;
			}
			check_round_trip(in);
		}
	}
	CU_ASSERT_TRUE(refused > 1000 && refused < 3900);
}

// --- tables and schema

static json_t *resolve(json_t *schema, json_t *node)
{
	const char *ref = json_string_value(json_object_get(node, "$ref"));
	return ref && ct_starts_with(ref, "#/$defs/") ? json_object_get(json_object_get(schema, "$defs"), ref + strlen("#/$defs/")) : node;
}

static bool lists_word(json_t *list, const char *word)
{
	size_t i;
	json_t *value;
	json_array_foreach(list, i, value)
		if (json_is_string(value) && strcmp(json_string_value(value), word) == 0)
			return true;
	return false;
}

static void compare_object(json_t *schema, json_t *object, const struct ct_table *table, size_t n_glosses)
{
	json_t *properties = json_object_get(object, "properties"), *required = json_object_get(object, "required");
	CU_ASSERT_TRUE(json_is_false(json_object_get(object, "additionalProperties")));
	for (size_t i = 0; i < table->n_fields; i++) {
		const struct ct_field *f = &table->fields[i];
		json_t *property = json_object_get(properties, f->key);
		CU_ASSERT_PTR_NOT_NULL_FATAL(property);
		CU_ASSERT_EQUAL(lists_word(required, f->key), (f->flags & CT_FIELD_REQUIRED) != 0);
		json_t *what = resolve(schema, property);
		n_glosses += f->type == CT_FIELD_CODE || f->type == CT_FIELD_TIME;
		if (f->type == CT_FIELD_WORD) {
			CU_ASSERT_EQUAL(json_array_size(json_object_get(what, "enum")), f->words->n_words);
			for (size_t w = 0; w < f->words->n_words; w++)
				CU_ASSERT_TRUE(lists_word(json_object_get(what, "enum"), f->words->words[w]));
		} else if (f->type == CT_FIELD_OBJECT) {
			compare_object(schema, what, f->table, 0);
		} else if (f->type == CT_FIELD_ROWS) {
			CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(what, "type")), "array");
			CU_ASSERT_EQUAL((size_t)json_integer_value(json_object_get(what, "maxItems")), f->limit);
			compare_object(schema, resolve(schema, json_object_get(what, "items")), f->table, 0);
		}
	}
	CU_ASSERT_EQUAL(json_object_size(properties), table->n_fields + n_glosses);
}

static void test_schema_and_tables_agree(void)
{
	json_t *schema = json_load_file(CT_TEST_DATA "/../../doc/incident.schema.json", JSON_REJECT_DUPLICATES, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
	compare_object(schema, schema, &ct_incident_table, 1);  // "version" is no member
	json_decref(schema);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"full incident comes back", test_full_incident_comes_back},
		{"read values are those written", test_read_values_are_those_written},
		{"empty incident is its version", test_empty_incident_is_its_version},
		{"writer survives our own mistakes", test_writer_survives_our_own_mistakes},
		{"every word goes both ways", test_every_word_goes_both_ways},
		{"complaints name the path", test_complaints_name_the_path},
		{"what is not JSON is refused", test_what_is_not_json_is_refused},
		{"newer version says what to do", test_newer_version_says_what_to_do},
		{"syntax error is one clean line", test_syntax_error_is_one_clean_line},
		{"unknown keys are ignored and texts cleaned", test_unknown_keys_are_ignored_and_texts_cleaned},
		{"bounds are kept", test_bounds_are_kept},
		{"parts merge", test_parts_merge},
		{"parts take their keys alone", test_parts_take_their_keys_alone},
		{"tensors come alone", test_tensors_come_alone},
		{"runs replace and forget the cut", test_runs_replace_and_forget_the_cut},
		{"failed merge changes nothing", test_failed_merge_changes_nothing},
		{"truncated and mutated text is refused or read", test_truncated_and_mutated_text_is_refused_or_read},
		{"schema and tables agree", test_schema_and_tables_agree},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("incident", tests);
}
