// The JSON form of the incident: which key holds which member. doc/incident.schema.json says the same with meanings and units;
// a test holds the two together.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "incident/incident_priv.h"

#define AT(member) .offset = offsetof(S, member)
#define HAS(member) .has = offsetof(S, member) + 1
#define ROWS(member, rows) CT_FIELD_ROWS, .offset = offsetof(S, member), .count = offsetof(S, n_##member), .table = &(rows)
#define TEXTS(member) CT_FIELD_TEXTS, .offset = offsetof(S, member), .count = offsetof(S, n_##member)
#define NUMBERS(member) CT_FIELD_I64S, .offset = offsetof(S, member), .count = offsetof(S, n_##member), .limit = CT_MAX_RANK
#define RUNS(member) ROWS(member, run_table), .flags = CT_FIELD_REPLACE, .has = offsetof(S, member##_cut) + 1, .limit = CT_MAX_RUNS
#define OBJECT(rows) CT_FIELD_OBJECT, .table = &(rows)
#define WORD(set) CT_FIELD_WORD, .words = &(set)
#define REQUIRED .flags = CT_FIELD_REQUIRED
#define OMIT_ZERO .flags = CT_FIELD_OMIT_ZERO
#define TABLE(name, fields_) static const struct ct_table name = {.fields = fields_, .n_fields = CT_COUNT(fields_), .row_bytes = sizeof(S)}

#define S struct ct_dim3_run
static const struct ct_field run_fields[] = {
	{"first", CT_FIELD_DIM3, AT(first), REQUIRED},
	{"last", CT_FIELD_DIM3, AT(last), REQUIRED},
	{"count", CT_FIELD_COUNT, AT(count), REQUIRED},
};
TABLE(run_table, run_fields);
#undef S

#define S uint32_t
static const struct ct_field exception_fields[] = {
	{"code", CT_FIELD_CODE, .offset = 0, REQUIRED},
};
TABLE(exception_table, exception_fields);
#undef S

#define S struct ct_exception_count
static const struct ct_field exception_count_fields[] = {
	{"code", CT_FIELD_CODE, AT(exception), REQUIRED},
	{"warps", CT_FIELD_COUNT, AT(n_warps), REQUIRED},
};
TABLE(exception_count_table, exception_count_fields);
#undef S

#define S struct ct_hwpos
static const struct ct_field hw_fields[] = {
	{"device", CT_FIELD_U32, AT(device), REQUIRED},
	{"sm", CT_FIELD_U32, AT(sm), REQUIRED},
	{"warp", CT_FIELD_U32, AT(warp), REQUIRED},
	{"lane", CT_FIELD_U32, AT(lane), REQUIRED},
};
TABLE(hw_table, hw_fields);
#undef S

#define S struct ct_lane
static const struct ct_field lane_fields[] = {
	{"block", CT_FIELD_DIM3, AT(at.block), REQUIRED},
	{"thread", CT_FIELD_DIM3, AT(at.thread), REQUIRED},
	{"hw", OBJECT(hw_table), AT(hw)},
	{"pc", CT_FIELD_HEX, AT(pc), REQUIRED},
	{"exception", OBJECT(exception_table), AT(exception), HAS(has_exception)},
	{"address", CT_FIELD_HEX, AT(address), HAS(has_address)},
};
TABLE(lane_table, lane_fields);
#undef S

#define S struct ct_device_frame
static const struct ct_field device_frame_fields[] = {
	{"pc", CT_FIELD_HEX, AT(pc), REQUIRED},
	{"function", CT_FIELD_TEXT, AT(function)},
	{"file", CT_FIELD_TEXT, AT(file)},
	{"line", CT_FIELD_U32, AT(line), OMIT_ZERO},
	{"offset", CT_FIELD_HEX, AT(offset), HAS(has_offset)},
	{"inlined", CT_FIELD_BOOL, AT(inlined)},
};
TABLE(device_frame_table, device_frame_fields);
#undef S

