// Predicates about faults that are no assert: addresses, sizes, the kind of exception; and what later errors follow. See rules.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/rules.h"

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
		return ct_arena_printf(&in->arena, "argument %" PRIu32 " is address 0x%" PRIx64 "%s%s, %" PRIu64 " bytes beyond a multiple of %d", a->index, address, t ? ", in the storage of " : "", t ? t->name : "",
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
		return ct_arena_printf(&in->arena, "%s starts at 0x%" PRIx64 ", %" PRIu64 " bytes beyond a multiple of %d", t->name, t->data_ptr, t->data_ptr % WIDEST_ACCESS, WIDEST_ACCESS);
	}
	return NULL;
}

// ---- 32-bit overflow -----------------------------------------------------------------------------------------

// How far from its start the last element lies, in elements; false: not known, or more than 64 bits.
static bool span_of(const struct ct_tensor *t, int64_t *ret_span)
{
	int64_t span = 0, step = 0;
	if (!t->has_shape || t->n_shape == 0 || t->n_stride != t->n_shape)
		return false;
	for (size_t k = 0; k < t->n_shape; k++)
		if (t->shape[k] <= 0 || __builtin_mul_overflow(t->shape[k] - 1, t->stride[k], &step) || __builtin_add_overflow(span, step, &span))
			return false;
	*ret_span = span;
	return true;
}

