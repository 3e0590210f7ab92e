// The assert catalogue: every row is found again, real lines find their row, values and causes follow.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"
#include "matching/matching.h"
#include "unit.h"

static struct ct_catalog *catalog;

static int set_up(void)
{
	struct ct_error err = CT_ERROR_INIT;
	if (ct_catalog_open(ct_data_dir(), &catalog, &err))
		return 0;
	printf("# %s\n", err.text);
	return 1;
}

static void tear_down(void)
{
	ct_catalog_free(catalog);
}

// ---- Matching ------------------------------------------------------------------------------------------------

// The first of "a / b".
static const char *first_of(struct ct_arena *arena, const char *list)
{
	const char *end = strstr(list, " / ");
	return ct_arena_strndup(arena, list, end ? (size_t)(end - list) : strlen(list));
}

// Rows that no text leads to: nothing is printed, or the row describes a family.
static bool is_for_readers(const struct ct_catalog_row *row)
{
	return ct_starts_with(row->expression, "(none") || ct_starts_with(row->expression, "(nothing") || ct_starts_with(row->expression, "<") ||
	       strcmp(row->expression, "cond && message") == 0;
}

// Another row with the same key and without a line of its own: the key alone then does not tell them apart.
static bool has_twin(const struct ct_catalog_row *row)
{
	for (size_t i = 0; i < catalog->n_rows; i++) {
		const struct ct_catalog_row *other = &catalog->rows[i];
		if (other != row && strcmp(ct_basename(other->file), ct_basename(row->file)) == 0 && strcmp(other->expression, row->expression) == 0 &&
		    strcmp(row->line, "n/a") == 0)
			return true;
	}
	return false;
}

static void test_every_row_finds_itself(void)
{
	size_t n_found = 0;
	for (size_t i = 0; i < catalog->n_rows; i++) {
		const struct ct_catalog_row *row = &catalog->rows[i];
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_assert a = {.present = true, .file = first_of(&arena, row->file), .line = (uint32_t)strtoul(row->line, NULL, 10),
				      .function = first_of(&arena, row->function), .expression = row->expression};
		size_t n_equal = 0;
		const struct ct_catalog_row *found = ct_catalog_match(catalog, &a, NULL, &n_equal);
		bool same = found && (found == row || strcmp(found->meaning, row->meaning) == 0 || strcmp(found->expression, row->expression) == 0 ||
				      ct_starts_with(row->expression, "index out of bounds: 0 <= tmp"));
		same |= !found && has_twin(row);
		if (!is_for_readers(row) && !same)
			printf("# %s: found %s of %zu\n", row->id, found ? found->id : "none", n_equal);
		CU_ASSERT_TRUE(is_for_readers(row) || same);
		n_found += same;
		ct_arena_done(&arena);
	}
	CU_ASSERT_TRUE(n_found > 150);
}

static void check_line(char *row)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_assert_line line;
	char *tab = strchr(row, '\t'), *text = tab ? strchr(tab + 1, '\t') : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	*tab = *text++ = '\0';
	size_t n_equal = 0;
	if (!ct_parse_assert_line(&arena, text, strlen(text), &line))
		printf("# not parsed: %s\n", text);
	CU_ASSERT_TRUE_FATAL(ct_parse_assert_line(&arena, text, strlen(text), &line));
	const struct ct_assert a = {.present = true, .file = line.file, .line = line.line, .function = line.function, .expression = line.expression};
	const struct ct_catalog_row *found = ct_catalog_match(catalog, &a, NULL, &n_equal);
	const char *got = found ? found->id : "-";
	if (strcmp(got, row) != 0)
		printf("# %s: got %s, wanted %s: %s\n", tab + 1, got, row, text);
	CU_ASSERT_STRING_EQUAL(got, row);
	ct_arena_done(&arena);
}

static void test_real_lines_find_their_row(void)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	char *save = NULL;
	size_t n = 0;
	CU_ASSERT_TRUE_FATAL(ct_read_file(CT_TEST_DATA "/catalog/lines.tsv", 1 << 20, &text, NULL));
	for (char *row = strtok_r(text.data, "\n", &save); row; row = strtok_r(NULL, "\n", &save), n++)
		check_line(row);
	CU_ASSERT_TRUE(n >= 18);
}