#define S struct ct_group
static const struct ct_field group_fields[] = {
	{"reason", WORD(ct_group_reason_words), AT(reason), REQUIRED},
	{"exception", OBJECT(exception_table), AT(exception), HAS(has_exception)},
	{"pc", CT_FIELD_HEX, AT(pc), REQUIRED},
	{"error_pc", CT_FIELD_HEX, AT(error_pc), HAS(has_error_pc)},
	{"threads", CT_FIELD_COUNT, AT(n_threads), REQUIRED},
	{"warps", CT_FIELD_COUNT, AT(n_warps), REQUIRED},
	{"blocks", CT_FIELD_COUNT, AT(n_blocks), REQUIRED},
	{"flagged_threads", CT_FIELD_COUNT, AT(n_flagged), OMIT_ZERO},
	{"whole_warps", CT_FIELD_BOOL, AT(whole_warps)},
	{"block_runs", RUNS(block_runs)},
	{"block_runs_cut", CT_FIELD_BOOL, AT(block_runs_cut)},
	{"thread_runs", RUNS(thread_runs)},
	{"thread_runs_cut", CT_FIELD_BOOL, AT(thread_runs_cut)},
	{"lanes", ROWS(lanes, lane_table), .limit = CT_MAX_LANES},
	{"frames", ROWS(frames, device_frame_table)},
	{"other_exceptions", ROWS(other_exceptions, exception_count_table)},
	{"access", CT_FIELD_TEXT, AT(access)},
	{"access_bytes", CT_FIELD_U32, AT(access_bytes), OMIT_ZERO},
};
TABLE(group_table, group_fields);
#undef S

#define S struct ct_kernel
static const struct ct_field kernel_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name)},
	{"symbol", CT_FIELD_TEXT, AT(symbol)},
	{"grid_id", CT_FIELD_I64, AT(grid_id), HAS(has_grid_id)},
	{"grid_dim", CT_FIELD_DIM3, AT(grid_dim), HAS(has_dims)},
	{"block_dim", CT_FIELD_DIM3, AT(block_dim), HAS(has_dims)},
	{"cluster_dim", CT_FIELD_DIM3, AT(cluster_dim), HAS(has_cluster)},
	{"launch_tid", CT_FIELD_I64, AT(launch_tid), HAS(has_launch_tid)},
	{"params_offset", CT_FIELD_U32, AT(params_offset), HAS(has_params_offset)},
};
TABLE(kernel_table, kernel_fields);
#undef S

#define S struct ct_device
static const struct ct_field device_fields[] = {
	{"index", CT_FIELD_U32, AT(index), HAS(has_index)},
	{"name", CT_FIELD_TEXT, AT(name)},
	{"sm_type", CT_FIELD_TEXT, AT(sm_type)},
	{"sms", CT_FIELD_U32, AT(n_sms), HAS(has_n_sms)},
	{"pci", CT_FIELD_TEXT, AT(pci)},
};
TABLE(device_table, device_fields);
#undef S

#define S struct ct_gridpos
static const struct ct_field gridpos_fields[] = {
	{"block", CT_FIELD_DIM3, AT(block), REQUIRED},
	{"thread", CT_FIELD_DIM3, AT(thread), REQUIRED},
};
TABLE(gridpos_table, gridpos_fields);
#undef S

#define S struct ct_argument
static const struct ct_field argument_fields[] = {
	{"index", CT_FIELD_U32, AT(index), REQUIRED},
	{"offset", CT_FIELD_U32, AT(offset), REQUIRED},
	{"size", CT_FIELD_U32, AT(size_bytes), REQUIRED},
	{"type", CT_FIELD_TEXT, AT(type)},
	{"name", CT_FIELD_TEXT, AT(name)},
	{"kind", WORD(ct_argument_kind_words), AT(kind), REQUIRED},
	{"value", CT_FIELD_TEXT, AT(value)},
	{"bytes", CT_FIELD_TEXT, AT(bytes)},
	{"bytes_cut", CT_FIELD_BOOL, AT(bytes_cut)},
	{"tensor", CT_FIELD_TEXT, AT(tensor)},
	{"tensor_offset", CT_FIELD_COUNT, AT(tensor_offset), HAS(has_tensor_offset)},
};
TABLE(argument_table, argument_fields);
#undef S

