// The GPU part of an incident from cuda-gdb's machine interface: device, kernel, the thread in focus, who stands where it stands.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudagdb/cudagdb_priv.h"
#include "cudagdb/mi_groups.h"

enum { MAX_FRAMES = 64, MAX_GROUPS = 64 };

// What cuda-gdb prints as the exception of a lane (strings of cuda-gdb 13.0), and CUDBGException_t.
static const struct {
	const char *words;
	uint32_t code;
} exception_words[] = {
	{"Lane Illegal Address", 1}, {"Lane User Stack Overflow", 2}, {"Device Hardware Stack Overflow", 3}, {"Warp Illegal Instruction", 4},
	{"Warp Out-of-range Address", 5}, {"Warp Misaligned Address", 6}, {"Warp Invalid Address Space", 7}, {"Warp Invalid PC", 8},
	{"Warp Hardware Stack Overflow", 9}, {"Device Illegal Address", 10}, {"Lane Misaligned Address", 11}, {"Warp Assert", 12},
	{"Lane Syscall Error", 13}, {"Warp Illegal Address", 14}, {"Invalid Managed Memory Access", 15}, {"Non-Migratable Atomic Access", 16},
	{"Cluster out of range address", 17}, {"Cluster target block not present", 18}, {"Warp Stack Canary", 19},
	{"Warp Tensor Memory Access Check", 20}, {"Warp Tensor Memory Leak", 21}, {"Warp Call Requires Newer Driver", 22},
};
enum { EXCEPTION_ASSERT = 12 };

struct gpu {
	struct ct_mi_session *session;
	const char *device, *sm, *warp, *lane, *kernel;  // of the focus; NULL: the focus is on the host
	struct ct_mi_spans threads;
	json_t *root, *part, *collectors;
};

static bool parse_u64(const char *text, uint64_t *ret_value)
{
	char *end;
	if (!text || !*text)
		return false;
	*ret_value = strtoull(text, &end, 0);
	return *end == '\0';
}

// "(8,1,1)"
static bool parse_dim3(const char *text, struct ct_dim3 *ret_dim)
{
	int used = 0;
	struct ct_dim3 d;
	if (!text || sscanf(text, "(%" SCNu32 ",%" SCNu32 ",%" SCNu32 ")%n", &d.x, &d.y, &d.z, &used) != 3 || !used || text[used])
		return false;
	*ret_dim = d;
	return true;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, json_string(text));
}

