// Device memory in pieces, and numbers in it; then all readers in their order. See values.h.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>

#include "values/values_priv.h"

void ct_piece_done(struct ct_piece *piece)
{
	free(piece->bytes);
}

bool ct_values_block(const struct ct_values *v, uint64_t address, size_t size, struct ct_piece *ret_piece)
{
	// The least that allocations are multiples of: PyTorch's of 512 bytes, the driver's of 2 MiB.
	enum { LEAST = 512 };
	size_t there = v->source->read(v->source->context, address, NULL, size);
	while (size > there) {
		if (size <= LEAST)
			return false;
		size = size / 4 > LEAST ? size / 4 : LEAST;
	}
	ret_piece->bytes = ct_xrealloc(NULL, size + 1);
	ret_piece->size = v->source->read(v->source->context, address, ret_piece->bytes, size);
	return ret_piece->size == size;
}

const char *ct_values_absent(const struct ct_values *v, uint64_t address)
{
	size_t there = v->source->read(v->source->context, address, NULL, CT_VALUES_KNOWN_BYTES);
	return there ? ct_arena_printf(&v->incident->arena, "only %zu bytes of it are in this dump", there) : CT_VALUES_ABSENT;
}

bool ct_values_one(struct ct_values *v, uint64_t address, const struct ct_integer_type *type, ct_wide *ret_number)
{
	uint8_t bytes[8];
	if (++v->single_reads > CT_VALUES_SINGLE_READS || v->source->read(v->source->context, address, bytes, type->size) != type->size)
		return false;
	*ret_number = ct_values_number(bytes, type);
	return true;
}

ct_wide ct_values_number(const uint8_t *bytes, const struct ct_integer_type *type)
{
	uint64_t n = 0;
	for (size_t i = type->size; i-- > 0;)
		n = n << 8 | bytes[i];
	if (!type->is_signed || !(n >> (8 * type->size - 1)))
		return n;
	return (ct_wide)n - ((ct_wide)1 << 8 * type->size);
}

const char *ct_values_text(struct ct_arena *arena, ct_wide number)
{
	return number < 0 ? ct_arena_printf(arena, "%" PRId64, (int64_t)number) : ct_arena_printf(arena, "%" PRIu64, (uint64_t)number);
}

struct ct_extremes ct_values_extremes(const uint8_t *bytes, size_t n, const struct ct_integer_type *type)
{
	ct_wide first = ct_values_number(bytes, type);
	struct ct_extremes e = {.least = first, .most = first};
	for (size_t i = 1; i < n; i++) {
		ct_wide number = ct_values_number(bytes + i * type->size, type);
		if (number < e.least) {
			e.least = number;
			e.least_at = i;
		}
		if (number > e.most) {
			e.most = number;
			e.most_at = i;
		}
	}
	return e;
}

void ct_values_add_extremes(struct ct_arena *arena, const struct ct_extremes *e, struct ct_device_memory *row)
{
	row->min = ct_values_text(arena, e->least);
	row->max = ct_values_text(arena, e->most);
	row->min_index = e->least_at;
	row->max_index = e->most_at;
}

struct ct_device_memory *ct_values_add_row(struct ct_values *v)
{
	struct ct_gpu *gpu = &v->incident->gpu;
	gpu->memory = ct_arena_grow(&v->incident->arena, gpu->memory, &gpu->n_memory, sizeof *gpu->memory);
	return &gpu->memory[gpu->n_memory - 1];
}

void ct_values_add_element(struct ct_values *v, struct ct_device_memory *row, uint64_t index, ct_wide value, struct ct_gridpos at)
{
	struct ct_arena *arena = &v->incident->arena;
	row->elements = ct_arena_grow(arena, row->elements, &row->n_elements_of_threads, sizeof *row->elements);
	row->elements[row->n_elements_of_threads - 1] = (struct ct_element){.index = index, .value = ct_values_text(arena, value), .has_at = true, .at = at};
}

// ---- Arguments -----------------------------------------------------------------------------------------------