#define S struct ct_element
static const struct ct_field element_fields[] = {
	{"index", CT_FIELD_COUNT, AT(index), REQUIRED},
	{"value", CT_FIELD_TEXT, AT(value), REQUIRED},
	{"at", OBJECT(gridpos_table), AT(at), HAS(has_at)},
};
TABLE(element_table, element_fields);
#undef S

#define S struct ct_outside
static const struct ct_field outside_fields[] = {
	{"argument", CT_FIELD_U32, AT(argument), REQUIRED},
	{"count", CT_FIELD_COUNT, AT(n_outside), REQUIRED},
	{"index", CT_FIELD_COUNT, AT(index), REQUIRED},
	{"value", CT_FIELD_TEXT, AT(value), REQUIRED},
};
TABLE(outside_table, outside_fields);
#undef S

#define S struct ct_device_memory
static const struct ct_field memory_fields[] = {
	{"argument", CT_FIELD_U32, AT(argument), REQUIRED},
	{"name", CT_FIELD_TEXT, AT(name)},
	{"value_name", CT_FIELD_TEXT, AT(value_name)},
	{"bound_name", CT_FIELD_TEXT, AT(bound_name)},
	{"bound", CT_FIELD_TEXT, AT(bound)},
	{"exempt", CT_FIELD_TEXT, AT(exempt)},
	{"address", CT_FIELD_HEX, AT(address), REQUIRED},
	{"type", CT_FIELD_TEXT, AT(type)},
	{"read", CT_FIELD_COUNT, AT(n_elements), REQUIRED},
	{"whole", CT_FIELD_BOOL, AT(whole)},
	{"min", CT_FIELD_TEXT, AT(min)},
	{"min_index", CT_FIELD_COUNT, AT(min_index), OMIT_ZERO},
	{"max", CT_FIELD_TEXT, AT(max)},
	{"max_index", CT_FIELD_COUNT, AT(max_index), OMIT_ZERO},
	{"outside", ROWS(outside, outside_table)},
	{"rule", CT_FIELD_TEXT, AT(rule)},
	{"elements", CT_FIELD_ROWS, .offset = offsetof(S, elements), .count = offsetof(S, n_elements_of_threads), .table = &element_table,
	 .limit = CT_MAX_LANES},
	{"failed", CT_FIELD_TEXT, AT(failed)},
};
TABLE(memory_table, memory_fields);
#undef S

#define S struct ct_special
static const struct ct_field special_fields[] = {
	{"what", CT_FIELD_TEXT, AT(what), REQUIRED},
	{"bound", CT_FIELD_COUNT, AT(bound), OMIT_ZERO},
	{"count", CT_FIELD_COUNT, AT(n_found), REQUIRED},
	{"index", CT_FIELD_COUNT, AT(index), REQUIRED},
	{"value", CT_FIELD_TEXT, AT(value), REQUIRED},
};
TABLE(special_table, special_fields);
#undef S

#define S struct ct_tensor_memory
static const struct ct_field tensor_memory_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name), REQUIRED},
	{"address", CT_FIELD_HEX, AT(address), REQUIRED},
	{"type", CT_FIELD_TEXT, AT(type)},
	{"read", CT_FIELD_COUNT, AT(n_elements), REQUIRED},
	{"whole", CT_FIELD_BOOL, AT(whole)},
	{"in_order", CT_FIELD_BOOL, AT(in_order)},
	{"min", CT_FIELD_TEXT, AT(min)},
	{"min_index", CT_FIELD_COUNT, AT(min_index), OMIT_ZERO},
	{"max", CT_FIELD_TEXT, AT(max)},
	{"max_index", CT_FIELD_COUNT, AT(max_index), OMIT_ZERO},
	{"special", ROWS(special, special_table)},
	{"failed", CT_FIELD_TEXT, AT(failed)},
};
TABLE(tensor_memory_table, tensor_memory_fields);
#undef S

