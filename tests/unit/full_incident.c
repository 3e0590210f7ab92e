// An incident with every member set; see full_incident.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "full_incident.h"

static struct ct_dim3_run *runs(struct ct_incident *in, size_t *ret_count)
{
	struct ct_dim3_run *r = ct_arena_grow(&in->arena, NULL, ret_count, sizeof *r);
	r[0] = (struct ct_dim3_run){.first = {0, 0, 0}, .last = {4294967295u, 65534, 65534}, .count = 9223372036854775807u};
	return r;
}

static void fill_kernel(struct ct_kernel *k)
{
	*k = (struct ct_kernel){.name = "void gr\xc3\xbc\xc3\x9f<float>(int*)", .symbol = "_Z4grss", .has_grid_id = true, .grid_id = UINT64_C(1) << 63 | 5,
				.has_dims = true, .grid_dim = {2147483647, 65535, 65535}, .block_dim = {1024, 1, 1}, .has_cluster = true,
				.cluster_dim = {2, 1, 1}, .has_launch_tid = true, .launch_tid = 41234, .has_params_offset = true, .params_offset = 528};
}

static void add_group(struct ct_incident *in, enum ct_group_reason reason)
{
	struct ct_gpu *gpu = &in->gpu;
	gpu->groups = ct_arena_grow(&in->arena, gpu->groups, &gpu->n_groups, sizeof *gpu->groups);
	struct ct_group *g = &gpu->groups[gpu->n_groups - 1];
	*g = (struct ct_group){.reason = reason, .has_exception = true, .exception = 12, .pc = UINT64_MAX, .has_error_pc = true, .error_pc = 0,
			       .n_threads = 64, .n_warps = 2, .n_blocks = 1, .n_flagged = 3, .whole_warps = true, .block_runs_cut = true,
			       .thread_runs_cut = true, .access = "store", .access_bytes = 16};
	g->block_runs = runs(in, &g->n_block_runs);
	g->thread_runs = runs(in, &g->n_thread_runs);
	for (uint32_t i = 0; i < CT_MAX_LANES; i++) {
		g->lanes = ct_arena_grow(&in->arena, g->lanes, &g->n_lanes, sizeof *g->lanes);
		g->lanes[i] = (struct ct_lane){.at = {{1, 2, 3}, {i, 5, 6}}, .hw = {0, 131, 63, i % 32}, .pc = 0x7f20ff7a0380 + i, .has_exception = i % 2,
					       .exception = i % 2 ? i : 0, .has_address = true, .address = UINT64_MAX - i};
	}
	g->frames = ct_arena_grow(&in->arena, NULL, &g->n_frames, sizeof *g->frames);
	g->frames[0] = (struct ct_device_frame){.pc = 16, .function = "f", .file = "/a/b.cu", .line = 7, .has_offset = true, .offset = 0, .inlined = true};
	g->other_exceptions = ct_arena_grow(&in->arena, NULL, &g->n_other_exceptions, sizeof *g->other_exceptions);
	g->other_exceptions[0] = (struct ct_exception_count){.exception = 4000000000u, .n_warps = 1};
}

static void add_arguments(struct ct_incident *in)
{
	struct ct_gpu *gpu = &in->gpu;
	for (int kind = CT_ARGUMENT_BYTES; kind <= CT_ARGUMENT_STRUCT; kind++) {
		gpu->arguments = ct_arena_grow(&in->arena, gpu->arguments, &gpu->n_arguments, sizeof *gpu->arguments);
		gpu->arguments[gpu->n_arguments - 1] = (struct ct_argument){.index = (uint32_t)kind, .offset = 8, .size_bytes = 8, .type = "long const*",
			.name = "target", .kind = (enum ct_argument_kind)kind, .value = "0x7f2134000000", .bytes = "00ff", .bytes_cut = true, .tensor = "y",
			.has_tensor_offset = true, .tensor_offset = 0};
	}
	gpu->memory = ct_arena_grow(&in->arena, NULL, &gpu->n_memory, sizeof *gpu->memory);
	gpu->tensors = ct_arena_grow(&in->arena, NULL, &gpu->n_tensors, sizeof *gpu->tensors);
	gpu->tensors[0] = (struct ct_tensor_memory){.name = "p", .address = 0x7f2134100000, .type = "float32", .n_elements = 8, .whole = true, .in_order = true,
						    .min = "0.5", .max = "1.5", .min_index = 1, .max_index = 2, .failed = "not all of it"};
	gpu->tensors[0].special = ct_arena_grow(&in->arena, NULL, &gpu->tensors[0].n_special, sizeof(struct ct_special));
	gpu->tensors[0].special[0] = (struct ct_special){.what = "above 1", .bound = 1, .n_found = 1, .index = 2, .value = "1.5"};
	struct ct_device_memory *m = &gpu->memory[0];
	*m = (struct ct_device_memory){.argument = 1, .address = 0x7f2134000000, .type = "int64", .n_elements = 32, .whole = true, .min = "0", .max = "3", .max_index = 2,
				.min_index = 1, .rule = "V01", .failed = "nothing"};
	m->outside = ct_arena_grow(&in->arena, NULL, &m->n_outside, sizeof *m->outside);
	m->outside[0] = (struct ct_outside){.argument = 8, .n_outside = 1, .index = 2, .value = "3"};
	m->elements = ct_arena_grow(&in->arena, NULL, &m->n_elements_of_threads, sizeof *m->elements);
	m->elements[0] = (struct ct_element){.index = 2, .value = "3", .has_at = true, .at = {{0, 0, 0}, {2, 0, 0}}};
}

