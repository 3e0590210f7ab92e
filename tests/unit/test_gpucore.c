// The reader of GPU core dumps on recorded dumps: what it finds is what cuda-gdb finds.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <inttypes.h>

#include "dumps.h"
#include "unit.h"

// ---- every lane, against cuda-gdb -----------------------------------------------------------------------------------

struct lanes {
	struct ct_gpucore_lane *rows;
	size_t n, room;
};

static bool take_lane(void *context, const struct ct_gpucore_lane *lane)
{
	struct lanes *l = context;
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 1024;
		l->rows = ct_xrealloc(l->rows, l->room * sizeof *l->rows);
	}
	l->rows[l->n++] = *lane;
	return true;
}

static int by_hardware(const void *a, const void *b)
{
	const struct ct_hwpos *x = &((const struct ct_gpucore_lane *)a)->hw, *y = &((const struct ct_gpucore_lane *)b)->hw;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->sm != y->sm)
		return x->sm < y->sm ? -1 : 1;
	if (x->warp != y->warp)
		return x->warp < y->warp ? -1 : 1;
	return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static uint64_t add_digest(uint64_t digest, const char *text)
{
	for (; *text; text++)
		digest = (digest ^ (uint8_t)*text) * 0x100000001b3u;  // FNV-1a
	return digest;
}

static uint64_t lanes_digest(const struct ct_gpucore *core, size_t *ret_n)
{
	struct lanes l = {0};
	uint64_t digest = 0xcbf29ce484222325u;
	char line[512];
	ct_gpucore_each_lane(core, take_lane, &l);
	qsort(l.rows, l.n, sizeof *l.rows, by_hardware);
	for (size_t i = 0; i < l.n; i++) {
		const struct ct_gpucore_lane *x = &l.rows[i];
		snprintf(line, sizeof line, "%u %u %u %u grid %" PRIu64 " block %u,%u,%u thread %u,%u,%u pc 0x%" PRIx64 " exception %u error 0x%" PRIx64 "\n",
			 x->hw.device, x->hw.sm, x->hw.warp, x->hw.lane, x->grid_id, x->at.block.x, x->at.block.y, x->at.block.z, x->at.thread.x,
			 x->at.thread.y, x->at.thread.z, x->pc, x->exception, x->has_error_pc ? x->error_pc : 0);
		digest = add_digest(digest, line);
	}
	free(l.rows);
	*ret_n = l.n;
	return digest;
}

static void test_every_lane_is_what_cuda_gdb_reads(void)
{
	CT_AUTO(ct_auto_str) struct ct_str expected = CT_STR_INIT;
	CT_AUTO(ct_auto_str) struct ct_str got = CT_STR_INIT;
	struct ct_error err = CT_ERROR_INIT;
	CU_ASSERT_TRUE_FATAL(ct_read_file(CT_TEST_DATA "/gpu-cores/reader/lanes.txt", 1 << 20, &expected, &err));
	for (size_t i = 0; i < n_dumps; i++) {
		struct ct_gpucore *core = dump_open(dump_names[i]);
		size_t n;
		uint64_t digest = lanes_digest(core, &n);
		ct_str_addf(&got, "%s %zu %016" PRIx64 "\n", dump_names[i], n, digest);
		ct_gpucore_free(core);
	}
	CU_ASSERT_STRING_EQUAL(ct_str_text(&got), ct_str_text(&expected));
}

// ---- the incident of each dump --------------------------------------------------------------------------------------

static void add_runs(struct ct_str *s, const char *name, const struct ct_dim3_run *runs, size_t n, bool cut)
{
	ct_str_addf(s, "  %s", name);
	for (size_t i = 0; i < n; i++)
		ct_str_addf(s, " (%u,%u,%u)-(%u,%u,%u)=%" PRIu64, runs[i].first.x, runs[i].first.y, runs[i].first.z, runs[i].last.x, runs[i].last.y,
			    runs[i].last.z, runs[i].count);
	ct_str_add(s, cut ? " cut\n" : "\n");
}

