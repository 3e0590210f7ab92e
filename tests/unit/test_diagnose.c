// The kind of an incident, and the notes on what its parts do not agree on or do not hold.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "diagnose/diagnose.h"

#include <string.h>

#include "unit.h"

// An incident with a GPU part of one group.
static struct ct_incident *with_group(enum ct_group_reason reason, uint32_t exception, uint64_t n_threads)
{
	struct ct_incident *incident = ct_incident_new();
	incident->launch_blocking = true;
	incident->gpu.present = true;
	incident->gpu.groups = ct_arena_array(&incident->arena, 1, sizeof *incident->gpu.groups);
	incident->gpu.n_groups = 1;
	incident->gpu.groups[0] = (struct ct_group){.reason = reason, .has_exception = exception != 0, .exception = exception, .n_threads = n_threads};
	return incident;
}

static void add_assert(struct ct_incident *incident, const char *line)
{
	struct ct_loglines *lines = ct_loglines_new();
	ct_loglines_feed(lines, 2, line, strlen(line));
	ct_loglines_finish(lines, incident);
	ct_loglines_free(lines);
}

static size_t notes_with(const struct ct_incident *incident, const char *words)
{
	size_t n = 0;
	for (size_t i = 0; i < incident->n_notes; i++)
		n += strstr(incident->notes[i], words) != NULL;
	return n;
}

#define LINE "x.cu:1: f: block: [0,0,0], thread: [2,0,0] Assertion `a` failed.\n"

static void test_kind_from_the_gpu(void)
{
	static const struct {
		enum ct_group_reason reason;
		uint32_t exception;
		enum ct_fault_kind kind;
	} cases[] = {
		{CT_GROUP_EXCEPTION, 12, CT_FAULT_ASSERT},    {CT_GROUP_ASSERT_PC, 0, CT_FAULT_ASSERT}, {CT_GROUP_TRAP_PC, 0, CT_FAULT_TRAP},
		{CT_GROUP_EXCEPTION, 14, CT_FAULT_EXCEPTION}, {CT_GROUP_EXCEPTION, 77, CT_FAULT_EXCEPTION}, {CT_GROUP_RUNNING, 0, CT_FAULT_HANG},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = with_group(cases[i].reason, cases[i].exception, 1);
		ct_diagnose(incident);
		CU_ASSERT_EQUAL(incident->kind, cases[i].kind);
	}
	// No group: the warps have exited.
	CT_AUTO(ct_incident_auto) struct ct_incident *gone = with_group(CT_GROUP_RUNNING, 0, 1);
	struct ct_exception_count counts[] = {{.exception = 14, .n_warps = 1}};
	gone->gpu.sm_exceptions = counts;
	gone->gpu.n_sm_exceptions = 1;
	ct_diagnose(gone);
	CU_ASSERT_EQUAL(gone->kind, CT_FAULT_EXCEPTION);
	counts[0].exception = 12;
	ct_diagnose(gone);
	CU_ASSERT_EQUAL(gone->kind, CT_FAULT_ASSERT);
}

static void test_kind_from_the_log(void)
{
	static const struct {
		const char *text;
		enum ct_fault_kind before, kind;
	} cases[] = {
		{LINE, CT_FAULT_UNKNOWN, CT_FAULT_ASSERT},
		{"RuntimeError: CUDA error: invalid configuration argument\n", CT_FAULT_UNKNOWN, CT_FAULT_API_ERROR},
		{"CUDA error: no kernel image is available for execution on the device\n", CT_FAULT_UNKNOWN, CT_FAULT_API_ERROR},
		{"CUDA error: the provided PTX was compiled with an unsupported toolchain.\n", CT_FAULT_UNKNOWN, CT_FAULT_API_ERROR},
		{"triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448.\n", CT_FAULT_UNKNOWN,
		 CT_FAULT_API_ERROR},
		{"CUDA error: operation not permitted when stream is capturing\n", CT_FAULT_UNKNOWN, CT_FAULT_API_ERROR},
		{"RuntimeError: CUDA error: an illegal memory access was encountered\n", CT_FAULT_UNKNOWN, CT_FAULT_UNKNOWN},
		// The first error counts.
		{"CUDA error: an illegal memory access was encountered\nCUDA error: invalid argument\n", CT_FAULT_UNKNOWN, CT_FAULT_UNKNOWN},
		{"NCCL WARN Cuda failure 'invalid argument'\n", CT_FAULT_UNKNOWN, CT_FAULT_UNKNOWN},
		{"", CT_FAULT_HANG, CT_FAULT_HANG},
		{"", CT_FAULT_UNKNOWN, CT_FAULT_UNKNOWN},
	};
	for (size_t i = 0; i < CT_COUNT(cases); i++) {
		CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
		incident->kind = cases[i].before;
		add_assert(incident, cases[i].text);
		ct_diagnose(incident);
		CU_ASSERT_EQUAL(incident->kind, cases[i].kind);
		CU_ASSERT_EQUAL(notes_with(incident, "CUDA_LAUNCH_BLOCKING=1 was not in force"), 0);
	}
	CT_AUTO(ct_incident_auto) struct ct_incident *stacks = ct_incident_new();
	ct_incident_add_thread(stacks, 1, "main");
	ct_diagnose(stacks);
	CU_ASSERT_EQUAL(notes_with(stacks, "CUDA_LAUNCH_BLOCKING=1 was not in force"), 1);
}

