// What speaks for the cause of a fault that is no assert: addresses, sizes, the kind of exception. Nothing is said without it.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/catalog.h"
#include "diagnose/checks.h"

// CUDBGException_t of cudadebugger.h (CUDA 13.0).
enum {
	LANE_ILLEGAL_ADDRESS = 1, LANE_STACK_OVERFLOW = 2, WARP_OUT_OF_RANGE_ADDRESS = 5, WARP_MISALIGNED_ADDRESS = 6, DEVICE_ILLEGAL_ADDRESS = 10,
	LANE_MISALIGNED_ADDRESS = 11, WARP_ILLEGAL_ADDRESS = 14, CLUSTER_BLOCK_NOT_PRESENT = 18,
};
// The widest load of a thread: 128 bits (PTX ld.v4.f32).
enum { WIDEST_ACCESS = 16, MAX_FACTORS = 8 };

static uint32_t exception_of(const struct ct_incident *in)
{
	return in->gpu.n_groups && in->gpu.groups[0].has_exception ? in->gpu.groups[0].exception : 0;
}

bool ct_explain_number(const struct ct_argument *a, size_t size, uint64_t *ret_number)
{
	if (a->size_bytes != size || !a->bytes || strlen(a->bytes) != 2 * size)
		return false;
	*ret_number = 0;
	for (size_t i = size; i-- > 0;) {
		const char digits[] = {a->bytes[2 * i], a->bytes[2 * i + 1], '\0'};
		*ret_number = *ret_number << 8 | strtoul(digits, NULL, 16);
	}
	return true;
}

// ---- Misaligned addresses ------------------------------------------------------------------------------------

static const char *misaligned_argument(struct ct_incident *in)
{
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		uint64_t address = 0;
		if ((a->kind != CT_ARGUMENT_POINTER && a->kind != CT_ARGUMENT_BYTES) || !ct_explain_number(a, sizeof address, &address) || address % WIDEST_ACCESS == 0)
			continue;
		const struct ct_tensor *t = ct_explain_tensor_at(in, address);
		if (a->kind == CT_ARGUMENT_BYTES && !t)
			continue;  // not known to be an address
		return ct_arena_printf(&in->arena, "argument %" PRIu32 " is address 0x%" PRIx64 "%s%s, %" PRIu64 " bytes beyond a multiple of %d: a load of several "
				       "elements at once is not possible there", a->index, address, t ? ", in the storage of " : "", t ? t->name : "",
				       address % WIDEST_ACCESS, WIDEST_ACCESS);
	}
	return NULL;
}

static const char *misaligned_tensor(struct ct_incident *in)
{
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		const char *source = ct_checks_is_user(t) ? ct_checks_source(in, t) : NULL;
		if (!t->has_data_ptr || t->data_ptr % WIDEST_ACCESS == 0 || !source || !ct_checks_has_name(source, t->name))
			continue;
		return ct_arena_printf(&in->arena, "%s starts at 0x%" PRIx64 ", %" PRIu64 " bytes beyond a multiple of %d: a load of several elements at once is not "
				       "possible there", t->name, t->data_ptr, t->data_ptr % WIDEST_ACCESS, WIDEST_ACCESS);
	}
	return NULL;
}

// ---- 32-bit overflow -----------------------------------------------------------------------------------------

static const char *large_tensor(struct ct_incident *in)
{
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		int64_t n = 1;
		for (size_t k = 0; k < t->n_shape; k++)
			if (t->shape[k] < 0 || __builtin_mul_overflow(n, t->shape[k], &n))
				n = 0;
		if (t->has_shape && n > INT32_MAX)
			return ct_arena_printf(&in->arena, "%s has %" PRId64 " elements, more than an int counts (2147483647)", t->name, n);
	}
	return NULL;
}

