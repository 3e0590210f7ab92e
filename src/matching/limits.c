// What a failing call asked for, against what the kernel and the device allow; see matching_priv.h. Error numbers are CUresult (cuda.h 13.0).
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "matching/matching_priv.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_BINARY = 209, INVALID_PTX = 218, PTX_VERSION = 222, OUT_OF_RESOURCES = 701, COOPERATIVE_TOO_LARGE = 720 };

struct asking {
	const struct ct_record_failure *f;
	struct ct_arena *arena;
	struct ct_failed_call *call;
};

static void add(struct asking *a, const char *what, int64_t asked, int64_t limit)
{
	struct ct_failed_call *call = a->call;
	if (limit < 0 || call->n_limits == CT_MAX_LIMITS)
		return;
	call->limits = ct_arena_grow(a->arena, call->limits, &call->n_limits, sizeof *call->limits);
	call->limits[call->n_limits - 1] = (struct ct_limit){.what = what, .asked = asked, .limit = limit, .exceeded = asked > limit};
}

static void say(struct asking *a, const char *text)
{
	if (!a->call->why)
		a->call->why = text;
}

static int64_t product(const uint32_t v[3])
{
	// Three factors of 32 bits may not fit: what is beyond any limit is said to be the largest.
	uint64_t n = (uint64_t)v[0] * v[1];
	return v[2] && n > INT64_MAX / v[2] ? INT64_MAX : (int64_t)(n * v[2]);
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

// ---- The shape of the launch ---------------------------------------------------------------------------------------

static void check_axes(struct asking *a, const uint32_t asked[3], const int32_t limit[3], const char *const what[3])
{
	for (int i = 0; i < 3; i++)
		add(a, what[i], asked[i], limit[i]);
}

static void check_zero(struct asking *a)
{
	const struct ct_record_failure *f = a->f;
	if (product(f->grid) == 0)
		say(a, ct_arena_printf(a->arena, "a grid of (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") blocks is empty", f->grid[0], f->grid[1], f->grid[2]));
	else if (product(f->block) == 0)
		say(a, ct_arena_printf(a->arena, "a block of (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ") threads is empty", f->block[0], f->block[1], f->block[2]));
}

static void check_threads(struct asking *a)
{
	const struct ct_record_failure *f = a->f;
	int64_t threads = product(f->block), limit = lesser(f->max_threads, f->max_block_threads);
	add(a, "threads of a block", threads, limit);
	if (limit < 0 || threads <= limit)
		return;
	if (f->max_threads >= 0 && f->max_block_threads > f->max_threads)
		say(a, ct_arena_printf(a->arena, "a block of %" PRId64 " threads, where this kernel allows %" PRId32 " (for its registers, %" PRId32 " a thread, or its launch bounds)",
				       threads, f->max_threads, f->registers));
	else
		say(a, ct_arena_printf(a->arena, "a block of %" PRId64 " threads, where %" PRId64 " are allowed", threads, limit));
}

static void check_shape(struct asking *a)
{
	static const char *const blocks[] = {"threads of a block in x", "threads of a block in y", "threads of a block in z"};
	static const char *const grids[] = {"blocks of the grid in x", "blocks of the grid in y", "blocks of the grid in z"};
	check_zero(a);
	check_threads(a);
	check_axes(a, a->f->block, a->f->max_block, blocks);
	check_axes(a, a->f->grid, a->f->max_grid, grids);
}

// ---- What a block needs ----------------------------------------------------------------------------------------------

static void check_shared(struct asking *a)
{
	const struct ct_record_failure *f = a->f;
	int64_t fixed = f->static_shared > 0 ? f->static_shared : 0, all = fixed + f->shared_bytes;
	int64_t optin = f->max_shared_optin >= 0 ? f->max_shared_optin : f->max_shared_block;
	add(a, "bytes of dynamic shared memory", f->shared_bytes, f->max_dynamic_shared);
	add(a, "bytes of shared memory of a block", all, optin);
	if (optin >= 0 && all > optin)
		say(a, ct_arena_printf(a->arena, "%" PRId64 " bytes of shared memory a block, where the device has %" PRId64, all, optin));
	else if (f->max_dynamic_shared >= 0 && f->shared_bytes > (uint32_t)f->max_dynamic_shared)
		say(a, ct_arena_printf(a->arena,
				       "%" PRIu32 " bytes of dynamic shared memory, where this kernel allows %" PRId32
				       "; more must be allowed first (cudaFuncAttributeMaxDynamicSharedMemorySize)",
				       f->shared_bytes, f->max_dynamic_shared));
}

static void check_registers(struct asking *a)
{
	const struct ct_record_failure *f = a->f;
	int64_t threads = product(f->block);
	if (f->registers < 0 || threads > INT32_MAX)
		return;
	int64_t all = threads * f->registers;
	add(a, "registers of a block", all, f->registers_block);
	if (f->registers_block >= 0 && all > f->registers_block)
		say(a, ct_arena_printf(a->arena, "%" PRId64 " threads with %" PRId32 " registers need %" PRId64 " registers a block, where the device has %" PRId32,
				       threads, f->registers, all, f->registers_block));
}

// The first axis that is too long, when nothing above was said.
static void say_first_exceeded(struct asking *a)
{
	for (size_t i = 0; i < a->call->n_limits && !a->call->why; i++) {
		const struct ct_limit *l = &a->call->limits[i];
		if (l->exceeded)
			say(a, ct_arena_printf(a->arena, "%" PRId64 " %s, where %" PRId64 " are allowed", l->asked, l->what, l->limit));
	}
}

// ---- Others -----------------------------------------------------------------------------------------------------------

static void check_memory(struct asking *a)
{
	const struct ct_record_failure *f = a->f;
	if (f->result != OUT_OF_MEMORY || !f->bytes)
		return;
	if (!f->total_bytes) {
		say(a, ct_arena_printf(a->arena, "%" PRIu64 " bytes were asked for; how many were free is not known", f->bytes));
		return;
	}
	if (f->bytes <= INT64_MAX && f->free_bytes <= INT64_MAX)
		add(a, "bytes of device memory", (int64_t)f->bytes, (int64_t)f->free_bytes);
	say(a, ct_arena_printf(a->arena, "%" PRIu64 " bytes (%.2f GiB) were asked for, %" PRIu64 " (%.2f GiB) of %.2f GiB were free", f->bytes, (double)f->bytes / (1 << 30),
			       f->free_bytes, (double)f->free_bytes / (1 << 30), (double)f->total_bytes / (1 << 30)));
}

// Versions are 10 * major + minor (CU_FUNC_ATTRIBUTE_BINARY_VERSION, CU_FUNC_ATTRIBUTE_PTX_VERSION).
static void check_image(struct asking *a)
{
	const struct ct_record_failure *f = a->f;
	bool device = f->sm_major > 0 && f->sm_minor >= 0;
	if (f->result != NO_BINARY && f->result != INVALID_PTX && f->result != PTX_VERSION)
		return;
	if (device && f->binary_version > 0)
		say(a, ct_arena_printf(a->arena, "the device is sm_%" PRId32 "%" PRId32 ", the module has code for sm_%" PRId32 " and PTX for compute_%" PRId32, f->sm_major,
				       f->sm_minor, f->binary_version, f->ptx_version));
	else if (device && f->result == NO_BINARY)
		say(a, ct_arena_printf(a->arena, "the device is sm_%" PRId32 "%" PRId32 ", and the module has neither code for it nor PTX to make it from", f->sm_major,
				       f->sm_minor));
	else if (f->result == PTX_VERSION)
		say(a, "the module's PTX is of a newer toolkit than this driver knows");
}

void ct_limits_of(const struct ct_record_failure *failure, struct ct_arena *arena, struct ct_failed_call *call)
{
	struct asking a = {.f = failure, .arena = arena, .call = call};
	if (failure->is_sticky || ct_record_loses_context(failure->result)) {
		say(&a, "a kernel that was launched before failed, and this call returned its error");
		return;
	}
	// The limits of the shape have nothing to do with other errors.
	if (call->is_launch && call->at.has_dims &&
	    (failure->result == INVALID_VALUE || failure->result == OUT_OF_RESOURCES || failure->result == COOPERATIVE_TOO_LARGE)) {
		check_shape(&a);
		check_shared(&a);
		check_registers(&a);
		say_first_exceeded(&a);
	}
	check_memory(&a);
	check_image(&a);
}