#define S struct ct_value
static const struct ct_field value_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name), REQUIRED},
	{"text", CT_FIELD_TEXT, AT(text)},
	{"how", CT_FIELD_TEXT, AT(how)},
	{"why_not", CT_FIELD_TEXT, AT(why_not)},
	{"candidate", CT_FIELD_BOOL, AT(candidate)},
};
TABLE(value_table, value_fields);
#undef S

#define S struct ct_fault_address
static const struct ct_field fault_address_fields[] = {
	{"address", CT_FIELD_HEX, AT(address), REQUIRED},
	{"at", OBJECT(gridpos_table), AT(at)},
	{"access", CT_FIELD_TEXT, AT(access)},
	{"access_bytes", CT_FIELD_U32, AT(access_bytes), OMIT_ZERO},
	{"threads", CT_FIELD_COUNT, AT(n_threads), REQUIRED},
	{"outside", CT_FIELD_COUNT, AT(n_outside), OMIT_ZERO},
	{"where", CT_FIELD_TEXT, AT(where)},
	{"tensor", CT_FIELD_TEXT, AT(tensor)},
	{"argument", CT_FIELD_U32, AT(argument), HAS(has_argument)},
	{"bytes", CT_FIELD_COUNT, AT(bytes), OMIT_ZERO},
	{"text", CT_FIELD_TEXT, AT(text)},
};
TABLE(fault_address_table, fault_address_fields);
#undef S

#define S struct ct_cause
static const struct ct_field cause_fields[] = {
	{"id", CT_FIELD_TEXT, AT(id)},
	{"text", CT_FIELD_TEXT, AT(text), REQUIRED},
	{"evidence", CT_FIELD_TEXT, AT(evidence)},
	{"checks", TEXTS(checks), .flags = CT_FIELD_REPLACE},
};
TABLE(cause_table, cause_fields);
#undef S

#define S struct ct_meaning
static const struct ct_field meaning_fields[] = {
	{"text", CT_FIELD_TEXT, AT(text)},
	{"checks", TEXTS(checks), .flags = CT_FIELD_REPLACE},
	{"row", CT_FIELD_TEXT, AT(row)},
};
TABLE(meaning_table, meaning_fields);
#undef S

#define S struct ct_old_cause
static const struct ct_field old_cause_fields[] = {
	{"id", CT_FIELD_TEXT, AT(id)},
	{"text", CT_FIELD_TEXT, AT(text)},
	{"meaning", CT_FIELD_TEXT, AT(meaning)},
	{"checks", TEXTS(checks), .flags = CT_FIELD_REPLACE},
	{"row", CT_FIELD_TEXT, AT(row)},
};
TABLE(old_cause_table, old_cause_fields);
#undef S

#define S struct ct_gpu
static const struct ct_field gpu_fields[] = {
	{"source", CT_FIELD_TEXT, AT(source)},
	{"device", OBJECT(device_table), AT(device)},
	{"kernel", OBJECT(kernel_table), AT(kernel), HAS(has_kernel)},
	{"other_kernels", ROWS(other_kernels, kernel_table)},
	{"groups", ROWS(groups, group_table)},
	{"sm_exceptions", ROWS(sm_exceptions, exception_count_table)},
	{"arguments", ROWS(arguments, argument_table), .limit = CT_MAX_ARGUMENTS},
	{"memory", ROWS(memory, memory_table), .limit = CT_MAX_ARGUMENTS},
	{"tensors", ROWS(tensors, tensor_memory_table), .limit = CT_MAX_TENSORS_READ},
};
TABLE(gpu_table, gpu_fields);
#undef S

