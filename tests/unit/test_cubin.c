// Code images: functions, parameters, lines, asserts, traps; and images that are cut and changed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cubin/cubin_priv.h"
#include "dumps.h"
#include "unit.h"

// The image of the failing kernel of a dump; the core must outlive the cubin.
static struct ct_cubin *image_of(struct ct_gpucore *core, struct ct_gpucore_grid *ret_grid)
{
	const uint8_t *bytes;
	size_t size;
	struct ct_cubin *c = NULL;
	CU_ASSERT_TRUE_FATAL(ct_gpucore_grid(core, 0, ret_grid));
	CU_ASSERT_TRUE_FATAL(ct_gpucore_image(core, ret_grid->module, &bytes, &size));
	CU_ASSERT_TRUE_FATAL(ct_cubin_open(bytes, size, &c, NULL));
	return c;
}

static void test_functions_of_a_kernel(void)
{
	struct ct_gpucore *core = dump_open("assert.rel");
	struct ct_gpucore_grid grid;
	struct ct_cubin_function f;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin *c = image_of(core, &grid);
	CU_ASSERT_EQUAL(ct_cubin_sm(c), 90);
	CU_ASSERT_TRUE_FATAL(ct_cubin_function_at(c, grid.entry_pc, &f));
	CU_ASSERT_TRUE(f.is_entry);
	CU_ASSERT_STRING_EQUAL(f.symbol, "_Z11nll_forwardPKfPKlPfll");
	CU_ASSERT_TRUE_FATAL(ct_cubin_function_at(c, grid.entry_pc + 0x380, &f));
	CU_ASSERT_FALSE(f.is_entry);
	CU_ASSERT_EQUAL(f.address, grid.entry_pc + 0x1e0);
	CU_ASSERT_STRING_EQUAL(ct_cubin_demangle(&arena, f.symbol, NULL), "load_label(long const*, long, int)");
	CU_ASSERT_TRUE_FATAL(ct_cubin_kernel_at(c, grid.entry_pc + 0x380, &f));
	CU_ASSERT_STRING_EQUAL(f.symbol, "_Z11nll_forwardPKfPKlPfll");
	CU_ASSERT_FALSE(ct_cubin_function_at(c, grid.entry_pc + 0x480, &f));
	CU_ASSERT_FALSE(ct_cubin_function_at(c, grid.entry_pc - 1, &f));
	CU_ASSERT_FALSE(ct_cubin_function_at(c, 0, &f));  // functions that are not loaded stand at 0
	CU_ASSERT_FALSE(ct_cubin_has_code(c, 0x10));
	ct_cubin_free(c);
	ct_gpucore_free(core);
	ct_arena_done(&arena);
}

static void test_names_as_people_write_them(void)
{
	static const struct {
		const char *symbol, *plain;
	} rows[] = {
		{"_Z4spinPVi", "spin(int volatile*)"},
		{"$_Z14overflow_stackiPi$_Z4deepiPVi", "deep(int, int volatile*)"},
		{"$__internal_18_$__cuda_sm20_div_s64", "__cuda_sm20_div_s64"},
		{"memcpy32_post", "memcpy32_post"},
		{"_Znonsense", "_Znonsense"},
		{"", ""},
		{"$", "$"},
		{"a\x1b[31m", "a\xef\xbf\xbd[31m"},
	};
	struct ct_arena arena = CT_ARENA_INIT;
	for (size_t i = 0; i < CT_COUNT(rows); i++)
		CU_ASSERT_STRING_EQUAL(ct_cubin_demangle(&arena, rows[i].symbol, NULL), rows[i].plain);
	ct_arena_done(&arena);
}

static void test_parameter_types_of_a_signature(void)
{
	static const struct {
		const char *signature;
		size_t n;
		const char *last;
	} rows[] = {
		{"f()", 0, NULL},
		{"f(int)", 1, "int"},
		{"void n::f<int, A<(B)2, 3> >(A<b, c>*, void (*)(int, float), long)", 3, "long"},
		{"f(A<b, c>, B<x, (y){1, 2}>)", 2, "B<x, (y){1, 2}>"},
		{"(anonymous namespace)::f(int[2], char const (&) [4])", 2, "char const (&) [4]"},
	};
	struct ct_arena arena = CT_ARENA_INIT;
	const char **types;
	size_t n;
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		CU_ASSERT_TRUE_FATAL(ct_cubin_param_types(&arena, rows[i].signature, &types, &n));
		CU_ASSERT_EQUAL_FATAL(n, rows[i].n);
		if (n)
			CU_ASSERT_STRING_EQUAL(types[n - 1], rows[i].last);
	}
	CU_ASSERT_FALSE(ct_cubin_param_types(&arena, "memcpy32_post", &types, &n));
	CU_ASSERT_FALSE(ct_cubin_param_types(&arena, ")", &types, &n));
	CU_ASSERT_FALSE(ct_cubin_param_types(&arena, "", &types, &n));
	ct_arena_done(&arena);
}