static void add_values(struct ct_incident *in)
{
	static const char *checks[] = {"label range", "head size"};
	ct_incident_add_value(in, "t", "3", "target[2], read from device memory")->candidate = true;
	ct_incident_add_value(in, "n", NULL, NULL)->why_not = "not in this dump";
	in->fault_address = (struct ct_fault_address){.present = true, .address = UINT64_MAX, .at = {{1, 2, 3}, {4, 5, 6}}, .access = "load", .access_bytes = 8,
		.n_threads = 64, .n_outside = 3, .where = "beyond", .tensor = "y", .has_argument = true, .argument = 0, .bytes = 16, .text = "16 bytes beyond"};
	in->causes = ct_arena_grow(&in->arena, NULL, &in->n_causes, sizeof *in->causes);
	in->causes[0] = (struct ct_cause){.id = "label-range", .text = "label 3", .evidence = "it was read", .checks = checks, .n_checks = CT_COUNT(checks)};
	in->meaning = (struct ct_meaning){.present = true, .text = "a label is outside", .checks = checks, .n_checks = CT_COUNT(checks), .row = "A008"};
}

static void fill_gpu(struct ct_incident *in)
{
	struct ct_gpu *gpu = &in->gpu;
	gpu->present = true;
	gpu->source = "core dump";
	gpu->device = (struct ct_device){.has_index = true, .index = 0, .name = "NVIDIA H200", .sm_type = "sm_90", .has_n_sms = true, .n_sms = 132,
					 .pci = "0000:65:00.0"};
	gpu->has_kernel = true;
	fill_kernel(&gpu->kernel);
	gpu->other_kernels = ct_arena_grow(&in->arena, NULL, &gpu->n_other_kernels, sizeof *gpu->other_kernels);
	fill_kernel(&gpu->other_kernels[0]);
	for (int reason = CT_GROUP_EXCEPTION; reason <= CT_GROUP_RUNNING; reason++)
		add_group(in, (enum ct_group_reason)reason);
	gpu->sm_exceptions = ct_arena_grow(&in->arena, NULL, &gpu->n_sm_exceptions, sizeof *gpu->sm_exceptions);
	gpu->sm_exceptions[0] = (struct ct_exception_count){.exception = 14, .n_warps = 3};
	add_arguments(in);
}

static void fill_assert(struct ct_incident *in)
{
	struct ct_assert *a = &in->assertion;
	*a = (struct ct_assert){.present = true, .source = "log", .file = "/pytorch/Loss.cu", .line = 245, .function = "nll", .expression = "", .n_lines = 9,
				.block_runs_cut = true, .thread_runs_cut = true, .has_first = true, .first = {{0, 0, 0}, {2, 0, 0}}};
	a->block_runs = runs(in, &a->n_block_runs);
	a->thread_runs = runs(in, &a->n_thread_runs);
}

