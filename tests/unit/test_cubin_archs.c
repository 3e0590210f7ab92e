// Assert calls, traps and parameters in the code of every architecture: the images of tests/data/cubin.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"
#include "dumps.h"
#include "unit.h"
#include "unloaded.h"

static const unsigned archs[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

// As they stand in asserts.cu.
static const struct site {
	uint32_t line;
	const char *function, *expression;
} sites[] = {
	{8, "void gather(const T *, const long *, T *, long, long) [with T = double]", "index[i] >= 0 && index[i] < limit && \"index out of bounds\""},
	{8, "void gather(const T *, const long *, T *, long, long) [with T = float]", "index[i] >= 0 && index[i] < limit && \"index out of bounds\""},
	{18, "float checked_root(float)", "x >= 0.0f"},
	{25, "float divide::operator()(float, float) const", "b != 0.0f"},
	{38, "void many_checks(const float *, const float *, float *, int, int)", "i < n"},
	{48, "lambda [](float, float)->auto::operator()(float, float)->auto", "p <= q"},
	{51, "void many_checks(const float *, const float *, float *, int, int)", "false"},
	{53, "void many_checks(const float *, const float *, float *, int, int)", "out[i] == out[i] && \"the result is NaN\""},
};

struct image {
	struct ct_str bytes;
	struct ct_cubin *cubin;
};

static void image_open(struct image *image, const char *build, unsigned arch)
{
	char path[4096];
	struct ct_error err = CT_ERROR_INIT;
	*image = (struct image){.bytes = CT_STR_INIT};
	snprintf(path, sizeof path, "%s/cubin/%s.sm_%u.cubin.xz", CT_TEST_DATA, build, arch);
	data_read(path, &image->bytes);
	CU_ASSERT_TRUE_FATAL(unloaded_give_addresses(image->bytes.data, image->bytes.length));
	CU_ASSERT_TRUE_FATAL(ct_cubin_open(image->bytes.data, image->bytes.length, &image->cubin, &err));
	CU_ASSERT_EQUAL(image->cubin->sm, arch);
}

static void image_done(struct image *image)
{
	ct_cubin_free(image->cubin);
	ct_str_done(&image->bytes);
}

// Calls f for every place behind a call of the assert handler.
static void each_call(const struct ct_cubin *c, void (*f)(const struct ct_cubin *, uint64_t, void *), void *context)
{
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		if (!unloaded_is_code(s))
			continue;
		for (uint64_t at = s->sh_addr + CT_CUBIN_INSTRUCTION; at <= s->sh_addr + s->sh_size - CT_CUBIN_INSTRUCTION; at += CT_CUBIN_INSTRUCTION)
			if (ct_cubin_is_assert_return(c, at))
				f(c, at, context);
	}
}

struct seen {
	unsigned n[CT_COUNT(sites)], undecoded, wrong;
};

static void look(const struct ct_cubin *c, uint64_t pc, void *context)
{
	struct seen *seen = context;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_assert a;
	size_t i = 0;
	CU_ASSERT_TRUE_FATAL(ct_cubin_assert_at(c, pc, NULL, NULL, &arena, &a, NULL));
	if (a.undecoded) {
		seen->undecoded++;
		CU_ASSERT_TRUE(!a.expression && !a.file && !a.function);
	} else {
		while (i < CT_COUNT(sites) && (sites[i].line != a.line || strcmp(sites[i].function, a.function) || strcmp(sites[i].expression, a.expression)))
			i++;
		if (i == CT_COUNT(sites) || strcmp(a.file, "asserts.cu") != 0)
			seen->wrong++;
		else
			seen->n[i]++;
	}
	ct_arena_done(&arena);
}

// What nothing in an image says is not made up: the handler's own wrapper of -G builds hands its caller's arguments on.
static void check_sites(const char *build, unsigned n_undecoded)
{
	for (size_t a = 0; a < CT_COUNT(archs); a++) {
		struct image image;
		struct seen seen = {0};
		image_open(&image, build, archs[a]);
		each_call(image.cubin, look, &seen);
		CU_ASSERT_EQUAL(seen.wrong, 0);
		CU_ASSERT_EQUAL(seen.undecoded, n_undecoded);
		for (size_t i = 0; i < CT_COUNT(sites); i++)
			CU_ASSERT_TRUE(seen.n[i] > 0);
		image_done(&image);
	}
}

static void test_asserts_of_release_builds(void)
{
	check_sites("asserts", 0);
}

static void test_asserts_of_debug_builds(void)
{
	check_sites("asserts-dbg", 1);
}

static void test_parameters(void)
{
	static const uint32_t offsets[] = {0, 8, 16, 24, 28}, sizes[] = {8, 8, 8, 4, 4};
	for (size_t a = 0; a < CT_COUNT(archs); a++) {
		struct image image;
		struct ct_cubin_function f;
		struct ct_cubin_params p;
		struct ct_arena arena = CT_ARENA_INIT;
		Elf64_Sym sym;
		uint64_t entry = 0;
		image_open(&image, "asserts", archs[a]);
		for (size_t i = 0; ct_cubin_symbol(image.cubin, i, &sym); i++)
			if (strcmp(ct_cubin_symbol_name(image.cubin, &sym), "many_checks") == 0 && ELF64_ST_TYPE(sym.st_info) == STT_FUNC)
				entry = sym.st_value;
		CU_ASSERT_TRUE_FATAL(ct_cubin_kernel_at(image.cubin, entry, &f));
		CU_ASSERT_TRUE_FATAL(ct_cubin_params(image.cubin, &f, &arena, &p, NULL));
		CU_ASSERT_EQUAL_FATAL(p.n_rows, CT_COUNT(offsets));
		for (size_t i = 0; i < p.n_rows; i++)
			CU_ASSERT_TRUE(p.rows[i].offset == offsets[i] && p.rows[i].size_bytes == sizes[i]);
		ct_arena_done(&arena);
		image_done(&image);
	}
}

static void test_an_architecture_that_is_not_known(void)
{
	struct image image;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_assert a;
	struct ct_error err = CT_ERROR_INIT;
	image_open(&image, "asserts", 90);
	image.cubin->sm = 70;
	CU_ASSERT_FALSE(ct_cubin_assert_at(image.cubin, 1 << 20, NULL, NULL, &arena, &a, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "sm_70"));
	ct_arena_done(&arena);
	image_done(&image);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"asserts of release builds", test_asserts_of_release_builds},
		{"asserts of debug builds", test_asserts_of_debug_builds},
		{"parameters of a kernel", test_parameters},
		{"an architecture that is not known", test_an_architecture_that_is_not_known},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("cubin_archs", tests);
}