static void test_base_names(void)
{
	static const char *const rows[][2] = {
		{"long load_label(const long *, long, int)", "load_label"},
		{"nll_loss_forward_reduce_cuda_kernel_2d", "nll_loss_forward_reduce_cuda_kernel_2d"},
		{"void at::native::(anonymous namespace)::k<float, (int)3>(float*)", "k"},
		{"void k2(int *)", "k2"},
	};
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		const char *start;
		size_t n;
		CU_ASSERT_TRUE_FATAL(ct_cubin_base_name(rows[i][0], &start, &n));
		CU_ASSERT_EQUAL(n, strlen(rows[i][1]));
		CU_ASSERT_EQUAL(memcmp(start, rows[i][1], n), 0);
	}
}

static void test_parameters_of_a_kernel(void)
{
	struct ct_gpucore *core = dump_open("torch-cross-entropy-sm90");
	struct ct_gpucore_grid grid;
	struct ct_cubin_function f;
	struct ct_cubin_params p;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin *c = image_of(core, &grid);
	static const uint32_t offsets[] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 72};
	const char **types;
	size_t n_types;
	CU_ASSERT_TRUE_FATAL(ct_cubin_kernel_at(c, grid.entry_pc, &f));
	CU_ASSERT_TRUE_FATAL(ct_cubin_params(c, &f, &arena, &p, NULL));
	CU_ASSERT_EQUAL_FATAL(p.n_rows, CT_COUNT(offsets));
	for (size_t i = 0; i < p.n_rows; i++) {
		CU_ASSERT_EQUAL(p.rows[i].ordinal, i);
		CU_ASSERT_EQUAL(p.rows[i].offset, offsets[i]);
		CU_ASSERT_EQUAL(p.rows[i].size_bytes, i == 5 ? 1 : 8);
	}
	CU_ASSERT_TRUE(p.has_bank_offset && p.has_total);
	CU_ASSERT_EQUAL(p.bank_offset, grid.params_offset);
	CU_ASSERT_EQUAL(p.total_bytes, 80);
	CU_ASSERT_TRUE(ct_cubin_param_types(&arena, ct_cubin_demangle(&arena, f.symbol, NULL), &types, &n_types));
	CU_ASSERT_EQUAL_FATAL(n_types, p.n_rows);
	CU_ASSERT_STRING_EQUAL(types[3], "long const*");
	CU_ASSERT_STRING_EQUAL(types[5], "bool");
	f.section = 1;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_cubin_params(c, &f, &arena, &p, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	ct_cubin_free(c);
	ct_gpucore_free(core);
	ct_arena_done(&arena);
}

static void test_lines_of_a_pc(void)
{
	struct ct_gpucore *core = dump_open("assert.line");
	struct ct_gpucore_grid grid;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin *c = image_of(core, &grid);
	struct ct_cubin_line *lines;
	size_t n;
	CU_ASSERT_TRUE_FATAL(ct_cubin_lines_at(c, grid.entry_pc + 0x380 - 1, &arena, &lines, &n));
	CU_ASSERT_EQUAL(n, 1);
	CU_ASSERT_STRING_EQUAL(lines[0].file, "/tmp/src/faults.cu");
	CU_ASSERT_EQUAL(lines[0].line, 9);
	CU_ASSERT_TRUE_FATAL(ct_cubin_lines_at(c, grid.entry_pc + 0x380, &arena, &lines, &n));
	CU_ASSERT_EQUAL(lines[0].line, 10);
	CU_ASSERT_FALSE(ct_cubin_lines_at(c, grid.entry_pc + 0x10000, &arena, &lines, &n));
	ct_cubin_free(c);
	ct_gpucore_free(core);
	core = dump_open("assert.rel");
	c = image_of(core, &grid);
	CU_ASSERT_FALSE(ct_cubin_lines_at(c, grid.entry_pc, &arena, &lines, &n));
	ct_cubin_free(c);
	ct_gpucore_free(core);
	ct_arena_done(&arena);
}

