// Dumps that are cut, changed, forged, streamed or packed: always what is there, or one clear error.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <zlib.h>

#include "dumps.h"
#include "forge.h"
#include "unit.h"

// Reads everything there is to read.
static void use_all(struct ct_gpucore *core)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	CT_AUTO(ct_auto_fclose) FILE *out = fopen("/dev/null", "w");
	const uint8_t *bytes;
	size_t n;
	ct_gpucore_fill(core, in, NULL);
	CU_ASSERT_TRUE(in->n_collectors > 0);
	if (out)
		ct_gpucore_raw(core, out, NULL);
	ct_gpucore_params(core, 0, &bytes, &n);
	ct_gpucore_damage(core);
}

static bool opens(const void *bytes, size_t size, struct ct_error *err)
{
	struct ct_gpucore *core = NULL;
	*err = (struct ct_error)CT_ERROR_INIT;
	if (!ct_gpucore_open_bytes(bytes, size, &core, err)) {
		CU_ASSERT_PTR_NULL(core);
		CU_ASSERT_NOT_EQUAL(err->code, CT_OK);
		CU_ASSERT_TRUE(err->text[0] != '\0');
		return false;
	}
	use_all(core);
	ct_gpucore_free(core);
	return true;
}

// ---- cut and changed ------------------------------------------------------------------------------------------------

static void test_truncated_dump_keeps_its_hint(void)
{
	struct ct_gpucore *core = NULL;
	struct ct_error err = CT_ERROR_INIT;
	char path[4096];
	CU_ASSERT_FALSE(ct_gpucore_open(dump_path(path, sizeof path, "truncated"), &core, &err));
	CU_ASSERT_PTR_NULL(core);
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "truncated.nvcore.xz: section table of 173 rows at byte 314124 of 68672"));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "skip_constbank_memory"));
}

static void test_every_cut_is_refused(void)
{
	CT_AUTO(ct_auto_str) struct ct_str dump = CT_STR_INIT;
	struct ct_error err;
	uint64_t seed = 1;
	dump_read("assert.rel", &dump);
	for (size_t i = 0; i < 1200; i++) {
		// All around the header, every 4 KB, all around the end, and at random.
		size_t size = i < 80 ? i : i < 150 ? (i - 80) * 4096 : i < 300 ? dump.length - (i - 149) : dump_random(&seed) % dump.length;
		if (size >= dump.length)
			continue;
		// A copy of the very size, so that a sanitizer sees a read past it.
		char *cut = ct_xrealloc(NULL, size + 1);
		memcpy(cut, dump.data, size);
		cut = ct_xrealloc(cut, size ? size : 1);
		CU_ASSERT_FALSE(opens(cut, size, &err));
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		free(cut);
	}
}

// Whatever was lost of any dump: refused with a reason, for the driver writes the table of sections last.
static void test_every_dump_cut_every_4_kb_is_refused(void)
{
	for (size_t i = 0; i < n_dumps; i++) {
		CT_AUTO(ct_auto_str) struct ct_str dump = CT_STR_INIT;
		struct ct_error err;
		size_t n_opened = 0, n_silent = 0;
		dump_read(dump_names[i], &dump);
		for (size_t size = 0; size < dump.length; size += 4096) {
			n_opened += opens(dump.data, size, &err);
			n_silent += err.code != CT_FORMAT || !err.text[0];
		}
		CU_ASSERT_EQUAL(n_opened, 0);
		CU_ASSERT_EQUAL(n_silent, 0);
	}
}

// Each byte of the ELF header of every dump, turned over; large dumps are opened only, a report of each would take minutes.
static void test_header_bytes_of_every_dump_turned(void)
{
	enum { SMALL = 1 << 20 };
	for (size_t i = 0; i < n_dumps; i++) {
		CT_AUTO(ct_auto_str) struct ct_str dump = CT_STR_INIT;
		dump_read(dump_names[i], &dump);
		for (size_t at = 0; at < 64; at++) {
			struct ct_error err = CT_ERROR_INIT;
			CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = NULL;
			dump.data[at] ^= (char)0xff;
			if (ct_gpucore_open_bytes(dump.data, dump.length, &core, &err)) {
				if (dump.length < SMALL)
					use_all(core);
			} else {
				CU_ASSERT_TRUE(err.code == CT_FORMAT || err.code == CT_LIMIT);
				CU_ASSERT_TRUE(err.text[0] != '\0');
			}
			dump.data[at] ^= (char)0xff;
		}
	}
}

