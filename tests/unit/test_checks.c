// diagnose/checks*.c and hoststack/tensors.c: what the tensors of a call say about each other, and what the agent's list may hold.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "diagnose/diagnose.h"
#include "hoststack/hoststack.h"
#include "unit.h"

#define FUNCTIONAL "/venv/lib/python3.12/site-packages/torch/nn/functional.py"
#define USER "/home/user/train.py"

// An incident with a launching thread 8, and a user frame (depth 1) at that source line beside a frame of torch (depth 0).
static struct ct_incident *new_incident(const char *source)
{
	struct ct_incident *in = ct_incident_new();
	struct ct_host_thread *t = ct_incident_add_thread(in, 8, "python");
	t->launching = true;
	t->frames = ct_arena_array(&in->arena, 2, sizeof *t->frames);
	t->n_frames = 2;
	t->frames[0] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .function = "cross_entropy", .file = FUNCTIONAL, .line = 3000, .source = "return f("};
	t->frames[1] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .function = "step", .file = USER, .line = 4, .source = source};
	return in;
}

// shape: a digit a dimension. Name "function.name" for an argument of a function of torch, else a local of the user's.
static void add(struct ct_incident *in, const char *name, const char *shape, const char *dtype, const char *device, uint64_t data_ptr)
{
	const char *dot = strchr(name, '/');
	in->tensors = ct_arena_grow(&in->arena, in->tensors, &in->n_tensors, sizeof *in->tensors);
	struct ct_tensor *t = &in->tensors[in->n_tensors - 1];
	*t = (struct ct_tensor){.name = dot ? dot + 1 : name, .library = "torch", .tid = 8, .has_depth = true, .depth = dot ? 0 : 1,
				.function = dot ? ct_arena_strndup(&in->arena, name, (size_t)(dot - name)) : "step", .file = dot ? FUNCTIONAL : USER,
				.line = dot ? 3000 : 4, .has_shape = shape != NULL, .dtype = dtype, .device = device, .has_data_ptr = data_ptr != 0,
				.data_ptr = data_ptr};
	t->n_shape = shape ? strlen(shape) : 0;
	t->shape = ct_arena_array(&in->arena, t->n_shape, sizeof *t->shape);
	for (size_t i = 0; i < t->n_shape; i++)
		t->shape[i] = shape[i] - '0';
}

// Statuses as letters, in the order of the table: o, s, u.
static const char *statuses(struct ct_incident *in)
{
	char *text = ct_arena_alloc(&in->arena, in->n_checks + 1);
	for (size_t i = 0; i < in->n_checks; i++) {
		text[i] = ct_check_status_word(in->checks[i].status)[0];
		CU_ASSERT_EQUAL(in->checks[i].kind, i);
	}
	return text;
}

static void test_labels_outside_their_classes(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("return F.cross_entropy(logits, y)");
	add(in, "cross_entropy/input", "43", "float32", "cuda:0", 0x1000);
	add(in, "cross_entropy/target", "4", "int64", "cuda:0", 0x2000);
	add(in, "y", "4", "int64", "cuda:0", 0x2000);
	add(in, "logits", "43", "float32", "cuda:0", 0x1000);
	in->assertion = (struct ct_assert){.present = true, .expression = "t >= 0 && t < n_classes"};
	ct_diagnose_checks(in);
	CU_ASSERT_STRING_EQUAL(statuses(in), "ooso");
	CU_ASSERT_STRING_EQUAL(in->checks[0].call, "cross_entropy");
	CU_ASSERT_STRING_EQUAL(in->checks[0].seen, "logits [4, 3], y [4]");
	CU_ASSERT_STRING_EQUAL(in->checks[1].seen, "y is int64");
	CU_ASSERT_STRING_EQUAL(in->checks[2].seen, "a value of y is outside: the assert `t >= 0 && t < n_classes` says so; logits has 3 classes");
	CU_ASSERT_STRING_EQUAL(in->checks[3].seen, "both on cuda:0");
	CU_ASSERT_EQUAL_FATAL(in->checks[0].n_tensors, 2);
	CU_ASSERT_STRING_EQUAL(in->checks[0].tensors[1], "y");
	in->assertion.present = false;
	ct_diagnose_checks(in);  // replaces
	CU_ASSERT_STRING_EQUAL(statuses(in), "oouo");
}