static void test_assert_from_the_code(void)
{
	static const struct {
		const char *dump;
		uint64_t offset;  // of the return address from the kernel's entry
		const char *expression, *file, *function;
		uint32_t line;
	} rows[] = {
		{"many.rel", 0x380, "t >= 0 && t < n_classes", "faults.cu", "long load_label(const long *, long, int)", 9},
		{"assert.line", 0x380, "t >= 0 && t < n_classes", "faults.cu", "long load_label(const long *, long, int)", 9},
		{"assert.dbg", 0x18a0, "t >= 0 && t < n_classes", "faults.cu", "long load_label(const long *, long, int)", 9},
		// Its function's name has the length of many others; those are the names of other kernels.
		{"torch-cross-entropy-sm90", 0x780, "t >= 0 && t < n_classes", "/pytorch/aten/src/ATen/native/cuda/Loss.cu",
		 "nll_loss_forward_reduce_cuda_kernel_2d", 245},
	};
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		struct ct_gpucore *core = dump_open(rows[i].dump);
		struct ct_gpucore_grid grid;
		struct ct_arena arena = CT_ARENA_INIT;
		struct ct_cubin *c = image_of(core, &grid);
		struct ct_cubin_assert a;
		struct ct_error err = CT_ERROR_INIT;
		CU_ASSERT_TRUE(ct_cubin_is_assert_return(c, grid.entry_pc + rows[i].offset));
		CU_ASSERT_FALSE(ct_cubin_is_assert_return(c, grid.entry_pc + rows[i].offset + 16));
		CU_ASSERT_TRUE_FATAL(ct_cubin_assert_at(c, grid.entry_pc + rows[i].offset, NULL, NULL, &arena, &a, &err));
		CU_ASSERT_PTR_NULL(a.undecoded);
		CU_ASSERT_STRING_EQUAL(a.expression, rows[i].expression);
		CU_ASSERT_STRING_EQUAL(a.file, rows[i].file);
		CU_ASSERT_STRING_EQUAL(a.function, rows[i].function);
		CU_ASSERT_TRUE(a.has_line);
		CU_ASSERT_EQUAL(a.line, rows[i].line);
		CU_ASSERT_FALSE(ct_cubin_assert_at(c, grid.entry_pc + 0x20, NULL, NULL, &arena, &a, &err));
		CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
		ct_cubin_free(c);
		ct_gpucore_free(core);
		ct_arena_done(&arena);
	}
}

static void test_function_of_a_symbol(void)
{
	static const struct {
		const char *symbol, *base;  // NULL: no kernel has such a name
	} rows[] = {
		{"_ZN2at6native12_GLOBAL__N_138nll_loss_forward_reduce_cuda_kernel_2dIffllEEvPT_S4_PKS3_PKllllll", "nll_loss_forward_reduce_cuda_kernel_2d"},
		{"_Z6kernelPf", "kernel"}, {"_ZL6kernelPf", "kernel"}, {"_ZN1a1bEv", "b"}, {"_ZNSt1a1bEv", "b"}, {"triton_poi_fused_0", "triton_poi_fused_0"},
		{"", NULL}, {"_Z", NULL}, {"_ZN", NULL}, {"_ZN1a", NULL}, {"_Z9short", NULL}, {"_ZN1aC1Ev", NULL}, {"_ZZN1a1bEvENKUlvE_clEv", NULL},
		{"_Z99999999999999999999999x", NULL}, {"_Z0x", NULL},
	};
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		const char *base = NULL;
		size_t length = 0;
		CU_ASSERT_EQUAL_FATAL(ct_cubin_symbol_base(rows[i].symbol, &base, &length), rows[i].base != NULL);
		if (rows[i].base)
			CU_ASSERT_TRUE(length == strlen(rows[i].base) && memcmp(base, rows[i].base, length) == 0);
	}
}

static bool fixed_memory(void *context, uint64_t address, void *bytes, size_t size)
{
	(void)address;
	(void)size;
	*(char *)bytes = *(*(const char **)context)++;
	return true;
}

static void test_memory_of_the_dump_comes_first(void)
{
	struct ct_gpucore *core = dump_open("assert.rel");
	struct ct_gpucore_grid grid;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin *c = image_of(core, &grid);
	struct ct_cubin_assert a;
	static const char texts[] = "one\0two\0three";
	const char *at = texts;
	CU_ASSERT_TRUE_FATAL(ct_cubin_assert_at(c, grid.entry_pc + 0x380, fixed_memory, &at, &arena, &a, NULL));
	CU_ASSERT_STRING_EQUAL(a.expression, "one");
	CU_ASSERT_STRING_EQUAL(a.file, "two");
	CU_ASSERT_STRING_EQUAL(a.function, "three");
	ct_cubin_free(c);
	ct_gpucore_free(core);
	ct_arena_done(&arena);
}

static void test_trap_is_recognised(void)
{
	struct ct_gpucore *core = dump_open("trap.rel");
	struct ct_gpucore_grid grid;
	struct ct_cubin *c = image_of(core, &grid);
	CU_ASSERT_TRUE(ct_cubin_is_trap_return(c, grid.entry_pc + 0x90));
	CU_ASSERT_FALSE(ct_cubin_is_trap_return(c, grid.entry_pc + 0x80));
	CU_ASSERT_FALSE(ct_cubin_is_trap_return(c, 0));
	ct_cubin_free(c);
	ct_gpucore_free(core);
}