static void set_number(json_t *object, const char *key, const char *text)
{
	uint64_t value;
	if (parse_u64(text, &value) && value <= INT64_MAX)
		json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *exception_json(uint32_t code)
{
	json_t *object = json_pack("{s:I}", "code", (json_int_t)code);
	set_text(object, "name", ct_exception_word(code));
	return object;
}

static void add_row(struct gpu *gpu, const char *name, const char *status, int64_t start_us, const char *detail)
{
	json_t *row = json_pack("{s:s,s:s,s:f}", "name", name, "status", status, "milliseconds", (double)(ct_now_us() - start_us) / 1000);
	set_text(row, "detail", detail);
	json_array_append_new(gpu->collectors, row);
}

// The rows of a table's body: `XTable={...,body=[XRow={...},...]}`.
static const struct ct_mi_value *table_rows(const struct ct_mi_record *answer)
{
	const struct ct_mi_value *table = answer->first;
	const struct ct_mi_value *body = table && table->kind == CT_MI_TUPLE ? ct_mi_find(table->first, "body") : NULL;
	return body ? body->first : NULL;
}

// ---- questions: each fails alone

static bool ask_device(struct gpu *gpu, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-cuda-info-devices", &answer, err))
		return false;
	const struct ct_mi_value *chosen = NULL;
	for (const struct ct_mi_value *row = table_rows(&answer); row; row = row->next) {
		const char *current = ct_mi_text(row->first, "current");
		if (!chosen || (current && *current == '*'))
			chosen = row;
	}
	if (!chosen)
		return ct_fail(err, CT_UNAVAILABLE, "the debugger sees no CUDA device in this process");
	json_t *device = json_object();
	set_number(device, "index", ct_mi_text(chosen->first, "device"));
	set_text(device, "name", ct_mi_text(chosen->first, "name"));
	set_text(device, "sm_type", ct_mi_text(chosen->first, "sm_type"));
	set_number(device, "sms", ct_mi_text(chosen->first, "num_sms"));
	set_text(device, "pci", ct_mi_text(chosen->first, "pci_bus"));
	json_object_set_new(gpu->part, "device", device);
	return true;
}

static bool ask_focus(struct gpu *gpu, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-cuda-focus-query device sm warp lane kernel grid block thread", &answer, err))
		return false;
	const struct ct_mi_value *focus = ct_mi_find(answer.first, "CudaFocus");
	if (!focus)
		return ct_fail(err, CT_UNAVAILABLE, "the focus is on no GPU thread");
	gpu->device = ct_mi_text(focus->first, "device");
	gpu->sm = ct_mi_text(focus->first, "sm");
	gpu->warp = ct_mi_text(focus->first, "warp");
	gpu->lane = ct_mi_text(focus->first, "lane");
	gpu->kernel = ct_mi_text(focus->first, "kernel");
	return true;
}

static json_t *kernel_json(struct gpu *gpu, const struct ct_mi_value *row, bool is_failing)
{
	json_t *kernel = json_object();
	// The row's invocation is `name(,args=[...])`: the name alone can be had here.
	const char *invocation = ct_mi_text(row->first, "invocation");
	const char *open = invocation ? strstr(invocation, "(,args=") : NULL;
	size_t length = !invocation ? 0 : open ? (size_t)(open - invocation) : strlen(invocation) - (ct_ends_with(invocation, "()") ? 2 : 0);
	if (length)
		set_text(kernel, "name", ct_arena_strndup(gpu->session->arena, invocation, length));
	set_number(kernel, "grid_id", ct_mi_text(row->first, "grid"));
	struct ct_dim3 grid, block;
	if (parse_dim3(ct_mi_text(row->first, "gridDim"), &grid) && parse_dim3(ct_mi_text(row->first, "blockDim"), &block)) {
		json_object_set_new(kernel, "grid_dim", ct_mi_dim3_json(grid));
		json_object_set_new(kernel, "block_dim", ct_mi_dim3_json(block));
		if (is_failing) {
			gpu->threads.has_dims = grid.x && grid.y && grid.z && block.x && block.y && block.z;
			gpu->threads.grid_dim = grid;
			gpu->threads.block_dim = block;
		}
	}
	return kernel;
}

static bool ask_kernels(struct gpu *gpu, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-cuda-info-kernels", &answer, err))
		return false;
	json_t *others = json_array();
	for (const struct ct_mi_value *row = table_rows(&answer); row; row = row->next) {
		const char *number = ct_mi_text(row->first, "kernel");
		bool is_failing = number && gpu->kernel && strcmp(number, gpu->kernel) == 0;
		json_t *kernel = kernel_json(gpu, row, is_failing);
		if (is_failing)
			json_object_set_new(gpu->part, "kernel", kernel);
		else
			json_array_append_new(others, kernel);
	}
	if (json_array_size(others))
		json_object_set(gpu->part, "other_kernels", others);
	json_decref(others);
	return true;
}

static bool ask_threads(struct gpu *gpu, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-cuda-info-threads", &answer, err))
		return false;
	size_t unread = 0;
	for (const struct ct_mi_value *row = table_rows(&answer); row; row = row->next) {
		struct ct_mi_span span = {.count = 0};
		uint64_t line = 0;
		if (!parse_dim3(ct_mi_text(row->first, "from_blockIdx"), &span.from_block) || !parse_dim3(ct_mi_text(row->first, "to_blockIdx"), &span.to_block) ||
		    !parse_dim3(ct_mi_text(row->first, "from_threadIdx"), &span.from_thread) || !parse_dim3(ct_mi_text(row->first, "to_threadIdx"), &span.to_thread) ||
		    !parse_u64(ct_mi_text(row->first, "count"), &span.count) || !parse_u64(ct_mi_text(row->first, "virtual_pc"), &span.pc)) {
			unread++;
			continue;
		}
		span.file = ct_mi_text(row->first, "filename");
		if (parse_u64(ct_mi_text(row->first, "line"), &line) && line <= UINT32_MAX)
			span.line = (uint32_t)line;
		gpu->threads.spans = ct_arena_grow(gpu->session->arena, gpu->threads.spans, &gpu->threads.n_spans, sizeof span);
		gpu->threads.spans[gpu->threads.n_spans - 1] = span;
	}
	return !unread || ct_fail(err, CT_FORMAT, "%zu rows of -cuda-info-threads not understood", unread);
}

// The lanes of the warp in focus that carry an exception.
static json_t *ask_flagged_lanes(struct gpu *gpu, uint32_t *ret_exception, uint64_t *ret_pc, struct ct_dim3 block, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-cuda-info-lanes", &answer, err))
		return NULL;
	json_t *lanes = json_array();
	for (const struct ct_mi_value *row = table_rows(&answer); row; row = row->next) {
		const char *words = ct_mi_text(row->first, "exception"), *lane_number = ct_mi_text(row->first, "lane");
		uint64_t pc, number;
		struct ct_dim3 thread;
		uint32_t code = 0;
		for (size_t i = 0; words && i < CT_COUNT(exception_words); i++)
			if (strcmp(words, exception_words[i].words) == 0)
				code = exception_words[i].code;
		// The column is called physical_pc and holds the virtual one (cuda-gdb 12.4 and 13.0).
		if (!code || !parse_u64(ct_mi_text(row->first, "physical_pc"), &pc) || !parse_dim3(ct_mi_text(row->first, "threadIdx"), &thread) ||
		    !parse_u64(lane_number, &number))
			continue;
		json_t *lane = json_pack("{s:o,s:o}", "block", ct_mi_dim3_json(block), "thread", ct_mi_dim3_json(thread));
		json_t *hw = json_object();
		set_number(hw, "device", gpu->device);
		set_number(hw, "sm", gpu->sm);
		set_number(hw, "warp", gpu->warp);
		set_number(hw, "lane", lane_number);
		if (json_object_size(hw) == 4)
			json_object_set(lane, "hw", hw);
		json_decref(hw);
		ct_mi_set_hex(lane, "pc", pc);
		json_object_set_new(lane, "exception", exception_json(code));
		json_array_append_new(lanes, lane);
		*ret_exception = code;
		*ret_pc = pc;
	}
	return lanes;
}

static json_t *ask_frames(struct gpu *gpu, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-stack-list-frames", &answer, err))
		return NULL;
	const struct ct_mi_value *stack = ct_mi_find(answer.first, "stack");
	json_t *frames = json_array();
	for (const struct ct_mi_value *row = stack ? stack->first : NULL; row && json_array_size(frames) < MAX_FRAMES; row = row->next) {
		const char *function = ct_mi_text(row->first, "func");
		uint64_t pc, line = 0;
		// A return address that is no place in code; nothing behind it is true either.
		if (!parse_u64(ct_mi_text(row->first, "addr"), &pc) || !function || strcmp(function, "??") == 0)
			break;
		json_t *frame = json_object();
		ct_mi_set_hex(frame, "pc", pc);
		const char *clone = strstr(function, " [clone ");
		set_text(frame, "function", clone ? ct_arena_strndup(gpu->session->arena, function, (size_t)(clone - function)) : function);
		if (parse_u64(ct_mi_text(row->first, "line"), &line) && line > 0 && line <= UINT32_MAX) {
			set_text(frame, "file", ct_mi_text(row->first, "file"));
			json_object_set_new(frame, "line", json_integer((json_int_t)line));
		}
		json_array_append_new(frames, frame);
	}
	return frames;
}

// ---- groups

static void add_error_pc(struct gpu *gpu, json_t *group)
{
	struct ct_mi_record answer;
	uint64_t pc;
	if (!ct_mi_ask(gpu->session, "-data-evaluate-expression (long)$errorpc", &answer, NULL))
		return;
	const char *value = ct_mi_text(answer.first, "value");  // "<unavailable>" for most exceptions
	if (parse_u64(value, &pc) && pc)
		ct_mi_set_hex(group, "error_pc", pc);
}

static bool ask_block(struct gpu *gpu, struct ct_dim3 *ret_block, struct ct_error *err)
{
	struct ct_mi_record answer;
	if (!ct_mi_ask(gpu->session, "-cuda-focus-query block", &answer, err))
		return false;
	const struct ct_mi_value *focus = ct_mi_find(answer.first, "CudaFocus");
	return (focus && parse_dim3(ct_mi_text(focus->first, "blockIdx"), ret_block)) ||
	       ct_fail(err, CT_FORMAT, "the block of the thread in focus was not understood");
}

// The group of the thread in focus, which is flagged.
static json_t *flagged_group(struct gpu *gpu, uint32_t exception, uint64_t pc, json_t *lanes)
{
	bool is_assert = exception == EXCEPTION_ASSERT;
	size_t n_flagged = json_array_size(lanes);
	json_t *group = is_assert && gpu->threads.has_dims && gpu->threads.n_spans ? ct_mi_group_at(&gpu->threads, pc, "exception") : ct_mi_group_of_lanes(&gpu->threads, pc, lanes);
	if (json_integer_value(json_object_get(group, "threads")) > (json_int_t)n_flagged)
		json_object_set_new(group, "reason", json_string("assert-pc"));
	json_object_set_new(group, "exception", exception_json(exception));
	json_object_set_new(group, "flagged_threads", json_integer((json_int_t)n_flagged));
	if (!is_assert && n_flagged > 1)
		json_object_set_new(group, "whole_warps", json_true());
	json_object_set(group, "lanes", lanes);
	add_error_pc(gpu, group);
	return group;
}

static void add_running_groups(struct gpu *gpu, json_t *groups)
{
	for (size_t i = 0; gpu->threads.has_dims && i < gpu->threads.n_spans && json_array_size(groups) < MAX_GROUPS; i++) {
		bool known = false;
		for (size_t j = 0; j < i && !known; j++)
			known = gpu->threads.spans[j].pc == gpu->threads.spans[i].pc;
		if (!known)
			json_array_append_new(groups, ct_mi_group_at(&gpu->threads, gpu->threads.spans[i].pc, "running"));
	}
}

// The stack is that of the thread in focus: it belongs to the group that stands where that thread stands.
static void add_stack(struct gpu *gpu, json_t *groups)
{
	json_t *frames = ask_frames(gpu, NULL);
	json_t *pc = json_object_get(json_array_get(frames, 0), "pc");
	for (size_t i = 0; pc && i < json_array_size(groups); i++)
		if (json_equal(json_object_get(json_array_get(groups, i), "pc"), pc))
			json_object_set(json_array_get(groups, i), "frames", frames);
	json_decref(frames);
}

static bool ask_groups(struct gpu *gpu, struct ct_error *err)
{
	json_t *groups = json_array();
	json_object_set_new(gpu->part, "groups", groups);
	uint32_t exception = 0;
	uint64_t pc = 0;
	struct ct_dim3 block = {0, 0, 0};
	if (!ask_block(gpu, &block, err))
		return false;
	json_t *lanes = ask_flagged_lanes(gpu, &exception, &pc, block, err);
	if (!lanes)
		return false;
	if (exception)
		json_array_append_new(groups, flagged_group(gpu, exception, pc, lanes));
	else
		add_running_groups(gpu, groups);
	json_decref(lanes);
	add_stack(gpu, groups);
	return true;
}

static const char *fault_kind(struct gpu *gpu)
{
	json_t *group = json_array_get(json_object_get(gpu->part, "groups"), 0);
	json_t *exception = json_object_get(group, "exception");
	if (exception)
		return json_integer_value(json_object_get(exception, "code")) == EXCEPTION_ASSERT ? "assert" : "exception";
	// Without an exception: a trap or a hang; which of them only a look at the instruction tells.
	return "unknown";
}

static bool run_question(struct gpu *gpu, const char *name, bool (*question)(struct gpu *, struct ct_error *))
{
	struct ct_error err = CT_ERROR_INIT;
	int64_t start_us = ct_now_us();
	bool ok = question(gpu, &err);
	add_row(gpu, name, ok ? "ok" : "failed", start_us, err.text);
	return ok;
}

static const struct {
	const char *name;
	bool (*question)(struct gpu *, struct ct_error *);
} questions[] = {
	{"gpu-devices", ask_device}, {"gpu-focus", ask_focus},   {"gpu-kernels", ask_kernels},
	{"gpu-threads", ask_threads}, {"gpu-groups", ask_groups},
};

bool ct_mi_collect(struct ct_mi_session *session, const struct ct_cudagdb *gdb, struct ct_str *ret_json, struct ct_error *err)
{
	struct gpu gpu = {.session = session, .root = json_object(), .part = json_object(), .collectors = json_array()};
	int64_t start_us = ct_now_us();
	json_object_set_new(gpu.root, "version", json_integer(CT_INCIDENT_VERSION));
	json_object_set_new(gpu.root, "gpu", gpu.part);
	json_object_set_new(gpu.root, "collectors", gpu.collectors);
	set_text(gpu.part, "source", ct_arena_printf(session->arena, "cuda-gdb %s (MI)", gdb->version));
	// Without a device there is nothing to ask about.
	bool any = run_question(&gpu, questions[0].name, questions[0].question);
	for (size_t i = 1; any && i < CT_COUNT(questions); i++)
		run_question(&gpu, questions[i].name, questions[i].question);
	json_object_set_new(gpu.root, "kind", json_string(fault_kind(&gpu)));
	if (!any)
		json_object_del(gpu.root, "gpu");
	add_row(&gpu, "gpu", any ? "partial" : "failed", start_us,
		any ? "read with a cuda-gdb that has no gdb.cuda: the exceptions of other warps, the stacks of other groups, kernel symbols and traps are not known"
		    : "nothing was read");
	char *text = json_dumps(gpu.root, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(gpu.root);
	if (!text)
		return ct_fail(err, CT_FORMAT, "the answers of cuda-gdb are no valid text");
	ct_str_add(ret_json, text);
	free(text);
	return true;
}