static void test_each_call_asks_its_own(void)
{
	static const struct {
		const char *values, *values_shape, *values_dtype, *index, *index_shape, *index_dtype, *expression, *want;
	} cases[] = {
		{"cross_entropy/input", "43", "float32", "cross_entropy/target", "5", "int64", NULL, "souo"},
		{"cross_entropy/input", "43", "float32", "cross_entropy/target", "4", "float32", NULL, "osuo"},
		{"cross_entropy/input", "43", "float32", "cross_entropy/target", "43", "float32", NULL, "oouo"},  // a probability for each class
		{"cross_entropy/input", "4388", "float32", "cross_entropy/target", "488", "int64", NULL, "oouo"},
		{"cross_entropy/input", "4388", "float32", "cross_entropy/target", "489", "int64", NULL, "souo"},
		{"cross_entropy/input", "3", "float32", "cross_entropy/target", "", "int64", NULL, "oouo"},
		{"cross_entropy/input", NULL, "float32", "cross_entropy/target", "4", NULL, NULL, "uuuo"},
		{"nll_loss/input", "43", "float32", "nll_loss/target", "43", "int64", "n_classes", "soso"},
		{"embedding/weight", "92", "float32", "embedding/input", "43", "int64", "srcIndex < srcSelectDimSize", "ooso"},
		{"embedding/weight", "92", "float32", "embedding/input", "43", "float32", NULL, "osuo"},
		{"binary_cross_entropy/input", "4", "float32", "binary_cross_entropy/target", "4", "float32", "input_val >= zero && input_val <= one", "ooso"},
		{"binary_cross_entropy/input", "4", "float32", "binary_cross_entropy/target", "41", "int64", NULL, "ssuo"},
		{"one_hot/none", "4", "float32", "one_hot/tensor", "4", "int64", NULL, "uouu"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("");
		add(in, cases[i].values, cases[i].values_shape, cases[i].values_dtype, "cuda:0", 0);
		add(in, cases[i].index, cases[i].index_shape, cases[i].index_dtype, "cuda:0", 0);
		in->assertion = (struct ct_assert){.present = cases[i].expression != NULL, .expression = cases[i].expression};
		ct_diagnose_checks(in);
		CU_ASSERT_STRING_EQUAL(statuses(in), cases[i].want);
		if (strcmp(statuses(in), cases[i].want) != 0)
			printf("# case %zu: %s\n", i, statuses(in));
	}
}

static void test_two_devices(void)
{
	static const struct {
		const char *shape, *want;
	} cases[] = {{"4", "oous"}, {"", "souu"}};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("");
		add(in, "nll_loss/input", "43", "float32", "cuda:0", 0);
		add(in, "nll_loss/target", cases[i].shape, "int64", "cpu", 0);
		ct_diagnose_checks(in);
		CU_ASSERT_STRING_EQUAL_FATAL(statuses(in), cases[i].want);
		CU_ASSERT_STRING_EQUAL(in->checks[3].seen, "input is on cuda:0, target on cpu");
	}
}

static void test_calls_are_found_in_the_source_line(void)
{
	static const struct {
		const char *source, *index;  // NULL: not found
	} cases[] = {
		{"z = torch.gather(x, 1, idx)", "idx"},
		{"z = x.gather(1, idx)", "idx"},
		{"z = x.gather(dim=1, index=idx)", "idx"},
		{"z = torch.gather( x , dims[0, 1], idx )", "idx"},
		{"z = torch.gather(x, ',', idx)", "idx"},
		{"z = x.gather(1, idx[0])", NULL},
		{"z = x.gather(1", NULL},
		{"z = x.gather(", NULL},
		{"z = my_gather(x, 1, idx)", NULL},
		{"z = x.gather(1, idx + 1)", NULL},
		{"z = batch['ids'].gather(1, idx)", NULL},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident(cases[i].source);
		add(in, "x", "43", "float32", "cuda:0", 0);
		add(in, "idx", "42", "int64", "cuda:0", 0);
		ct_diagnose_checks(in);
		bool found = in->n_checks && in->checks[0].call;
		CU_ASSERT_EQUAL(found, cases[i].index != NULL);
		if (found != (cases[i].index != NULL))
			printf("# case %zu\n", i);
		if (found) {
			CU_ASSERT_STRING_EQUAL(statuses(in), "oouo");
			CU_ASSERT_STRING_EQUAL(in->checks[0].tensors[1], "idx");
		}
	}
}

static void test_other_calls_show_what_the_line_names(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("out = kernel(x, weight2)");
	add(in, "x", "43", "float32", "cuda:0", 0);
	add(in, "weight", "43", "float32", "cuda:1", 0);
	add(in, "weight2", "43", NULL, "cuda:0", 0);
	ct_diagnose_checks(in);
	CU_ASSERT_STRING_EQUAL(statuses(in), "uuuo");
	CU_ASSERT_PTR_NULL(in->checks[0].call);
	CU_ASSERT_STRING_EQUAL(in->checks[3].seen, "x on cuda:0, weight2 on cuda:0");
	CU_ASSERT_TRUE(ct_starts_with(in->checks[1].seen, "x float32, weight2 ?: "));
}