// ---- inlining: an image from the compiler, given addresses ----------------------------------------------------------

enum { TEXT_ADDRESS = 0x70000000, DATA_ADDRESS = 0x60000000 };

static Elf64_Shdr section_of(const struct ct_str *image, size_t i)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;
	memcpy(&h, image->data, sizeof h);
	memcpy(&s, image->data + h.e_shoff + i * sizeof s, sizeof s);
	return s;
}

// What the driver does: code and symbols get addresses, data symbols each one of its own, and plain 64-bit relocations are applied.
static void relocate(struct ct_str *image)
{
	Elf64_Ehdr h;
	Elf64_Sym sym;
	size_t symtab = 0, n_text = 0;
	memcpy(&h, image->data, sizeof h);
	for (size_t i = 1; i < h.e_shnum; i++) {
		Elf64_Shdr s = section_of(image, i);
		if (s.sh_flags & SHF_EXECINSTR) {
			s.sh_addr = TEXT_ADDRESS + 0x10000 * n_text++;
			memcpy(image->data + h.e_shoff + i * sizeof s, &s, sizeof s);
		}
		if (s.sh_type == SHT_SYMTAB)
			symtab = i;
	}
	Elf64_Shdr symbols = section_of(image, symtab);
	for (size_t k = 0; k < symbols.sh_size / sizeof sym; k++) {
		memcpy(&sym, image->data + symbols.sh_offset + k * sizeof sym, sizeof sym);
		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= h.e_shnum)
			continue;
		if (section_of(image, sym.st_shndx).sh_flags & SHF_EXECINSTR)
			sym.st_value += section_of(image, sym.st_shndx).sh_addr;
		else if (ELF64_ST_TYPE(sym.st_info) == STT_OBJECT)
			sym.st_value = DATA_ADDRESS + 0x100 * k;
		memcpy(image->data + symbols.sh_offset + k * sizeof sym, &sym, sizeof sym);
	}
	for (size_t i = 1; i < h.e_shnum; i++) {
		Elf64_Shdr s = section_of(image, i), target = section_of(image, s.sh_type == SHT_RELA ? s.sh_info : 0);
		Elf64_Rela r;
		for (size_t k = 0; s.sh_type == SHT_RELA && k < s.sh_size / sizeof r; k++) {
			memcpy(&r, image->data + s.sh_offset + k * sizeof r, sizeof r);
			memcpy(&sym, image->data + symbols.sh_offset + ELF64_R_SYM(r.r_info) * sizeof sym, sizeof sym);
			uint64_t value = sym.st_value + (uint64_t)r.r_addend;
			memcpy(image->data + target.sh_offset + r.r_offset, &value, sizeof value);
		}
	}
}

static void test_inline_chain_and_its_asserts(void)
{
	static const struct {
		const char *function;
		uint32_t line;
	} chain[] = {{"innermost(int const*, int)", 7}, {"middle(int const*, int)", 12}, {"", 18}};
	static const char file[] = "/tmp/src/inline.cu";
	CT_AUTO(ct_auto_str) struct ct_str image = CT_STR_INIT;
	CT_AUTO(ct_cubin_auto) struct ct_cubin *c = NULL;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_line *lines;
	struct ct_cubin_assert a;
	size_t n;
	CU_ASSERT_TRUE_FATAL(ct_read_file(CT_TEST_DATA "/cubin/inline.cubin", 1 << 20, &image, NULL));
	relocate(&image);
	CU_ASSERT_TRUE_FATAL(ct_cubin_open(image.data, image.length, &c, NULL));
	CU_ASSERT_TRUE_FATAL(ct_cubin_lines_at(c, TEXT_ADDRESS + 0x200, &arena, &lines, &n));
	CU_ASSERT_EQUAL_FATAL(n, CT_COUNT(chain));
	for (size_t i = 0; i < n; i++) {
		CU_ASSERT_STRING_EQUAL(lines[i].file, file);
		CU_ASSERT_EQUAL(lines[i].line, chain[i].line);
		const char *function = lines[i].function ? ct_cubin_demangle(&arena, lines[i].function, NULL) : "";
		CU_ASSERT_STRING_EQUAL(function, chain[i].function);
	}
	CU_ASSERT_TRUE_FATAL(ct_cubin_lines_at(c, TEXT_ADDRESS + 0x340, &arena, &lines, &n));
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_TRUE_FATAL(ct_cubin_assert_at(c, TEXT_ADDRESS + 0x1a0, NULL, NULL, &arena, &a, NULL));
	CU_ASSERT_STRING_EQUAL(a.expression, "i < n && \"too many threads\"");
	CU_ASSERT_EQUAL(a.line, 17);
	CU_ASSERT_TRUE_FATAL(ct_cubin_assert_at(c, TEXT_ADDRESS + 0x320, NULL, NULL, &arena, &a, NULL));
	CU_ASSERT_STRING_EQUAL(a.expression, "v >= 0");
	CU_ASSERT_STRING_EQUAL(a.function, "int innermost(const int *, int)");
	CU_ASSERT_EQUAL(a.line, 7);
	ct_arena_done(&arena);
}