// Sizes that are handed over as int, and whose product no int holds.
static const char *large_product(struct ct_incident *in)
{
	CT_AUTO(ct_auto_str) struct ct_str s = CT_STR_INIT;
	uint64_t product = 1;
	size_t n = 0;
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		uint64_t factor = 0;
		if (a->kind != CT_ARGUMENT_INTEGER || !ct_explain_number(a, sizeof(int32_t), &factor) || factor < 2 || factor > INT32_MAX)
			continue;
		if (n++ == MAX_FACTORS || __builtin_mul_overflow(product, factor, &product))
			return NULL;
		ct_str_addf(&s, "%s%" PRIu64, n > 1 ? " x " : "", factor);
	}
	if (n < 2 || product <= INT32_MAX)
		return NULL;
	return ct_arena_printf(&in->arena, "the int arguments %s multiply to %" PRIu64 ", more than an int holds (2147483647): where the kernel multiplies them in int, the index "
			       "turns negative",
			       ct_str_text(&s), product);
}

// ---- Others --------------------------------------------------------------------------------------------------

static const char *in_callee(struct ct_incident *in, uint32_t exception)
{
	struct ct_span function, kernel;
	const struct ct_group *g = &in->gpu.groups[0];
	if (exception == LANE_STACK_OVERFLOW)
		return "the stack of a thread is used up";
	const char *name = g->n_frames ? g->frames[0].function : NULL;
	if (!name || !in->gpu.has_kernel || !in->gpu.kernel.name || !ct_diagnose_base_name(name, &function) ||
	    !ct_diagnose_base_name(in->gpu.kernel.name, &kernel) || ct_span_equal(function, kernel))
		return NULL;
	return ct_arena_printf(&in->arena, "an access outside the local or shared memory of a thread, in the device function %.*s that the kernel calls: so looks a "
			       "stack that has outgrown its limit, as recursion makes it; an index outside a shared array looks the same", (int)function.length, function.at);
}

static const char *during_capture(const struct ct_incident *in)
{
	for (size_t i = 0; i < in->n_log; i++)
		if (in->log[i].text && strstr(in->log[i].text, "when stream is capturing"))
			return in->log[i].text;
	return NULL;
}

static const char *of_exception(struct ct_incident *in, const char **ret_detail)
{
	uint32_t exception = exception_of(in);
	switch (exception) {
	case WARP_MISALIGNED_ADDRESS:
	case LANE_MISALIGNED_ADDRESS:
		*ret_detail = misaligned_argument(in);
		if (!*ret_detail)
			*ret_detail = misaligned_tensor(in);
		return *ret_detail ? "misaligned" : NULL;
	case LANE_ILLEGAL_ADDRESS:
	case DEVICE_ILLEGAL_ADDRESS:
	case WARP_ILLEGAL_ADDRESS:
		*ret_detail = ct_explain_beyond(in);
		if (*ret_detail)
			return "address-beyond";
		*ret_detail = large_tensor(in);
		if (!*ret_detail && in->n_tensors == 0)  // sizes that multiply beyond an int are common; arrays that large are not
			*ret_detail = large_product(in);
		return *ret_detail ? "overflow-32" : NULL;
	case LANE_STACK_OVERFLOW:
	case WARP_OUT_OF_RANGE_ADDRESS:
		*ret_detail = in_callee(in, exception);
		return *ret_detail ? "stack-overflow" : NULL;
	case CLUSTER_BLOCK_NOT_PRESENT:
		*ret_detail = "";
		return "cluster-gone";
	default:
		return NULL;
	}
}

const char *ct_explain_fault(struct ct_incident *in, const char **ret_detail)
{
	*ret_detail = NULL;
	if (in->kind == CT_FAULT_TRAP) {
		*ret_detail = "";
		return "bare-trap";
	}
	if (in->kind == CT_FAULT_EXCEPTION)
		return of_exception(in, ret_detail);
	*ret_detail = in->kind == CT_FAULT_API_ERROR ? during_capture(in) : NULL;
	return *ret_detail ? "capture-sync" : NULL;
}