static const char *match(const struct ct_assert *a, const char *kernel)
{
	size_t n_equal = 0;
	const struct ct_catalog_row *row = ct_catalog_match(catalog, a, kernel, &n_equal);
	return row ? row->id : "-";
}

static void test_rules_of_matching(void)
{
	struct ct_assert a = {.present = true, .file = "C:\\w\\aten\\src\\ATen\\native\\cuda\\Loss.cu", .line = 250, .expression = "t >= 0\n      &&   t < n_classes "};
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "A008");  // the nearest line, when the function is not there
	CU_ASSERT_STRING_EQUAL(match(&a, "void n::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*)"), "A014");
	a.function = "something_else";
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "-");
	a.function = "nll_loss_backward_reduce_cuda_kernel_2d";
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "A014");
	a.expression = "t < n_classes";
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "A015");
	a.expression = "t < n";
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "-");
	a.expression = NULL;
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "-");
	a = (struct ct_assert){.present = true, .file = "myLoss.cu", .function = "nll_loss_backward_reduce_cuda_kernel_2d", .expression = "t < n_classes"};
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "-");
	a = (struct ct_assert){.present = true, .file = "aten/TensorCompare.cu", .line = 110, .function = "_assert_async_cuda_kernel", .expression = "any `words`"};
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "A042");
	a = (struct ct_assert){.present = false, .file = "Loss.cu", .expression = "t < n_classes"};
	CU_ASSERT_STRING_EQUAL(match(&a, NULL), "-");
}

static void test_text_of_many_checks_means_none_of_them(void)
{
	const struct ct_assert a = {.present = true, .file = "ValidateCompressedIndicesCommon.h", .line = 44, .function = "_assert", .expression = "cond && message"};
	size_t n_equal = 0;
	CU_ASSERT_PTR_NULL(ct_catalog_match(catalog, &a, NULL, &n_equal));
	CU_ASSERT_TRUE(n_equal > 5);
}

static void test_base_names(void)
{
	static const char *const cases[][2] = {
		{"void n::f<int>(float)", "f"}, {"f", "f"}, {"f<A<1>, (bool)1>", "f"}, {"A::operator()(int) const", "operator()"}, {"operator()", "operator()"}, {"operator->", "operator->"},
		{"A<b>::operator[](long)", "operator[]"}, {"void n::f<8, g<int>::operator()<h>(x&)::{lambda(int)#1}>(int)", "f"},
		{"void (anonymous namespace)::g<x>(y)", "g"}, {"void s(long *, int) [with T = float]", "s"}, {"", ""}, {"<>", ""}, {"(x)", ""},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		struct ct_span name = {.length = 0};
		CU_ASSERT_EQUAL(ct_diagnose_base_name(cases[i][0], &name), cases[i][1][0] != '\0');
		CU_ASSERT_TRUE(name.length == strlen(cases[i][1]) && (!name.length || memcmp(name.at, cases[i][1], name.length) == 0));
	}
}

// ---- Reading the tables --------------------------------------------------------------------------------------

static void test_bad_tables_are_refused(void)
{
	char dir[] = "/tmp/cudatrap-test-XXXXXX", path[64];
	struct ct_catalog *got = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	CU_ASSERT_FALSE(ct_catalog_open(dir, &got, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "CUDATRAP_DATA"));
	snprintf(path, sizeof path, "%s/assert-catalog.tsv", dir);
	static const char *const bad[] = {"id\n", "a\tb\tc\td\te\tf\tg\th\ti\tj\tk\tl\tm\tn\to\tp\tq\tr\n"};
	for (size_t i = 0; i < CT_COUNT(bad); i++) {
		CU_ASSERT_TRUE(ct_write_file_at(AT_FDCWD, path, bad[i], strlen(bad[i]), NULL));
		CU_ASSERT_FALSE(ct_catalog_open(dir, &got, &err));
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "assert-catalog.tsv:1: not 17 fields"));
	}
	CU_ASSERT_PTR_NULL(got);
	unlink(path);
	rmdir(dir);
}