#define S struct ct_assert
static const struct ct_field assert_fields[] = {
	{"source", CT_FIELD_TEXT, AT(source)},
	{"file", CT_FIELD_TEXT, AT(file)},
	{"line", CT_FIELD_U32, AT(line), OMIT_ZERO},
	{"function", CT_FIELD_TEXT, AT(function)},
	{"expression", CT_FIELD_TEXT, AT(expression)},
	{"lines", CT_FIELD_COUNT, AT(n_lines), OMIT_ZERO},
	{"block_runs", RUNS(block_runs)},
	{"block_runs_cut", CT_FIELD_BOOL, AT(block_runs_cut)},
	{"thread_runs", RUNS(thread_runs)},
	{"thread_runs_cut", CT_FIELD_BOOL, AT(thread_runs_cut)},
	{"first", OBJECT(gridpos_table), AT(first), HAS(has_first)},
};
TABLE(assert_table, assert_fields);
#undef S

#define S struct ct_process
static const struct ct_field process_fields[] = {
	{"pid", CT_FIELD_I64, AT(pid), OMIT_ZERO},
	{"executable", CT_FIELD_TEXT, AT(executable)},
	{"argv", TEXTS(argv), .flags = CT_FIELD_REPLACE},
	{"cwd", CT_FIELD_TEXT, AT(cwd)},
	{"python", CT_FIELD_TEXT, AT(python)},
	{"descendant", CT_FIELD_BOOL, AT(is_descendant)},
};
TABLE(process_table, process_fields);
#undef S

#define S struct ct_host_frame
static const struct ct_field host_frame_fields[] = {
	{"kind", WORD(ct_frame_kind_words), AT(kind), REQUIRED},
	{"function", CT_FIELD_TEXT, AT(function)},
	{"file", CT_FIELD_TEXT, AT(file)},
	{"line", CT_FIELD_U32, AT(line), OMIT_ZERO},
	{"module", CT_FIELD_TEXT, AT(module)},
	{"pc", CT_FIELD_HEX, AT(pc), HAS(has_pc)},
	{"offset", CT_FIELD_HEX, AT(offset), HAS(has_offset)},
	{"source", CT_FIELD_TEXT, AT(source)},
	{"excerpt_line", CT_FIELD_U32, AT(excerpt_line), OMIT_ZERO},
	{"excerpt", TEXTS(excerpt), .flags = CT_FIELD_REPLACE, .limit = CT_MAX_EXCERPT},
};
TABLE(host_frame_table, host_frame_fields);
#undef S

#define S struct ct_launch
static const struct ct_field launch_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name)},
	{"symbol", CT_FIELD_TEXT, AT(symbol)},
	{"graph", CT_FIELD_BOOL, AT(graph)},
	{"grid_dim", CT_FIELD_DIM3, AT(grid_dim), HAS(has_dims)},
	{"block_dim", CT_FIELD_DIM3, AT(block_dim), HAS(has_dims)},
	{"cluster_dim", CT_FIELD_DIM3, AT(cluster_dim), HAS(has_cluster)},
	{"shared_bytes", CT_FIELD_U32, AT(shared_bytes), OMIT_ZERO},
	{"stream", CT_FIELD_HEX, AT(stream), REQUIRED},
	{"stream_of_thread", CT_FIELD_BOOL, AT(stream_of_thread)},
	{"tid", CT_FIELD_I64, AT(tid), OMIT_ZERO},
	{"seconds_before", CT_FIELD_REAL, AT(seconds_before), HAS(has_seconds_before)},
	{"count", CT_FIELD_COUNT, AT(count), REQUIRED},
	{"pending", CT_FIELD_BOOL, AT(pending)},
	{"arguments_equal", CT_FIELD_BOOL, AT(arguments_equal)},
	{"backward", CT_FIELD_BOOL, AT(backward)},
	{"origin", WORD(ct_launch_origin_words), AT(origin), OMIT_ZERO},
	{"python", ROWS(python, host_frame_table)},
	{"native", ROWS(native, host_frame_table)},
	{"origin_python", ROWS(origin_python, host_frame_table)},
};
TABLE(launch_table, launch_fields);
#undef S