static void mutate(const char *name, unsigned rounds, uint64_t seed)
{
	CT_AUTO(ct_auto_str) struct ct_str dump = CT_STR_INIT;
	struct ct_error err;
	dump_read(name, &dump);
	char *copy = ct_xrealloc(NULL, dump.length);
	uint64_t shoff;
	memcpy(&shoff, dump.data + 40, sizeof shoff);
	for (unsigned i = 0; i < rounds; i++) {
		memcpy(copy, dump.data, dump.length);
		unsigned n = 1 + dump_random(&seed) % 8;
		for (unsigned k = 0; k < n; k++) {
			uint64_t r = dump_random(&seed);
			// A third in the section table, a third in the tables right before it, the rest anywhere (code images above all).
			size_t at = r % 3 == 0 ? shoff + (r >> 8) % (dump.length - shoff) : r % 3 == 1 ? shoff - 1 - (r >> 8) % 12000 : (r >> 8) % dump.length;
			copy[at] = r >> 60 & 1 ? (char)0xff : (char)(r >> 40);
		}
		opens(copy, dump.length, &err);
	}
	free(copy);
}

static void test_changed_bytes_do_no_harm(void)
{
	mutate("assert.rel", 1500, 11);
	mutate("assert.line", 700, 12);
	mutate("assert.dbg", 500, 13);
	mutate("trap.rel", 500, 14);
	mutate("spin.line", 300, 15);
}

static void test_each_header_byte_changed(void)
{
	CT_AUTO(ct_auto_str) struct ct_str dump = CT_STR_INIT;
	struct ct_error err;
	dump_read("trap.rel", &dump);
	for (size_t at = 0; at < 64; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			dump.data[at] ^= (char)(1u << bit);
			opens(dump.data, dump.length, &err);
			dump.data[at] ^= (char)(1u << bit);
		}
	CU_ASSERT_TRUE(opens(dump.data, dump.length, &err));
}

// ---- forged ---------------------------------------------------------------------------------------------------------

static struct ct_incident *fill(const struct forge *f, const char **ret_damage)
{
	struct ct_gpucore *core = NULL;
	struct ct_error err = CT_ERROR_INIT;
	static char damage[200];
	struct ct_incident *in = ct_incident_new();
	if (!ct_gpucore_open_bytes(f->bytes, f->size, &core, &err)) {
		printf("# %s\n", err.text);
		CU_FAIL("the forged dump does not open");
		return in;
	}
	ct_gpucore_fill(core, in, NULL);
	use_all(core);
	snprintf(damage, sizeof damage, "%s", ct_gpucore_damage(core) ? ct_gpucore_damage(core) : "");
	if (ret_damage)
		*ret_damage = damage;
	ct_gpucore_free(core);
	return in;
}

static void test_class_by_majority_of_warps(void)
{
	struct forge f = {0};
	forge_start(&f, 4);
	forge_warp(&f, 0, 0, 32, 0x1010, 7, 0x1000);
	forge_warp(&f, 1, 1, 32, 0x1010, 14, 0x1000);
	forge_warp(&f, 2, 2, 32, 0x1020, 14, 0x1000);
	forge_warp(&f, 3, 3, 8, 0x5010, 99, 0x5000);
	forge_finish(&f, false);
	CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, NULL);
	CU_ASSERT_EQUAL(in->kind, CT_FAULT_EXCEPTION);
	CU_ASSERT_EQUAL_FATAL(in->gpu.n_groups, 2);
	const struct ct_group *g = &in->gpu.groups[0];
	CU_ASSERT_EQUAL(g->exception, 14);
	CU_ASSERT_EQUAL(g->n_threads, 96);
	CU_ASSERT_EQUAL(g->pc, 0x1010);
	CU_ASSERT_EQUAL(g->error_pc, 0x1000);
	CU_ASSERT_TRUE(g->whole_warps);
	CU_ASSERT_EQUAL(g->n_other_exceptions, 1);
	CU_ASSERT_EQUAL(g->other_exceptions[0].exception, 7);
	CU_ASSERT_EQUAL(g->other_exceptions[0].n_warps, 1);
	CU_ASSERT_EQUAL(g->n_block_runs, 1);
	CU_ASSERT_EQUAL(g->block_runs[0].last.x, 2);
	CU_ASSERT_EQUAL(in->gpu.groups[1].exception, 99);  // a number of a later driver
	CU_ASSERT_TRUE(in->gpu.has_kernel);
	CU_ASSERT_FALSE(in->gpu.kernel.has_launch_tid);
	CU_ASSERT_PTR_NULL(in->gpu.kernel.name);
	CU_ASSERT_EQUAL(in->n_notes, 1);  // that the kernel has no name
	forge_done(&f);
}

