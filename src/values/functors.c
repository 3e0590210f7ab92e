// Kernels of PyTorch that get their arrays inside a functor: where these are in its bytes, and which elements a thread reads.
//
// The layouts are those of PyTorch 2.x for 64-bit hosts (ATen/cuda/detail/OffsetCalculator.cuh, IntegerDivider.cuh and the lambdas of
// native/cuda/ScatterGatherKernel.cu and IndexKernel.cu). Nothing is taken on trust: size and divisors must agree, and an element is
// stated only where each failing thread has one that is not allowed.
// SPDX-License-Identifier: GPL-3.0-or-later
#include "values/offsets.h"
#include "values/values_priv.h"

enum { MAX_DIMS = CT_OFFSETS_DIMS, WORD = CT_OFFSETS_WORD };

// The elements that a thread looks at, by their numbers.
struct numbers {
	ct_wide threads, each;  // unrolled: thread t of block b reads b threads each + t, then in steps of threads
	ct_wide step, width;    // else: from b width + t on, in steps
	ct_wide count;
};

// An array of indices that a kernel checks.
struct indices {
	uint32_t argument;
	const char *name;  // in the source of the kernel
	const char *value_name, *bound_name;
	uint64_t address;
	const struct ct_integer_type *element;
	ct_wide high;
	bool wraps;  // -high .. high - 1
	bool has_exempt;
	ct_wide exempt;
	const struct ct_offsets *offsets;  // with `array`: places by an OffsetCalculator
	size_t array;
	int64_t sizes[3], strides[3];  // else: of a [N, H, W] tensor
	struct numbers numbers;
	bool dense;  // one behind the other in the order of their numbers
	ct_wide start;  // of the piece, in bytes from address
	struct ct_piece piece;
	struct ct_device_memory row;
};

struct functor {
	struct ct_values *v;
	struct indices arrays[MAX_DIMS];
	size_t n_arrays;
};

// ---- Places --------------------------------------------------------------------------------------------------

static ct_wide place_of(const struct indices *x, ct_wide number)
{
	if (!x->offsets) {
		ct_wide batch = x->sizes[0], rows = x->sizes[1], columns = x->sizes[2];
		ct_wide place = number % batch * x->strides[0] + number / batch % rows * x->strides[1] + number / (batch * rows) % columns * x->strides[2];
		return place * (ct_wide)x->element->size;
	}
	return ct_offsets_place(x->offsets, x->array, (uint64_t)number);  // never negative
}

// The number that a thread looks at in its i-th step; false: it has ended.
static bool number_at(const struct numbers *n, const struct ct_gridpos *at, size_t i, ct_wide *ret_number)
{
	if (i >= CT_VALUES_STEPS)
		return false;
	if (n->each)
		*ret_number = at->block.x * n->threads * n->each + at->thread.x + (ct_wide)i * n->threads;
	else
		*ret_number = at->block.x * n->width + at->thread.x + (ct_wide)i * n->step;
	// An unrolled one goes on past the end, but numbers only grow.
	return (!n->each || (ct_wide)i < n->each) && *ret_number < n->count;
}

// ---- The kernels ---------------------------------------------------------------------------------------------

static const struct ct_integer_type *long_type(struct ct_values *v)
{
	return ct_gpucore_integer(&v->scratch, "long");
}

static bool read_digits(const char **p, ct_wide *ret_number)
{
	size_t n = strspn(*p, "0123456789");
	if (n < 1 || n > 9)
		return false;
	*ret_number = strtoll(*p, NULL, 10);
	*p += n;
	return true;
}

// "..._kernel<128, 8, ...": threads of a block, elements of a thread.
static bool unrolled(const char *signature, struct numbers *ret_numbers)
{
	const char *p = strstr(signature, "_kernel<");
	for (; p; p = strstr(p + 1, "_kernel<")) {
		const char *at = p + strlen("_kernel<");
		if (!read_digits(&at, &ret_numbers->threads) || !ct_starts_with(at, ", "))
			continue;
		at += 2;
		if (read_digits(&at, &ret_numbers->each) && *at == ',')
			return ret_numbers->threads && ret_numbers->each;
	}
	return false;
}

