// What kind of incident it is, whether its parts agree, and what was not established.
// Says only what the parts show: where they contradict each other, both are stated.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "diagnose/diagnose_priv.h"

enum { WARP_ASSERT = 12 };  // CUDBG_EXCEPTION_WARP_ASSERT, cudadebugger.h 13.0

static bool is_assert_group(const struct ct_group *g)
{
	return g->reason == CT_GROUP_ASSERT_PC || (g->reason == CT_GROUP_EXCEPTION && g->has_exception && g->exception == WARP_ASSERT);
}

static bool has_group(const struct ct_gpu *gpu, enum ct_group_reason reason)
{
	for (size_t i = 0; i < gpu->n_groups; i++)
		if (gpu->groups[i].reason == reason)
			return true;
	return false;
}

static bool gpu_shows_assert(const struct ct_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_groups; i++)
		if (is_assert_group(&gpu->groups[i]))
			return true;
	for (size_t i = 0; i < gpu->n_sm_exceptions; i++)
		if (gpu->sm_exceptions[i].exception == WARP_ASSERT)
			return true;
	return false;
}

// The first exception that is not the assert's; 0 when there is none.
static uint32_t other_exception(const struct ct_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_groups; i++) {
		const struct ct_group *g = &gpu->groups[i];
		if (g->reason == CT_GROUP_EXCEPTION && g->has_exception && g->exception != WARP_ASSERT)
			return g->exception;
	}
	for (size_t i = 0; i < gpu->n_sm_exceptions; i++)
		if (gpu->sm_exceptions[i].exception != WARP_ASSERT)
			return gpu->sm_exceptions[i].exception;
	return 0;
}

static const struct ct_log_entry *first_log(const struct ct_incident *incident, enum ct_log_kind kind)
{
	for (size_t i = 0; i < incident->n_log; i++)
		if (incident->log[i].kind == kind)
			return &incident->log[i];
	return NULL;
}

// The first error text counts: what follows a fault names the call that noticed, not the one that failed.
static bool names_launch_error(const struct ct_log_entry *error)
{
	struct ct_logscan scan;
	ct_logscan_init(&scan);
	return error && ct_logscan_line(&scan, error->text, strlen(error->text)) & CT_SCAN_LAUNCH;
}

static bool assert_in_log(const struct ct_incident *incident)
{
	return incident->assertion.present && incident->assertion.n_lines > 0;
}

// Without evidence the kind stays what the trigger said (a hang, a failing call that the engine stopped at).
static enum ct_fault_kind kind_of(const struct ct_incident *incident)
{
	const struct ct_gpu *gpu = &incident->gpu;
	if (incident->assertion.present || (gpu->present && gpu_shows_assert(gpu)))
		return CT_FAULT_ASSERT;
	if (gpu->present && has_group(gpu, CT_GROUP_TRAP_PC))
		return CT_FAULT_TRAP;
	if (gpu->present && (other_exception(gpu) || has_group(gpu, CT_GROUP_EXCEPTION)))
		return CT_FAULT_EXCEPTION;
	if (gpu->present && has_group(gpu, CT_GROUP_RUNNING))
		return CT_FAULT_HANG;
	if (incident->kind != CT_FAULT_UNKNOWN)
		return incident->kind;
	return names_launch_error(first_log(incident, CT_LOG_CUDA_ERROR)) ? CT_FAULT_API_ERROR : CT_FAULT_UNKNOWN;
}

// ---- Do log and GPU say the same? ----------------------------------------------------------------------------

static int compare(struct ct_dim3 a, struct ct_dim3 b)
{
	if (a.z != b.z)
		return a.z < b.z ? -1 : 1;
	if (a.y != b.y)
		return a.y < b.y ? -1 : 1;
	return a.x < b.x ? -1 : a.x > b.x;
}

// x-fastest order is the order of (z, y, x) whatever the extent: outside of all runs means not in the set.
static bool outside(const struct ct_dim3_run *runs, size_t n, struct ct_dim3 at)
{
	for (size_t i = 0; i < n; i++)
		if (compare(runs[i].first, at) <= 0 && compare(at, runs[i].last) <= 0)
			return false;
	return n > 0;
}

static bool beyond(struct ct_dim3 at, struct ct_dim3 dim)
{
	return at.x >= dim.x || at.y >= dim.y || at.z >= dim.z;
}

static const char *position_text(struct ct_incident *incident, struct ct_gridpos at)
{
	return ct_arena_printf(&incident->arena, "block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", at.block.x,
			       at.block.y, at.block.z, at.thread.x, at.thread.y, at.thread.z);
}

static uint64_t assert_threads(const struct ct_gpu *gpu)
{
	uint64_t n = 0;
	for (size_t i = 0; i < gpu->n_groups; i++)
		n += is_assert_group(&gpu->groups[i]) ? gpu->groups[i].n_threads : 0;
	return n;
}