static void test_asserts_first_and_unflagged_lanes_joined(void)
{
	struct forge f = {0};
	forge_start(&f, 4);
	forge_warp(&f, 0, 0, 32, 0x2000, 14, 0x1ff0);
	forge_warp(&f, 1, 1, 32, 0x2000, 14, 0x1ff0);
	forge_warp(&f, 2, 2, 4, 0x1000, 12, 0);
	forge_warp(&f, 3, 3, 32, 0x1000, 0, 0);
	forge_warp(&f, 3, 4, 32, 0x3000, 0, 0);
	forge_finish(&f, false);
	CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, NULL);
	CU_ASSERT_EQUAL(in->kind, CT_FAULT_ASSERT);
	CU_ASSERT_EQUAL_FATAL(in->gpu.n_groups, 2);
	CU_ASSERT_EQUAL(in->gpu.groups[0].reason, CT_GROUP_ASSERT_PC);
	CU_ASSERT_EQUAL(in->gpu.groups[0].n_threads, 36);
	CU_ASSERT_EQUAL(in->gpu.groups[0].n_flagged, 4);
	CU_ASSERT_EQUAL(in->gpu.groups[0].n_blocks, 2);
	CU_ASSERT_FALSE(in->gpu.groups[0].whole_warps);
	CU_ASSERT_FALSE(in->assertion.present);  // there is no image to read it from
	forge_done(&f);
}

static void test_exceptions_of_warps_that_have_exited(void)
{
	struct forge f = {0};
	forge_start(&f, 3);
	for (uint32_t sm = 1; sm < 3; sm++)
		forge_put32(&f, f.sms, sm * 0x30 + CT_SM_EXCEPTION, 14);
	forge_warp(&f, 0, 5, 32, 0x1000, 0, 0);
	forge_finish(&f, false);
	CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, NULL);
	CU_ASSERT_EQUAL(in->kind, CT_FAULT_EXCEPTION);
	CU_ASSERT_EQUAL(in->gpu.n_groups, 0);
	CU_ASSERT_EQUAL_FATAL(in->gpu.n_sm_exceptions, 1);
	CU_ASSERT_EQUAL(in->gpu.sm_exceptions[0].exception, 14);
	CU_ASSERT_EQUAL(in->gpu.sm_exceptions[0].n_warps, 2);
	CU_ASSERT_TRUE(in->gpu.has_kernel);
	forge_done(&f);
}

static void test_rows_of_other_drivers(void)
{
	// The first version's rows, and ones that a later driver has made longer.
	const struct forge older = {.device_row = 72, .sm_row = 8, .grid_row = 104, .block_row = 24, .warp_row = 32, .lane_row = 48};
	const struct forge newer = {.device_row = 0x80, .sm_row = 0x50, .grid_row = 0x100, .block_row = 0x60, .warp_row = 0x90, .lane_row = 0x70};
	const struct forge *forms[] = {&older, &newer};
	for (size_t i = 0; i < CT_COUNT(forms); i++) {
		struct forge f = *forms[i];
		forge_start(&f, 2);
		forge_warp(&f, 1, 3, 32, 0x1010, 14, 0x1000);
		forge_finish(&f, false);
		CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, NULL);
		CU_ASSERT_EQUAL_FATAL(in->gpu.n_groups, 1);
		CU_ASSERT_EQUAL(in->gpu.groups[0].n_threads, 32);
		CU_ASSERT_EQUAL(in->gpu.groups[0].error_pc, 0x1000);
		CU_ASSERT_EQUAL(in->gpu.groups[0].lanes[31].at.thread.x, 31);
		CU_ASSERT_EQUAL(in->gpu.groups[0].lanes[0].hw.sm, 1);
		CU_ASSERT_FALSE(in->gpu.kernel.has_cluster);
		forge_done(&f);
	}
}

static void test_extended_section_numbering(void)
{
	struct forge f = {0};
	forge_start(&f, 2);
	while (f.n_sections < 66000)
		forge_add(&f, CT_CORE_DEV_PRED, f.sms, 0, NULL, 0, 4);
	forge_warp(&f, 1, 3, 32, 0x1010, 14, 0x1000);  // its indices do not fit 16 bits
	forge_finish(&f, true);
	CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, NULL);
	CU_ASSERT_EQUAL_FATAL(in->gpu.n_groups, 1);
	CU_ASSERT_EQUAL(in->gpu.groups[0].n_threads, 32);
	forge_done(&f);
}

