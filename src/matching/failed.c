// The call of the driver that failed, and who made it; see matching.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "matching/matching_priv.h"

// CUresult, cuda.h 13.0.
#define ERRORS(X) \
	X(1, INVALID_VALUE) X(2, OUT_OF_MEMORY) X(3, NOT_INITIALIZED) X(4, DEINITIALIZED) X(5, PROFILER_DISABLED) X(6, PROFILER_NOT_INITIALIZED) \
	X(7, PROFILER_ALREADY_STARTED) X(8, PROFILER_ALREADY_STOPPED) X(34, STUB_LIBRARY) X(36, CALL_REQUIRES_NEWER_DRIVER) \
	X(46, DEVICE_UNAVAILABLE) X(100, NO_DEVICE) X(101, INVALID_DEVICE) X(102, DEVICE_NOT_LICENSED) X(200, INVALID_IMAGE) \
	X(201, INVALID_CONTEXT) X(202, CONTEXT_ALREADY_CURRENT) X(205, MAP_FAILED) X(206, UNMAP_FAILED) X(207, ARRAY_IS_MAPPED) \
	X(208, ALREADY_MAPPED) X(209, NO_BINARY_FOR_GPU) X(210, ALREADY_ACQUIRED) X(211, NOT_MAPPED) X(212, NOT_MAPPED_AS_ARRAY) \
	X(213, NOT_MAPPED_AS_POINTER) X(214, ECC_UNCORRECTABLE) X(215, UNSUPPORTED_LIMIT) X(216, CONTEXT_ALREADY_IN_USE) \
	X(217, PEER_ACCESS_UNSUPPORTED) X(218, INVALID_PTX) X(219, INVALID_GRAPHICS_CONTEXT) X(220, NVLINK_UNCORRECTABLE) \
	X(221, JIT_COMPILER_NOT_FOUND) X(222, UNSUPPORTED_PTX_VERSION) X(223, JIT_COMPILATION_DISABLED) X(224, UNSUPPORTED_EXEC_AFFINITY) \
	X(225, UNSUPPORTED_DEVSIDE_SYNC) X(226, CONTAINED) X(300, INVALID_SOURCE) X(301, FILE_NOT_FOUND) X(302, SHARED_OBJECT_SYMBOL_NOT_FOUND) \
	X(303, SHARED_OBJECT_INIT_FAILED) X(304, OPERATING_SYSTEM) X(400, INVALID_HANDLE) X(401, ILLEGAL_STATE) X(402, LOSSY_QUERY) \
	X(500, NOT_FOUND) X(600, NOT_READY) X(700, ILLEGAL_ADDRESS) X(701, LAUNCH_OUT_OF_RESOURCES) X(702, LAUNCH_TIMEOUT) \
	X(703, LAUNCH_INCOMPATIBLE_TEXTURING) X(704, PEER_ACCESS_ALREADY_ENABLED) X(705, PEER_ACCESS_NOT_ENABLED) X(708, PRIMARY_CONTEXT_ACTIVE) \
	X(709, CONTEXT_IS_DESTROYED) X(710, ASSERT) X(711, TOO_MANY_PEERS) X(712, HOST_MEMORY_ALREADY_REGISTERED) \
	X(713, HOST_MEMORY_NOT_REGISTERED) X(714, HARDWARE_STACK_ERROR) X(715, ILLEGAL_INSTRUCTION) X(716, MISALIGNED_ADDRESS) \
	X(717, INVALID_ADDRESS_SPACE) X(718, INVALID_PC) X(719, LAUNCH_FAILED) X(720, COOPERATIVE_LAUNCH_TOO_LARGE) X(721, TENSOR_MEMORY_LEAK) \
	X(800, NOT_PERMITTED) X(801, NOT_SUPPORTED) X(802, SYSTEM_NOT_READY) X(803, SYSTEM_DRIVER_MISMATCH) X(804, COMPAT_NOT_SUPPORTED_ON_DEVICE) \
	X(805, MPS_CONNECTION_FAILED) X(806, MPS_RPC_FAILURE) X(807, MPS_SERVER_NOT_READY) X(808, MPS_MAX_CLIENTS_REACHED) \
	X(809, MPS_MAX_CONNECTIONS_REACHED) X(810, MPS_CLIENT_TERMINATED) X(811, CDP_NOT_SUPPORTED) X(812, CDP_VERSION_MISMATCH) \
	X(900, STREAM_CAPTURE_UNSUPPORTED) X(901, STREAM_CAPTURE_INVALIDATED) X(902, STREAM_CAPTURE_MERGE) X(903, STREAM_CAPTURE_UNMATCHED) \
	X(904, STREAM_CAPTURE_UNJOINED) X(905, STREAM_CAPTURE_ISOLATION) X(906, STREAM_CAPTURE_IMPLICIT) X(907, CAPTURED_EVENT) \
	X(908, STREAM_CAPTURE_WRONG_THREAD) X(909, TIMEOUT) X(910, GRAPH_EXEC_UPDATE_FAILURE) X(911, EXTERNAL_DEVICE) X(912, INVALID_CLUSTER_SIZE) \
	X(913, FUNCTION_NOT_LOADED) X(914, INVALID_RESOURCE_TYPE) X(915, INVALID_RESOURCE_CONFIGURATION) X(916, KEY_ROTATION) X(999, UNKNOWN)