static void test_agreeing_parts_need_no_note(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = with_group(CT_GROUP_EXCEPTION, 12, 1);
	struct ct_lane lane = {.at = {{0, 0, 0}, {2, 0, 0}}};
	struct ct_dim3_run block = {.count = 1}, thread = {.first = {2, 0, 0}, .last = {2, 0, 0}, .count = 1};
	struct ct_group *g = &incident->gpu.groups[0];
	g->lanes = &lane;
	g->block_runs = &block;
	g->thread_runs = &thread;
	g->n_lanes = g->n_block_runs = g->n_thread_runs = 1;
	add_assert(incident, LINE);
	ct_diagnose(incident);
	CU_ASSERT_EQUAL(incident->n_notes, 0);
	// Another lane on the GPU than in the log.
	lane.at.thread.x = thread.first.x = thread.last.x = 5;
	ct_diagnose(incident);
	CU_ASSERT_EQUAL(notes_with(incident, "block (0,0,0) thread (2,0,0), the GPU shows other threads"), 1);
	// Only the lanes tell.
	g->n_thread_runs = 0;
	ct_diagnose(incident);
	CU_ASSERT_EQUAL(notes_with(incident, "block (0,0,0) thread (5,0,0) at the assert, the output has no line"), 1);
}

static void test_positions_outside_the_launch(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = with_group(CT_GROUP_ASSERT_PC, 0, 1);
	incident->gpu.has_kernel = incident->gpu.kernel.has_dims = true;
	incident->gpu.kernel.grid_dim = (struct ct_dim3){1, 1, 1};
	incident->gpu.kernel.block_dim = (struct ct_dim3){2, 1, 1};
	add_assert(incident, LINE);
	ct_diagnose(incident);
	CU_ASSERT_EQUAL(notes_with(incident, "which the launch on the GPU does not have"), 1);
}

static void test_counts_that_differ_are_both_stated(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *more = with_group(CT_GROUP_EXCEPTION, 12, 1);
	add_assert(more, LINE LINE);
	ct_diagnose(more);
	CU_ASSERT_EQUAL(notes_with(more, "2 lines of this assert, the GPU showed 1 failing thread:"), 1);
	CT_AUTO(ct_incident_auto) struct ct_incident *fewer = with_group(CT_GROUP_EXCEPTION, 12, 64);
	add_assert(fewer, LINE);
	ct_diagnose(fewer);
	CU_ASSERT_EQUAL(notes_with(fewer, "1 line of this assert, the GPU showed 64 failing threads:"), 1);
}

static void test_assert_on_one_side_only(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *dump = with_group(CT_GROUP_EXCEPTION, 12, 1);
	ct_diagnose(dump);
	CU_ASSERT_EQUAL(dump->n_notes, 0);  // no command was run: there is no output to miss
	CT_AUTO(ct_incident_auto) struct ct_incident *silent = with_group(CT_GROUP_EXCEPTION, 12, 1);
	static const char *const command[] = {"./a.out"};
	silent->command = command;
	silent->n_command = 1;
	ct_diagnose(silent);
	CU_ASSERT_EQUAL(silent->n_notes, 1);
	CU_ASSERT_EQUAL(notes_with(silent, "No assert line was seen in the output: the driver prints it when the host next synchronises"), 1);
	CU_ASSERT_EQUAL(notes_with(silent, "expression is not known"), 1);
	CT_AUTO(ct_incident_auto) struct ct_incident *other = with_group(CT_GROUP_EXCEPTION, 14, 1);
	add_assert(other, LINE);
	ct_diagnose(other);
	CU_ASSERT_EQUAL(other->kind, CT_FAULT_ASSERT);
	CU_ASSERT_EQUAL(notes_with(other, "the GPU state shows no assert"), 1);
	CU_ASSERT_EQUAL(notes_with(other, "exception 14 (illegal address)"), 1);
}

static void test_what_a_collector_says_is_not_said_again(void)
{
	CT_AUTO(ct_incident_auto) struct ct_incident *incident = ct_incident_new();
	ct_incident_add_collector(incident, "log", CT_COLLECTOR_OK, 1, NULL);
	ct_incident_add_collector(incident, "gpu", CT_COLLECTOR_FAILED, 1, "ptrace: Operation not permitted");
	ct_incident_add_collector(incident, "gpu", CT_COLLECTOR_TIMED_OUT, 1, NULL);
	ct_diagnose(incident);
	CU_ASSERT_EQUAL(notes_with(incident, "ptrace"), 0);
	CU_ASSERT_EQUAL(notes_with(incident, "GPU state"), 0);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"kind from the GPU", test_kind_from_the_gpu},
		{"kind from the log", test_kind_from_the_log},
		{"agreeing parts need no note", test_agreeing_parts_need_no_note},
		{"positions outside the launch", test_positions_outside_the_launch},
		{"counts that differ are both stated", test_counts_that_differ_are_both_stated},
		{"assert on one side only", test_assert_on_one_side_only},
		{"what a collector says is not said again", test_what_a_collector_says_is_not_said_again},
		CU_TEST_INFO_NULL,
	};
	return ct_unit_run("diagnose", tests);
}
