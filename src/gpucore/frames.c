// The device call stack of a lane, with functions, source lines and what was inlined.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "gpucore/gpucore_priv.h"

uint64_t ct_core_module_of(const struct ct_gpucore *core, size_t device, uint64_t grid_id)
{
	struct ct_gpucore_grid grid;
	size_t index;
	return ct_gpucore_find_grid(core, device, grid_id, &index) && ct_gpucore_grid(core, index, &grid) ? grid.module : 0;
}

bool ct_core_is_trap(struct ct_gpucore *core, size_t device, uint64_t grid_id, uint64_t pc)
{
	// Lanes stand behind the trap instruction (driver 580); one may also be about to run into it.
	const struct ct_cubin *c = ct_core_image_at(core, ct_core_module_of(core, device, grid_id), pc);
	return c && (ct_cubin_is_trap_return(c, pc) || ct_cubin_is_trap_return(c, pc + CT_CUBIN_INSTRUCTION));
}

struct stack {
	struct ct_gpucore *core;
	struct ct_arena *arena;
	uint64_t module;
	struct ct_device_frame *rows;
	size_t n;
};

static struct ct_device_frame *add_frame(struct stack *s)
{
	s->rows = ct_arena_grow(s->arena, s->rows, &s->n, sizeof *s->rows);
	return &s->rows[s->n - 1];
}

// pc: where the lane stands or returns to; line_pc: an address inside the instruction of interest, for function and line.
static void add_place(struct stack *s, uint64_t pc, uint64_t line_pc)
{
	struct ct_cubin *image = ct_core_image_at(s->core, s->module, line_pc);
	struct ct_cubin_function f;
	struct ct_cubin_line *lines = NULL;
	size_t n_lines = 0;
	bool has_function = image && ct_cubin_function_at(image, line_pc, &f);
	bool has_lines = image && ct_cubin_lines_at(image, line_pc, s->arena, &lines, &n_lines);
	// Functions that were inlined come first; the last one is the function that the code belongs to.
	for (size_t i = 0; has_lines && i + 1 < n_lines; i++) {
		struct ct_device_frame *frame = add_frame(s);
		frame->pc = pc;
		frame->function = lines[i].function ? ct_cubin_demangle(s->arena, lines[i].function, &s->core->names) : NULL;
		frame->file = lines[i].file;
		frame->line = lines[i].line;
		frame->inlined = true;
	}
	struct ct_device_frame *frame = add_frame(s);
	frame->pc = pc;
	if (has_function) {
		frame->function = ct_cubin_demangle(s->arena, f.symbol, &s->core->names);
		frame->has_offset = pc >= f.address;
		frame->offset = frame->has_offset ? pc - f.address : 0;
	}
	if (has_lines) {
		frame->file = lines[n_lines - 1].file;
		frame->line = lines[n_lines - 1].line;
	}
}

// The instruction that a lane's own frame is about: the one with the error, or the call or trap that it stands behind.
static uint64_t instruction_of(const struct stack *s, const struct ct_core_group *group)
{
	const struct ct_gpucore_lane *lane = &group->first;
	struct ct_cubin_function here, there;
	const struct ct_cubin *image = ct_core_image_at(s->core, s->module, lane->pc);
	if (!image)
		return lane->pc;
	if (group->group.has_error_pc && ct_cubin_function_at(image, lane->pc, &here) && ct_cubin_function_at(image, group->group.error_pc, &there) &&
	    here.address == there.address)
		return group->group.error_pc;
	bool is_behind = group->group.has_exception ? group->group.exception == CT_CORE_ASSERT && ct_cubin_is_assert_return(image, lane->pc)
						    : ct_cubin_is_trap_return(image, lane->pc);
	return is_behind ? lane->pc - 1 : lane->pc;
}

static bool call_table(const struct ct_gpucore *core, const struct ct_gpucore_lane *lane, struct ct_table *ret_table)
{
	return ct_table_open(core, ct_core_child(core, lane->section, CT_CORE_BT, lane->row), CT_CORE_BT, ret_table);
}

// Without debug information the driver writes return addresses that are none (driver 580, dumps of release builds).
static bool is_return_address(struct ct_gpucore *core, uint64_t module, uint64_t address)
{
	return address >= CT_CUBIN_INSTRUCTION && address % CT_CUBIN_INSTRUCTION == 0 && ct_core_image_at(core, module, address - 1) != NULL;
}

bool ct_core_caller(struct ct_gpucore *core, const struct ct_gpucore_lane *lane, uint64_t module, uint64_t *ret_address)
{
	struct ct_table calls;
	if (!call_table(core, lane, &calls) || calls.n_rows == 0)
		return false;
	*ret_address = ct_row_u64(ct_table_row(&calls, 0), CT_BT_ADDRESS);
	return is_return_address(core, module, *ret_address);
}

void ct_core_frames(struct ct_gpucore *core, struct ct_arena *arena, const struct ct_core_group *group, struct ct_device_frame **ret_frames,
		    size_t *ret_count)
{
	const struct ct_gpucore_lane *lane = &group->first;
	struct stack s = {.core = core, .arena = arena, .module = ct_core_module_of(core, lane->device, lane->grid_id)};
	struct ct_table calls;
	add_place(&s, lane->pc, instruction_of(&s, group));
	// Row i is the frame after i calls; the rows are in this order (driver 580), the level field says the same.
	for (uint64_t i = 0; call_table(core, lane, &calls) && i < calls.n_rows && s.n < CT_CORE_MAX_FRAMES; i++) {
		uint64_t address = ct_row_u64(ct_table_row(&calls, i), CT_BT_ADDRESS);
		if (!is_return_address(core, s.module, address))
			break;  // nothing behind it is true either
		add_place(&s, address, address - 1);
	}
	*ret_frames = s.rows;
	*ret_count = s.n;
}

void ct_gpucore_frames(struct ct_gpucore *core, const struct ct_gpucore_lane *lane, struct ct_arena *arena, struct ct_device_frame **ret_frames,
		       size_t *ret_count)
{
	const struct ct_core_group alone = {
		.group = {
			.has_exception = lane->exception != 0, .exception = lane->exception,
			// The error PC is the warp's: a lane without an exception is not at it.
			.has_error_pc = lane->exception != 0 && lane->has_error_pc, .error_pc = lane->error_pc,
		},
		.first = *lane,
	};
	ct_core_frames(core, arena, &alone, ret_frames, ret_count);
}