// Of "kernel(int or long N, functor)": the functor, where all of its bytes are there, and the elements of a thread.
static const struct ct_given *functor_of(const struct ct_values *v, size_t size, struct numbers *ret_numbers)
{
	if (v->n_given != 2 || !v->given[0].has_number || v->given[1].row->kind != CT_ARGUMENT_STRUCT || !v->given[1].bytes || v->given[1].row->size_bytes != size)
		return NULL;
	ret_numbers->count = v->given[0].number;
	return unrolled(v->incident->gpu.kernel.name, ret_numbers) ? &v->given[1] : NULL;
}

// "..._internal_kernel<..., int>::operator()": the type of the indices; else they are long.
static const struct ct_integer_type *index_type(struct ct_values *v, const char *functor)
{
	static const char head[] = "_internal_kernel<", tail[] = ">::operator()";
	const char *from = strstr(functor, head);
	for (const char *end = from ? strstr(from, tail) : NULL; end; end = strstr(end + 1, tail)) {
		if (end - from >= 5 && memcmp(end - 5, ", int", 5) == 0)
			return ct_gpucore_integer(&v->scratch, "int");
		if (end - from >= 6 && memcmp(end - 6, ", long", 6) == 0)
			return long_type(v);
	}
	return long_type(v);
}

// _scatter_gather_elementwise_kernel<threads, each>(int N, functor): offset calculator, index_ptr, index_size, what only computes.
static void scatter_gather(struct functor *f)
{
	struct numbers numbers = {.count = 0};
	const char *type = f->v->n_given == 2 && f->v->given[1].row->type ? f->v->given[1].row->type : "";
	size_t n_arrays = strstr(type, "_cuda_scatter_fill_internal_kernel<") ? 2 : 3, at = ct_offsets_aligned(ct_offsets_bytes(n_arrays));
	// index_ptr, index_size, functor, self_ptr, numel, index_stride, and the value or src_ptr
	const struct ct_given *g = functor_of(f->v, at + 7 * WORD, &numbers);
	const struct ct_offsets *offsets = g ? ct_offsets_at(&f->v->scratch, g->bytes, n_arrays) : NULL;
	if (!offsets)
		return;
	int64_t high = (int64_t)ct_u64(g->bytes + at + WORD);
	const struct ct_integer_type *element = index_type(f->v, type);
	if (high <= 0 || ct_u64(g->bytes + at) == 0)
		return;
	f->arrays[f->n_arrays++] = (struct indices){
		.argument = g->row->index, .name = "index", .value_name = "idx_dim", .bound_name = "index_size", .address = ct_u64(g->bytes + at), .element = element,
		.high = high, .offsets = offsets, .array = n_arrays - 1, .numbers = numbers, .dense = ct_offsets_dense(offsets, n_arrays - 1, element->size)};
}

static bool all_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

static bool are_addresses(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ct_u64(bytes + i * WORD) == 0)
			return false;
	return true;
}

// index_elementwise_kernel<threads, each>(long N, functor): offset calculator, out_ptr, in_ptr, their number, index_ptrs, sizes, strides.
static void index_elementwise(struct functor *f)
{
	struct numbers numbers = {.count = 0};
	size_t at = ct_offsets_aligned(ct_offsets_bytes(3));
	const struct ct_given *g = functor_of(f->v, at + (3 + 3 * MAX_DIMS + 1) * WORD, &numbers);
	const struct ct_offsets *offsets = g ? ct_offsets_at(&f->v->scratch, g->bytes, 3) : NULL;
	if (!offsets)
		return;
	uint32_t n = ct_u32(g->bytes + at + 2 * WORD);
	const uint8_t *addresses = g->bytes + at + 3 * WORD, *sizes = addresses + MAX_DIMS * WORD;
	// The host code clears all 25 of each before it fills in those that there are.
	if (n == 0 || n > MAX_DIMS || !all_zero(addresses + n * WORD, (MAX_DIMS - n) * WORD) || !all_zero(sizes + n * WORD, (MAX_DIMS - n) * WORD) ||
	    !are_addresses(addresses, n))
		return;
	for (size_t i = 0; i < n; i++) {
		int64_t high = (int64_t)ct_u64(sizes + i * WORD);
		if (high <= 0)
			continue;
		struct ct_arena *arena = &f->v->incident->arena;
		f->arrays[f->n_arrays++] = (struct indices){
			.argument = g->row->index, .name = n > 1 ? ct_arena_printf(arena, "index %zu", i) : "index", .value_name = "index",
			.bound_name = ct_arena_printf(arena, "sizes[%zu]", i), .address = ct_u64(addresses + i * WORD), .element = long_type(f->v), .high = high,
			.wraps = true, .offsets = offsets, .array = 2, .numbers = numbers, .dense = ct_offsets_dense(offsets, 2, WORD)};
	}
}