// ---- Values and causes ---------------------------------------------------------------------------------------

static void add(struct ct_incident *in, enum ct_argument_kind kind, const char *type, const char *name, const char *value)
{
	struct ct_gpu *gpu = &in->gpu;
	gpu->arguments = ct_arena_grow(&in->arena, gpu->arguments, &gpu->n_arguments, sizeof *gpu->arguments);
	gpu->arguments[gpu->n_arguments - 1] =
		(struct ct_argument){.index = (uint32_t)gpu->n_arguments - 1, .size_bytes = 8, .type = type, .name = name, .kind = kind, .value = value};
}

static struct ct_incident *cross_entropy(const char *n_classes, const char *ignore_index)
{
	struct ct_incident *in = ct_incident_new();
	in->kind = CT_FAULT_ASSERT;
	in->gpu.present = in->gpu.has_kernel = true;
	in->gpu.kernel.name = "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
			      "(float*, float*, float const*, long const*, float const*, bool, long, long, long, long)";
	in->assertion = (struct ct_assert){.present = true, .file = "/pytorch/aten/src/ATen/native/cuda/Loss.cu", .line = 245,
					   .function = "nll_loss_forward_reduce_cuda_kernel_2d", .expression = "t >= 0 && t < n_classes"};
	for (int i = 0; i < 3; i++)
		add(in, CT_ARGUMENT_POINTER, "float*", NULL, "0x1000");
	add(in, CT_ARGUMENT_POINTER, "long const*", NULL, "0x7f2134000000");
	add(in, CT_ARGUMENT_POINTER, "float const*", NULL, "0x0");
	add(in, CT_ARGUMENT_BOOL, "bool", NULL, "true");
	add(in, CT_ARGUMENT_INTEGER, "long", NULL, "32");
	add(in, CT_ARGUMENT_INTEGER, "long", NULL, n_classes);
	add(in, CT_ARGUMENT_INTEGER, "long", NULL, n_classes);
	add(in, CT_ARGUMENT_INTEGER, "long", NULL, ignore_index);
	return in;
}

static struct ct_device_memory *add_memory(struct ct_incident *in, uint32_t argument)
{
	struct ct_gpu *gpu = &in->gpu;
	gpu->memory = ct_arena_grow(&in->arena, gpu->memory, &gpu->n_memory, sizeof *gpu->memory);
	struct ct_device_memory *m = &gpu->memory[gpu->n_memory - 1];
	*m = (struct ct_device_memory){.argument = argument, .address = 0x7f2134000000, .type = "int64", .n_elements = 32, .whole = true, .min = "0", .max = "3"};
	return m;
}

static void add_element(struct ct_incident *in, struct ct_device_memory *m, uint64_t index, const char *value)
{
	m->elements = ct_arena_grow(&in->arena, m->elements, &m->n_elements_of_threads, sizeof *m->elements);
	m->elements[m->n_elements_of_threads - 1] = (struct ct_element){.index = index, .value = value};
}

// "name=text (how) ..." of all values.
static const char *values(struct ct_incident *in)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	for (size_t i = 0; i < in->n_values; i++) {
		const struct ct_value *v = &in->values[i];
		ct_str_addf(&s, "%s%s%s=%s (%s)", i ? "; " : "", v->candidate ? "?" : "", v->name, v->text ? v->text : "-", v->text ? v->how : v->why_not);
	}
	return ct_arena_strdup(&in->arena, ct_str_text(&s));
}