static void test_a_hang_at_many_places_lists_the_largest(void)
{
	struct forge f = {0};
	forge_start(&f, 1);
	for (uint32_t i = 0; i < 100; i++)
		forge_warp(&f, 0, i, 1, 0x1000 + 16 * i, 0, 0);
	forge_warp(&f, 0, 100, 1, 0x1000 + 16 * 99, 0, 0);
	forge_finish(&f, false);
	CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, NULL);
	CU_ASSERT_EQUAL(in->kind, CT_FAULT_HANG);
	CU_ASSERT_EQUAL(in->gpu.n_groups, 64);
	CU_ASSERT_EQUAL(in->gpu.groups[0].pc, 0x1000 + 16 * 99);
	CU_ASSERT_EQUAL(in->gpu.groups[0].n_warps, 2);
	CU_ASSERT_EQUAL(in->gpu.groups[1].pc, 0x1000);
	CU_ASSERT_EQUAL_FATAL(in->n_notes, 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(in->notes[1], "36 more places"));
	forge_done(&f);
}

static void test_global_memory_is_found_by_address(void)
{
	struct forge f = {0};
	struct ct_gpucore *core = NULL;
	char text[8];
	forge_start(&f, 1);
	f.sections[forge_add(&f, CT_CORE_GLOBAL_MEM, 0, 0, "second", 7, 0)].sh_addr = 0x9000;
	f.sections[forge_add(&f, CT_CORE_MANAGED_MEM, 0, 0, "first", 6, 0)].sh_addr = 0x8000;
	forge_finish(&f, false);
	CU_ASSERT_TRUE_FATAL(ct_gpucore_open_bytes(f.bytes, f.size, &core, NULL));
	CU_ASSERT_TRUE(ct_gpucore_read_global(core, 0x9000, text, 7));
	CU_ASSERT_STRING_EQUAL(text, "second");
	CU_ASSERT_TRUE(ct_gpucore_read_global(core, 0x8001, text, 5));
	CU_ASSERT_STRING_EQUAL(text, "irst");
	CU_ASSERT_FALSE(ct_gpucore_read_global(core, 0x8001, text, 6));
	CU_ASSERT_FALSE(ct_gpucore_read_global(core, 0x7fff, text, 1));
	CU_ASSERT_FALSE(ct_gpucore_read_global(core, UINT64_MAX, text, 8));
	ct_gpucore_free(core);
	forge_done(&f);
}

// Opens a dump with these pieces of memory and reads size bytes at address: how many were there.
struct piece {
	uint64_t address;
	const char *text;
	size_t size;
};

static size_t read_from(const struct piece *pieces, size_t n, uint64_t address, char *bytes, size_t size, bool *ret_damaged)
{
	struct forge f = {0};
	struct ct_gpucore *core = NULL;
	forge_start(&f, 1);
	for (size_t i = 0; i < n; i++)
		f.sections[forge_add(&f, CT_CORE_GLOBAL_MEM, 0, 0, pieces[i].text, pieces[i].size, 0)].sh_addr = pieces[i].address;
	forge_finish(&f, false);
	CU_ASSERT_TRUE_FATAL(ct_gpucore_open_bytes(f.bytes, f.size, &core, NULL));
	size_t got = ct_gpucore_read_some(core, address, bytes, size);
	CU_ASSERT_EQUAL(ct_gpucore_read_some(core, address, NULL, size), got);
	*ret_damaged = ct_gpucore_damage(core) != NULL;
	ct_gpucore_free(core);
	forge_done(&f);
	return got;
}

static void test_memory_of_neighbours_is_one(void)
{
	static const struct piece pieces[] = {{0x1004, "efgh", 4}, {0x1000, "abcd", 4}, {0x100c, "mnop", 4}, {0x1008, "", 0}};
	char bytes[16] = "";
	bool damaged;
	CU_ASSERT_EQUAL(read_from(pieces, 4, 0x1002, bytes, 16, &damaged), 6);  // as far as the gap
	CU_ASSERT_EQUAL(memcmp(bytes, "cdefgh", 6), 0);
	CU_ASSERT_FALSE(damaged);
	CU_ASSERT_EQUAL(read_from(pieces, 4, 0x1008, bytes, 16, &damaged), 0);
	CU_ASSERT_EQUAL(read_from(pieces, 4, 0x100e, bytes, 16, &damaged), 2);
	CU_ASSERT_EQUAL(read_from(NULL, 0, 0x1000, bytes, 16, &damaged), 0);
}