// No tensor is larger, and no sum of products of these leaves a ct_wide.
static bool has_place(const struct ct_gpucore_view *view)
{
	const int64_t many = INT64_C(1) << 40;
	for (size_t i = 0; i < view->n_dims; i++)
		if (view->sizes[i] <= 0 || view->sizes[i] > many || view->strides[i] > many || view->strides[i] < -many)
			return false;
	return true;
}

// nll_loss2d_forward_no_reduce_kernel(long n_threads, input[N,C,H,W], target[N,H,W], output, weight, ignore_index): element n is of
// sample n % N, row (n / N) % H, column (n / (N H)) % W.
static void loss_2d_no_reduce(struct functor *f)
{
	static const enum ct_argument_kind kinds[] = {CT_ARGUMENT_INTEGER, CT_ARGUMENT_STRUCT, CT_ARGUMENT_STRUCT, CT_ARGUMENT_STRUCT, CT_ARGUMENT_POINTER, CT_ARGUMENT_INTEGER};
	const struct ct_given *g = f->v->given;
	struct ct_gpucore_view values;
	for (size_t i = 0; i < CT_COUNT(kinds); i++)
		if (f->v->n_given != CT_COUNT(kinds) || g[i].row->kind != kinds[i] || !g[i].bytes)
			return;
	const struct ct_gpucore_view *target = g[2].array;
	if (!target || !g[0].has_number || !g[1].row->type || !ct_gpucore_view(&f->v->scratch, g[1].row->type, g[1].bytes, g[1].row->size_bytes, &values))
		return;
	if (values.n_dims != 4 || target->n_dims != 3 || !has_place(target))
		return;
	struct indices *x = &f->arrays[f->n_arrays++];
	*x = (struct indices){.argument = 2, .name = "target", .value_name = "cur_target", .bound_name = "n_classes", .address = target->address,
			      .element = target->element, .high = values.sizes[1], .has_exempt = g[5].has_number, .exempt = g[5].number,
			      .numbers = {.step = (ct_wide)f->v->grid.x * f->v->block.x, .width = f->v->block.x, .count = g[0].number}};
	memcpy(x->sizes, target->sizes, sizeof x->sizes);
	memcpy(x->strides, target->strides, sizeof x->strides);
}

// ---- Reading -------------------------------------------------------------------------------------------------

// Every place costs as much as its array has dimensions.
static bool may_go_on(struct ct_values *v, const struct indices *x)
{
	v->comparisons += x->offsets ? x->offsets->n_dims + 1 : 3;
	return v->comparisons < CT_VALUES_COMPARISONS;
}

// The places that the failing threads look at: from the first to behind the last. False: they look at none.
static bool span_of(struct ct_values *v, const struct indices *x, const struct ct_group *g, ct_wide *ret_first, ct_wide *ret_last)
{
	ct_wide number;
	bool any = false;
	for (size_t t = 0; t < g->n_lanes && t < CT_MAX_LANES; t++)
		for (size_t i = 0; may_go_on(v, x) && number_at(&x->numbers, &g->lanes[t].at, i, &number); i++) {
			ct_wide place = place_of(x, number);
			*ret_first = !any || place < *ret_first ? place : *ret_first;
			*ret_last = !any || place > *ret_last ? place : *ret_last;
			any = true;
		}
	return any;
}

// What the threads read, in one block where that is small; else one by one, later. False: it is not there.
static bool open_window(struct ct_values *v, struct indices *x)
{
	const struct ct_group *g = &v->incident->gpu.groups[0];
	ct_wide first = 0, last = 0, size = (ct_wide)x->element->size;
	if (x->dense && x->numbers.count * size <= CT_VALUES_KNOWN_BYTES)
		return x->numbers.count <= 0 || ct_values_block(v, x->address, (size_t)(x->numbers.count * size), &x->piece);
	if (!span_of(v, x, g, &first, &last) || last - first >= CT_VALUES_KNOWN_BYTES)
		return true;
	x->start = first;
	return ct_values_block(v, (uint64_t)((ct_wide)x->address + first), (size_t)(last - first + size), &x->piece);
}