static const char *large_tensor(struct ct_incident *in)
{
	for (size_t i = 0; i < in->n_tensors; i++) {
		const struct ct_tensor *t = &in->tensors[i];
		int64_t n = 1, span = 0;
		if (t->device && ct_starts_with(t->device, "cpu"))
			continue;
		for (size_t k = 0; k < t->n_shape; k++)
			if (t->shape[k] < 0 || __builtin_mul_overflow(n, t->shape[k], &n))
				n = 0;
		if (t->has_shape && n > INT32_MAX)
			return ct_arena_printf(&in->arena, "%s has %" PRId64 " elements, more than an int counts (2147483647)", t->name, n);
		if (span_of(t, &span) && span > INT32_MAX)
			return ct_arena_printf(&in->arena, "the last element of %s is %" PRId64 " elements from its first, by its strides: more than an int holds (2147483647)",
					       t->name, span);
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

static const char *in_callee(struct ct_incident *in)
{
	uint32_t exception = exception_of(in);
	struct ct_span function, kernel;
	const struct ct_group *g = &in->gpu.groups[0];
	if (exception == LANE_STACK_OVERFLOW)
		return "the GPU reports a stack overflow";
	const char *name = g->n_frames ? g->frames[0].function : NULL;
	if (!name || !in->gpu.has_kernel || !in->gpu.kernel.name || !ct_diagnose_base_name(name, &function) ||
	    !ct_diagnose_base_name(in->gpu.kernel.name, &kernel) || ct_span_equal(function, kernel))
		return NULL;
	return ct_arena_printf(&in->arena, "an access outside the local or shared memory of a thread, in the device function %.*s that the kernel calls: so looks a "
			       "stack that has outgrown its limit, as recursion makes it; an index outside a shared array looks the same", (int)function.length, function.at);
}

static int64_t greatest_argument(const struct ct_incident *in, uint32_t *ret_index)
{
	int64_t greatest = 0, number = 0;
	for (size_t i = 0; i < in->gpu.n_arguments; i++) {
		const struct ct_argument *a = &in->gpu.arguments[i];
		if (a->kind != CT_ARGUMENT_INTEGER || !ct_rule_number(a->value, &number) || number <= greatest)
			continue;
		greatest = number;
		*ret_index = a->index;
	}
	return greatest;
}

// An array of integers, read to its end, with elements that no size given to the kernel allows. When that is most of them, they are no indices.
static const char *beyond_all(struct ct_incident *in)
{
	uint32_t argument = 0;
	int64_t greatest = greatest_argument(in, &argument);
	for (size_t i = 0; greatest > 1 && i < in->gpu.n_memory; i++) {
		const struct ct_device_memory *m = &in->gpu.memory[i];
		for (size_t k = 0; m->whole && !m->failed && k < m->n_outside; k++) {
			const struct ct_outside *o = &m->outside[k];
			if (o->argument != argument || o->n_outside > m->n_elements / 2)
				continue;
			return ct_arena_printf(&in->arena, "element %" PRIu64 " of the array that argument %" PRIu32 " points to is %s, which is not in 0 .. %" PRId64 " - 1, and "
					       "argument %" PRIu32 " (%" PRId64 ") is the greatest whole number that the kernel was given", o->index, m->argument, o->value, greatest,
					       argument, greatest);
		}
	}
	return NULL;
}

// ---- Errors that follow from others --------------------------------------------------------------------------

static const struct ct_log_entry *log_after(const struct ct_incident *in, enum ct_log_kind kind, const struct ct_log_entry *after)
{
	for (size_t i = after ? (size_t)(after - in->log) + 1 : 0; i < in->n_log; i++)
		if (in->log[i].kind == kind && in->log[i].text)
			return &in->log[i];
	return NULL;
}

// The error that the program shows is another one than the assert's: of a library, or of memory.
static bool names_other_error(const char *text)
{
	static const char *const words[] = {"CUBLAS_STATUS", "cuBLAS", "CUDNN_STATUS", "cuDNN", "CUSPARSE_STATUS", "CUFFT_", "CUSOLVER_STATUS", "NCCL", "out of memory"};
	for (size_t i = 0; i < CT_COUNT(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static const char *after_assert(struct ct_incident *in)
{
	const struct ct_log_entry *assertion = log_after(in, CT_LOG_ASSERT, NULL);
	for (const struct ct_log_entry *e = assertion; e && (e = log_after(in, CT_LOG_CUDA_ERROR, e));)
		if (names_other_error(e->text))
			return ct_arena_printf(&in->arena, "the output has the line of a device assert before \"%s\": a failed assert ends the context, and every later call "
					       "fails with whatever it was about to do", e->text);
	return NULL;
}

static bool is_backward(const char *text)
{
	return strstr(text, "backward") || strstr(text, "Backward");
}

// Asserts of two kernels in the output, the later one's in a backward pass.
static const char *backward_later(struct ct_incident *in)
{
	const struct ct_log_entry *first = log_after(in, CT_LOG_ASSERT, NULL);
	for (const struct ct_log_entry *e = first; first && !is_backward(first->text) && (e = log_after(in, CT_LOG_ASSERT, e));)
		if (is_backward(e->text))
			return ct_arena_printf(&in->arena, "the output has an assert of a forward pass before it: \"%s\"", first->text);
	return NULL;
}

// Somebody else's fault is spoken of, and there is none of this process's own.
static const char *others_fault(struct ct_incident *in)
{
	const struct ct_log_entry *e = log_after(in, CT_LOG_FOLLOWER, NULL);
	return e && !in->gpu.present && !in->assertion.present && !in->launch.failed_call.present ? e->text : NULL;
}

static const char *during_capture(struct ct_incident *in)
{
	for (size_t i = 0; i < in->n_log; i++)
		if (in->log[i].text && strstr(in->log[i].text, "when stream is capturing"))
			return in->log[i].text;
	return NULL;
}

// ---- The table -----------------------------------------------------------------------------------------------

static bool is_misaligned(struct ct_judged *j)
{
	uint32_t e = exception_of(j->incident);
	return e == WARP_MISALIGNED_ADDRESS || e == LANE_MISALIGNED_ADDRESS;
}

static bool is_illegal(struct ct_judged *j)
{
	uint32_t e = exception_of(j->incident);
	return e == LANE_ILLEGAL_ADDRESS || e == DEVICE_ILLEGAL_ADDRESS || e == WARP_ILLEGAL_ADDRESS;
}

static bool is_stack(struct ct_judged *j)
{
	uint32_t e = exception_of(j->incident);
	return e == LANE_STACK_OVERFLOW || e == WARP_OUT_OF_RANGE_ADDRESS;
}

static bool is_cluster_gone(struct ct_judged *j)
{
	return exception_of(j->incident) == CLUSTER_BLOCK_NOT_PRESENT;
}

static bool is_trap(struct ct_judged *j)
{
	return j->incident->kind == CT_FAULT_TRAP;
}

static bool is_assert(struct ct_judged *j)
{
	return j->incident->kind == CT_FAULT_ASSERT;
}

static bool is_failed_call(struct ct_judged *j)
{
	return j->incident->kind == CT_FAULT_API_ERROR;
}

static bool is_unexplained(struct ct_judged *j)
{
	return !j->found_any;
}

// Sizes that multiply beyond an int are common; arrays that large are not, and where arrays are known, they tell.
static bool no_tensors(struct ct_judged *j)
{
	return j->incident->n_tensors == 0;
}

const struct ct_named_predicate ct_fault_predicates[] = {
	{"misaligned-address", .holds = is_misaligned}, {"illegal-address", .holds = is_illegal}, {"stack-address", .holds = is_stack},
	{"cluster-block-gone", .holds = is_cluster_gone}, {"trap", .holds = is_trap}, {"assert", .holds = is_assert},
	{"failed-call", .holds = is_failed_call}, {"unexplained", .holds = is_unexplained}, {"no-tensors", .holds = no_tensors},
	{"odd-argument", .finds = misaligned_argument}, {"odd-tensor", .finds = misaligned_tensor}, {"large-tensor", .finds = large_tensor},
	{"large-product", .finds = large_product}, {"address-beyond", .finds = ct_explain_beyond}, {"index-beyond", .finds = beyond_all},
	{"in-callee", .finds = in_callee}, {"capturing", .finds = during_capture}, {"after-assert", .finds = after_assert},
	{"backward-later", .finds = backward_later}, {"others-fault", .finds = others_fault},
	{NULL, NULL, NULL},
};