#define S struct ct_limit
static const struct ct_field limit_fields[] = {
	{"what", CT_FIELD_TEXT, AT(what), REQUIRED},
	{"asked", CT_FIELD_I64, AT(asked), REQUIRED},
	{"limit", CT_FIELD_I64, AT(limit), REQUIRED},
	{"exceeded", CT_FIELD_BOOL, AT(exceeded)},
};
TABLE(limit_table, limit_fields);
#undef S

#define S struct ct_failed_call
static const struct ct_field failed_call_fields[] = {
	{"call", CT_FIELD_TEXT, AT(call), REQUIRED},
	{"error", CT_FIELD_U32, AT(error), REQUIRED},
	{"error_name", CT_FIELD_TEXT, AT(error_name)},
	{"why", CT_FIELD_TEXT, AT(why)},
	{"limits", ROWS(limits, limit_table), .limit = CT_MAX_LIMITS},
	{"later", CT_FIELD_COUNT, AT(n_later), OMIT_ZERO},
	{"sticky", CT_FIELD_BOOL, AT(sticky)},
	{"went_on", CT_FIELD_BOOL, AT(went_on)},
	{"ignored", CT_FIELD_BOOL, AT(ignored)},
	{"is_launch", CT_FIELD_BOOL, AT(is_launch)},
	{"at", OBJECT(launch_table), AT(at)},
};
TABLE(failed_call_table, failed_call_fields);
#undef S

#define S struct ct_launched
static const struct ct_field launched_fields[] = {
	{"certainty", WORD(ct_certainty_words), AT(certainty), REQUIRED},
	{"why", CT_FIELD_TEXT, AT(why)},
	{"candidates", ROWS(candidates, launch_table), .limit = CT_MAX_CANDIDATES},
	{"candidates_cut", CT_FIELD_BOOL, AT(candidates_cut)},
	{"history", ROWS(history, launch_table), .limit = CT_MAX_LAUNCH_HISTORY},
	{"recorded", CT_FIELD_COUNT, AT(n_recorded), OMIT_ZERO},
	{"failed_call", OBJECT(failed_call_table), AT(failed_call), HAS(failed_call.present)},
};
TABLE(launched_table, launched_fields);
#undef S

#define S struct ct_host_thread
static const struct ct_field host_thread_fields[] = {
	{"tid", CT_FIELD_I64, AT(tid), REQUIRED},
	{"name", CT_FIELD_TEXT, AT(name)},
	{"launching", CT_FIELD_BOOL, AT(launching)},
	{"why_launching", CT_FIELD_TEXT, AT(why_launching)},
	{"merged", CT_FIELD_BOOL, AT(merged)},
	{"merge_note", CT_FIELD_TEXT, AT(merge_note)},
	{"frames", ROWS(frames, host_frame_table)},
	{"python", ROWS(python, host_frame_table)},
};
TABLE(host_thread_table, host_thread_fields);
#undef S

#define S struct ct_log_entry
static const struct ct_field log_entry_fields[] = {
	{"kind", WORD(ct_log_kind_words), AT(kind), REQUIRED},
	{"text", CT_FIELD_TEXT, AT(text), REQUIRED},
	{"prefix", CT_FIELD_TEXT, AT(prefix)},
	{"count", CT_FIELD_COUNT, AT(count), REQUIRED},
};
TABLE(log_entry_table, log_entry_fields);
#undef S

#define S struct ct_pair
static const struct ct_field pair_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name), REQUIRED},
	{"value", CT_FIELD_TEXT, AT(value), REQUIRED},
};
TABLE(pair_table, pair_fields);
#undef S

#define S struct ct_collector
static const struct ct_field collector_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name), REQUIRED},
	{"status", WORD(ct_collector_status_words), AT(status), REQUIRED},
	{"milliseconds", CT_FIELD_REAL, AT(milliseconds)},
	{"detail", CT_FIELD_TEXT, AT(detail)},
};
TABLE(collector_table, collector_fields);
#undef S