static void add_group(struct ct_str *s, const struct ct_group *g)
{
	ct_str_addf(s, "group %s", ct_group_reason_word(g->reason));
	if (g->has_exception)
		ct_str_addf(s, " %s", ct_exception_word(g->exception) ? ct_exception_word(g->exception) : "unknown");
	ct_str_addf(s, " pc 0x%" PRIx64, g->pc);
	if (g->has_error_pc)
		ct_str_addf(s, " error_pc 0x%" PRIx64, g->error_pc);
	ct_str_addf(s, " threads %" PRIu64 " warps %" PRIu64 " blocks %" PRIu64 " flagged %" PRIu64 "%s\n", g->n_threads, g->n_warps, g->n_blocks, g->n_flagged,
		    g->whole_warps ? " whole warps" : "");
	add_runs(s, "blocks", g->block_runs, g->n_block_runs, g->block_runs_cut);
	add_runs(s, "threads", g->thread_runs, g->n_thread_runs, g->thread_runs_cut);
	for (size_t i = 0; i < g->n_other_exceptions; i++)
		ct_str_addf(s, "  other %u in %" PRIu64 " warps\n", g->other_exceptions[i].exception, g->other_exceptions[i].n_warps);
	ct_str_addf(s, "  lanes %zu:", g->n_lanes);
	for (size_t i = 0; i < g->n_lanes && i < 3; i++) {
		const struct ct_lane *l = &g->lanes[i];
		ct_str_addf(s, " (%u,%u,%u)(%u,%u,%u) sm %u warp %u lane %u exception %u;", l->at.block.x, l->at.block.y, l->at.block.z, l->at.thread.x,
			    l->at.thread.y, l->at.thread.z, l->hw.sm, l->hw.warp, l->hw.lane, l->has_exception ? l->exception : 0);
	}
	ct_str_add(s, "\n");
	for (size_t i = 0; i < g->n_frames; i++) {
		const struct ct_device_frame *f = &g->frames[i];
		ct_str_addf(s, "  #%zu 0x%" PRIx64 " %s", i, f->pc, f->function ? f->function : "?");
		if (f->has_offset)
			ct_str_addf(s, " +0x%" PRIx64, f->offset);
		ct_str_addf(s, "%s", f->inlined ? " inlined" : "");
		if (f->file)
			ct_str_addf(s, " at %s:%u", f->file, f->line);
		ct_str_add(s, "\n");
	}
}

static void add_kernel(struct ct_str *s, const char *what, const struct ct_kernel *k)
{
	ct_str_addf(s, "%s %s\n  symbol %s\n  grid %" PRIu64 " (%u,%u,%u) of (%u,%u,%u)%s parameters at 0x%x\n", what,
		    k->name ? k->name : "?", k->symbol ? k->symbol : "?", k->grid_id, k->grid_dim.x, k->grid_dim.y, k->grid_dim.z, k->block_dim.x,
		    k->block_dim.y, k->block_dim.z, k->has_cluster ? " clusters" : "", k->params_offset);
}

static void summarise(const struct ct_incident *in, struct ct_str *s)
{
	const struct ct_gpu *gpu = &in->gpu;
	ct_str_addf(s, "kind %s\ndevice %u %s %s %u SMs %s\n", ct_fault_kind_word(in->kind), gpu->device.index, gpu->device.name, gpu->device.sm_type,
		    gpu->device.n_sms, gpu->device.pci);
	if (gpu->has_kernel)
		add_kernel(s, "kernel", &gpu->kernel);
	for (size_t i = 0; i < gpu->n_other_kernels; i++)
		add_kernel(s, "other kernel", &gpu->other_kernels[i]);
	for (size_t i = 0; i < gpu->n_groups; i++)
		add_group(s, &gpu->groups[i]);
	for (size_t i = 0; i < gpu->n_sm_exceptions; i++)
		ct_str_addf(s, "SM exception %u on %" PRIu64 "\n", gpu->sm_exceptions[i].exception, gpu->sm_exceptions[i].n_warps);
	if (in->assertion.present)
		ct_str_addf(s, "assert (%s) %s:%u %s: %s\n", in->assertion.source, in->assertion.file, in->assertion.line, in->assertion.function,
			    in->assertion.expression);
	for (size_t i = 0; i < in->n_environment; i++)
		ct_str_addf(s, "%s %s\n", in->environment[i].name, in->environment[i].value);
	for (size_t i = 0; i < in->n_notes; i++)
		ct_str_addf(s, "note %s\n", in->notes[i]);
	for (size_t i = 0; i < in->n_collectors; i++)
		ct_str_addf(s, "collector %s %s %s\n", in->collectors[i].name, ct_collector_status_word(in->collectors[i].status),
			    in->collectors[i].detail ? in->collectors[i].detail : "-");
}