static void test_label_of_the_failing_thread(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = cross_entropy("3", "-100");
	struct ct_device_memory *m = add_memory(in, 3);
	add_element(in, m, 2, "3");
	add_element(in, m, 2, "3");
	add_element(in, m, 9, "7");
	ct_explain(in, catalog);
	CU_ASSERT_STRING_EQUAL(values(in), "t=3 (target[2], read from device memory); t=7 (target[9], read from device memory); "
					   "n_classes=3 (argument 8); ignore_index=-100 (argument 9)");
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[3].name, "target");
	CU_ASSERT_EQUAL_FATAL(in->n_causes, 1);
	CU_ASSERT_STRING_EQUAL(in->meaning.row, "A008");
	CU_ASSERT_STRING_EQUAL(in->causes[0].text, "label 3 for a model with 3 outputs, which allows labels 0 .. 2");
	CU_ASSERT_STRING_EQUAL(in->meaning.checks[0], "value range: target==ignore_index or 0<=target<logits.shape[1]");
	CU_ASSERT_TRUE(in->meaning.n_checks == 4);
}

static void test_what_a_label_suggests(void)
{
	static const struct {
		const char *value, *n_classes, *ignore, *min, *max, *id, *evidence;
	} cases[] = {
		{"3", "3", "-100", "1", "3", "label-one-based", "the labels run from 1 to 3"},
		{"255", "21", "-100", "0", "255", "label-ignored", "255 often marks what is to be ignored"},
		{"-100", "21", "0", "-100", "5", "label-ignored", "a negative label usually marks what is to be ignored"},
		{"255", "21", NULL, "0", "255", "label-range", NULL},
		{"9", "1", "-100", "0", "9", "label-range", NULL},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = cross_entropy(cases[i].n_classes, cases[i].ignore);
		struct ct_device_memory *m = add_memory(in, 3);
		m->min = cases[i].min;
		m->max = cases[i].max;
		add_element(in, m, 2, cases[i].value);
		ct_explain(in, catalog);
		CU_ASSERT_EQUAL_FATAL(in->n_causes, 1);
		const struct ct_cause *c = &in->causes[0];
		CU_ASSERT_STRING_EQUAL(c->id, cases[i].id);
		CU_ASSERT_TRUE(cases[i].evidence ? c->evidence && strcmp(c->evidence, cases[i].evidence) == 0 : !c->evidence);
	}
}

static void test_values_that_are_not_to_be_had(void)
{
	static const struct {
		bool memory;
		const char *failed, *wanted;
	} cases[] = {
		{false, NULL, "t=- (GPU memory was not read)"},
		{true, "GPU memory is not in this dump", "t=- (GPU memory is not in this dump)"},
		{true, NULL, "t=- (no element that the failing threads read, of those that could be read, is outside the bounds now)"},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = cross_entropy(i == 2 ? NULL : "3", "-100");
		if (cases[i].memory)
			add_memory(in, 3)->failed = cases[i].failed;
		ct_explain(in, catalog);
		CU_ASSERT_TRUE(ct_starts_with(values(in), cases[i].wanted));
		CU_ASSERT_EQUAL(in->n_causes, 0);
		CU_ASSERT_PTR_NOT_NULL(in->meaning.text);
		if (i == 2)
			CU_ASSERT_PTR_NOT_NULL(strstr(values(in), "n_classes=- (the kernel's arguments were not read)"));
	}
}

static void test_only_one_element_that_is_not_allowed(void)
{
	for (uint64_t count = 1; count <= 2; count++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
		in->gpu.present = in->gpu.has_kernel = true;
		in->gpu.kernel.name = "void at::native::EmbeddingBag_updateOutputKernel_max<float, long>(long const*)";
		in->assertion = (struct ct_assert){.present = true, .file = "EmbeddingBag.cu", .line = 89, .function = "EmbeddingBag_updateOutputKernel_max",
			.expression = "!has_invalid_index && \"Invalid input index in EmbeddingBag: index out of range [0, numRows)\""};
		for (const char *k = "pppppiiiiippii"; *k; k++)
			add(in, *k == 'p' ? CT_ARGUMENT_POINTER : CT_ARGUMENT_INTEGER, NULL, NULL, *k == 'p' ? "0x10" : "8");
		struct ct_device_memory *m = add_memory(in, 0);
		m->outside = ct_arena_grow(&in->arena, NULL, &m->n_outside, sizeof *m->outside);
		m->outside[0] = (struct ct_outside){.argument = 13, .n_outside = count, .index = 4, .value = "9"};
		ct_explain(in, catalog);
		CU_ASSERT_STRING_EQUAL(values(in), count == 1 ? "input[4]=9 (read from device memory); numRows=8 (argument 13)"
							      : "?input[4]=9 (read from device memory); numRows=8 (argument 13)");
		CU_ASSERT_EQUAL_FATAL(in->n_causes, 1);
		CU_ASSERT_STRING_EQUAL(in->causes[0].id, "embedding-range");  // of two it is one, whichever
	}
}