// Every assert of an image, found by its calls.
static void check_layout(const char *file)
{
	CT_AUTO(ct_auto_str) struct ct_str image = CT_STR_INIT;
	CT_AUTO(ct_cubin_auto) struct ct_cubin *c = NULL;
	struct ct_arena arena = CT_ARENA_INIT;
	char path[4096];
	unsigned n = 0;
	snprintf(path, sizeof path, "%s/cubin/%s", CT_TEST_DATA, file);
	CU_ASSERT_TRUE_FATAL(ct_read_file(path, 1 << 20, &image, NULL));
	relocate(&image);
	CU_ASSERT_TRUE_FATAL(ct_cubin_open(image.data, image.length, &c, NULL));
	for (size_t i = 1; i < c->n_sections; i++) {
		const Elf64_Shdr *s = &c->sections[i];
		for (uint64_t pc = s->sh_addr + 16; s->sh_addr && pc < s->sh_addr + s->sh_size; pc += 16) {
			struct ct_cubin_assert a;
			struct ct_cubin_function kernel;
			if (!ct_cubin_assert_at(c, pc, NULL, NULL, &arena, &a, NULL))
				continue;
			n++;
			CU_ASSERT_PTR_NULL(a.undecoded);
			CU_ASSERT_TRUE_FATAL(ct_cubin_kernel_at(c, pc, &kernel));
			unsigned k = (unsigned)(kernel.symbol[strlen("_Z8kernel_")] - '0'), j = a.line - 6 - 7 * k;
			CU_ASSERT_TRUE(j < 4);
			CU_ASSERT_STRING_EQUAL(a.expression, ct_arena_printf(&arena, "p[%u] != %u", 10 + 4 * k + j, 100 + 4 * k + j));
			CU_ASSERT_STRING_EQUAL(a.file, "layout.cu");
			CU_ASSERT_STRING_EQUAL(a.function, ct_arena_printf(&arena, "void kernel_%u(const int *)", k));
		}
	}
	CU_ASSERT_EQUAL(n, 24);
	ct_arena_done(&arena);
}

static void test_texts_of_equal_length(void)
{
	check_layout("layout.cubin");
	check_layout("layout-12.4.cubin");
}

static void test_unchecked_compilers_are_not_trusted(void)
{
	CT_AUTO(ct_auto_str) struct ct_str image = CT_STR_INIT;
	CT_AUTO(ct_cubin_auto) struct ct_cubin *c = NULL;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_assert a;
	unsigned n = 0;
	CU_ASSERT_TRUE_FATAL(ct_read_file(CT_TEST_DATA "/cubin/layout.cubin", 1 << 20, &image, NULL));
	relocate(&image);
	char *release = memmem(image.data, image.length, "release 13.0,", 13);
	CU_ASSERT_PTR_NOT_NULL_FATAL(release);
	release[8] = '2';
	CU_ASSERT_TRUE_FATAL(ct_cubin_open(image.data, image.length, &c, NULL));
	for (uint64_t pc = TEXT_ADDRESS; pc < TEXT_ADDRESS + 0x60000; pc += 16) {
		if (!ct_cubin_assert_at(c, pc, NULL, NULL, &arena, &a, NULL))
			continue;
		n++;
		CU_ASSERT_PTR_NULL(a.expression);
		CU_ASSERT_STRING_EQUAL(a.file, "layout.cu");  // the only one of its length
		CU_ASSERT_PTR_NOT_NULL(strstr(a.undecoded, "expression: several constants"));
	}
	CU_ASSERT_EQUAL(n, 24);
	ct_arena_done(&arena);
}