static void compare_with_file(const char *name, const struct ct_str *got)
{
	CT_AUTO(ct_auto_str) struct ct_str expected = CT_STR_INIT;
	char path[4096];
	snprintf(path, sizeof path, "%s/gpu-cores/reader/%s.expected", CT_TEST_DATA, name);
	if (getenv("UPDATE_GOLDEN"))
		CU_ASSERT_TRUE(ct_write_file_at(AT_FDCWD, path, got->data, got->length, NULL));
	CU_ASSERT_TRUE(ct_read_file(path, 1 << 20, &expected, NULL));
	if (strcmp(ct_str_text(got), ct_str_text(&expected)) == 0)
		return;
	printf("# %s: got\n%s", name, ct_str_text(got));
	CU_FAIL("the incident differs from the expected one");
}

static void test_each_dump_becomes_its_incident(void)
{
	for (size_t i = 0; i < n_dumps; i++) {
		struct ct_gpucore *core = dump_open(dump_names[i]);
		CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
		CT_AUTO(ct_auto_str) struct ct_str text = CT_STR_INIT;
		CU_ASSERT_TRUE(ct_gpucore_fill(core, in, NULL));
		summarise(in, &text);
		compare_with_file(dump_names[i], &text);
		ct_gpucore_free(core);
	}
}

static void test_incident_survives_json(void)
{
	struct ct_gpucore *core = dump_open("assert.line");
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new(), *again = NULL;
	CT_AUTO(ct_auto_str) struct ct_str a = CT_STR_INIT, b = CT_STR_INIT;
	CT_AUTO(ct_auto_free) char *json = NULL;
	struct ct_error err = CT_ERROR_INIT;
	size_t length;
	CU_ASSERT_TRUE(ct_gpucore_fill(core, in, NULL));
	ct_gpucore_free(core);  // the incident keeps nothing of it
	FILE *out = open_memstream(&json, &length);
	CU_ASSERT_TRUE_FATAL(ct_incident_write_json(in, out, &err));
	fclose(out);
	CU_ASSERT_TRUE_FATAL(ct_incident_read_json(json, length, &again, &err));
	summarise(in, &a);
	summarise(again, &b);
	CU_ASSERT_STRING_EQUAL(ct_str_text(&a), ct_str_text(&b));
}

static void test_a_better_assert_is_kept(void)
{
	struct ct_gpucore *core = dump_open("assert.rel");
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	in->assertion = (struct ct_assert){.present = true, .source = "log", .file = "x.cu"};
	CU_ASSERT_TRUE(ct_gpucore_fill(core, in, NULL));
	CU_ASSERT_STRING_EQUAL(in->assertion.source, "log");
	ct_gpucore_free(core);
}

// ---- parameters, registers, tables ----------------------------------------------------------------------------------

static bool first_lane(void *context, const struct ct_gpucore_lane *lane)
{
	*(struct ct_gpucore_lane *)context = *lane;
	return false;
}

static void test_parameters_and_registers_are_found(void)
{
	struct ct_gpucore *core = dump_open("torch-cross-entropy-sm90");
	struct ct_gpucore_lane lane;
	const uint8_t *bytes;
	size_t n;
	uint64_t classes;
	CU_ASSERT_EQUAL(ct_gpucore_n_grids(core), 1);
	CU_ASSERT_TRUE_FATAL(ct_gpucore_params(core, 0, &bytes, &n));
	CU_ASSERT_EQUAL(n, 80);
	memcpy(&classes, bytes + 64, sizeof classes);
	CU_ASSERT_EQUAL(classes, 3);  // n_classes of nll_loss_forward_reduce_cuda_kernel_2d
	CU_ASSERT_FALSE(ct_gpucore_params(core, 1, &bytes, &n));
	CU_ASSERT_FALSE(ct_gpucore_each_lane(core, first_lane, &lane));
	CU_ASSERT_TRUE(ct_gpucore_registers(core, &lane, CT_GPUCORE_REGISTERS, &bytes, &n));
	CU_ASSERT_EQUAL(n, 30);
	CU_ASSERT_TRUE(ct_gpucore_registers(core, &lane, CT_GPUCORE_PREDICATES, &bytes, &n));
	CU_ASSERT_EQUAL(n, 8);
	CU_ASSERT_TRUE(ct_gpucore_registers(core, &lane, CT_GPUCORE_UNIFORM_REGISTERS, &bytes, &n));
	CU_ASSERT_TRUE(ct_gpucore_registers(core, &lane, CT_GPUCORE_UNIFORM_PREDICATES, &bytes, &n));
	lane.row = 1000;
	CU_ASSERT_FALSE(ct_gpucore_registers(core, &lane, CT_GPUCORE_REGISTERS, &bytes, &n));
	CU_ASSERT_FALSE(ct_gpucore_read_global(core, 0x1000, &classes, 8));
	ct_gpucore_free(core);
}

