// Kernel arguments of dumps: decoded alone, and as the scripts in cuda-gdb decode them.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdio.h>

#include "dumps.h"
#include "gpucore/gpucore_priv.h"
#include "unit.h"

static size_t from_hex(const char *hex, uint8_t *bytes)
{
	size_t n = 0;
	unsigned value = 0;
	for (; hex[2 * n] && sscanf(hex + 2 * n, "%2x", &value) == 1; n++)
		bytes[n] = (uint8_t)value;
	return n;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_case(char *line)
{
	uint8_t bytes[1024];
	struct ct_argument got;
	struct ct_arena arena = CT_ARENA_INIT;
	char *fields[4], *save = NULL;
	for (size_t i = 0; i < CT_COUNT(fields); i++)
		fields[i] = strtok_r(i ? NULL : line, "\t", &save);
	CU_ASSERT_PTR_NOT_NULL_FATAL(fields[3]);
	struct ct_cubin_param param = {.ordinal = 4, .offset = 16, .size_bytes = (uint32_t)from_hex(fields[1], bytes)};
	ct_core_argument(&arena, &param, fields[0], bytes, &got);
	bool ok = strcmp(ct_argument_kind_word(got.kind), fields[2]) == 0 && strcmp(got.value ? got.value : "-", fields[3]) == 0;
	if (!ok)
		printf("# %s: got %s %s, wanted %s %s\n", fields[0], ct_argument_kind_word(got.kind), got.value ? got.value : "-", fields[2], fields[3]);
	CU_ASSERT_TRUE(ok);
	CU_ASSERT_EQUAL(got.index, 4);
	CU_ASSERT_EQUAL(got.bytes_cut, param.size_bytes > CT_MAX_ARGUMENT_BYTES);
	CU_ASSERT_TRUE(strncmp(got.bytes, fields[1], strlen(got.bytes)) == 0);
	ct_arena_done(&arena);
}

static void test_cases(void)
{
	CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
	char *save = NULL;
	size_t n = 0;
	CU_ASSERT_TRUE_FATAL(ct_read_file(CT_TEST_DATA "/arguments/cases.tsv", 1 << 20, &text, NULL));
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++)
		check_case(line);
	CU_ASSERT_TRUE(n > 30);
}

static void test_without_type_or_bytes(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_param param = {.ordinal = 0, .offset = 0, .size_bytes = 2};
	struct ct_argument got;
	ct_core_argument(&arena, &param, NULL, (const uint8_t *)"\1\2", &got);
	CU_ASSERT_EQUAL(got.kind, CT_ARGUMENT_BYTES);
	CU_ASSERT_PTR_NULL(got.value);
	CU_ASSERT_STRING_EQUAL(got.bytes, "0102");
	ct_core_argument(&arena, &param, "short", NULL, &got);
	CU_ASSERT_EQUAL(got.kind, CT_ARGUMENT_INTEGER);
	CU_ASSERT_PTR_NULL(got.value);
	CU_ASSERT_PTR_NULL(got.bytes);
	param.size_bytes = 0;
	ct_core_argument(&arena, &param, "bool", (const uint8_t *)"", &got);
	CU_ASSERT_PTR_NULL(got.value);
	ct_arena_done(&arena);
}

static bool same_argument(const struct ct_argument *a, const struct ct_argument *b)
{
	return a->index == b->index && a->offset == b->offset && a->size_bytes == b->size_bytes && a->kind == b->kind && a->bytes_cut == b->bytes_cut &&
	       same_text(a->type, b->type) && same_text(a->value, b->value) && same_text(a->bytes, b->bytes);
}

static void compare(const char *name)
{
	char path[4096];
	CT_AUTO(ct_auto_str) struct ct_str json = CT_STR_INIT;
	CT_AUTO(ct_incident_auto) struct ct_incident *ours = ct_incident_new(), *scripts = ct_incident_new();
	struct ct_gpucore *core = dump_open(name);
	snprintf(path, sizeof path, "%s/gpu-cores/expected/%s.gpu.json", CT_TEST_DATA, name);
	CU_ASSERT_TRUE_FATAL(ct_read_file(path, 1 << 24, &json, NULL));
	CU_ASSERT_TRUE_FATAL(ct_incident_read_gpu_json(scripts, json.data, json.length, NULL));
	CU_ASSERT_TRUE(ct_gpucore_fill(core, ours, NULL));
	ct_gpucore_free(core);
	CU_ASSERT_TRUE(ours->gpu.n_arguments > 0);
	CU_ASSERT_EQUAL_FATAL(ours->gpu.n_arguments, scripts->gpu.n_arguments);
	for (size_t i = 0; i < ours->gpu.n_arguments; i++) {
		bool same = same_argument(&ours->gpu.arguments[i], &scripts->gpu.arguments[i]);
		if (!same)
			printf("# %s: argument %zu differs\n", name, i);
		CU_ASSERT_TRUE(same);
	}
}

static void test_dumps_as_the_scripts_see_them(void)
{
	for (size_t i = 0; i < n_dumps; i++)
		compare(dump_names[i]);
}

static void test_arguments_of_cross_entropy(void)
{
	struct ct_gpucore *core = dump_open("torch-cross-entropy-sm90");
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	CU_ASSERT_TRUE(ct_gpucore_fill(core, in, NULL));
	ct_gpucore_free(core);
	CU_ASSERT_EQUAL_FATAL(in->gpu.n_arguments, 10);
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[3].type, "long const*");
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[8].type, "long");
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[8].value, "3");
	CU_ASSERT_STRING_EQUAL(in->gpu.arguments[9].value, "-100");
}

static void test_template_types(void)
{
	struct ct_arena arena = CT_ARENA_INIT;
	const char **types = NULL;
	size_t n = 7;
	CU_ASSERT_FALSE(ct_cubin_template_types(&arena, "int", &types, &n));
	CU_ASSERT_FALSE(ct_cubin_template_types(&arena, "> <", &types, &n));
	CU_ASSERT_EQUAL(n, 7);
	CU_ASSERT_TRUE_FATAL(ct_cubin_template_types(&arena, "n::A<B<int, 2>, f(1, 2), 3ul>", &types, &n));
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT_STRING_EQUAL(types[0], "B<int, 2>");
	CU_ASSERT_STRING_EQUAL(types[1], "f(1, 2)");
	CU_ASSERT_STRING_EQUAL(types[2], "3ul");
	ct_arena_done(&arena);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"each case of the table", test_cases},
		{"without a type or without bytes", test_without_type_or_bytes},
		{"each dump as the scripts in cuda-gdb see it", test_dumps_as_the_scripts_see_them},
		{"the ten arguments of cross entropy", test_arguments_of_cross_entropy},
		{"template arguments", test_template_types},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("arguments", tests);
}