#define S struct ct_consequence
static const struct ct_field consequence_fields[] = {
	{"pid", CT_FIELD_I64, AT(pid), OMIT_ZERO},
	{"seconds_after", CT_FIELD_REAL, AT(seconds_after)},
	{"text", CT_FIELD_TEXT, AT(text), REQUIRED},
};
TABLE(consequence_table, consequence_fields);
#undef S

#define S struct ct_ending
static const struct ct_field ending_fields[] = {
	{"kind", WORD(ct_ending_words), AT(kind), OMIT_ZERO},
	{"status", CT_FIELD_INT, AT(status), OMIT_ZERO},
	{"detail", CT_FIELD_TEXT, AT(detail)},
};
TABLE(ending_table, ending_fields);
#undef S

#define S struct ct_rank
static const struct ct_field rank_fields[] = {
	{"rank", CT_FIELD_U32, AT(rank), HAS(has_rank)},
	{"local_rank", CT_FIELD_U32, AT(local_rank), HAS(has_local_rank)},
	{"world_size", CT_FIELD_U32, AT(world_size), HAS(has_world_size)},
	{"job", CT_FIELD_TEXT, AT(job)},
	{"launcher", CT_FIELD_TEXT, AT(launcher)},
};
TABLE(rank_table, rank_fields);
#undef S

#define S struct ct_tensor
static const struct ct_field tensor_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name), REQUIRED},
	{"library", CT_FIELD_TEXT, AT(library)},
	{"kind", CT_FIELD_TEXT, AT(kind)},
	{"role", WORD(ct_tensor_role_words), AT(role), REQUIRED},
	{"tid", CT_FIELD_I64, AT(tid), OMIT_ZERO},
	{"depth", CT_FIELD_U32, AT(depth), HAS(has_depth)},
	{"function", CT_FIELD_TEXT, AT(function)},
	{"file", CT_FIELD_TEXT, AT(file)},
	{"line", CT_FIELD_U32, AT(line), OMIT_ZERO},
	{"shape", NUMBERS(shape), HAS(has_shape)},
	{"stride", NUMBERS(stride), HAS(has_stride)},
	{"dtype", CT_FIELD_TEXT, AT(dtype)},
	{"device", CT_FIELD_TEXT, AT(device)},
	{"data_ptr", CT_FIELD_HEX, AT(data_ptr), HAS(has_data_ptr)},
	{"storage_ptr", CT_FIELD_HEX, AT(storage_ptr), HAS(has_storage_ptr)},
	{"storage_bytes", CT_FIELD_COUNT, AT(storage_bytes), HAS(has_storage_bytes)},
	{"requires_grad", CT_FIELD_BOOL, AT(requires_grad)},
};
TABLE(tensor_table, tensor_fields);
#undef S

#define S struct ct_python_local
static const struct ct_field python_local_fields[] = {
	{"name", CT_FIELD_TEXT, AT(name), REQUIRED},
	{"value", CT_FIELD_TEXT, AT(value), REQUIRED},
	{"role", WORD(ct_tensor_role_words), AT(role), REQUIRED},
	{"tid", CT_FIELD_I64, AT(tid), OMIT_ZERO},
	{"depth", CT_FIELD_U32, AT(depth), HAS(has_depth)},
	{"function", CT_FIELD_TEXT, AT(function)},
	{"file", CT_FIELD_TEXT, AT(file)},
	{"line", CT_FIELD_U32, AT(line), OMIT_ZERO},
};
TABLE(python_local_table, python_local_fields);
#undef S

#define S struct ct_check
static const struct ct_field check_fields[] = {
	{"check", WORD(ct_check_kind_words), AT(kind), REQUIRED},
	{"status", WORD(ct_check_status_words), AT(status), REQUIRED},
	{"id", CT_FIELD_TEXT, AT(id)},
	{"call", CT_FIELD_TEXT, AT(call)},
	{"tensors", TEXTS(tensors), .flags = CT_FIELD_REPLACE},
	{"seen", CT_FIELD_TEXT, AT(seen)},
};
TABLE(check_table, check_fields);
#undef S