static const struct ct_gpucore_view *array_of(struct ct_values *v, const struct ct_given *g)
{
	const struct ct_argument *a = g->row;
	struct ct_gpucore_view view = {.n_dims = 0};
	if (!g->bytes || !a->type)
		return NULL;
	if (a->kind == CT_ARGUMENT_POINTER) {
		view.element = ct_gpucore_pointee(&v->scratch, a->type);
		memcpy(&view.address, g->bytes, sizeof view.address);
	} else if (a->kind != CT_ARGUMENT_STRUCT || !ct_gpucore_view(&v->scratch, a->type, g->bytes, a->size_bytes, &view)) {
		return NULL;
	}
	if (!view.element)
		return NULL;
	struct ct_gpucore_view *kept = ct_arena_alloc(&v->scratch, sizeof *kept);
	*kept = view;
	return kept;
}

static void decode(struct ct_values *v, struct ct_given *g)
{
	static const struct ct_integer_type boolean = {.name = "bool", .word = "bool", .size = 1};
	const struct ct_values_source *s = v->source;
	const struct ct_argument *a = g->row;
	bool inside = s->params && a->size_bytes && a->offset <= s->n_params && a->size_bytes <= s->n_params - a->offset;
	g->bytes = inside && a->size_bytes <= CT_VALUES_ARGUMENT_BYTES ? s->params + a->offset : NULL;
	const struct ct_integer_type *type = a->kind == CT_ARGUMENT_BOOL ? &boolean : a->kind == CT_ARGUMENT_INTEGER && a->type ? ct_gpucore_integer(&v->scratch, a->type) : NULL;
	g->has_number = g->bytes && type && type->size == a->size_bytes;
	if (g->has_number)
		g->number = ct_values_number(g->bytes, type);
	g->array = array_of(v, g);
	g->name = a->name;
}

static bool has_names(const struct ct_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_arguments; i++)
		if (gpu->arguments[i].name)
			return true;
	return false;
}

// By the table, where no debug information has named one.
static void name_arguments(struct ct_values *v)
{
	struct ct_gpu *gpu = &v->incident->gpu;
	bool named = has_names(gpu);
	for (size_t i = 0; i < v->n_given && i < v->rule->n_names; i++) {
		v->given[i].name = v->rule->names[i];
		if (!named)
			gpu->arguments[i].name = ct_arena_strdup(&v->incident->arena, v->rule->names[i]);
	}
}

static void take_arguments(struct ct_values *v, const struct ct_rules *rules)
{
	const struct ct_gpu *gpu = &v->incident->gpu;
	v->given = ct_arena_array(&v->scratch, gpu->n_arguments + 1, sizeof *v->given);
	v->n_given = gpu->n_arguments;
	for (size_t i = 0; i < v->n_given; i++) {
		v->given[i].row = &gpu->arguments[i];
		decode(v, &v->given[i]);
	}
	v->rule = rules && gpu->has_kernel ? ct_rules_choose(rules, gpu->kernel.name, gpu->arguments, gpu->n_arguments) : NULL;
	const struct ct_given *array = v->rule ? ct_values_given(v, v->rule->array) : NULL;
	if (!array || !array->array)  // a kernel of that name for other elements
		v->rule = NULL;
	if (v->rule)
		name_arguments(v);
}

void ct_values_read(struct ct_incident *incident, const struct ct_rules *rules, const struct ct_values_source *source)
{
	const struct ct_kernel *kernel = &incident->gpu.kernel;
	struct ct_values v = {.incident = incident, .scratch = CT_ARENA_INIT, .source = source};
	if (!incident->gpu.present || incident->gpu.n_groups == 0)
		return;
	if (incident->gpu.has_kernel && kernel->has_dims && kernel->grid_dim.x && kernel->block_dim.x) {
		v.has_dims = true;
		v.grid = kernel->grid_dim;
		v.block = kernel->block_dim;
	}
	take_arguments(&v, rules);
	ct_values_arrays(&v);
	if (v.has_dims)
		ct_values_functors(&v);
	ct_values_tensors(&v);
	ct_arena_done(&v.scratch);
}