static void note_counts(struct ct_incident *incident, uint64_t n_gpu)
{
	uint64_t n_log = incident->assertion.n_lines;
	if (n_log == n_gpu)
		return;
	ct_incident_add_note(incident, "The output holds %" PRIu64 " line%s of this assert, the GPU showed %" PRIu64 " failing thread%s%s.", n_log,
			     n_log == 1 ? "" : "s", n_gpu, n_gpu == 1 ? "" : "s",
			     n_log > n_gpu ? ": lines of other launches or processes may be among them" : ": not every line had been printed or seen");
}

// A lane that the log does not know, though the log holds a line for every failing thread.
static bool note_unknown_lane(struct ct_incident *incident, const struct ct_group *g)
{
	const struct ct_assert *a = &incident->assertion;
	for (size_t i = 0; i < g->n_lanes; i++) {
		struct ct_gridpos at = g->lanes[i].at;
		if ((a->block_runs_cut || !outside(a->block_runs, a->n_block_runs, at.block)) &&
		    (a->thread_runs_cut || !outside(a->thread_runs, a->n_thread_runs, at.thread)))
			continue;
		ct_incident_add_note(incident, "The GPU shows %s at the assert, the output has no line for it: "
					       "log and GPU state may be of different faults.",
				     position_text(incident, at));
		return true;
	}
	return false;
}

static bool in_some_group(const struct ct_gpu *gpu, struct ct_gridpos at)
{
	for (size_t i = 0; i < gpu->n_groups; i++) {
		const struct ct_group *g = &gpu->groups[i];
		bool unknown = is_assert_group(g) && (g->n_block_runs == 0 || g->n_thread_runs == 0);
		if (unknown || (is_assert_group(g) && (g->block_runs_cut || !outside(g->block_runs, g->n_block_runs, at.block)) &&
				(g->thread_runs_cut || !outside(g->thread_runs, g->n_thread_runs, at.thread))))
			return true;
	}
	return false;
}

static void note_positions(struct ct_incident *incident, uint64_t n_gpu)
{
	const struct ct_assert *a = &incident->assertion;
	const struct ct_gpu *gpu = &incident->gpu;
	if (!a->has_first)
		return;
	const struct ct_kernel *k = &gpu->kernel;
	if (gpu->has_kernel && k->has_dims && (beyond(a->first.block, k->grid_dim) || beyond(a->first.thread, k->block_dim))) {
		ct_incident_add_note(incident, "The output's first assert line names %s, which the launch on the GPU does not have: "
					       "they are of different launches.",
				     position_text(incident, a->first));
		return;
	}
	if (a->n_lines <= n_gpu && !in_some_group(gpu, a->first)) {
		ct_incident_add_note(incident, "The output's first assert line names %s, the GPU shows other threads at the assert: "
					       "log and GPU state may be of different faults.",
				     position_text(incident, a->first));
		return;
	}
	for (size_t i = 0; a->n_lines >= n_gpu && i < gpu->n_groups; i++)
		if (is_assert_group(&gpu->groups[i]) && note_unknown_lane(incident, &gpu->groups[i]))
			return;
}

static void join(struct ct_incident *incident)
{
	const struct ct_gpu *gpu = &incident->gpu;
	bool on_gpu = gpu_shows_assert(gpu), in_log = assert_in_log(incident);
	// A stored dump comes without any output.
	if (on_gpu && !in_log && incident->n_command)
		ct_incident_add_note(incident, "No assert line was seen in the output: the driver prints it when the host next synchronises, "
					       "and the process was stopped or ended before that%s.",
				     incident->assertion.present ? "" : "; the assert's expression is not known");
	if (in_log && !on_gpu)
		ct_incident_add_note(incident, "The output holds an assert line, the GPU state shows no assert: the state may be of another fault or process.");
	uint32_t other = other_exception(gpu);
	if (other && (on_gpu || in_log)) {
		const char *text = ct_exception_text(other);
		ct_incident_add_note(incident, "Beside the assert, the GPU shows exception %" PRIu32 " (%s).", other, text ? text : "not known to this version");
	}
	uint64_t n_gpu = on_gpu && in_log ? assert_threads(gpu) : 0;
	if (n_gpu) {
		note_counts(incident, n_gpu);
		note_positions(incident, n_gpu);
	}
}

void ct_diagnose(struct ct_incident *incident)
{
	const struct ct_log_entry *error = first_log(incident, CT_LOG_CUDA_ERROR);
	incident->kind = kind_of(incident);
	if (incident->gpu.present)
		join(incident);
	if (incident->kind == CT_FAULT_UNKNOWN && error)
		ct_incident_add_note(incident, "The kind of fault was not established; the program's first error text: %s", error->text);
	if (!incident->launch_blocking && incident->n_threads && !(incident->launch.present && incident->launch.certainty == CT_CERTAINTY_UNIQUE))
		ct_incident_add_note(incident, "CUDA_LAUNCH_BLOCKING=1 was not in force: host stacks, and the program's own traceback, "
					       "may not be those of the launch.");
	ct_diagnose_checks(incident);
}