const char *ct_matching_error_name(int32_t error)
{
	switch (error) {
#define X(number, name)  \
	case number: \
		return "CUDA_ERROR_" #name;
		ERRORS(X)
#undef X
	}
	return NULL;
}

static bool is_launch(const struct ct_record_failure *f)
{
	return (ct_starts_with(f->call, "cuLaunch") && !ct_starts_with(f->call, "cuLaunchHostFunc")) || ct_starts_with(f->call, "cuGraphLaunch");
}

static const struct ct_record_failure *refused_launch(const struct ct_launches *record)
{
	size_t n = 0;
	const struct ct_record_failure *const *all = ct_launches_failures(record, &n);
	for (size_t i = 0; i < n; i++)
		if (is_launch(all[i]) && !ct_record_loses_context(all[i]->result))
			return all[i];
	return NULL;
}

// Something was launched afterwards, and well.
static bool went_on(const struct ct_launches *record, const struct ct_record_failure *f)
{
	size_t n = 0;
	const struct ct_launches_row *rows = ct_launches_rows(record, &n);
	for (size_t i = 0; i < n && rows[i].launch->time_ns > f->time_ns; i++)
		if (rows[i].has_result && rows[i].result == 0)
			return true;
	return false;
}

static const struct ct_record_failure *choose(const struct ct_launches *record, bool process_failed)
{
	struct ct_launches_about about;
	size_t n = 0;
	const struct ct_record_failure *const *all = ct_launches_failures(record, &n);
	ct_launches_about(record, &about);
	const struct ct_record_failure *launch = refused_launch(record);
	if (launch)
		return launch;
	if (about.sticky_failure)
		return about.sticky_failure;
	// A process that launches kernels afterwards has got over it, and failed of something else.
	return process_failed && n && !went_on(record, all[n - 1]) ? all[n - 1] : NULL;
}

bool ct_matching_has_failed_call(const struct ct_launches *record, bool process_failed, int64_t *ret_when_ns)
{
	const struct ct_record_failure *f = choose(record, process_failed);
	if (f)
		*ret_when_ns = f->time_ns;
	return f != NULL;
}

static uint64_t failed_later(const struct ct_launches *record, const struct ct_record_failure *f)
{
	struct ct_launches_about about;
	size_t n = 0;
	uint64_t later = 0;
	const struct ct_record_failure *const *all = ct_launches_failures(record, &n);
	ct_launches_about(record, &about);
	for (size_t i = 0; i < n; i++)
		later += all[i]->number > f->number;
	return later + about.n_failures_lost;
}

static struct ct_launch who_called(const struct ct_launches *record, const struct ct_record_failure *f, struct ct_incident *incident)
{
	const struct ct_launches_row *row = ct_launches_of_failure(record, f);
	if (is_launch(f) && row)
		return ct_place_of(record, row, ct_launches_forward_of(record, row), 0, incident);
	struct ct_launch l = {.tid = f->tid, .count = 1, .has_dims = is_launch(f) && f->block[0], .shared_bytes = f->shared_bytes,
			      .grid_dim = {f->grid[0], f->grid[1], f->grid[2]}, .block_dim = {f->block[0], f->block[1], f->block[2]}};
	ct_place_name(record, f->function, incident, &l.symbol, &l.name);
	l.python = ct_place_python(record, f->frames, f->n_frames, incident, &l.n_python);
	return l;
}

static void fill_call(const struct ct_launches *record, const struct ct_record_failure *f, bool process_failed, struct ct_incident *incident)
{
	struct ct_failed_call *call = &incident->launch.failed_call;
	*call = (struct ct_failed_call){
		.present = true,
		.call = ct_arena_clean(&incident->arena, f->call, strlen(f->call)),
		.error = (uint32_t)f->result,
		.error_name = ct_matching_error_name(f->result),
		.n_later = failed_later(record, f),
		.sticky = f->is_sticky != 0,
		.went_on = went_on(record, f),
		.ignored = !process_failed,
		.is_launch = is_launch(f),
		.at = who_called(record, f, incident),
	};
	ct_limits_of(f, &incident->arena, call);
}

void ct_matching_refused_launch(const struct ct_launches *record, struct ct_incident *incident)
{
	const struct ct_record_failure *f = refused_launch(record);
	if (f)
		fill_call(record, f, true, incident);
}

bool ct_matching_failed_call(const struct ct_launches *record, bool process_failed, unsigned history, struct ct_incident *incident)
{
	const struct ct_record_failure *f = choose(record, process_failed);
	struct ct_launches_about about;
	struct ct_launched *out = &incident->launch;
	if (!f)
		return false;
	ct_launches_about(record, &about);
	fill_call(record, f, process_failed, incident);
	if (!out->present) {
		*out = (struct ct_launched){.present = true, .certainty = CT_CERTAINTY_NONE, .why = "a call failed, not a kernel", .n_recorded = about.n_kept,
					    .failed_call = out->failed_call};
		ct_place_history(record, NULL, f->time_ns, history, incident);
	}
	return true;
}