static bool value_at(struct ct_values *v, const struct indices *x, ct_wide place, ct_wide *ret_value)
{
	ct_wide start = place - x->start;
	if (start >= 0 && start + (ct_wide)x->element->size <= (ct_wide)x->piece.size) {
		*ret_value = ct_values_number(x->piece.bytes + (size_t)start, x->element);
		return true;
	}
	return ct_values_one(v, (uint64_t)((ct_wide)x->address + place), x->element, ret_value);
}

static bool is_allowed(const struct indices *x, ct_wide value)
{
	return (x->has_exempt && value == x->exempt) || ((x->wraps ? -x->high : 0) <= value && value < x->high);
}

// The first element of that thread that is not allowed, into the row of its array. False: it has none, or one that cannot be read comes first.
static bool add_stop(struct functor *f, const struct ct_gridpos *at)
{
	ct_wide number, value;
	for (size_t i = 0; number_at(&f->arrays[0].numbers, at, i, &number); i++)
		for (size_t k = 0; k < f->n_arrays; k++) {
			struct indices *x = &f->arrays[k];
			if (!may_go_on(f->v, x))
				return false;
			ct_wide place = place_of(x, number), size = (ct_wide)x->element->size;
			if (!value_at(f->v, x, place, &value))
				return false;
			if (is_allowed(x, value))
				continue;
			// Rounded down, as an index in front of the array is.
			ct_values_add_element(f->v, &x->row, (uint64_t)((place - (place % size + size) % size) / size), value, *at);
			return true;
		}
	return false;
}

static void describe(struct ct_values *v, struct indices *x)
{
	struct ct_arena *arena = &v->incident->arena;
	size_t each = x->element->size, n = x->piece.size / each;
	x->row = (struct ct_device_memory){.argument = x->argument, .name = x->name, .value_name = x->value_name, .bound_name = x->bound_name,
					   .bound = ct_values_text(arena, x->high), .exempt = x->has_exempt ? ct_values_text(arena, x->exempt) : NULL,
					   .address = x->address, .type = x->element->word};
	if (!x->dense || n == 0 || (ct_wide)x->piece.size != x->numbers.count * (ct_wide)each)
		return;
	struct ct_extremes e = ct_values_extremes(x->piece.bytes, n, x->element);
	x->row.n_elements = n;
	x->row.whole = true;
	ct_values_add_extremes(arena, &e, &x->row);
}

static bool read_all(struct functor *f)
{
	const struct ct_group *g = &f->v->incident->gpu.groups[0];
	for (size_t i = 0; i < f->n_arrays; i++) {
		if (!open_window(f->v, &f->arrays[i]))
			return false;
		describe(f->v, &f->arrays[i]);
	}
	for (size_t t = 0; t < g->n_lanes && t < CT_MAX_LANES; t++)
		if (!add_stop(f, &g->lanes[t].at))
			return false;
	return true;
}

static const struct {
	const char *kernel;
	void (*decode)(struct functor *f);
} kernels[] = {
	{"_scatter_gather_elementwise_kernel", scatter_gather},
	{"index_elementwise_kernel", index_elementwise},
	{"nll_loss2d_forward_no_reduce_kernel", loss_2d_no_reduce},
};

void ct_values_functors(struct ct_values *v)
{
	const char *name;
	size_t length;
	if (!v->incident->gpu.kernel.name || !ct_rules_base_name(v->incident->gpu.kernel.name, &name, &length))
		return;
	struct functor *f = ct_arena_alloc(&v->scratch, sizeof *f);
	f->v = v;
	v->single_reads = 0;  // reads of the arrays among the arguments do not count here
	for (size_t i = 0; i < CT_COUNT(kernels); i++)
		if (strlen(kernels[i].kernel) == length && memcmp(kernels[i].kernel, name, length) == 0)
			kernels[i].decode(f);
	bool told = f->n_arrays && read_all(f);
	for (size_t i = 0; i < f->n_arrays; i++) {
		if (told)
			*ct_values_add_row(v) = f->arrays[i].row;
		ct_piece_done(&f->arrays[i].piece);
	}
}