// write_strided stores to p[i * stride] with 4 bytes an element and a stride of 2^30: thread i of the grid goes to p + i * 2^32.
static void test_addresses_of_a_strided_store(void)
{
	static const char *const names[] = {"address.rel", "address.line", "address.dbg"};
	for (size_t i = 0; i < CT_COUNT(names); i++) {
		CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = dump_open(names[i]);
		CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
		CU_ASSERT_TRUE_FATAL(ct_gpucore_fill(core, in, NULL));
		const struct ct_group *g = &in->gpu.groups[0];
		uint64_t start = strtoull(in->gpu.arguments[0].value, NULL, 16);
		CU_ASSERT_STRING_EQUAL(g->access, "store");
		CU_ASSERT_EQUAL(g->access_bytes, 4);
		CU_ASSERT_TRUE(g->n_lanes == 64);
		for (size_t k = 0; k < g->n_lanes; k++) {
			uint64_t number = (uint64_t)g->lanes[k].at.block.x * in->gpu.kernel.block_dim.x + g->lanes[k].at.thread.x;
			CU_ASSERT_TRUE(g->lanes[k].has_address && g->lanes[k].address == start + (number << 32));
		}
	}
}

// The load's destination is the upper half of its address, and it was written to: then no address is told.
static void test_no_address_of_a_load_into_itself(void)
{
	CT_AUTO(ct_gpucore_auto) struct ct_gpucore *core = dump_open("misaligned.rel");
	CT_AUTO(ct_incident_auto) struct ct_incident *in = ct_incident_new();
	CU_ASSERT_TRUE_FATAL(ct_gpucore_fill(core, in, NULL));
	CU_ASSERT_TRUE(in->gpu.groups[0].n_lanes > 0 && !in->gpu.groups[0].lanes[0].has_address);
	CU_ASSERT_PTR_NULL(in->gpu.groups[0].access);
}

static void test_raw_shows_every_table(void)
{
	static const char *const wanted[] = {
		"devices of section 0", "name \"NVIDIA H200\" type \"GH100GL-A\" sm_type \"sm_90\"", "contexts of", "modules of", "relocated code image of",
		"grids of", "grid_dim (8,1,1) block_dim (128,1,1)", "host_tid 533", "parameters of", "constant banks of", "SMs of", "blocks of", "warps of",
		"uniform registers of", "uniform predicates of", "convergence barriers of", "lanes of", "exception 12 (warp-assert)", "call stack of",
		"return_address 0x7f21017a0000", "registers of", "predicates of", "metadata of", "driver_major 580",
	};
	struct ct_gpucore *core = dump_open("assert.rel");
	CT_AUTO(ct_auto_free) char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	CU_ASSERT_TRUE(ct_gpucore_raw(core, out, NULL));
	fclose(out);
	for (size_t i = 0; i < CT_COUNT(wanted); i++) {
		if (!strstr(text, wanted[i]))
			printf("# not there: %s\n", wanted[i]);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, wanted[i]));
	}
	ct_gpucore_free(core);
}

static void test_raw_says_when_it_cannot_write(void)
{
	struct ct_gpucore *core = dump_open("assert.rel");
	struct ct_error err = CT_ERROR_INIT;
	FILE *out = fopen("/dev/full", "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_FALSE(ct_gpucore_raw(core, out, &err));
	CU_ASSERT_EQUAL(err.code, CT_SYSTEM);
	fclose(out);
	ct_gpucore_free(core);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"every lane is what cuda-gdb reads", test_every_lane_is_what_cuda_gdb_reads},
		{"each dump becomes its incident", test_each_dump_becomes_its_incident},
		{"an incident from a dump survives JSON", test_incident_survives_json},
		{"an assert from a better source is kept", test_a_better_assert_is_kept},
		{"parameters and registers are found", test_parameters_and_registers_are_found},
		{"addresses of a strided store", test_addresses_of_a_strided_store},
		{"no address of a load into itself", test_no_address_of_a_load_into_itself},
		{"raw shows every table", test_raw_shows_every_table},
		{"raw says when it cannot write", test_raw_says_when_it_cannot_write},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("gpucore", tests);
}