// Encodings as nvdisasm 13 prints them.
static void test_instructions(void)
{
	static const struct {
		uint64_t lo, hi;
		enum ct_effect_kind kind;
		uint16_t dest, count, source;
		uint32_t value;
	} rows[] = {
		{0x0000001800027802, 0x000fe20000000f00, CT_EFFECT_VALUE, 2, 1, 0, 0x18},                    // MOV R2, 0x18
		{0x00000009ff087424, 0x000fc400078e00ff, CT_EFFECT_VALUE, 8, 1, 0, 9},                       // IMAD.MOV.U32 R8, RZ, RZ, 0x9
		{0x00000000ff0d7435, 0x000fe200000001ff, CT_EFFECT_VALUE, 13, 1, 0, 0},                      // HFMA2.MMA R13, -RZ, RZ, 0, 0
		{0x7c000000ff0d7435, 0x000fe200000001ff, CT_EFFECT_WRITES, 13, 1, 0, 0},                     // the same with an infinity
		{0x00000000000a7805, 0x000fe2000001ff00, CT_EFFECT_VALUE, 10, 2, 0, 0},                      // CS2R R10, SRZ
		{0x00000004ff047e24, 0x000fe2000f8e00ff, CT_EFFECT_COPY, 4, 1, CT_UNIFORM + 4, 0},           // IMAD.U32 R4, RZ, RZ, UR4
		{0x00000004ff1c7e24, 0x000fe200088e06ff, CT_EFFECT_WRITES, 28, 1, 0, 0},                     // IMAD.X R28, RZ, RZ, UR4, P1
		{0x0000000400067c02, 0x000fe20008000f00, CT_EFFECT_COPY, 6, 1, CT_UNIFORM + 4, 0},           // MOV R6, UR4
		{0x000000ffff027224, 0x000fe400078e0010, CT_EFFECT_COPY, 2, 1, 16, 0},                       // IMAD.MOV.U32 R2, RZ, RZ, R16
		{0x0000000413137c24, 0x002fe2000f8e0200, CT_EFFECT_WRITES, 0x13, 1, 0, 0},                   // IMAD R19, R19, UR4, R0
		{0x0100020000047ab9, 0x000fe20000000a00, CT_EFFECT_CONSTANT, CT_UNIFORM + 4, 2, 0, 0},       // ULDC.64 UR4, c[0x4][0x8]
		{0x0100000002027b82, 0x000e220000000a00, CT_EFFECT_CONSTANT, 2, 2, 0, 0},                    // LDC.64 R2, c[0x4][R2]
		{0x0000000410007c0c, 0x044fe4000bf26070, CT_EFFECT_NONE, 0, 0, 0, 0},                        // ISETP
		{0x000000000000794d, 0x000fea0003800000, CT_EFFECT_BARRIER, 0, 0, 0, 0},                     // EXIT
		{0x000000000000094d, 0x001fea0003800000, CT_EFFECT_NONE, 0, 0, 0, 0},                        // @P0 EXIT
		{0x0000000002007343, 0x001fea0003c00000, CT_EFFECT_CALL, 0, 0, 0, 0},                        // CALL.ABS.NOINC R2
		{0x000000028404723c, 0x040fe20000081004, CT_EFFECT_WRITES, 4, 4, 0, 0},                      // HMMA: up to four
		{0xfe0000040404797e, 0x000ee20008121908, CT_EFFECT_UNKNOWN, 0, 0, 0, 0},                     // LDG.E.ENL2.256, which has two destinations
	};
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		struct ct_insn insn = {rows[i].lo, rows[i].hi, 90};
		struct ct_effect e = ct_sass_effect(&insn, 0x1000);
		CU_ASSERT_EQUAL(e.kind, rows[i].kind);
		if (e.kind != CT_EFFECT_UNKNOWN && e.kind != CT_EFFECT_CALL && rows[i].count) {
			CU_ASSERT_EQUAL(e.dest, rows[i].dest);
			CU_ASSERT_EQUAL(e.count, rows[i].count);
		}
		if (e.kind == CT_EFFECT_COPY)
			CU_ASSERT_EQUAL(e.source, rows[i].source);
		if (e.kind == CT_EFFECT_VALUE)
			CU_ASSERT_EQUAL(e.value, rows[i].value);
	}
	struct ct_insn bra = {0xfffffffc00fc7947, 0x000fc0000383ffff, 90}, forward = {0x0000000000409947, 0x000fea0000000000, 90};
	CU_ASSERT_EQUAL(ct_sass_effect(&bra, 0x90).target, 0x90);  // BRA to itself
	CU_ASSERT_EQUAL(ct_sass_effect(&bra, 0x90).kind, CT_EFFECT_BARRIER);
	CU_ASSERT_EQUAL(ct_sass_effect(&forward, 0x270).target, 0x380);  // @!P1 BRA P0
	CU_ASSERT_EQUAL(ct_sass_effect(&forward, 0x270).kind, CT_EFFECT_NONE);
	// BRA.DIV UR4 is taken when a warp has diverged only.
	struct ct_insn divergent = {0x0000006604487947, 0x000fea000b800000, 90};
	CU_ASSERT_TRUE(ct_sass_effect(&divergent, 0).is_branch);
	CU_ASSERT_EQUAL(ct_sass_effect(&divergent, 0).kind, CT_EFFECT_NONE);
}