// No address has two contents, whatever the sections say: what begins first is believed.
static void test_memory_that_overlaps(void)
{
	static const struct piece inside[] = {{0x1000, "abcdefgh", 8}, {0x1002, "XX", 2}, {0x1006, "YYij", 4}};
	static const struct piece twice[] = {{0x1000, "abcd", 4}, {0x1000, "XXXXef", 6}};
	char bytes[16] = "";
	bool damaged;
	CU_ASSERT_EQUAL(read_from(inside, 3, 0x1000, bytes, 16, &damaged), 10);
	CU_ASSERT_EQUAL(memcmp(bytes, "abcdefghij", 10), 0);
	CU_ASSERT_TRUE(damaged);
	CU_ASSERT_EQUAL(read_from(inside, 3, 0x1003, bytes, 2, &damaged), 2);
	CU_ASSERT_EQUAL(memcmp(bytes, "de", 2), 0);
	CU_ASSERT_EQUAL(read_from(twice, 2, 0x1000, bytes, 16, &damaged), 6);
	CU_ASSERT_EQUAL(memcmp(bytes, "abcdef", 6), 0);
	CU_ASSERT_TRUE(damaged);
}

static void test_memory_at_the_last_address(void)
{
	static const struct piece last[] = {{UINT64_MAX - 3, "wxyz+!", 6}, {0, "zero", 4}};
	static const struct piece whole[] = {{UINT64_MAX, "z", 1}};
	char bytes[16] = "";
	bool damaged;
	CU_ASSERT_EQUAL(read_from(last, 2, UINT64_MAX - 3, bytes, 16, &damaged), 4);  // addresses do not go on at 0
	CU_ASSERT_EQUAL(memcmp(bytes, "wxyz", 4), 0);
	CU_ASSERT_TRUE(damaged);
	CU_ASSERT_EQUAL(read_from(last, 2, 1, bytes, SIZE_MAX / 2, &damaged), 3);
	CU_ASSERT_EQUAL(read_from(whole, 1, UINT64_MAX, bytes, 16, &damaged), 1);
	CU_ASSERT_FALSE(damaged);
}

// Sections of memory with sizes near 2^64, and one that the file does not hold: they cost themselves only.
static void test_memory_outside_the_file(void)
{
	static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 0x1000, (uint64_t)1 << 63, 1 << 20};
	for (size_t i = 0; i < CT_COUNT(sizes); i++) {
		struct forge f = {0};
		struct ct_gpucore *core = NULL;
		char text[8];
		forge_start(&f, 1);
		f.sections[forge_add(&f, CT_CORE_GLOBAL_MEM, 0, 0, "second", 7, 0)].sh_addr = 0x9000;
		uint32_t cut = forge_add(&f, CT_CORE_GLOBAL_MEM, 0, 0, "cut", 4, 0);
		f.sections[cut].sh_addr = 0x8000;
		f.sections[cut].sh_size = sizes[i];
		forge_finish(&f, false);
		CU_ASSERT_TRUE_FATAL(ct_gpucore_open_bytes(f.bytes, f.size, &core, NULL));
		CU_ASSERT_EQUAL(ct_gpucore_read_some(core, 0x8000, text, 1), 0);
		CU_ASSERT_TRUE(ct_gpucore_read_global(core, 0x9000, text, 7));
		CU_ASSERT_PTR_NOT_NULL(ct_gpucore_damage(core));
		ct_gpucore_free(core);
		forge_done(&f);
	}
}