static void fill_host(struct ct_incident *in)
{
	static const char *excerpt[] = {"def f():", "", "    x = [1, 2,  3]"};
	static const char *const argv[] = {"python", "", "--x=\"\\[1, 2]\""};
	in->process = (struct ct_process){.pid = 7, .executable = "/usr/bin/python3", .argv = argv, .n_argv = CT_COUNT(argv), .cwd = "/home", .python = "3.12.3",
					  .is_descendant = true};
	struct ct_host_thread *t = ct_incident_add_thread(in, 8, "python");
	t->launching = t->merged = true;
	t->why_launching = "only thread in libcuda";
	t->merge_note = "none";
	for (size_t i = 0; i < 2; i++) {
		t->frames = ct_arena_grow(&in->arena, t->frames, &t->n_frames, sizeof *t->frames);
		t->frames[i] = (struct ct_host_frame){.kind = (enum ct_frame_kind)i, .function = "main", .file = "a.py", .line = 3, .module = "/lib/x.so",
						      .has_pc = true, .pc = 0, .has_offset = true, .offset = 4096, .source = "x = [1, 2,  3]",
						      .excerpt = excerpt, .n_excerpt = CT_COUNT(excerpt), .excerpt_line = 2};
	}
	t->python = ct_arena_grow(&in->arena, NULL, &t->n_python, sizeof *t->python);
	t->python[0] = (struct ct_host_frame){.kind = CT_FRAME_PYTHON, .function = "g", .file = "<stdin>"};
	for (int kind = CT_LOG_ASSERT; kind <= CT_LOG_OTHER; kind++) {
		in->log = ct_arena_grow(&in->arena, in->log, &in->n_log, sizeof *in->log);
		in->log[in->n_log - 1] = (struct ct_log_entry){.kind = (enum ct_log_kind)kind, .text = "t", .prefix = "[rank0]:", .count = 100};
	}
}

static struct ct_launch full_launch(struct ct_incident *in, enum ct_launch_origin origin)
{
	struct ct_launch l = {.name = "k<float>(int*)", .symbol = "_Z1kIfEvPi", .graph = true, .has_dims = true, .grid_dim = {4, 1, 1}, .block_dim = {256, 1, 1},
			      .has_cluster = true, .cluster_dim = {2, 1, 1}, .shared_bytes = 49152, .stream = UINT64_MAX, .stream_of_thread = true, .tid = 8,
			      .has_seconds_before = true, .seconds_before = 0.25, .count = 40, .pending = true, .arguments_equal = true, .backward = true,
			      .origin = origin};
	const struct ct_host_frame python = {.kind = CT_FRAME_PYTHON, .function = "step", .file = "train.py", .line = 7, .source = "loss = f(x)"};
	l.python = ct_arena_grow(&in->arena, NULL, &l.n_python, sizeof *l.python);
	l.python[0] = python;
	l.native = ct_arena_grow(&in->arena, NULL, &l.n_native, sizeof *l.native);
	l.native[0] = (struct ct_host_frame){.kind = CT_FRAME_NATIVE, .module = "/lib/x.so", .has_pc = true, .pc = 0x1234};
	l.origin_python = ct_arena_grow(&in->arena, NULL, &l.n_origin_python, sizeof *l.origin_python);
	l.origin_python[0] = python;
	return l;
}

static void fill_launch(struct ct_incident *in)
{
	struct ct_launched *l = &in->launch;
	*l = (struct ct_launched){.present = true, .certainty = CT_CERTAINTY_SEVERAL, .why = "by its arguments", .candidates_cut = true, .n_recorded = 65536};
	for (int origin = CT_LAUNCH_ORIGIN_NONE; origin <= CT_LAUNCH_ORIGIN_CAPTURE; origin++) {
		l->candidates = ct_arena_grow(&in->arena, l->candidates, &l->n_candidates, sizeof *l->candidates);
		l->candidates[l->n_candidates - 1] = full_launch(in, (enum ct_launch_origin)origin);
	}
	l->history = ct_arena_grow(&in->arena, NULL, &l->n_history, sizeof *l->history);
	l->history[0] = full_launch(in, CT_LAUNCH_ORIGIN_NONE);
	l->failed_call = (struct ct_failed_call){.present = true, .call = "cuLaunchKernel", .error = 1, .error_name = "CUDA_ERROR_INVALID_VALUE",
						 .why = "a block of 2048 threads", .n_later = 2, .sticky = true, .went_on = true, .ignored = true, .is_launch = true,
						 .at = full_launch(in, CT_LAUNCH_ORIGIN_FORWARD)};
	l->failed_call.limits = ct_arena_grow(&in->arena, NULL, &l->failed_call.n_limits, sizeof *l->failed_call.limits);
	l->failed_call.limits[0] = (struct ct_limit){.what = "threads of a block", .asked = 2048, .limit = 1024, .exceeded = true};
}