static void test_instructions_that_differ(void)
{
	static const struct {
		struct ct_insn insn;
		struct ct_effect e;
	} rows[] = {
		// MOV R9, c[0x0][0x190] and IMAD.MOV.U32 R34, RZ, RZ, c[0x0][0x248]: until Hopper an operand could be a constant
		{{0x0000640000097a02, 0x000fc80000000f00, 80}, {.kind = CT_EFFECT_CONSTANT, .dest = 9, .count = 1, .offset = 0x190, .index = CT_RZ}},
		{{0x00009200ff227624, 0x000fe200078e00ff, 75}, {.kind = CT_EFFECT_CONSTANT, .dest = 34, .count = 1, .offset = 0x248, .index = CT_RZ}},
		// LDCU.64 UR6, c[0x0][0x470]: the byte's number begins a bit lower
		{{0x00008e00ff0677ac, 0x000eac0008000a00, 100}, {.kind = CT_EFFECT_CONSTANT, .dest = CT_UNIFORM + 6, .count = 2, .offset = 0x470, .index = CT_RZ}},
		{{0x00007a00ff0877ac, 0x000f620008000c00, 100}, {.kind = CT_EFFECT_WRITES, .dest = CT_UNIFORM + 8, .count = 4, .offset = 0x3d0, .index = CT_RZ}},
		// UMOV UR38, URZ: 63 until Hopper, then 255
		{{0x0000003f00267c82, 0x000fe20008000000, 90}, {.kind = CT_EFFECT_COPY, .dest = CT_UNIFORM + 38, .count = 1, .source = CT_URZ}},
		{{0x000000ff00267c82, 0x000fe20008000000, 120}, {.kind = CT_EFFECT_COPY, .dest = CT_UNIFORM + 38, .count = 1, .source = CT_URZ}},
		{{0x0000003f00267c82, 0x000fe20008000000, 120}, {.kind = CT_EFFECT_COPY, .dest = CT_UNIFORM + 38, .count = 1, .source = CT_UNIFORM + 63}},
		// MOV.64 R140, R158 and MOV.64 R236, UR4
		{{0x0000009e008c7202, 0x000fe40000010f00, 120}, {.kind = CT_EFFECT_COPY, .dest = 140, .count = 2, .source = 158}},
		{{0x0000000400ec7c02, 0x004fc40008010f00, 120}, {.kind = CT_EFFECT_COPY, .dest = 236, .count = 2, .source = CT_UNIFORM + 4}},
		// HFMA2.MMA with an immediate became IADD.64
		{{0x0000002008027835, 0x000fe400078e0200, 90}, {.kind = CT_EFFECT_WRITES, .dest = 2, .count = 1}},
		{{0x0000002008027835, 0x000fe400078e0200, 120}, {.kind = CT_EFFECT_WRITES, .dest = 2, .count = 2}},
		// BRA 0x260 further, BRA to itself, BRA.CONV, BRA.U !UP0
		{{0x0000026000007947, 0x000fea0003800000, 75}, {.kind = CT_EFFECT_BARRIER, .is_branch = true, .target = 0x1270}},
		{{0xfffffff000007947, 0x000fc0000383ffff, 80}, {.kind = CT_EFFECT_BARRIER, .is_branch = true, .target = 0x1000}},
		{{0x000000537f007947, 0x000fea000b800000, 80}, {.kind = CT_EFFECT_NONE, .is_branch = true, .target = 0x1060}},
		{{0x0000000108ac7547, 0x000ff0000b800000, 100}, {.kind = CT_EFFECT_NONE, .is_branch = true, .target = 0x12c0}},
	};
	for (size_t i = 0; i < CT_COUNT(rows); i++) {
		const struct ct_effect e = ct_sass_effect(&rows[i].insn, 0x1000), *wanted = &rows[i].e;
		CU_ASSERT_EQUAL(e.kind, wanted->kind);
		CU_ASSERT_TRUE(e.dest == wanted->dest && e.count == wanted->count && e.source == wanted->source);
		CU_ASSERT_TRUE(e.bank == wanted->bank && e.offset == wanted->offset && e.index == wanted->index);
		CU_ASSERT_TRUE(e.is_branch == wanted->is_branch && e.target == wanted->target);
	}
}

// ---- cut and changed ------------------------------------------------------------------------------------------------