// Each wrong part costs itself only.
static void test_wrong_relations_are_left_out(void)
{
	for (unsigned what = 0; what < 9; what++) {
		struct forge f = {0};
		const char *damage;
		forge_start(&f, 2);
		uint32_t lanes = forge_warp(&f, 0, 0, 32, 0x1010, 14, 0x1000), good = forge_warp(&f, 1, 1, 32, 0x1010, 14, 0x1000);
		Elf64_Shdr *s = &f.sections[lanes];
		switch (what) {
		case 0: s->sh_link = 1u << 30; break;           // out of range
		case 1: s->sh_link = lanes; break;              // itself
		case 2: s->sh_link = f.devices; break;          // a table of another kind
		case 3: s->sh_info = 5; break;                  // a row that is not there
		case 4: s->sh_entsize = 0; break;
		case 5: s->sh_entsize = 8; break;               // shorter than any driver's
		case 6: s->sh_offset = UINT64_MAX - 4; break;   // outside, and a sum that would overflow
		case 7: s->sh_size = UINT64_MAX; break;
		case 8: s->sh_link = lanes + 1; f.sections[lanes + 1].sh_link = lanes; break;  // a loop
		}
		forge_finish(&f, false);
		CT_AUTO(ct_incident_auto) struct ct_incident *in = fill(&f, &damage);
		CU_ASSERT_EQUAL_FATAL(in->gpu.n_groups, what == 8 ? 0 : 1);
		if (what != 8)
			CU_ASSERT_EQUAL(in->gpu.groups[0].n_threads, 32);
		bool told = what == 0 || what == 1 || what == 6 || what == 7;
		CU_ASSERT_EQUAL(damage[0] != '\0', told);
		CU_ASSERT_EQUAL(in->collectors[0].status, told ? CT_COLLECTOR_PARTIAL : CT_COLLECTOR_OK);
		(void)good;
		forge_done(&f);
	}
}

static void expect_refusal(const struct forge *f, const char *text)
{
	struct ct_error err;
	CU_ASSERT_FALSE(opens(f->bytes, f->size, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	if (!strstr(err.text, text))
		printf("# %s\n", err.text);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, text));
}

static void set16(struct forge *f, size_t at, uint16_t v)
{
	memcpy(f->bytes + at, &v, sizeof v);
}

static void test_forged_headers_are_refused(void)
{
	struct forge f = {0};
	uint64_t huge = UINT64_MAX;
	forge_start(&f, 2);
	uint32_t a = forge_warp(&f, 0, 0, 32, 0x1010, 14, 0x1000);
	forge_finish(&f, false);
	Elf64_Ehdr h;
	memcpy(&h, f.bytes, sizeof h);
	set16(&f, 60, 60000);
	expect_refusal(&f, "section table of 60000 rows");
	set16(&f, 60, 0);
	memcpy(f.bytes + h.e_shoff + 32, &huge, sizeof huge);
	expect_refusal(&f, "section table of 18446744073709551615 rows");
	set16(&f, 60, h.e_shnum);
	set16(&f, 58, 40);
	expect_refusal(&f, "rows of 40 bytes");
	set16(&f, 58, h.e_shentsize);
	memcpy(f.bytes + 40, &huge, sizeof huge);
	expect_refusal(&f, "section table");
	memset(f.bytes + 40, 0, 8);
	expect_refusal(&f, "no section table");
	memcpy(f.bytes, &h, sizeof h);
	set16(&f, 16, ET_EXEC);
	expect_refusal(&f, "CUDA code, not a GPU core dump");
	set16(&f, 16, ET_CORE);
	set16(&f, 18, EM_X86_64);
	expect_refusal(&f, "machine 62");
	set16(&f, 18, CT_CORE_MACHINE);
	f.bytes[EI_CLASS] = ELFCLASS32;
	expect_refusal(&f, "little-endian ELF64");
	f.bytes[EI_CLASS] = ELFCLASS64;
	// Two sections that share bytes: rows of theirs would be read again and again.
	Elf64_Shdr s;
	memcpy(&s, f.bytes + h.e_shoff + a * sizeof s, sizeof s);
	s.sh_offset = 0;
	s.sh_size = f.size;
	memcpy(f.bytes + h.e_shoff + a * sizeof s, &s, sizeof s);
	expect_refusal(&f, "overlap");
	forge_done(&f);
}

static void test_dump_without_gpu_or_kernels(void)
{
	struct forge f = {0};
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	struct ct_gpucore *core = NULL;
	struct ct_error err = CT_ERROR_INIT;
	forge_start(&f, 1);
	f.sections[f.grids].sh_type = SHT_NOTE;
	forge_finish(&f, false);
	CU_ASSERT_TRUE_FATAL(ct_gpucore_open_bytes(f.bytes, f.size, &core, &err));
	CU_ASSERT_FALSE(ct_gpucore_fill(core, in, &err));
	CU_ASSERT_EQUAL(err.code, CT_UNAVAILABLE);
	CU_ASSERT_EQUAL(in->collectors[0].status, CT_COLLECTOR_FAILED);
	CU_ASSERT_FALSE(in->gpu.present);
	ct_gpucore_free(core);
	forge_done(&f);
	forge_start(&f, 1);
	f.sections[f.devices].sh_size = 0;
	forge_finish(&f, false);
	expect_refusal(&f, "no GPU");
	forge_done(&f);
}