static struct ct_incident *own_kernel(const char *bound_name)
{
	struct ct_incident *in = ct_incident_new();
	in->gpu.present = in->gpu.has_kernel = true;
	in->gpu.kernel.name = "gather(int const*, float*, int, int)";
	in->assertion = (struct ct_assert){.present = true, .file = "mine.cu", .line = 7, .function = "gather", .expression = "i < rows"};
	add(in, CT_ARGUMENT_POINTER, "int const*", NULL, "0x7f2134000000");
	add(in, CT_ARGUMENT_POINTER, "float*", NULL, "0x1000");
	add(in, CT_ARGUMENT_INTEGER, "int", bound_name, "8");
	add(in, CT_ARGUMENT_INTEGER, "int", bound_name ? "n" : NULL, "4");
	struct ct_device_memory *m = add_memory(in, 0);
	for (uint32_t argument = 2; argument < 4; argument++) {
		m->outside = ct_arena_grow(&in->arena, m->outside, &m->n_outside, sizeof *m->outside);
		m->outside[m->n_outside - 1] = (struct ct_outside){.argument = argument, .n_outside = 1, .index = 6, .value = "12"};
	}
	return in;
}

static void test_candidates_of_an_unknown_kernel(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *named = own_kernel("rows"), *bare = own_kernel(NULL), *told = own_kernel("rows");
	ct_explain(named, catalog);
	CU_ASSERT_STRING_EQUAL(values(named), "rows=8 (argument 2); ?argument 0[6]=12 (read from device memory; the first of 1 of 32 that are not in 0 .. rows - 1 (= 8))");
	CU_ASSERT_TRUE(named->n_causes == 0 && !named->meaning.present);
	CU_ASSERT_EQUAL_FATAL(named->n_notes, 1);
	CU_ASSERT_TRUE(ct_ends_with(named->notes[0], "is not known; the candidates above fit."));
	ct_explain(bare, NULL);
	CU_ASSERT_EQUAL(bare->n_values, 2);
	CU_ASSERT_TRUE(bare->values[0].candidate && bare->values[1].candidate);
	ct_incident_add_value(told, "i", "12", "local of gather");
	ct_explain(told, catalog);
	CU_ASSERT_EQUAL(told->n_notes, 0);
	CU_ASSERT_STRING_EQUAL(values(told), "i=12 (local of gather); rows=8 (argument 2)");
}

// A launch that failed for what the row is about.
static void fail(struct ct_incident *in, const struct ct_call_cause *row, struct ct_limit *limit)
{
	struct ct_failed_call *call = &in->launch.failed_call;
	in->kind = CT_FAULT_API_ERROR;
	in->launch.present = true;
	*limit = (struct ct_limit){.what = row->limit, .asked = 2, .limit = 1, .exceeded = true};
	*call = (struct ct_failed_call){.present = true, .call = "cuLaunchKernel", .error = row->error, .limits = limit, .n_limits = 1,
					.at = {.count = 1, .has_dims = true, .grid_dim = {1, 1, 1}, .block_dim = {1, 1, 1}}};
	if (strcmp(row->limit, "empty") == 0)
		call->at.grid_dim.y = 0;
}

static void test_calls_find_their_rows(void)
{
	CU_ASSERT_TRUE(catalog->n_calls > 0);
	for (size_t i = 0; i < catalog->n_calls; i++) {
		const struct ct_call_cause *row = &catalog->calls[i];
		CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
		struct ct_limit limit;
		fail(in, row, &limit);
		CU_ASSERT_PTR_EQUAL(ct_catalog_call(catalog, &in->launch.failed_call), row);
		CU_ASSERT_PTR_NOT_NULL(ct_matching_error_name((int32_t)row->error));
		limit.exceeded = false;
		in->launch.failed_call.at.grid_dim.y = 1;
		bool any = strcmp(row->limit, "-") == 0;
		CU_ASSERT_EQUAL(ct_catalog_call(catalog, &in->launch.failed_call) == row, any);
	}
}