static void fill_tensors(struct ct_incident *in)
{
	static int64_t shape[CT_MAX_RANK] = {INT64_MAX, 4, 1}, stride[] = {-1, 0};
	static const char *names[] = {"logits", "batch['\\'y']"};
	for (int role = CT_TENSOR_LOCAL; role <= CT_TENSOR_BUFFER; role++) {
		in->tensors = ct_arena_grow(&in->arena, in->tensors, &in->n_tensors, sizeof *in->tensors);
		in->tensors[in->n_tensors - 1] = (struct ct_tensor){
			.name = "y", .library = "torch", .kind = "meta", .role = (enum ct_tensor_role)role, .tid = 8, .has_depth = true, .function = "f",
			.file = "a.py", .line = 3, .has_shape = true, .shape = shape, .n_shape = role == CT_TENSOR_ITEM ? 0 : CT_MAX_RANK, .has_stride = true,
			.stride = stride, .n_stride = 2, .dtype = "int64", .device = "cuda:0", .has_data_ptr = true, .data_ptr = UINT64_MAX,
			.has_storage_ptr = true, .has_storage_bytes = true, .storage_bytes = 512, .requires_grad = true};
	}
	for (int role = CT_TENSOR_LOCAL; role <= CT_TENSOR_ARGUMENT; role++) {
		in->python_locals = ct_arena_grow(&in->arena, in->python_locals, &in->n_python_locals, sizeof *in->python_locals);
		in->python_locals[in->n_python_locals - 1] = (struct ct_python_local){
			.name = "step", .value = "40", .role = (enum ct_tensor_role)role, .tid = 8, .has_depth = true, .function = "f", .file = "a.py", .line = 3};
	}
	for (int i = 0; i <= CT_CHECK_DEVICE; i++) {
		in->checks = ct_arena_grow(&in->arena, in->checks, &in->n_checks, sizeof *in->checks);
		in->checks[in->n_checks - 1] = (struct ct_check){.kind = (enum ct_check_kind)i, .status = (enum ct_check_status)(i % 3), .id = "labels-are-integers",
								 .call = "cross_entropy", .tensors = names, .n_tensors = 2, .seen = "[4, 3] and [5]"};
	}
}

struct ct_incident *ct_full_incident(enum ct_fault_kind kind, enum ct_ending_kind ending)
{
	static const char *const command[] = {"python", "train.py"};
	struct ct_incident *in = ct_incident_new();
	in->id = "20261201-120000-assert";
	in->tool_version = "cudatrap 0.1.0";
	in->time_us = INT64_C(1796126400123456);
	in->monotonic_us = 86400000001;
	in->boot_id = "4d2f0c1e-0000-4000-8000-000000000001";
	in->host = "node7";
	in->rank = (struct ct_rank){.has_rank = true, .rank = 0, .has_local_rank = true, .local_rank = 0, .has_world_size = true, .world_size = 4294967295u,
				    .job = "4711", .launcher = "slurm"};
	in->kind = kind;
	in->command = command;
	in->n_command = CT_COUNT(command);
	in->cwd = "/home/user";
	in->engine = "wait";
	in->engine_why = "ptrace is allowed";
	in->launch_blocking = true;
	in->seconds_to_report = 1.1;
	in->has_seconds_to_report = true;
	fill_gpu(in);
	fill_launch(in);
	fill_assert(in);
	add_values(in);
	fill_host(in);
	fill_tensors(in);
	ct_incident_add_environment(in, "RANK", "0");
	ct_incident_add_progress(in, "step", "7");
	for (int status = CT_COLLECTOR_OK; status <= CT_COLLECTOR_SKIPPED; status++)
		ct_incident_add_collector(in, "gpu", (enum ct_collector_status)status, 0.1, "d");
	ct_incident_add_consequence(in, 9, -0.25, "NCCL error");
	in->ending = (struct ct_ending){.kind = ending, .status = -9, .detail = "by us"};
	ct_incident_add_note(in, "%d values were not read", 2);
	return in;
}

char *ct_incident_text(const struct ct_incident *incident, struct ct_error *err)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	bool ok = out && ct_incident_write_json(incident, out, err);
	if (out)
		fclose(out);
	if (ok)
		return text;
	free(text);
	return NULL;
}