// ---- streams and packed files ---------------------------------------------------------------------------------------

struct feeder {
	int fd;
	const char *bytes;
	size_t n;
};

static void *feed(void *context)
{
	struct feeder *f = context;
	ct_write_all(f->fd, f->bytes, f->n, NULL);
	close(f->fd);
	return NULL;
}

// Opens what comes out of a pipe.
static bool open_piped(const void *bytes, size_t n, uint64_t limit, bool as_stdin, struct ct_error *err)
{
	int ends[2];
	pthread_t thread;
	struct ct_gpucore *core = NULL;
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	struct feeder f = {.fd = ends[1], .bytes = bytes, .n = n};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, feed, &f), 0);
	*err = (struct ct_error)CT_ERROR_INIT;
	bool ok;
	if (as_stdin) {
		int kept = dup(STDIN_FILENO);
		dup2(ends[0], STDIN_FILENO);
		ok = ct_gpucore_open("-", &core, err);
		dup2(kept, STDIN_FILENO);
		close(kept);
	} else {
		ok = ct_gpucore_open_fd(ends[0], "pipe", limit, &core, err);
	}
	if (ok)
		use_all(core);
	else
		CU_ASSERT_PTR_NULL(core);
	ct_gpucore_free(core);
	// Whoever gives up early must not leave the writer waiting.
	char rest[4096];
	while (!ok && read(ends[0], rest, sizeof rest) > 0)
		;
	pthread_join(thread, NULL);
	close(ends[0]);
	return ok;
}

static void gzip(const struct ct_str *plain, struct ct_str *ret_packed)
{
	z_stream z = {.next_in = (Bytef *)plain->data, .avail_in = (uInt)plain->length};
	CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	size_t room = deflateBound(&z, plain->length);
	uint8_t *out = ct_xrealloc(NULL, room);
	z.next_out = out;
	z.avail_out = (uInt)room;
	CU_ASSERT_EQUAL(deflate(&z, Z_FINISH), Z_STREAM_END);
	ct_str_append(ret_packed, (const char *)out, room - z.avail_out);
	deflateEnd(&z);
	free(out);
}

static void test_streams_of_every_form(void)
{
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT, gz = CT_STR_INIT, xz = CT_STR_INIT, half = CT_STR_INIT;
	struct ct_error err;
	char path[4096];
	dump_read("assert.rel", &plain);
	gzip(&plain, &gz);
	CU_ASSERT_TRUE_FATAL(ct_read_file(dump_path(path, sizeof path, "assert.rel"), 1 << 24, &xz, NULL));
	CU_ASSERT_TRUE(open_piped(plain.data, plain.length, 0, false, &err));
	CU_ASSERT_TRUE(open_piped(plain.data, plain.length, 0, true, &err));
	CU_ASSERT_TRUE(open_piped(xz.data, xz.length, 0, true, &err));
	CU_ASSERT_TRUE(open_piped(gz.data, gz.length, 0, false, &err));
	// Two gzip members are one file.
	struct ct_str first = {.data = plain.data, .length = 100000}, second = {.data = plain.data + 100000, .length = plain.length - 100000};
	gzip(&first, &half);
	gzip(&second, &half);
	CU_ASSERT_TRUE(open_piped(half.data, half.length, 0, false, &err));
	CU_ASSERT_TRUE(open_piped(plain.data, plain.length, plain.length, false, &err));
	CU_ASSERT_FALSE(open_piped(plain.data, plain.length, plain.length - 1, false, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
	CU_ASSERT_FALSE(open_piped(xz.data, xz.length, 100000, false, &err));
	CU_ASSERT_EQUAL(err.code, CT_LIMIT);
	CU_ASSERT_FALSE(open_piped("", 0, 0, false, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "pipe: empty"));
}

static void test_damaged_packing_is_told(void)
{
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT, gz = CT_STR_INIT, xz = CT_STR_INIT;
	struct ct_str *forms[] = {&gz, &xz};
	struct ct_error err;
	char path[4096];
	dump_read("trap.rel", &plain);
	gzip(&plain, &gz);
	CU_ASSERT_TRUE_FATAL(ct_read_file(dump_path(path, sizeof path, "trap.rel"), 1 << 24, &xz, NULL));
	for (size_t i = 0; i < CT_COUNT(forms); i++) {
		struct ct_str *s = forms[i];
		CU_ASSERT_FALSE(open_piped(s->data, s->length / 2, 0, false, &err));
		CU_ASSERT_EQUAL(err.code, CT_FORMAT);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "end early"));
		CU_ASSERT_FALSE(open_piped(s->data, s->length - 1, 0, false, &err));
		for (size_t at = 16; at < s->length; at += s->length / 40) {
			s->data[at] ^= 0x55;
			CU_ASSERT_FALSE(open_piped(s->data, s->length, 0, false, &err));
			CU_ASSERT_EQUAL(err.code, CT_FORMAT);
			s->data[at] ^= 0x55;
		}
	}
}