static void test_a_failing_call_is_explained(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	struct ct_limit limit;
	fail(in, &catalog->calls[0], &limit);
	in->launch.failed_call.why = "a block of 2048 threads, where 1024 are allowed";
	ct_explain(in, catalog);
	CU_ASSERT_STRING_EQUAL_FATAL(in->meaning.row, "L001");
	CU_ASSERT_EQUAL_FATAL(in->n_causes, 1);
	CU_ASSERT_STRING_EQUAL(in->causes[0].text, "the block has more threads than the kernel or the device allows");
	CU_ASSERT_STRING_EQUAL(in->causes[0].evidence, "a block of 2048 threads, where 1024 are allowed");
	CU_ASSERT_EQUAL(in->causes[0].n_checks, 3);
	in->kind = CT_FAULT_ASSERT;  // then the assert is what the report is about
	ct_explain(in, catalog);
	CU_ASSERT_TRUE(in->n_causes == 0 && !in->meaning.present);
}

static void add_tensor(struct ct_incident *in, const char *name, const char *device, uint64_t start, uint64_t size, uint64_t data)
{
	in->tensors = ct_arena_grow(&in->arena, in->tensors, &in->n_tensors, sizeof *in->tensors);
	in->tensors[in->n_tensors - 1] = (struct ct_tensor){.name = name, .device = device, .has_data_ptr = true, .data_ptr = data, .has_storage_ptr = true,
							    .storage_ptr = start, .has_storage_bytes = true, .storage_bytes = size};
}

static void test_pointers_become_tensors(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = cross_entropy("3", "-100");
	add_tensor(in, "on_the_host", "cpu", 0x7f2134000000, 256, 0x7f2134000000);
	add_tensor(in, "batch['y']", "cuda:0", 0x7f2134000000, 256, 0x7f2134000000);
	add_tensor(in, "y", "cuda:0", 0x7f2134000000, 256, 0x7f2134000000);
	add_tensor(in, "x", "cuda:0", 0xf00, 0x200, 0xf80);
	add_tensor(in, "beside", "cuda:0", 0xf00, 0x100, 0xf00);
	add_element(in, add_memory(in, 3), 2, "3");
	ct_explain(in, catalog);
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[3].tensor, "y");
	CU_ASSERT_EQUAL(in->gpu.arguments[3].tensor_offset, 0);
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[0].tensor, "x");
	CU_ASSERT_EQUAL(in->gpu.arguments[0].tensor_offset, 0x80);
	CU_ASSERT_PTR_NULL(in->gpu.arguments[4].tensor);
	CU_ASSERT_STRING_EQUAL(in->values[0].how, "target[2], read from device memory; tensor y");
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"every row finds itself", test_every_row_finds_itself},
		{"real lines find their row", test_real_lines_find_their_row},
		{"rules of matching", test_rules_of_matching},
		{"a text of many checks means none of them", test_text_of_many_checks_means_none_of_them},
		{"base names", test_base_names},
		{"bad tables are refused", test_bad_tables_are_refused},
		{"label of the failing thread", test_label_of_the_failing_thread},
		{"what a label suggests", test_what_a_label_suggests},
		{"values that are not to be had", test_values_that_are_not_to_be_had},
		{"only one element that is not allowed", test_only_one_element_that_is_not_allowed},
		{"candidates of an unknown kernel", test_candidates_of_an_unknown_kernel},
		{"calls find their rows", test_calls_find_their_rows},
		{"a failing call is explained", test_a_failing_call_is_explained},
		{"pointers become tensors", test_pointers_become_tensors},
		CU_TEST_INFO_NULL,
	};
	if (set_up() != 0)
		return 99;
	int status = ct_unit_run("catalog", tests);
	tear_down();
	return status;
}