static void use_all(const uint8_t *bytes, size_t size, uint64_t pc)
{
	struct ct_cubin *c = NULL;
	struct ct_error err = CT_ERROR_INIT;
	struct ct_arena arena = CT_ARENA_INIT;
	struct ct_cubin_function f;
	struct ct_cubin_params p;
	struct ct_cubin_line *lines;
	struct ct_cubin_assert a;
	size_t n;
	if (!ct_cubin_open(bytes, size, &c, &err)) {
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_PTR_NULL(c);
		return;
	}
	if (ct_cubin_function_at(c, pc, &f))
		ct_cubin_demangle(&arena, f.symbol, NULL);
	if (ct_cubin_kernel_at(c, pc, &f))
		ct_cubin_params(c, &f, &arena, &p, &err);
	ct_cubin_lines_at(c, pc - 1, &arena, &lines, &n);
	ct_cubin_is_trap_return(c, pc);
	ct_cubin_assert_at(c, pc, NULL, NULL, &arena, &a, &err);
	ct_cubin_free(c);
	ct_arena_done(&arena);
}

static void mutate(const char *dump, uint64_t offset, unsigned rounds, uint64_t seed)
{
	struct ct_gpucore *core = dump_open(dump);
	struct ct_gpucore_grid grid;
	const uint8_t *bytes;
	size_t size;
	CU_ASSERT_TRUE_FATAL(ct_gpucore_grid(core, 0, &grid));
	CU_ASSERT_TRUE_FATAL(ct_gpucore_image(core, grid.module, &bytes, &size));
	uint8_t *copy = ct_xrealloc(NULL, size);
	uint64_t shoff;
	memcpy(&shoff, bytes + 40, sizeof shoff);
	for (unsigned i = 0; i < rounds; i++) {
		memcpy(copy, bytes, size);
		for (unsigned k = 1 + dump_random(&seed) % 6; k; k--) {
			uint64_t r = dump_random(&seed);
			size_t at = r & 1 ? shoff + (r >> 8) % (size - shoff) : (r >> 8) % size;
			copy[at] = r >> 60 & 1 ? 0xff : (uint8_t)(r >> 40);
		}
		use_all(copy, size, grid.entry_pc + offset);
	}
	free(copy);
	for (unsigned i = 0; i < rounds / 4; i++) {
		size_t cut = i < 70 ? i : dump_random(&seed) % size;
		copy = ct_xrealloc(NULL, cut ? cut : 1);
		memcpy(copy, bytes, cut);
		use_all(copy, cut, grid.entry_pc + offset);
		free(copy);
	}
	ct_gpucore_free(core);
}

static void test_changed_images_do_no_harm(void)
{
	mutate("assert.rel", 0x380, 3000, 21);
	mutate("assert.line", 0x380, 2000, 22);
	mutate("assert.dbg", 0x18a0, 2000, 23);
}

// A section without bytes may claim to be anywhere; under a sanitizer a pointer to there is a fault.
static void test_sections_without_bytes_are_nowhere(void)
{
	struct ct_gpucore *core = dump_open("assert.rel");
	struct ct_gpucore_grid grid;
	const uint8_t *bytes;
	size_t size;
	CU_ASSERT_TRUE_FATAL(ct_gpucore_grid(core, 0, &grid) && ct_gpucore_image(core, grid.module, &bytes, &size));
	Elf64_Ehdr header;
	memcpy(&header, bytes, sizeof header);
	for (unsigned i = 1; i < header.e_shnum; i++) {
		uint8_t *copy = ct_xrealloc(NULL, size);
		memcpy(copy, bytes, size);
		Elf64_Shdr row;
		memcpy(&row, copy + header.e_shoff + i * sizeof row, sizeof row);
		row.sh_type = SHT_NOBITS;
		row.sh_offset = UINT64_MAX;
		memcpy(copy + header.e_shoff + i * sizeof row, &row, sizeof row);
		use_all(copy, size, grid.entry_pc);
		free(copy);
	}
	CU_ASSERT_TRUE(header.e_shnum > 5);
	ct_gpucore_free(core);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"functions of a kernel", test_functions_of_a_kernel},
		{"names as people write them", test_names_as_people_write_them},
		{"parameter types of a signature", test_parameter_types_of_a_signature},
		{"base names", test_base_names},
		{"parameters of a kernel", test_parameters_of_a_kernel},
		{"lines of a PC", test_lines_of_a_pc},
		{"an assert from the code", test_assert_from_the_code},
		{"the function of a symbol", test_function_of_a_symbol},
		{"memory of the dump comes first", test_memory_of_the_dump_comes_first},
		{"a trap is recognised", test_trap_is_recognised},
		{"an inline chain and its asserts", test_inline_chain_and_its_asserts},
		{"texts of equal length", test_texts_of_equal_length},
		{"unchecked compilers are not trusted", test_unchecked_compilers_are_not_trusted},
		{"instructions", test_instructions},
		{"instructions that differ", test_instructions_that_differ},
		{"changed images do no harm", test_changed_images_do_no_harm},
		{"sections without bytes are nowhere", test_sections_without_bytes_are_nowhere},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("cubin", tests);
}