static void test_nothing_is_asked_without_tensors(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = new_incident("kernel(x)");
	ct_diagnose_checks(in);
	CU_ASSERT_EQUAL(in->n_checks, 0);
	add(in, "x", "4", "float32", "cuda:0", 0);
	in->threads[0].launching = false;  // whose tensors to ask is not known
	ct_diagnose_checks(in);
	CU_ASSERT_EQUAL(in->n_checks, 0);
	in->threads[0].launching = true;
	in->tensors[0].tid = 9;
	ct_diagnose_checks(in);
	CU_ASSERT_EQUAL(in->n_checks, 0);
}

// ---- The agent's answer ------------------------------------------------------------------------------------------

static bool parse(struct ct_incident *in, const char *json, struct ct_tensors_about *about, struct ct_error *err)
{
	return ct_hoststack_tensors_parse(in, json, strlen(json), about, err);
}

#define ROW "{\"name\":\"y\",\"library\":\"torch\",\"role\":\"local\",\"shape\":[4],\"data_ptr\":\"0x10\"}"

static void test_answer_is_taken(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	struct ct_tensors_about about = {0};
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE(parse(in, "{\"version\":1,\"pid\":7,\"python\":\"3.12.1\",\"libraries\":[\"torch\"],\"detail\":\"cut\\u001b\",\"tensors\":[" ROW "]}", &about, &err));
	CU_ASSERT_EQUAL(about.n_libraries, 1);
	CU_ASSERT_STRING_EQUAL(about.missing, "cut\xef\xbf\xbd");
	CU_ASSERT_EQUAL_FATAL(in->n_tensors, 1);
	CU_ASSERT_EQUAL(in->tensors[0].data_ptr, 16);
	CU_ASSERT_TRUE(parse(in, "{\"version\":1,\"libraries\":[],\"detail\":\"\",\"tensors\":[]}", &about, &err));
	CU_ASSERT_EQUAL(about.n_libraries, 0);
	CU_ASSERT_PTR_NULL(about.missing);
	CU_ASSERT_EQUAL(in->n_tensors, 1);
}

static void test_wrong_answers_are_refused(void)
{
	static const struct {
		const char *json, *text;
		enum ct_code code;
	} cases[] = {
		{"{\"version\":1,\"error\":\"no Python in this process\"}", "the agent's list of tensors: no Python in this process", CT_UNAVAILABLE},
		{"{", "the agent's list of tensors: no JSON at byte 1", CT_FORMAT},
		{"[]", "the agent's list of tensors: libraries is no list", CT_FORMAT},
		{"{\"version\":1,\"libraries\":3}", "the agent's list of tensors: libraries is no list", CT_FORMAT},
		{"{\"version\":1,\"libraries\":[],\"tensors\":3}", "the agent's list of tensors: tensors: not a list", CT_FORMAT},
		{"{\"version\":1,\"libraries\":[],\"tensors\":[" ROW ",{\"name\":3}]}", "the agent's list of tensors: tensors[1].name: not a string", CT_FORMAT},
		{"{\"version\":1,\"libraries\":[],\"tensors\":[],\"python_locals\":[{\"name\":\"n\",\"role\":\"local\"}]}",
		 "the agent's list of tensors: python_locals[0].value: missing", CT_FORMAT},
		{"{\"version\":2,\"libraries\":[],\"tensors\":[]}", "the agent's list of tensors: version: 2, and this cudatrap reads up to 1", CT_FORMAT},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
		struct ct_tensors_about about = {.n_libraries = 77};
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_FALSE(parse(in, cases[i].json, &about, &err));
		CU_ASSERT_EQUAL(err.code, cases[i].code);
		CU_ASSERT_STRING_EQUAL(err.text, cases[i].text);
		CU_ASSERT_EQUAL(about.n_libraries, 77);
		CU_ASSERT_EQUAL(in->n_tensors, 0);
	}
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_hoststack_tensors_parse(NULL, "{", (size_t)6 << 20, NULL, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"labels outside their classes", test_labels_outside_their_classes},
		{"each call asks its own", test_each_call_asks_its_own},
		{"two devices", test_two_devices},
		{"calls are found in the source line", test_calls_are_found_in_the_source_line},
		{"other calls show what the line names", test_other_calls_show_what_the_line_names},
		{"nothing is asked without tensors", test_nothing_is_asked_without_tensors},
		{"the agent's answer is taken", test_answer_is_taken},
		{"wrong answers are refused", test_wrong_answers_are_refused},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("checks", tests);
}