#define S struct ct_incident
static const struct ct_field incident_fields[] = {
	{"tool", CT_FIELD_TEXT, AT(tool_version)},
	{"id", CT_FIELD_TEXT, AT(id)},
	{"time_us", CT_FIELD_TIME, AT(time_us), OMIT_ZERO},
	{"monotonic_us", CT_FIELD_I64, AT(monotonic_us), OMIT_ZERO},
	{"boot_id", CT_FIELD_TEXT, AT(boot_id)},
	{"host", CT_FIELD_TEXT, AT(host)},
	{"rank", OBJECT(rank_table), AT(rank), .flags = CT_FIELD_HOST_PART},
	{"kind", WORD(ct_fault_kind_words), AT(kind), .flags = CT_FIELD_OMIT_ZERO | CT_FIELD_GPU_PART},
	{"command", TEXTS(command), .flags = CT_FIELD_REPLACE},
	{"cwd", CT_FIELD_TEXT, AT(cwd)},
	{"engine", CT_FIELD_TEXT, AT(engine)},
	{"engine_why", CT_FIELD_TEXT, AT(engine_why)},
	{"launch_blocking", CT_FIELD_BOOL, AT(launch_blocking)},
	{"seconds_to_report", CT_FIELD_REAL, AT(seconds_to_report), HAS(has_seconds_to_report)},
	{"process", OBJECT(process_table), AT(process), .flags = CT_FIELD_HOST_PART},
	{"gpu", OBJECT(gpu_table), AT(gpu), HAS(gpu.present), .flags = CT_FIELD_GPU_PART},
	{"launch", OBJECT(launched_table), AT(launch), HAS(launch.present)},
	{"assert", OBJECT(assert_table), AT(assertion), HAS(assertion.present), .flags = CT_FIELD_GPU_PART},
	{"values", ROWS(values, value_table), .flags = CT_FIELD_GPU_PART},
	{"fault_address", OBJECT(fault_address_table), AT(fault_address), HAS(fault_address.present)},
	{"causes", ROWS(causes, cause_table), .flags = CT_FIELD_REPLACE, .limit = CT_MAX_CAUSES},
	{"meaning", OBJECT(meaning_table), AT(meaning), HAS(meaning.present)},
	{"cause", OBJECT(old_cause_table), AT(old_cause), HAS(old_cause.present)},
	{"threads", ROWS(threads, host_thread_table), .flags = CT_FIELD_HOST_PART},
	{"log", ROWS(log, log_entry_table)},
	{"environment", ROWS(environment, pair_table), .flags = CT_FIELD_HOST_PART},
	{"progress", ROWS(progress, pair_table), .flags = CT_FIELD_HOST_PART, .limit = CT_MAX_PROGRESS},
	{"collectors", ROWS(collectors, collector_table), .flags = CT_FIELD_ALL_PARTS},
	{"consequences", ROWS(consequences, consequence_table)},
	{"ending", OBJECT(ending_table), AT(ending)},
	{"notes", TEXTS(notes), .flags = CT_FIELD_ALL_PARTS},
	{"tensors", ROWS(tensors, tensor_table), .flags = CT_FIELD_HOST_PART | CT_FIELD_TENSOR_PART, .limit = CT_MAX_TENSORS},
	{"python_locals", ROWS(python_locals, python_local_table), .flags = CT_FIELD_HOST_PART | CT_FIELD_TENSOR_PART, .limit = CT_MAX_PYTHON_LOCALS},
	{"checks", ROWS(checks, check_table)},
};
const struct ct_table ct_incident_table = {.fields = incident_fields, .n_fields = CT_COUNT(incident_fields), .row_bytes = sizeof(S)};
#undef S