static void *open_writer(void *context)
{
	struct feeder *f = context;
	f->fd = open(f->bytes, O_WRONLY);
	return NULL;
}

static void test_fifo_by_name(void)
{
	CT_AUTO(ct_auto_str) struct ct_str plain = CT_STR_INIT;
	char folder[] = "/tmp/cudatrap-test-XXXXXX", path[64];
	dump_read("trap.rel", &plain);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/fifo", folder);
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	pthread_t opener, writer;
	struct feeder named = {.bytes = path};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&opener, NULL, open_writer, &named), 0);
	int reader = open(path, O_RDONLY);
	pthread_join(opener, NULL);
	struct feeder f = {.fd = named.fd, .bytes = plain.data, .n = plain.length};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&writer, NULL, feed, &f), 0);
	struct ct_gpucore *core = NULL;
	CU_ASSERT_TRUE(ct_gpucore_open(path, &core, NULL));
	pthread_join(writer, NULL);
	CU_ASSERT_PTR_NOT_NULL(core);
	ct_gpucore_free(core);
	close(reader);
	unlink(path);
	rmdir(folder);
}

static void test_files_that_are_no_dumps(void)
{
	struct ct_gpucore *core = NULL;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_FALSE(ct_gpucore_open("/nonexistent.nvcore", &core, &err));
	CU_ASSERT_EQUAL(err.code, CT_NOT_FOUND);
	CU_ASSERT_FALSE(ct_gpucore_open("/tmp", &core, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_FALSE(ct_gpucore_open("/dev/null", &core, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_FALSE(ct_gpucore_open(CT_TEST_DATA "/gpu-cores/README.md", &core, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_FALSE(ct_gpucore_open("/proc/self/exe", &core, &err));
	CU_ASSERT_EQUAL(err.code, CT_FORMAT);
	CU_ASSERT_PTR_NULL(core);
	ct_gpucore_free(NULL);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a truncated dump keeps its hint", test_truncated_dump_keeps_its_hint},
		{"every cut is refused", test_every_cut_is_refused},
		{"changed bytes do no harm", test_changed_bytes_do_no_harm},
		{"each header byte changed", test_each_header_byte_changed},
		{"every dump, cut every 4 KB, is refused", test_every_dump_cut_every_4_kb_is_refused},
		{"header bytes of every dump turned over", test_header_bytes_of_every_dump_turned},
		{"the class is that of most warps", test_class_by_majority_of_warps},
		{"asserts first, unflagged lanes joined", test_asserts_first_and_unflagged_lanes_joined},
		{"exceptions of warps that have exited", test_exceptions_of_warps_that_have_exited},
		{"rows of other drivers", test_rows_of_other_drivers},
		{"extended section numbering", test_extended_section_numbering},
		{"a hang at many places lists the largest", test_a_hang_at_many_places_lists_the_largest},
		{"global memory is found by address", test_global_memory_is_found_by_address},
		{"memory of neighbours is one", test_memory_of_neighbours_is_one},
		{"memory that overlaps", test_memory_that_overlaps},
		{"memory at the last address", test_memory_at_the_last_address},
		{"memory outside the file", test_memory_outside_the_file},
		{"wrong relations are left out", test_wrong_relations_are_left_out},
		{"forged headers are refused", test_forged_headers_are_refused},
		{"a dump without GPU or kernels", test_dump_without_gpu_or_kernels},
		{"streams of every form", test_streams_of_every_form},
		{"damaged packing is told", test_damaged_packing_is_told},
		{"a FIFO by name", test_fifo_by_name},
		{"files that are no dumps", test_files_that_are_no_dumps},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("gpucore, hostile", tests);
}
